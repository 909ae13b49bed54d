"""Table `Kimia216` and the gallery `fig:Kimia 216 Alg 2`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from crlm.estimator import CRLM
from crlm.reproduce.compare import BY_NAME, average, evaluate, first, score_table
from crlm.reproduce.data import Shapes, load_kimia216, principal_components, resized
from crlm.reproduce.drawing import new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, percent, select
from crlm.scores import f_measure, matched_accuracy

K, AUTHORS = 18, 640.0  # classes; the bandwidth of the authors' own run
PRINTED = {
    "k-means": 67.99, "DBSCAN": 69.91, "CL": 60.19, "TD": 28.24, "EM": 18.06, "SC": 68.98,
    "t-SNE": 68.06, "KNNCLUST": 73.49, "CRLM": 73.61,
}  # fmt: skip


@cache
def features(source: Path | None) -> tuple[Shapes, Any]:
    """Shapes, and their 215 principal components after stretching to 256 x 256."""
    shapes = load_kimia216(source)
    return shapes, principal_components(resized(shapes.images), 215)


def cells(plan: Plan) -> list[Cell]:
    """One for each method; ours at many bandwidths."""
    features(plan.data)  # missing data show before any work
    sigmas = [AUTHORS, *np.arange(500.0, 901.0, 10.0).tolist()]
    rivals = [{"method": name} for name in BY_NAME if plan.wants(name)]
    return [{"method": "CRLM", "sigmas": sigmas}, *rivals]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Scores of a method; labels too for the gallery."""
    shapes, X = features(plan.data)
    y = shapes.labels
    if cell["method"] == "CRLM":
        return [_ours(X, y, sigma) for sigma in cell["sigmas"]]
    method = BY_NAME[cell["method"]](plan.seed, background=False)
    return [evaluate(method, X, y, K, by="accuracy")]


def _ours(X: Any, y: Any, sigma: float) -> Row:
    """17 clusters and the rest as the 18th class, as the authors did."""
    labels = CRLM(sigma, max_clusters=K - 1, alpha=None).fit(X).labels_
    setting = f"sigma_max {sigma:g}"
    F, accuracy = f_measure(y, labels), matched_accuracy(y, labels)
    return {"sigma_max": sigma, "F": F, "accuracy": accuracy, "setting": setting, "sigmas": ""}


def report(rows: list[Row], plan: Plan) -> Page:
    """Table beside the printed one, curve over sigma_max, gallery."""
    ours = select(rows, method="CRLM")
    top = max(ours, key=lambda row: row["accuracy"])
    at_authors = next(row for row in ours if row["sigma_max"] == AUTHORS)
    shown = [top, *(row for row in rows if row["method"] != "CRLM")]
    rival, value = first(shown, "accuracy", ("CRLM", "CRLM()"))
    printed = {method: {"accuracy": number} for method, number in PRINTED.items()}
    table = score_table("Every method at its best setting", shown, printed, ("accuracy", "F"))
    accuracy = top["accuracy"]
    checks = [
        Check("CRLM's matched accuracy is at least the printed 73.61 % at its best sigma_max",
              f"{percent(accuracy)} % at sigma_max {top['sigma_max']:g}",
              round(100 * accuracy, 2) >= 73.61),
        Check("CRLM is within 10 points of that at the authors' sigma_max of 640",
              f"{percent(at_authors['accuracy'])} %", at_authors["accuracy"] > accuracy - 0.1),
        Check("every method of the paper's table that was asked for was run",
              f"{len(shown)} methods",
              {row["method"] for row in shown} >= {"CRLM", *filter(plan.wants, PRINTED)}),
    ]  # fmt: skip
    is_beaten = value > accuracy
    claims = [
        Claim("CRLM 73.61 %, best of nine.",
              f"CRLM {percent(accuracy)} %; best competitor {rival} {percent(value)} %.",
              f"in the figure of CRLM; but {rival} is better here" if is_beaten else "yes"),
    ]  # fmt: skip
    if {"EM", "TD"} <= {row["method"] for row in shown}:
        claims.append(
            Claim("EM 18.06 %, TD 28.24 %.",
                  f"EM {percent(average(shown, 'EM', 'accuracy'))} % "
                  f"({select(shown, method='EM')[0]['setting']}), TD "
                  f"{percent(average(shown, 'TD', 'accuracy'))} %.",
                  "no: both can do much better (full covariances ask too much of 216 rows)")
        )  # fmt: skip
    notes = [
        "The printed 'Rand Index' is the share of rows with the right label after the best matching"
        " (73.61 % of 216 is 159 images); that is what stands here. All bandwidths and settings "
        "were chosen by the truth, ours and the competitors' alike. Images are stretched to 256 x "
        "256 by bicubic interpolation with grey edges kept.",
    ]
    figures = {"kimia216": _curve(ours), "gallery": _gallery(plan, top["sigma_max"])}
    return Page(claims, checks, [table], figures, notes)


def _curve(ours: list[Row]) -> Any:
    figure, axes = new_figure(1, 1, width=5.5)
    ax = axes[0, 0]
    ordered = sorted(ours, key=lambda row: row["sigma_max"])
    ax.plot([r["sigma_max"] for r in ordered], [100 * r["accuracy"] for r in ordered],
            color="#d55e00", marker="o", markersize=4, label="CRLM")  # fmt: skip
    ax.axhline(PRINTED["CRLM"], color="black", linestyle="--", label="printed")
    ax.axvline(AUTHORS, color="#999999", linestyle=":", label="authors' sigma_max")
    ax.set(xlabel="sigma_max", ylabel="matched accuracy, %")
    ax.legend(fontsize="small")
    return figure


def _gallery(plan: Plan, sigma: float) -> Any:
    """The first ten clusters, one in each row, as many members as fit."""
    shapes, X = features(plan.data)
    labels = CRLM(sigma, max_clusters=10, alpha=None).fit(X).labels_
    rows = [np.flatnonzero(labels == j) for j in range(labels.max() + 1)]
    columns = min(max(map(len, rows)), 20)
    figure, axes = new_figure(len(rows), columns, width=0.62, height=0.62)
    for ax in axes.ravel():
        ax.axis("off")
    for line, members in zip(axes, rows, strict=True):
        for ax, i in zip(line, members, strict=False):
            ax.imshow(255 - shapes.images[i], cmap="gray", vmin=0, vmax=255)
    return figure


KIMIA216 = Study(
    "kimia216", "Kimia 216 shapes", "Kimia216", cells, work, report, data=("kimia216",)
)
