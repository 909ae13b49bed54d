"""`fig:loglog`: errors of the means against n, beside the supervised line."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from crlm.baselines import Supervised, means_of
from crlm.baselines.common import Floats, Labels
from crlm.estimator import CRLM
from crlm.loss import sq_cutoff
from crlm.model import GMMUB
from crlm.reproduce.best import best, mean_error_of
from crlm.reproduce.compare import BY_NAME
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
    mean,
    select,
    slope,
)
from crlm.scores import mean_error

SIGMA_MAX, WEIGHT = 10.0, 0.01
PANELS = [(d, k) for d in (10, 100, 1000) for k in (1, 2, 3)]
RADIUS = {10: 300.0, 100: 100.0, 1000: 100.0}  # D: large enough for C1 at every n here
LEFT_OUT = ("CRLM()", "EM")  # the paper's EM is that for GMMUB
# Rows up to which each is run; what is not named has the last limit.
LIMITS = {"t-SNE": (300, 3000), "OPTICS": (300, 3000), "SC": (1000, 3000), "HDBSCAN": (1000, 3000)}
LIMITS |= {"DBSCAN": (1000, 3000), "KNNCLUST": (1000, 10_000), "CL": (1000, 3000)}
ANY = (1000, 10_000)


def cells(plan: Plan) -> list[Cell]:
    """Ours and the supervised line in many runs, then each competitor in few."""
    runs = plan.pick({10: 60, 100: 30, 1000: 10}, {10: 100, 100: 50, 1000: 25})
    ours = [
        {"d": d, "k": k, "n": n, "runs": runs[d]}
        for d, k in PANELS
        for n in plan.pick([1000, 2000, 4000], [1000, 2000, 4000, 10_000])
    ]
    return ours + [
        {"d": d, "k": k, "n": n, "draw": draw, "method": name}
        for d, k in PANELS
        for n in plan.pick([300, 1000], [300, 1000, 3000, 10_000])
        for draw in range(plan.pick(1, 5))
        for name in BY_NAME
        if name not in LEFT_OUT and n <= LIMITS.get(name, ANY)[plan.full] and plan.wants(name)
    ]


def draw_data(d: int, k: int, n: int, draw: int, plan: Plan) -> tuple[GMMUB, Floats, Labels]:
    """Model and points of one run; every cluster gets two points at least."""
    sigmas = [1.0, 2.0, 3.0][:k]
    for retry in range(1000):
        rng = plan.rng(d, k, n, draw, retry)
        model = GMMUB.draw(k, d, sigmas, WEIGHT, D=RADIUS[d], sigma_max=SIGMA_MAX, rng=rng)
        X, y = model.sample(n, rng=rng)
        if min(np.bincount(y[y >= 0], minlength=k)) >= 2:
            return model, X, y
    msg = f"n = {n} is too small"
    raise AssertionError(msg)


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Mean errors."""
    d, k, n = cell["d"], cell["k"], cell["n"]
    if "method" not in cell:
        return [_ours(d, k, n, run, plan) for run in range(cell["runs"])]
    model, X, _ = draw_data(d, k, n, cell["draw"], plan)
    found = best(
        BY_NAME[cell["method"]](plan.seed),
        X,
        k,
        lambda trial: -mean_error_of(trial, X, model.means),
    )
    return [{"error": -found.value, "setting": found.setting}]


def _ours(d: int, k: int, n: int, run: int, plan: Plan) -> Row:
    model, X, y = draw_data(d, k, n, run, plan)
    found = CRLM(SIGMA_MAX, max_clusters=k, alpha=None).fit(X)
    (line,) = Supervised(y).trials(X, k)
    return {
        "draw": run,
        "method": "CRLM",
        "error": mean_error(model.means, found.cluster_centers_),
        "supervised": mean_error(model.means, line.means),  # type: ignore[arg-type]
        "conditions": conditions_hold(model, X, y),
    }


def conditions_hold(model: GMMUB, X: Floats, y: Labels) -> bool:
    """C1: no negative within R of a positive. C2: positives within sigma_j sqrt(dG) of mu_j."""
    positive, j = y >= 0, y[y >= 0]
    R = math.sqrt(sq_cutoff(SIGMA_MAX, model.d))
    reach = np.linalg.norm(X[positive] - model.means[j], axis=1)
    limits = np.sqrt([sq_cutoff(float(sigma), model.d) for sigma in model.sigmas])
    return bool(_least_distance(X[positive], X[~positive]) >= R and (reach < limits[j]).all())


def _least_distance(A: Floats, B: Floats) -> float:
    """Smallest distance between rows of A and of B; digits are few, and R is far from it."""
    sq_a, sq_b = np.square(A).sum(axis=1), np.square(B).sum(axis=1)
    sq = sq_a[:, np.newaxis] + sq_b - 2.0 * (A @ B.T)
    return math.sqrt(max(0.0, float(sq.min())))


