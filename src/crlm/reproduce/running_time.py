"""The running-time column of Table `tab:alg`, measured: how time grows with n."""

from __future__ import annotations

from crlm.baselines import Given, Method
from crlm.model import GMMUB
from crlm.reproduce.best import cpu_seconds
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

K, DIM = 3, 20
PRINTED = {
    "k-means": "n²", "DBSCAN": "n²", "CL": "n³", "EM": "n t", "EM-GMMUB": "n t", "SC": "n³",
    "TD": "n³", "KNNCLUST": "n log n", "CRLM": "n²",
}  # fmt: skip
LONGER = ("CRLM", "CRLM()", "k-means", "EM", "EM-GMMUB", "TD")


def cells(plan: Plan) -> list[Cell]:
    """Each method on growing data; those that need no n x n matrix on more of them."""
    short = plan.pick([500, 1000, 2000], [1000, 2000, 4000])
    long = plan.pick([1000, 2000, 4000, 8000], [4000, 8000, 16_000, 32_000, 64_000])
    return [
        {"method": name, "n": n} for name in ("CRLM", *filter(plan.wants, BY_NAME))
        for n in (long if name in LONGER else short)
    ]  # fmt: skip


def work(cell: Cell, plan: Plan) -> list[Row]:
    """Processor time at the usual setting."""
    model = GMMUB.draw(K, DIM, [1, 2, 3], 0.01, D=100, sigma_max=10, rng=plan.rng(1))
    X, _ = model.sample(cell["n"], rng=plan.rng(cell["n"]))
    name = cell["method"]
    method: Method = Given(10.0) if name == "CRLM" else BY_NAME[name](plan.seed)
    return [{"seconds": cpu_seconds(lambda: method.fit_predict(X, K), plan.pick(1, 3))}]


def report(rows: list[Row], plan: Plan) -> Page:
    """Exponents beside the orders that the paper prints."""
    figure, axes = new_figure(1, 1, width=6.0, height=4.2)
    ax = axes[0, 0]
    lines, exponents = [], {}
    for method in in_order(distinct(rows, "method")):
        part = select(rows, method=method)
        sizes = sorted(distinct(part, "n"))
        times = [max(mean(select(part, n=n), "seconds"), 1e-6) for n in sizes]
        ax.plot(sizes, times, **style(method))
        exponents[method] = slope(sizes, times)
        lines.append(
            (method, f"{exponents[method]:.2f}", PRINTED.get(method, "–"),
             f"{sizes[0]:,} to {sizes[-1]:,}")
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="processor time, s")
    sizes = sorted(distinct(rows, "n"))
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.set_xticks([], minor=True)
    common_legend(figure, axes, columns=4)
    ours = exponents["CRLM"]
    checks = [
        Check("CRLM's time grows no faster than the printed n²", f"exponent {ours:.2f}",
              ours <= 2.1),
        Check("every method that was asked for was measured", f"{len(exponents)} methods",
              set(exponents) >= {"CRLM", *filter(plan.wants, BY_NAME)}),
    ]  # fmt: skip
    claims = [
        Claim("CRLM takes O(n²).", f"n^{ours:.2f} here; the search prunes most pairs.",
              "yes, as an upper bound"),
    ]  # fmt: skip
    if {"TD", "SC"} <= set(exponents):
        claims.append(
            Claim("Tensor decomposition and spectral clustering take O(n³).",
                  f"n^{exponents['TD']:.2f} and n^{exponents['SC']:.2f}: moments need one pass "
                  "over the rows, and of the affinity's eigenvectors only the leading ones are "
                  "needed.",
                  "no" if max(exponents["TD"], exponents["SC"]) < 2.5 else "in part")
        )  # fmt: skip
    table = Table("Growth of time with n", ("method", "exponent here", "printed order", "n"), lines)
    note = (
        f"k = {K}, d = {DIM}, processor time of all threads at one setting: one call, or in a full "
        "run the least of three. At small n fixed costs count, and an exponent is below the order."
    )
    return Page(claims, checks, [table], {"running_time": figure}, [note])


RUNNING_TIME = Study("running_time", "How running time grows", "tab:alg", cells, work, report)
