"""`fig:loss_d`: the robust loss for some widths and some dimensions."""

from __future__ import annotations

import math

import numpy as np

from crlm.loss import G_PAPER, robust_loss, sq_cutoff, total_loss
from crlm.reproduce.drawing import new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, select

WIDTHS = (1.0, 2.0, 3.0)
DIMENSIONS = (1, 10, 100, 1000)


def cells(plan: Plan) -> list[Cell]:
    """One curve each."""
    left = [{"panel": "sigma", "sigma": sigma, "d": 1} for sigma in WIDTHS]
    return left + [{"panel": "d", "sigma": 1.0, "d": d} for d in DIMENSIONS]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Loss at distances up to one and a half radii."""
    sigma, d = cell["sigma"], cell["d"]
    R = math.sqrt(sq_cutoff(sigma, d))
    values = robust_loss(np.square(r := np.linspace(0.0, 1.5 * R, 151)), sigma, d)
    return [{"r": x, "loss": y, "R": R} for x, y in zip(r, values, strict=True)]


def report(rows: list[Row], plan: Plan) -> Page:
    """Curves, and the two facts that the text states."""
    figure, axes = new_figure(1, 2)
    for ax, panel in zip(axes[0], ("sigma", "d"), strict=True):
        for key in dict.fromkeys(row[panel] for row in select(rows, panel=panel)):
            part = [row for row in select(rows, panel=panel) if row[panel] == key]
            ax.plot([p["r"] for p in part], [p["loss"] for p in part], label=f"{panel} = {key:g}")
        ax.set(xlabel="distance from the centre", ylabel="loss")
        ax.legend(fontsize="small")
    axes[0, 0].set_title("d = 1")
    axes[0, 1].set_title("sigma = 1")
    axes[0, 1].set_xscale("symlog", linthresh=0.1)
    outside = all(row["loss"] == 0.0 for row in rows if row["r"] > row["R"] * (1 + 1e-12))
    inside = all(row["loss"] < 0.0 for row in rows if row["r"] < row["R"] * (1 - 1e-12))
    checks = [
        Check("the loss is 0 outside the radius and negative inside", "all points of all curves",
              outside and inside),
        Check("its depth is G = 4 for every sigma and d",
              f"{min(row['loss'] for row in rows):g} at the centre",
              all(row["loss"] == -G_PAPER for row in rows if row["r"] == 0.0)),
        Check("a cost summed over the data is the sum of the losses",
              "three rows, d = 1", total_loss([[0.0], [1.0], [5.0]], [0.0], 1.0) == -7.0),
    ]  # fmt: skip
    claim = Claim(
        "The loss is zero outside a ball of radius sigma sqrt(dG); G = 4.",
        "The same, for sigma 1 to 3 and d 1 to 1000.",
        "yes",
    )
    return Page([claim], checks, figures={"loss": figure})


LOSS = Study("loss", "The robust loss", "fig:loss_d", cells, work, report)
