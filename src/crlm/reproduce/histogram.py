"""`find_sigma2`: the shortest distances pile up at the sigmas of the clusters."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import distance

from crlm.bandwidth.histogram import SHORTEST, read_histogram
from crlm.estimator import CRLM
from crlm.model import GMMUB
from crlm.reproduce.drawing import new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, select
from crlm.scores import f_measure

SIGMAS = (1.0, 3.0, 5.0)
BINS = 120


def cells(plan: Plan) -> list[Cell]:
    """Both panels."""
    return [{"d": d, "n": plan.pick(3000, 4000)} for d in (100, 1000)]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Histogram of the shortest distances, and the peaks that the library reads from it."""
    d, n = cell["d"], cell["n"]
    model = GMMUB.draw(3, d, SIGMAS, 0.01, D=100, sigma_max=11, rng=plan.rng(d, 1))
    X, y = model.sample(n, rng=plan.rng(d, 2))
    dist = distance.pdist(X) / math.sqrt(2.0 * d)
    shortest = np.sort(dist)[: int(SHORTEST * len(dist))]
    edges = np.geomspace(shortest[0], shortest[-1] * (1 + 1e-12), BINS + 1)
    counts = np.histogram(shortest, edges)[0]
    estimate = read_histogram(X, np.ones(n, dtype=np.int64))
    peaks = " ".join(f"{peak:.4f}" for peak in estimate.peaks)
    found = CRLM(estimate.suggested, alpha=None).fit(X)
    F = f_measure(y, found.labels_)
    common = {"peaks": peaks, "suggested": estimate.suggested, "F": F}
    return [{"low": a, "high": b, "count": c} | common
            for a, b, c in zip(edges, edges[1:], counts, strict=False)]  # fmt: skip


def report(rows: list[Row], plan: Plan) -> Page:
    """Two histograms; counts are logarithmic, or only the background would be seen."""
    figure, axes = new_figure(1, 2)
    checks = []
    for ax, d in zip(axes[0], (100, 1000), strict=True):
        part = select(rows, d=d)
        edges = [part[0]["low"], *(row["high"] for row in part)]
        ax.stairs([max(row["count"], 0.5) for row in part], edges, fill=True, color="#7f7f7f",
                  baseline=0.5)  # fmt: skip
        for sigma in SIGMAS:
            ax.axvline(sigma, color="#d55e00", linewidth=1)
            ax.annotate(f" {sigma:g}", (sigma, 3e4), color="#d55e00", fontsize="small")
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="distance / sqrt(2d)",
            ylabel="pairs",
            title=f"d = {d}",
        )
        peaks = [float(word) for word in part[0]["peaks"].split()]
        close = len(peaks) == 3 and np.allclose(peaks, SIGMAS, rtol=0.05)
        checks.append(
            Check(f"d = {d}: three peaks within 5 % of sigma = 1, 3, 5",
                  ", ".join(f"{peak:.2f}" for peak in peaks), bool(close))
        )  # fmt: skip
        checks.append(
            Check(f"d = {d}: CRLM at 2.1 times the largest peak finds exactly the three clusters",
                  f"sigma_max {part[0]['suggested']:.2f}, F = {part[0]['F']:.3f}",
                  part[0]["F"] == 1.0)
        )  # fmt: skip
    claim = Claim(
        "The histogram of the 5 % shortest distances over sqrt(2d) has clear peaks at 1, 3 and 5.",
        "It has (red lines), on logarithmic scales. Pairs across two clusters make peaks too, and "
        "the background, where 5 % of the pairs end, is by far the largest part.",
        "yes",
    )
    note = (
        "The rows of a cluster themselves tell its sigma only to 1 / sqrt(2 d (n_j - 1)): 1.6 % "
        "for 20 rows at d = 100, and 5 % is three times that. The highest bin of the ragged hill "
        "that their pairs make is off by more; so a peak is read from the hill as a whole."
    )
    return Page([claim], checks, figures={"histogram": figure}, notes=[note])


HISTOGRAM = Study(
    "histogram", "Histogram of the shortest distances", "find_sigma2", cells, work, report
)
