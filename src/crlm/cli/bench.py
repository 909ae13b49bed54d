"""``crlm bench``: this machine's time beside that of other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import number, remark, say, say_json

if TYPE_CHECKING:
    from crlm.bench import Row

EPILOG = """\b
Examples:
  crlm bench
  crlm bench --rows 40000 --memory
  crlm bench --json > here.json

FAISS and contrib HDBSCAN are compared when they are installed: pip install 'crlm[bench]'
"""
HEADS = ("work", "data", "peer", "crlm s", "peer s", "ratio", "answers that agree", "peak memory")
WIDTHS = (5, 36, 24, 7, 7, 6, 22)


@click.command(epilog=EPILOG)
@click.option(
    "--rows",
    type=click.IntRange(1000),
    default=10_000,
    show_default=True,
    help="Rows of the data. The slow peers get half of them, trees in two dimensions ten times.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Calls of which the median counts; what takes seconds is called once.",
)
@click.option(
    "--memory", is_flag=True, help="Also measure peak memory, each program in its own process."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(rows: int, repeats: int, memory: bool, as_json: bool) -> int:
    """Compare search and fit with exact peers on this machine, in about a minute.

    The ratio is the peer's time over ours: 10 means that crlm is ten times as fast. Both run one
    after the other in this process, on all cores, and their answers are compared: near pairs, or
    rows that lie in clusters. HDBSCAN and OPTICS answer another question and may differ.
    """
    from crlm.bench import time_over_floor
    from crlm.bench.data import gmmub

    if not as_json:
        say(line(HEADS))
    found = []
    for row in run(rows, repeats, memory):
        found.append(row)
        if not as_json:
            say(line(cells(row)))
    floor = time_over_floor(gmmub(rows, 100), repeats)
    if as_json:
        say_json({"schema": "crlm.bench/1", "rows": [record(row) for row in found], "floor": floor})
    else:
        say(f"search over the bare matrix product of its filter, {rows:,} x 100: {number(floor)}")
    return 0


def run(rows: int, repeats: int, memory: bool) -> Iterator[Row]:
    """Every comparison, as it is done."""
    from crlm.bench import compare, missing
    from crlm.bench.data import embeddings, gmmub, uniform

    cases = [
        ("pairs", gmmub(rows, 10), ["faiss", "radius_neighbors", "query_pairs"]),
        ("pairs", gmmub(rows, 100), ["faiss", "radius_neighbors"]),
        ("pairs", embeddings(rows // 2, 768), ["faiss"]),
        ("pairs", uniform(10 * rows, 2), ["query_pairs"]),
        ("fit", gmmub(rows, 100), ["dbscan"]),
        ("fit", gmmub(rows // 2, 100), ["hdbscan", "contrib", "optics"]),
    ]
    absent = sorted({name for task, _, peers in cases for name in missing(task, peers)})
    if absent:
        remark(f"note: not installed, so left out: {', '.join(absent)}")
    for task, data, peers in cases:
        yield from compare(task, data, peers, repeats, memory=memory)


def cells(row: Row) -> list[str]:
    """One comparison in words."""
    noun = "pairs" if row.task == "pairs" else "rows"
    all_same = row.n_same == row.n_all
    agree = f"all {row.n_all:,} {noun}" if all_same else f"{row.n_same:,} of {row.n_all:,}"
    times = [number(value) for value in (row.seconds, row.peer_seconds, row.ratio)]
    return [row.task, row.data, row.peer, *times, agree, in_megabytes(row)]


def in_megabytes(row: Row) -> str:
    """Peak memory of both, if it was measured."""
    if row.memory is None or row.peer_memory is None:
        return ""
    return f"{row.memory / 1e6:,.0f} and {row.peer_memory / 1e6:,.0f} MB"


def line(words: Any) -> str:
    """Cells in columns of fixed width, so that each line can be shown when it is ready."""
    *first, last = words
    padded = [
        word.ljust(width) if width > 10 else word.rjust(width)
        for word, width in zip(first, WIDTHS, strict=True)
    ]
    return "  ".join([*padded, last]).rstrip()


def record(row: Row) -> dict[str, Any]:
    """One comparison for programs."""
    return row._asdict() | {"ratio": row.ratio}
