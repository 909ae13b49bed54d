"""`fig:find_sigma_max_d10_D60`: scores against sigma_max."""

from __future__ import annotations

import numpy as np

from crlm.estimator import CRLM
from crlm.reproduce.drawing import KIND_COLORS, new_figure
from crlm.reproduce.region import GOOD, Setting
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, distinct, mean, select
from crlm.scores import f_measure, matched_accuracy, purity

SETTING = Setting(10_000, 20, 50.0, weights=(0.1,), sigmas=(1.0,))


def cells(plan: Plan) -> list[Cell]:
    """One for each bandwidth."""
    runs, steps = plan.pick(2, 20), plan.pick(24, 60)
    return [{"sigma_max": float(s), "runs": runs} for s in np.geomspace(0.4, 40.0, steps)]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Scores of every run."""
    rows = []
    for run in range(cell["runs"]):
        X, y = SETTING.model.sample(SETTING.n, rng=plan.rng(run))
        labels = CRLM(cell["sigma_max"], max_clusters=1, alpha=None).fit(X).labels_
        scores = {"F": f_measure(y, labels), "purity": purity(y, labels)}
        rows.append({"run": run, "accuracy": matched_accuracy(y, labels)} | scores)
    return rows


def report(rows: list[Row], plan: Plan) -> Page:
    """Curves of the scores, and what the theorems promise."""
    sigmas = distinct(rows, "sigma_max")
    curves = {key: [mean(select(rows, sigma_max=s), key) for s in sigmas]
              for key in ("F", "accuracy", "purity")}  # fmt: skip
    figure, axes = new_figure(1, 1, width=6.0)
    ax = axes[0, 0]
    for (key, values), line in zip(curves.items(), ("-", "--", ":"), strict=True):
        label = {"F": "F-measure", "accuracy": "Rand Index of the paper"}.get(key, key)
        color = "#d55e00" if key == "F" else "#444444"
        ax.plot(sigmas, values, line, color=color, label=label)
    regions = {kind: SETTING.interval(kind, 4.0) for kind in ("printed", "sharp")}
    for i, (kind, region) in enumerate(regions.items()):
        ends, height, color = [region.lower, region.upper], 0.1 + 0.08 * i, KIND_COLORS[kind]
        ax.plot(ends, [height] * 2, linewidth=6, color=color, label=f"promised, {kind}")
    ax.set(xscale="log", xlabel="sigma_max", ylabel="score", ylim=(0, 1.03))
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    good = [s for s, F in zip(sigmas, curves["F"], strict=True) if F >= GOOD]
    inside = [s for s in sigmas if regions["sharp"].lower <= s <= regions["sharp"].upper]
    found = f"{good[0]:.2f} to {good[-1]:.2f}" if good else "nowhere"
    checks = [
        Check("F is at least 0.99 at every bandwidth of the sharp region",
              f"{regions['sharp'].lower:.2f} to {regions['sharp'].upper:.2f}, found {found}",
              bool(inside) and set(inside) <= set(good)),
        Check("F falls below 0.5 at the largest bandwidth, where all points are one ball",
              f"{curves['F'][-1]:.3f}", curves["F"][-1] < 0.5),
    ]  # fmt: skip
    ratio = good[-1] / good[0] if good else 1.0
    claim = Claim(
        "The F-measure is close to 1 for a large range of sigma_max (20 runs).",
        f"At least 0.99 for sigma_max {found}, a factor of {ratio:.0f}.",
        "yes",
    )
    note = f"k = 1, d = 20, n = 10,000, D = 50, sigma = 1, weight 0.1; {rows[0]['runs']} runs."
    return Page([claim], checks, figures={"sigma_max": figure}, notes=[note])


SIGMA_MAX = Study(
    "sigma_max", "Scores against sigma_max", "fig:find_sigma_max_d10_D60", cells, work, report
)
