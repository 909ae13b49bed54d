"""All pairs closer than the radius, as rows of neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Weights = NDArray[np.int64] | NDArray[np.float64]


class Found(NamedTuple):
    """Some pairs ``i < j`` with their squared distances, as an engine finds them."""

    i: NDArray[np.integer]
    j: NDArray[np.integer]
    sq_dist: NDArray[np.float64]


class Pairs(NamedTuple):
    """Neighbours of every row: ``indices[indptr[i]:indptr[i + 1]]``, ascending, without i.

    Each pair stands in both its rows.
    """

    indptr: NDArray[np.int64]  # (n + 1,)
    indices: NDArray[np.integer]  # (2 * n_pairs,)
    sq_dist: NDArray[np.float64]  # (2 * n_pairs,)

    def row(self, i: int) -> slice:
        """Where the neighbours of row `i` are."""
        return slice(int(self.indptr[i]), int(self.indptr[i + 1]))

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs."""
        return len(self.indices) // 2


# Largest sum of what is alive at once while `assemble` runs, per unordered pair: the pairs as
# both (row, column, distance) and sorted by row, plus room for the engine's own output.
BYTES_PER_PAIR = 64


def index_dtype(n: int) -> type[np.integer]:
    """Smallest type that can number `n` rows."""
    return np.int32 if n < 2**31 else np.int64


def assemble(found: list[Found], n: int) -> Pairs:
    """Sort pairs by row, both ways round. Empties `found` to free memory on the way.

    The result does not depend on the order in which the pairs were found.
    """
    total = sum(len(part.i) for part in found)
    row = np.empty(2 * total, dtype=index_dtype(n))
    col = np.empty_like(row)
    sq_dist = np.empty(2 * total, dtype=np.float64)
    at = 0
    while found:
        i, j, sq = found.pop()
        for a, b in ((i, j), (j, i)):
            row[at : at + len(a)], col[at : at + len(a)] = a, b
            sq_dist[at : at + len(a)] = sq
            at += len(a)
    graph = sparse.coo_array((sq_dist, (row, col)), shape=(n, n)).tocsr()
    graph.sort_indices()
    return Pairs(graph.indptr.astype(np.int64), graph.indices, graph.data)


def weigh(loss: NDArray[np.int64], weights: Weights) -> NDArray[np.int64]:
    """Loss of a row that stands for `weights` points, again in whole quanta.

    Whole weights multiply exactly, so that a weight of 3 is the same as three copies.
    """
    if np.issubdtype(weights.dtype, np.integer):
        return np.asarray(loss * weights, dtype=np.int64)
    return np.rint(loss * weights).astype(np.int64)
