"""Table `ImageNet`: thirty faces among clutter, by the features of a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm.errors import WeakEvidenceWarning
from crlm.estimator import CRLM
from crlm.reproduce.compare import BY_NAME, average, evaluate, first, score_table
from crlm.reproduce.data import load_faces
from crlm.reproduce.drawing import common_legend, in_order, new_figure, style
from crlm.reproduce.study import (
    Cell,
    Check,
    Claim,
    Page,
    Plan,
    Row,
    Study,
    Table,
    distinct,
    percent,
    select,
)
from crlm.scores import f_measure, matched_accuracy

N_FACES = 30
SIZES = (50, 100, 200, 500, 1000)
# The best bandwidth is sought between radii that hold these shares of all pairs.
SHARES, STEPS = (2e-5, 0.6), 100
BEST = "CRLM, best sigma_max"
SLOW = {"t-SNE": 200, "OPTICS": 500}  # rows up to which a quick run takes them
PRINTED = {
    50: {"k-means": (85.79, 78.20), "DBSCAN": (97.27, 89.40), "CL": (76.15, 62.40),
         "EM-GMMUB": (62.23, 57.20), "SC": (59.60, 55.31), "t-SNE": (59.46, 55.80),
         "KNNCLUST": (81.90, 71.82), "CRLM": (99.66, 99.60)},
    100: {"k-means": (61.05, 66.20), "DBSCAN": (91.86, 94.90), "CL": (46.92, 67.90),
          "EM-GMMUB": (43.02, 55.40), "SC": (42.15, 54.40), "t-SNE": (44.03, 55.6),
          "KNNCLUST": (87.84, 89.88), "CRLM": (99.67, 99.80)},
    200: {"k-means": (31.43, 71.25), "DBSCAN": (86.39, 95.85), "CL": (26.33, 83.95),
          "EM-GMMUB": (26.88, 53.15), "SC": (26.38, 54.55), "t-SNE": (25.71, 51.75),
          "KNNCLUST": (91.17, 90.35), "CRLM": (98.99, 99.70)},
    500: {"k-means": (13.77, 75.40), "DBSCAN": (76.91, 96.72), "CL": (11.38, 93.48),
          "EM-GMMUB": (12.01, 52.86), "SC": (12.29, 51.84), "t-SNE": (12.53, 51.00),
          "KNNCLUST": (90.78, 92.22), "CRLM": (98.02, 99.76)},
    1000: {"k-means": (7.43, 74.88), "DBSCAN": (53.21, 97.09), "CL": (5.84, 96.68),
           "EM-GMMUB": (6.27, 52.44), "SC": (6.66, 51.46), "t-SNE": (6.39, 50.45),
           "KNNCLUST": (92.00, 93.35), "CRLM": (97.70, 99.86)},
}  # fmt: skip


def _unit(X: NDArray[np.float64]) -> NDArray[np.float64]:
    length: NDArray[np.float64] = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.maximum(length, 1e-300)


FEATURES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "raw": lambda X: X,
    "normalised": _unit,
    "centred, normalised": lambda X: _unit(X - X.mean(axis=0)),
}


@cache
def images(source: Path | None) -> Any:
    """Features of the network, and 1 for a face."""
    return load_faces(source)


def cells(plan: Plan) -> list[Cell]:
    """Ours for each draw, size and kind of features, then competitors in some of the draws."""
    images(plan.data)
    tasks: list[Cell] = [
        {"n": n, "features": features, "draw": draw}
        for n in SIZES
        for features in FEATURES
        for draw in range(plan.pick(5, 20))
    ]
    ours = [task | {"method": method} for task in tasks for method in ("CRLM", BEST)]
    return ours + [
        task | {"method": name}
        for task in tasks
        if task["draw"] < _common_draws(plan)
        for name in BY_NAME
        if name not in ("TD", "EM")  # as in the paper
        and (plan.full or task["n"] <= SLOW.get(name, task["n"]))
        and plan.wants(name)
    ]


def _common_draws(plan: Plan) -> int:
    """Draws that all methods are run on."""
    return plan.pick(2, 10)


def work(cell: Cell, plan: Plan) -> list[Row]:
    """One method on one draw."""
    X, y = sample(cell, plan)
    if cell["method"] == "CRLM":
        return [_by_rule(X, y)]
    if cell["method"] == BEST:
        return [_at_best(X, y)]
    return [evaluate(BY_NAME[cell["method"]](plan.seed), X, y, 1)]


def sample(cell: Cell, plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Thirty faces and n - 30 images of clutter, with features as asked for."""
    X, is_face = images(plan.data)
    rng = plan.rng(cell["n"], cell["draw"])
    faces = rng.choice(np.flatnonzero(is_face == 1), N_FACES, replace=False)
    clutter = rng.choice(np.flatnonzero(is_face == 0), cell["n"] - N_FACES, replace=False)
    rows = np.concatenate([faces, clutter])
    return FEATURES[cell["features"]](X[rows]), np.where(is_face[rows] == 1, 0, -1)


