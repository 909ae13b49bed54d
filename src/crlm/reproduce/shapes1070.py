"""Table `1070 Shape Database`: six classes among single images of sixty others."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.estimator import CRLM
from crlm.labels import BACKGROUND
from crlm.reproduce.compare import BY_NAME, average, evaluate, first, score_table
from crlm.reproduce.data import Shapes, load_kimia1070, principal_components, resized
from crlm.reproduce.drawing import STYLES, new_figure
from crlm.reproduce.study import (
    Cell,
    Check,
    Claim,
    Page,
    Plan,
    Row,
    Study,
    distinct,
    mean,
    percent,
    select,
)
from crlm.scores import f_measure, matched_accuracy

K, EACH, DRAWS = 6, 10, 20
COMPONENTS = 215  # "the 215 PC coefficients"
AUTHORS = 380.0 * np.sqrt(4.0 * 200.0)  # radius of their own run: 200 components, sigma_max 380
# Only the radius matters, and unlike sigma_max it has the same unit in both tables.
RADII = [AUTHORS, *np.arange(15_000.0, 23_001.0, 100.0).tolist()]
PRINTED = {
    60: {
        "k-means": (55.06, 51.25), "DBSCAN": (68.37, 89.17), "CL": (41.10, 45.00),
        "EM-GMMUB": (18.96, 22.50), "SC": (35.83, 32.61), "TD": (17.09, 47.50),
        "t-SNE": (54.59, 51.67), "KNNCLUST": (73.18, 72.50), "CRLM": (98.79, 99.17),
    },
    120: {
        "k-means": (47.77, 65.86), "DBSCAN": (73.86, 66.11), "CL": (37.43, 55.00),
        "EM-GMMUB": (21.39, 46.67), "SC": (29.13, 27.78), "TD": (33.61, 55.56),
        "t-SNE": (54.24, 47.22), "KNNCLUST": (66.64, 56.11), "CRLM": (98.38, 98.89),
    },
}  # fmt: skip
LEAST = {60: 0.988, 120: 0.984}
BEST = "CRLM, best sigma_max"


@cache
def features(source: Path | None) -> tuple[Shapes, Any]:
    """Shapes, and their pixels after a rotation that leaves out the directions without any."""
    shapes = load_kimia1070(source)
    return shapes, principal_components(resized(shapes.images), len(shapes.files) - 1)


def draw(
    shapes: Shapes, negatives: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows and labels: the first ten of each positive class, one of each other, then any others."""
    labels, positive = shapes.labels, shapes.is_positive
    classes = np.unique(labels[positive])
    chosen = [np.flatnonzero(labels == c)[:EACH] for c in classes]
    others = [int(rng.choice(np.flatnonzero(labels == c))) for c in np.unique(labels[~positive])]
    left = np.setdiff1d(np.flatnonzero(~positive), others)
    more = rng.choice(left, max(0, negatives - len(others)), replace=False)
    rows = np.concatenate([*chosen, others[:negatives], more]).astype(np.intp)
    y = np.repeat(np.arange(len(classes)), [len(c) for c in chosen])
    return rows, np.append(y, np.full(len(rows) - len(y), BACKGROUND)).astype(np.int64)


