"""Draw docs/engine.png: the boxes of a real search, and what each step leaves of all pairs."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from crlm.bench.data import gmmub
from crlm.loss import sq_cutoff
from crlm.search import pairs_within
from crlm.search.blocks import Blocks
from crlm.search.filter import frame
from crlm.search.plan import Plan, make_plan, near_share

OUT = Path(__file__).parent.parent / "docs" / "engine.png"
SKIPPED, LOOKED_AT, CHOSEN = "#c8ccd2", "#5b8db8", "#c0392b"


def main() -> None:
    X, cutoff = gmmub(20_000, 10).X, sq_cutoff(10.0, 10)
    plan = make_plan(X, frame(X, cutoff), near_share(X, cutoff))
    blocks = Blocks.prepare(X, cutoff, plan, 1)
    figure = Figure(figsize=(11, 4.4), layout="constrained", dpi=90)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    draw_boxes(left, plan)
    draw_shares(right, blocks, pairs_within(X, cutoff, memory_limit=10**9).n_pairs)
    figure.savefig(OUT)


def draw_boxes(ax, plan: Plan) -> None:
    """Runs or tiles of rows as boxes along two axes; those that one of them is compared with."""
    runs = plan.tiles or plan.runs
    chosen = 2 * runs.n_runs // 9
    near = runs.sq_gaps(chosen, 0) < plan.reach
    for b, (low, high) in enumerate(zip(runs.low, runs.high, strict=True)):
        colour = CHOSEN if b == chosen else LOOKED_AT if near[b] else SKIPPED
        ax.add_patch(Rectangle(low, *(high - low), fc=colour, ec="white", lw=0.3))
    ax.autoscale()
    ax.set_aspect("equal")
    ax.set(xlabel="first direction, in units near R", ylabel="second direction")
    ax.set_title(
        f"Each box holds {runs.size} rows. The red one is compared\n"
        f"with the {near.sum() - 1} blue ones; {(~near).sum()} are farther than R",
        fontsize=10,
    )


def draw_shares(ax, blocks: Blocks, n_near: int) -> None:
    """What each step leaves of all pairs."""
    plan, n = blocks.plan, len(blocks.X)
    boxes = plan.tiles or plan.runs
    looked_at = sum(int((boxes.sq_gaps(b, b) < plan.reach).sum()) for b in range(boxes.n_runs))
    passed = sum(len(i) for b in range(plan.runs.n_runs) for i, _ in blocks.later_pairs(b))
    counts = [n * (n - 1) // 2, looked_at * boxes.size**2, passed, n_near]
    columns = plan.frame.width
    names = [
        "all pairs",
        "not excluded by boxes:\nbounded in float32",
        f"not excluded by its {columns} columns:\nmeasured in float64",
        "closer than R",
    ]
    bars = ax.barh(names[::-1], counts[::-1], color=[CHOSEN, LOOKED_AT, LOOKED_AT, SKIPPED])
    ax.bar_label(bars, [f"{count:,}" for count in counts[::-1]], padding=4, fontsize=9)
    ax.set(xscale="log", xlim=(counts[-1] / 20, counts[0] * 40), xlabel="pairs of rows")
    ax.set_title(f"What each step leaves of {n:,} rows, 10 columns", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
