"""`fig:gaussian_norm`: the norm of a Gaussian vector piles up at sqrt(d)."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from crlm.reproduce.drawing import KIND_COLORS, new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, select
from crlm.theory.tails import chi2_logsf, chi2_logsf_chernoff

DIMENSIONS = (1, 10, 100, 1000)
DEPTHS = (1.5, 2.0, 2.6, 3.0, 4.0, 9.0, 16.0)


def cells(plan: Plan) -> list[Cell]:
    """Densities, and tails against their bounds."""
    tails = [{"part": "tail", "G": G} for G in DEPTHS]
    return [{"part": "density", "d": d} for d in DIMENSIONS] + tails


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Density of the norm over sqrt(d) with a sample's spread, or log tails for many d."""
    if cell["part"] == "tail":
        return [_tail(cell["G"], d) for d in range(1, 201)]
    d = cell["d"]
    r = np.linspace(0.0, 3.0, 601)
    density = math.sqrt(d) * stats.chi(d).pdf(r * math.sqrt(d))
    n = plan.pick(20_000, 200_000)
    sample = np.sqrt(plan.rng(d).chisquare(d, n) / d)
    spread = {"mean": sample.mean(), "std": sample.std(), "n": n}
    return [{"r": x, "density": y} | spread for x, y in zip(r, density, strict=True)]


def _tail(G: float, d: int) -> Row:
    return {
        "d": d,
        "exact": chi2_logsf(G * d, d),
        "printed": math.log(2.0) - d * (G - 1.0) ** 2 / 8.0,
        "corrected": chi2_logsf_chernoff(G * d, d),
    }


def report(rows: list[Row], plan: Plan) -> Page:
    """The figure of the paper, and beside it the lemma that it illustrates."""
    figure, axes = new_figure(1, 2)
    densities, tails = select(rows, part="density"), select(rows, part="tail")
    for d in DIMENSIONS:
        part = select(densities, d=d)
        axes[0, 0].plot([p["r"] for p in part], [p["density"] for p in part], label=f"d = {d}")
    axes[0, 0].set(xlabel="norm / sqrt(d)", ylabel="density", ylim=(0, 10))
    axes[0, 0].legend(fontsize="small")
    at_4 = [row for row in select(tails, G=4.0) if row["d"] <= 40]
    for kind, color in (("exact", "black"), *list(KIND_COLORS.items())[:2]):
        axes[0, 1].plot([t["d"] for t in at_4], [t[kind] for t in at_4], color=color, label=kind)
    axes[0, 1].set(xlabel="dimension d", ylabel="log P(norm² > 4 d)", title="Lemma deltato0, G = 4")
    axes[0, 1].legend(fontsize="small")
    wide = select(densities, d=1000)[0]
    false_at = sorted(row["d"] for row in select(tails, G=4.0) if row["exact"] > row["printed"])
    small_G = [row for row in tails if row["G"] <= 2.6]
    checks = [
        Check(
            "in d = 1000 the norm over sqrt(d) is 1 with a standard deviation of 1 / sqrt(2d)",
            f"{wide['mean']:.4f} and {wide['std']:.4f}, {wide['n']} draws",
            abs(wide["mean"] - 1.0) < 0.002 and abs(wide["std"] * math.sqrt(2000) - 1.0) < 0.03,
        ),
        Check(
            "the corrected bound exp(-(d/2)(G - 1 - log G)) is above the exact tail",
            f"{len(tails)} pairs of d and G",
            all(row["exact"] <= row["corrected"] + 1e-9 for row in tails),
        ),
        Check(
            "the printed bound is above the exact tail for G up to 2.6",
            f"{len(small_G)} pairs",
            all(row["exact"] <= row["printed"] + 1e-9 for row in small_G),
        ),
        Check(
            "at G = 4 the printed bound is below the exact tail from d = 12 on",
            f"d = {false_at[0]} to {false_at[-1]}" if false_at else "nowhere",
            false_at == list(range(12, 201)),
        ),
    ]
    claims = [
        Claim("norm / sqrt(d) is concentrated around 1 for large d.",
              f"Standard deviation {wide['std']:.4f} at d = 1000.", "yes"),
        Claim("P(norm² > dG) < 2 exp(-d (G - 1)² / 8) for all G >= 1 (Lemma deltato0).",
              "False for G above 2.62; at G = 4 from d = 12 on. The quadratic exponent is that of "
              "small deviations; the right one is (d/2)(G - 1 - log G).", "no"),
    ]  # fmt: skip
    return Page(claims, checks, figures={"gaussian_norm": figure})


GAUSSIAN_NORM = Study(
    "gaussian_norm", "Norms of Gaussian vectors", "fig:gaussian_norm", cells, work, report
)