def cells(plan: Plan) -> list[Cell]:
    """Ours for 20 draws in both settings and 20 to tune on; competitors for some of the first."""
    features(plan.data)
    ours = [
        {"method": "CRLM", "negatives": m, "draw": i} for m in PRINTED for i in range(2 * DRAWS)
    ]
    return ours + [
        {"method": name, "negatives": m, "draw": i}
        for m in PRINTED
        for i in range(plan.pick(2, DRAWS))
        for name in BY_NAME
        if plan.wants(name)
    ]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Scores of a method on one draw."""
    shapes, every = features(plan.data)
    rows, y = draw(shapes, cell["negatives"], plan.rng(cell["negatives"], cell["draw"]))
    # As with the 216 shapes, components are those of the rows to cluster, and all that there are.
    X = principal_components(every[rows], min(COMPONENTS, len(rows) - 1))
    if cell["method"] != "CRLM":
        return [evaluate(BY_NAME[cell["method"]](plan.seed), X, y, K)]
    sigmas = np.array(RADII) / np.sqrt(4.0 * X.shape[1])
    path = CRLM(max_clusters=K, alpha=None).path(X, sigmas)
    return [
        _at(radius, float(sigma), y, path.labels(step))
        for step, (radius, sigma) in enumerate(zip(RADII, sigmas, strict=True))
    ]


def _at(radius: float, sigma: float, y: NDArray[np.int64], labels: NDArray[np.int64]) -> Row:
    F, accuracy = f_measure(y, labels), matched_accuracy(y, labels)
    setting = f"sigma_max {sigma:.0f}, one for all draws"
    return {"radius": radius, "sigma_max": sigma, "F": F, "accuracy": accuracy, "setting": setting}


def report(rows: list[Row], plan: Plan) -> Page:
    """Tables for 60 and 120 negatives, ours at the one radius that is best on other draws."""
    ours = [row for row in select(rows, method="CRLM") if row["draw"] < DRAWS]
    tuning = [row for row in select(rows, method="CRLM") if row["draw"] >= DRAWS]
    radii = distinct(ours, "radius")
    radius = max(radii, key=lambda r: mean(select(tuning, radius=r), "F"))
    checks, claims, tables = [], [], []
    for m, printed in PRINTED.items():
        at_one = select(ours, negatives=m, radius=radius)
        others = [row for row in select(rows, negatives=m) if row["method"] != "CRLM"]
        shown = at_one + _best_of_draws(select(ours, negatives=m)) + others
        by_key = {name: {"F": v[0], "accuracy": v[1]} for name, v in printed.items()}
        title = f"60 positives, {m} negatives"
        tables.append(score_table(title, shown, by_key, ("F", "accuracy")))
        checks.append(_check(m, at_one))
        claims.append(_claim(m, at_one, shown))
    at_authors = [percent(mean(select(ours, negatives=m, radius=AUTHORS), "F")) for m in PRINTED]
    notes = [
        f"One radius, {radius:,.0f}, for all draws of both tables, chosen by the truth of "
        f"{DRAWS} other draws of each; competitors, and 'CRLM, best sigma_max', are at the best "
        "setting of each draw itself. F does not punish clusters beyond the six true ones, which "
        "DBSCAN, CL, KNNCLUST and OPTICS may have any number of; the accuracy does.",
        "The paper takes 215 principal components of 216 shapes, that is all of them, and says "
        "nothing else about these. So here too they are all components of the rows to cluster, 119 "
        "or 179, and no distance is changed. The authors' own run is known to have had 200 "
        "components of all images, which lose 7 % of the variance (F is then two points less with "
        "120 negatives), and sigma_max 380, a radius of 10,748. At that F is "
        + " and ".join(at_authors)
        + " %: our distances are larger than theirs, for a reason we do not know.",
    ]
    figures = {"shapes1070": _figure(ours, radii, radius)}
    return Page(claims, checks, tables, figures, notes)


def _best_of_draws(ours: list[Row]) -> list[Row]:
    draws = [select(ours, draw=i) for i in distinct(ours, "draw")]
    best = [max(rows, key=lambda row: row["F"]) for rows in draws]
    return [row | {"method": BEST, "setting": f"sigma_max {row['sigma_max']:.0f}"} for row in best]


def _check(m: int, at_one: list[Row]) -> Check:
    F, sigma = mean(at_one, "F"), at_one[0]["sigma_max"]
    return Check(f"{m} negatives: F of CRLM averaged over {DRAWS} draws with one sigma_max, chosen "
                 f"on other draws, is at least {100 * LEAST[m]:.1f} %",
                 f"{percent(F)} %, at sigma_max {sigma:.0f}", LEAST[m] <= F)  # fmt: skip


def _claim(m: int, at_one: list[Row], shown: list[Row]) -> Claim:
    F, accuracy = mean(at_one, "F"), mean(at_one, "accuracy")
    good = sum(row["F"] >= LEAST[m] for row in at_one)
    rival, value = first(shown, "F", ("CRLM", "CRLM()", BEST))
    reached = "yes" if LEAST[m] <= F else f"in {good} of {len(at_one)} draws, not on average"
    return Claim(
        f"{m} negatives: CRLM F = {PRINTED[m]['CRLM'][0]} %, far ahead of all others.",
        f"CRLM {percent(F)} % (accuracy {percent(accuracy)} %), at least the printed figure in "
        f"{good} of {len(at_one)} draws. {rival} reaches {percent(value)} % (accuracy "
        f"{percent(average(shown, rival, 'accuracy'))} %) at the best setting of each draw.",
        f"figure of CRLM: {reached}; far ahead: "
        + (f"no, {rival} at its best setting is not behind" if value >= F else "yes"),
    )


def _figure(ours: list[Row], radii: list[float], chosen: float) -> Any:
    figure, axes = new_figure(1, 1, width=5.5)
    ax = axes[0, 0]
    shown = [radius for radius in radii if radius != AUTHORS]
    for m, line in ((60, "-"), (120, "--")):
        values = [100 * mean(select(ours, negatives=m, radius=r), "F") for r in shown]
        ax.plot(shown, values, line, color=STYLES["CRLM"][0], label=f"CRLM, {m} negatives")
    ax.axvline(chosen, color="#999999", linestyle=":", label="chosen on other draws")
    ax.set(xlabel="radius, sigma_max sqrt(4 d)", ylabel="F-measure, %, mean of 20 draws")
    ax.set_ylim(85, 101)
    ax.legend(fontsize="small")
    return figure


SHAPES1070 = Study(
    "shapes1070",
    "Six classes of the 1070 shapes",
    "1070 Shape Database",
    cells,
    work,
    report,
    data=("kimia1070",),
)