def _by_rule(X: NDArray[np.float64], y: NDArray[np.int64]) -> Row:
    """One cluster, with the bandwidth that the library chooses without the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakEvidenceWarning)
        model = CRLM(max_clusters=1).fit(X)
    return _row(y, model.labels_, model.sigma_max_, "sigma_max auto, one cluster")


def _at_best(X: NDArray[np.float64], y: NDArray[np.int64]) -> Row:
    """Best of many bandwidths, by the truth."""
    least, most = np.quantile(distance.pdist(X), SHARES).tolist()
    radii = np.geomspace(least, most, STEPS)
    path = CRLM(max_clusters=1, alpha=None).path(X, radii / np.sqrt(4.0 * X.shape[1]))
    best = max(range(STEPS), key=lambda step: f_measure(y, path.labels(step)))
    sigma = float(path.sigmas[best])
    return _row(y, path.labels(best), sigma, f"sigma_max {sigma:.4g}")


def _row(y: NDArray[np.int64], labels: NDArray[np.int64], sigma: float, setting: str) -> Row:
    F, accuracy = f_measure(y, labels), matched_accuracy(y, labels)
    return {"F": F, "accuracy": accuracy, "setting": setting, "sigma_max": sigma}


class Lead(NamedTuple):
    """Ours and the best competitor on the draws that all were run on."""

    n: int
    features: str
    by_rule: float
    at_best: float
    rival: str
    value: float
    blind_rival: str
    blind_value: float


def report(rows: list[Row], plan: Plan) -> Page:
    """Tables for each n, and who is first."""
    tables, leads = [], []
    for n in SIZES:
        printed = {m: {"F": v[0], "accuracy": v[1]} for m, v in PRINTED[n].items()}
        for features in FEATURES:
            part = select(rows, n=n, features=features)
            tables.append(score_table(f"n = {n}, {features}", part, printed, ("F", "accuracy")))
            common = [row for row in part if row["draw"] < _common_draws(plan)]
            leads.append(_lead(n, features, common))
    summary = Table(
        "F in percent on the draws that all methods were run on",
        ("n", "features", "CRLM by rule", "best competitor by rule", "its F", "CRLM at best",
         "best competitor at best", "its F"),
        [
            (str(at.n), at.features, percent(at.by_rule), at.blind_rival, percent(at.blind_value),
             percent(at.at_best), at.rival, percent(at.value))
            for at in leads
        ],
    )  # fmt: skip
    claims = [_claim(n, [at for at in leads if at.n == n]) for n in SIZES]
    figures = {"faces": _figure(rows)}
    return Page(claims, _checks(rows), [summary, *tables], figures, [NOTE])


def _lead(n: int, features: str, common: list[Row]) -> Lead:
    ours = ("CRLM", "CRLM()", BEST)
    scores = average(common, "CRLM", "F"), average(common, BEST, "F")
    return Lead(n, features, *scores, *first(common, "F", ours), *first(common, "usual", ours))


def _claim(n: int, leads: list[Lead]) -> Claim:
    """Ours and the best competitor, each with the features it likes best."""
    rule, best = max(at.by_rule for at in leads), max(at.at_best for at in leads)
    top, blind = max(leads, key=lambda at: at.value), max(leads, key=lambda at: at.blind_value)
    ahead = [f"{at.rival} at its best" for at in [top] if at.value > best]
    ahead += [f"{at.blind_rival} by rule" for at in [blind] if at.blind_value > rule]
    return Claim(
        f"n = {n}: CRLM is first with F = {PRINTED[n]['CRLM'][0]} %.",
        f"By rule, without the truth: CRLM {percent(rule)} %, best competitor {blind.blind_rival} "
        f"{percent(blind.blind_value)} % ({blind.features}). Each at its best: CRLM "
        f"{percent(best)} %, {top.rival} {percent(top.value)} % ({top.features}).",
        f"no, ahead: {' and '.join(ahead)}" if ahead else "yes",
    )


NOTE = (
    "The network differs from the paper's: 1280 features of MobileNetV2 instead of 4096 of VGG-16, "
    "and other images of faces, so the printed numbers are beside ours only for orientation; n = "
    "3000 is left out because there are 1000 images of clutter. 'At best' is the best setting for "
    "each draw, by the truth, which no user has; 'by rule' is without it: our automatic sigma_max, "
    "the usual setting of a competitor (for DBSCAN the knee of its distances). F does not punish "
    "clusters beyond the faces, and DBSCAN, CL, KNNCLUST, HDBSCAN and OPTICS may have many; the "
    "accuracy does. A ball "
    "wide enough for the outermost face takes in clutter, while DBSCAN follows any shape; that is "
    "why it can be ahead. At n = 50 the faces are 60 % of the rows. Our rule takes no ball of more "
    "than half of the rows for a cluster, so it cannot find them; the best sigma_max does."
)


def _checks(rows: list[Row]) -> list[Check]:
    def top(n: int, method: str) -> float:
        """Mean over all draws, with the kind of features that suits the method best."""
        kinds = (select(rows, n=n, features=features) for features in FEATURES)
        return max(average(part, method, "F") for part in kinds)

    # A ball of more than half of the rows is no cluster to our rule (docs/selection-details.md).
    by_rule = min(top(n, "CRLM") for n in SIZES if n > 2 * N_FACES)
    return [
        Check("F of CRLM at its best sigma_max is at least 95 % at n = 1000",
              f"{percent(top(1000, BEST))} %", top(1000, BEST) >= 0.95),
        Check("F of CRLM by its own rule, without the truth, is at least 85 % at every n at which "
              "faces are fewer than half of the rows",
              f"least {percent(by_rule)} %", by_rule >= 0.85),
    ]  # fmt: skip


def _figure(rows: list[Row]) -> Any:
    figure, axes = new_figure(1, 3, width=4.0)
    for ax, features in zip(axes[0], FEATURES, strict=True):
        part = select(rows, features=features)
        for method in in_order(distinct(part, "method")):
            sizes = [n for n in SIZES if select(part, n=n, method=method)]
            values = [100 * average(select(part, n=n), method, "F") for n in sizes]
            ax.plot(sizes, values, **style(method))
        ax.set(xscale="log", xlabel="n (30 faces)", ylabel="F, %", title=features, ylim=(0, 103))
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.set_xticks([], minor=True)
    common_legend(figure, axes)
    return figure


FACES = Study("faces", "Faces among clutter", "ImageNet", cells, work, report, data=("faces",))