def report(rows: list[Row], plan: Plan) -> Page:
    """Nine panels; slopes of ours, and where each competitor ends."""
    ours = [row for row in rows if "supervised" in row]
    held = [row for row in ours if row["conditions"]]
    worst = max(_difference(row) for row in held)
    slopes = {panel: _slope(ours, *panel) for panel in PANELS}
    off = max(abs(value + 0.5) for value in slopes.values())
    allowed = plan.pick(0.15, 0.05)
    few = min(len(select(held, d=d, k=k)) / len(select(ours, d=d, k=k)) for d, k in PANELS)
    checks = [
        Check("in all nine panels CRLM's error is the supervised one whenever C1 and C2 hold",
              f"largest relative difference {worst:.1e} in {len(held)} of {len(ours)} runs",
              worst < 1e-9),
        Check("C1 and C2 hold in most runs of every panel",
              f"in {few:.0%} of the runs of the worst panel", few > 0.5),
        Check(f"the slope of log error against log n is within {allowed} of -1/2 in every panel",
              ", ".join(f"{value:.3f}" for value in slopes.values()), off <= allowed),
    ]  # fmt: skip
    claims = [
        Claim("CRLM always converges to the supervised line, at the rate n^(-1/2).",
              f"It is on that line whenever C1 and C2 hold; slopes {min(slopes.values()):.3f} to "
              f"{max(slopes.values()):.3f}.", "yes"),
    ]  # fmt: skip
    at_line = _at_the_line(rows, plan)
    if at_line:
        claims += _claims_about_others(at_line)
    notes = [
        "Weights 0.01, sigma 1, 2, 3, sigma_max 10; D = 300 for d = 10, where 100 would let "
        "background points into the balls, and D = 100 otherwise. Runs in which a cluster gets "
        "fewer than two points are drawn again. A competitor's estimates are its own means or "
        "those of its labels, the better of the two, and of more than k the best k count.",
    ]
    tables = [_table(rows, plan)] if at_line else []
    return Page(claims, checks, tables, {"convergence": _figure(rows, ours)}, notes)


def _claims_about_others(at_line: dict[str, int]) -> list[Claim]:
    return [
        Claim("DBSCAN, k-means and CL reach the line in some panels.",
              "Within 5 % of it at the largest n run, panels of nine: "
              + ", ".join(f"{name} {hits}" for name, hits in at_line.items()) + ".",
              _agree([name for name in ("DBSCAN", "k-means", "CL") if at_line.get(name)])),
        Claim("Tensor decomposition and t-SNE never reach it; TD cannot be run at d = 1000.",
              f"TD reaches it in {at_line.get('TD', 0)} panels, t-SNE in "
              f"{at_line.get('t-SNE', 0)}. Without forming d x d x d arrays TD takes seconds at "
              "d = 1000.",
              "yes" if not at_line.get("TD", 0) + at_line.get("t-SNE", 0) else "in part"),
    ]  # fmt: skip


def _table(rows: list[Row], plan: Plan) -> Table:
    names = in_order(_competitors(rows))
    lines = [
        (f"{d}, {k}", *(f"{_ratio(rows, name, d, k, plan):.3g}" for name in names))
        for d, k in PANELS
    ]
    title = "Mean error over the supervised error, at the largest n run"
    return Table(title, ("d, k", *names), lines)


def _agree(on_line: list[str]) -> str:
    names = " and ".join(on_line) or "none of them"
    return "yes" if len(on_line) == 3 else f"here {names}, at the setting the truth likes best"


def _difference(row: Row) -> float:
    if row["error"] is None:
        return math.inf
    return float(abs(row["error"] - row["supervised"]) / row["supervised"])


def _slope(ours: list[Row], d: int, k: int) -> float:
    part = select(ours, d=d, k=k)
    sizes = sorted(distinct(part, "n"))
    return slope(sizes, [mean(select(part, n=n), "error") for n in sizes])


def _competitors(rows: list[Row]) -> list[str]:
    return [name for name in distinct(rows, "method") if name != "CRLM"]


def _ratio(rows: list[Row], method: str, d: int, k: int, plan: Plan) -> float:
    """Error of a method over the supervised one of the same data, at the largest n."""
    part = [r for r in select(rows, d=d, k=k, method=method) if r["error"] is not None]
    if not part:
        return math.nan
    n = max(row["n"] for row in part)
    lines = [(row, _line(d, k, n, row["draw"], plan)) for row in select(part, n=n)]
    return float(np.mean([row["error"] / line for row, line in lines]))


@cache
def _line(d: int, k: int, n: int, draw: int, plan: Plan) -> float:
    """Supervised error of one draw."""
    model, X, y = draw_data(d, k, n, draw, plan)
    return mean_error(model.means, means_of(X, y))


def _at_the_line(rows: list[Row], plan: Plan) -> dict[str, int]:
    """In how many panels each competitor is on the supervised line of the same data."""
    return {
        name: sum(_ratio(rows, name, d, k, plan) < 1.05 for d, k in PANELS)
        for name in in_order(_competitors(rows))
    }


def _figure(rows: list[Row], ours: list[Row]) -> Any:
    figure, axes = new_figure(3, 3, width=4.0, height=3.2)
    for ax, (d, k) in zip(axes.ravel(), PANELS, strict=True):
        for method in in_order(_competitors(rows)):
            _curve(ax, select(rows, d=d, k=k, method=method), "error", method)
        mine = select(ours, d=d, k=k)
        _curve(ax, mine, "error", "CRLM")
        _curve(ax, mine, "supervised", "Supervised")
        ax.set(xscale="log", yscale="log", title=f"d = {d}, k = {k}", xlabel="n")
        sizes = sorted({row["n"] for row in rows})
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes], fontsize="small")
        ax.set_xticks([], minor=True)
    for ax in axes[:, 0]:
        ax.set_ylabel("mean error")
    common_legend(figure, axes)
    return figure


def _curve(ax: Any, rows: list[Row], key: str, method: str) -> None:
    sizes = sorted({row["n"] for row in rows if row[key] is not None})
    ax.plot(sizes, [mean(select(rows, n=n), key) for n in sizes], **style(method))


CONVERGENCE = Study("convergence", "Convergence of the means", "fig:loglog", cells, work, report)
