"""`fig:find_k`: the number of clusters by running until a ball holds one point."""

from __future__ import annotations

import numpy as np
from scipy import stats

from crlm.estimator import CRLM
from crlm.model import GMMUB
from crlm.reproduce.drawing import new_figure
from crlm.reproduce.study import Cell, Check, Claim, Page, Plan, Row, Study, select

K, WEIGHT, D, SIGMA_MAX = 3, 0.01, 1000.0, 10.0
COLORS = {10: "#0072b2", 100: "#009e73", 1000: "#cc79a7"}


def cells(plan: Plan) -> list[Cell]:
    """20 runs for each n and d, as in the paper."""
    sizes = plan.pick([50, 100, 200, 400, 800, 1600], [50, 100, 200, 400, 800, 1600, 3200, 6400])
    return [{"d": d, "n": n, "runs": 20} for d in COLORS for n in sizes]


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Clusters found in each run, without any limit on their number."""
    return [{"run": run, "k_hat": _k_hat(cell, plan, run)} for run in range(cell["runs"])]


def _k_hat(cell: Cell, plan: Plan, run: int) -> int:
    d, n = cell["d"], cell["n"]
    model = GMMUB.draw(K, d, [1, 2, 3], WEIGHT, D=D, sigma_max=SIGMA_MAX, rng=plan.rng(d, n, run))
    X, _ = model.sample(n, rng=plan.rng(d, n, run, 1))
    return int(CRLM(SIGMA_MAX, alpha=None).fit(X).n_clusters_)


def expected(n: int) -> float:
    """Clusters that get two points or more, on average: what no method can pass."""
    return float(K * stats.binom(n, WEIGHT).sf(1))


def report(rows: list[Row], plan: Plan) -> Page:
    """Average of the estimates, beside how many clusters there are to be seen at all."""
    figure, axes = new_figure(1, 1, width=5.5)
    ax = axes[0, 0]
    sizes = sorted({row["n"] for row in rows})
    least, last = 1.0, []
    for d, color in COLORS.items():
        averages = []
        for n in sizes:
            found = [row["k_hat"] for row in select(rows, d=d, n=n)]
            averages.append(float(np.mean(found)))
            # Cluster by cluster, seen or not seen; too many would be more than there are.
            test = stats.binomtest(min(sum(found), K * len(found)), K * len(found), expected(n) / K)
            least = min(least, float(test.pvalue))
            last += found if n == sizes[-1] else []
        ax.plot(sizes, averages, marker="o", color=color, label=f"d = {d}")
    ax.plot(sizes, [expected(n) for n in sizes], "--", color="black",
            label="clusters with two points")  # fmt: skip
    ax.set(xscale="log", xlabel="n", ylabel="average estimated k", ylim=(0, 3.5))
    ax.legend(fontsize="small")
    checks = [
        Check(f"at n = {sizes[-1]} every run finds 3 clusters", f"{last.count(3)} of {len(last)}",
              last.count(3) == len(last)),
        Check("averages are those of the clusters that get two points or more",
              f"least p-value of {len(COLORS) * len(sizes)} binomial tests {least:.3f}",
              least * len(COLORS) * len(sizes) > 0.001 and max(row["k_hat"] for row in rows) <= K),
    ]  # fmt: skip
    claim = Claim(
        "The estimate converges to k = 3, and d has little to do with it (20 runs).",
        "It does. The estimate is the number of clusters with two points, which is binomial: n "
        "matters, d does not.",
        "yes",
    )
    return Page([claim], checks, figures={"find_k": figure})


FIND_K = Study("find_k", "Estimating the number of clusters", "fig:find_k", cells, work, report)
