"""`fig:example2d`: five Gaussians and a uniform background in the plane."""

from __future__ import annotations

import numpy as np

from crlm import scores
from crlm.estimator import CRLM
from crlm.model import GMMUB
from crlm.reproduce.drawing import STYLES, new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study

SIGMA, SIGMA_MAX, D = 0.5, 1.05, 30.0


def cells(plan: Plan) -> list[Cell]:
    """The one picture."""
    return [{"n": 1500}]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Points with true and found labels, and the F-measure."""
    model = GMMUB.draw(5, 2, SIGMA, 0.06, D=D, sigma_max=SIGMA_MAX, rng=plan.rng(1))
    X, y = model.sample(cell["n"], rng=plan.rng(2))
    found = CRLM(SIGMA_MAX).fit(X)
    error = scores.mean_error(model.means, found.cluster_centers_)
    F = scores.f_measure(y, found.labels_)
    return [
        {"x": x[0], "y": x[1], "true": t, "found": f, "F": F, "mean_error": error}
        for x, t, f in zip(X, y, found.labels_, strict=True)
    ]


def report(rows: list[Row], plan: Plan) -> Page:
    """Truth and answer side by side."""
    figure, axes = new_figure(1, 2, width=4.6, height=4.4)
    xy = np.array([[row["x"], row["y"]] for row in rows])
    colors = [STYLES[name][0] for name in ("CRLM", "k-means", "DBSCAN", "EM-GMMUB", "CL")]
    truth = np.array([row["true"] for row in rows])
    for ax, key in zip(axes[0], ("true", "found"), strict=True):
        labels = np.array([row[key] for row in rows])
        ax.scatter(*xy[labels < 0].T, s=4, color="#bbbbbb", linewidths=0)
        for j in range(labels.max() + 1):
            # A cluster has the colour of the true one that most of its points are from.
            true = np.bincount(truth[(labels == j) & (truth >= 0)], minlength=1).argmax()
            ax.scatter(*xy[labels == j].T, s=9, color=colors[true], linewidths=0)
        ax.set(title=f"{key}: {labels.max() + 1} clusters", aspect="equal", xticks=[], yticks=[])
    k, F, error = max(r["found"] for r in rows) + 1, rows[0]["F"], rows[0]["mean_error"]
    checks = [
        Check("CRLM finds five clusters", f"{k}", k == 5),
        Check(
            "every mean is found to within half a sigma on average",
            f"mean error {error:.3f}, sigma {SIGMA}",
            error is not None and error < 0.5 * SIGMA,
        ),
    ]
    claim = Claim(
        "Data of the model: five clusters and a background that clusters nowhere (no result).",
        f"CRLM at sigma_max = {SIGMA_MAX} finds {k} clusters, F = {F:.3f}.",
        "illustration",
    )
    note = (
        "In two dimensions the ball of a cluster also holds background (C1 does not hold), so F "
        "stays below 1. The theory is about higher dimensions."
    )
    return Page([claim], checks, figures={"example2d": figure}, notes=[note])


EXAMPLE2D = Study("example2d", "The model in the plane", "fig:example2d", cells, work, report)
