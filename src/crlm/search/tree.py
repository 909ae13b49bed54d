"""All pairs in low dimension: k-d trees propose, float64 decides.

In few columns a tree finds near pairs several times faster than boxes and products; from eight
on it visits most of its leaves. Rows are sorted along their widest column and cut
into slabs; each slab gets a tree of its own, which holds also the rows within the radius behind
it. So slabs are searched in parallel, and what they work on stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from crlm.search.budget import Budget
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import Found, Pairs, assemble, found
from crlm.search.parallel import Progress, in_parallel

# Columns up to which a tree is faster than products, and than the compiled loop.
MAX_D = {False: 6, True: 3}
# The tree sums in its own order; a radius longer by this factor makes sure that it proposes
# every pair that we would accept.
_SLACK = 1.0 + 1e-9
_N_PROBES = 100
_N_SPREAD = 10_000  # rows that tell which column is the widest
SLAB = 1 << 15  # rows: with their tree and pairs some megabytes
# If all pairs lie in one slab: the tree's own list, which doubles as it grows, and a copy.
TREE_BYTES_PER_PAIR = 96


class Slab(NamedTuple):
    """Places from `start` to `stop`, and on to `end` those within the radius of them."""

    start: int
    stop: int
    end: int


def tree_workspace(n: int, d: int) -> int:
    """Bytes of the trees and of a sorted copy of the rows."""
    return n * (16 * d + 64) + (1 << 24)


def find_pairs_by_tree(
    X: Floats,
    sq_cutoff: float,
    budget: Budget,
    *,
    n_jobs: int,
    progress: Progress | None = None,
    expected: float = 0.0,
    slab_size: int = SLAB,
) -> Pairs:
    """All pairs of rows closer than the radius, of which there are about `expected`.

    Raises
    ------
    MemoryLimitError
        Before the pairs take more than the budget allows.
    """
    n = len(X)
    axis = int(np.ptp(X[:: -(-n // _N_SPREAD)], axis=0).argmax())
    order = np.argsort(X[:, axis])
    sorted_X = X.take(order, axis=0)
    radius = math.sqrt(sq_cutoff) * _SLACK

    def task(slab: Slab) -> Found:
        rows = sorted_X[slab.start : slab.end]
        i, j = _proposed(rows, radius, budget)
        sq_dist = sq_distances_of_pairs(rows, i, rows, j)
        # Pairs of rows behind the slab belong to a later one.
        near = np.flatnonzero((sq_dist < sq_cutoff) & (i < slab.stop - slab.start))
        i, j = i[near] + slab.start, j[near] + slab.start
        return found(range(slab.start, slab.stop), i, j, sq_dist[near], n)

    slabs = list(cut_into_slabs(sorted_X[:, axis], radius, slab_size))
    return assemble(in_parallel(task, slabs, n_jobs, progress), order, budget.check, expected)


def cut_into_slabs(x: NDArray[np.floating], radius: float, size: int) -> Iterator[Slab]:
    """Cut sorted numbers into slabs of at least `size`, and of three times what is near behind.

    >>> list(cut_into_slabs(np.arange(10.0), 1.5, size=4))
    [Slab(start=0, stop=4, end=5), Slab(start=4, stop=8, end=9), Slab(start=8, stop=10, end=10)]
    """
    start, n = 0, len(x)
    while start < n:
        stop = min(start + size, n)
        while 3 * ((end := _end(x, stop, radius)) - stop) > stop - start:
            stop = min(2 * stop - start, n)
        yield Slab(start, stop, end)
        start = stop


def _end(x: NDArray[np.floating], stop: int, radius: float) -> int:
    """How many of the sorted numbers lie within the radius of the first `stop` of them."""
    return int(np.searchsorted(x, float(x[stop - 1]) + radius, side="right"))


def _proposed(
    rows: Floats, radius: float, budget: Budget
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs that a tree of these rows finds, each once, the lower row first."""
    tree = cKDTree(rows, balanced_tree=False)  # faster to build, and as fast to ask
    probes = rows[:: -(-len(rows) // _N_PROBES)]
    with_self = tree.query_ball_point(probes, radius, return_length=True)
    budget.check(len(rows) * float(with_self.mean() - 1) / 2, doubt=0.2)
    i, j = tree.query_pairs(radius, output_type="ndarray").T
    return i, j
