"""All pairs closer than the radius, as rows of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Weights = NDArray[np.int64] | NDArray[np.float64]
Charge = tuple[NDArray[np.integer], NDArray[np.int64]]  # rows, and the loss that each gets
Part = Callable[[], list[Charge]]  # a share of the work, to be called in any thread


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

    def entries(
        self, rows: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.intp]]]:
        """Where the neighbours of some rows are, and whose they are.

        For a few rows at a time, so that what is gathered stays small.
        """
        for part in np.split(rows, cuts(self.indptr[rows + 1] - self.indptr[rows])):
            first = self.indptr[part]
            degrees = self.indptr[part + 1] - first
            skip = np.repeat(first - np.concatenate([[0], np.cumsum(degrees)])[:-1], degrees)
            yield np.arange(len(skip)) + skip, np.repeat(part, degrees)

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs."""
        return len(self.indices) // 2


# What is alive at once while pairs are found and `assemble` runs, per unordered pair: the pair
# as it was found (16 bytes), or twice sorted by row (24), in both its rows (24), and the places
# of half of them (24).
BYTES_PER_PAIR = 72


def index_dtype(n: int) -> type[np.integer]:
    """Smallest type that can number `n` rows."""
    return np.int32 if n < 2**31 else np.int64


def assemble(found: list[Found], n: int) -> Pairs:
    """Sort pairs by row, both ways round. Empties `found` to free memory on the way.

    The result does not depend on the order in which the pairs were found.
    """
    # The upper triangle by row; two transpositions sort the columns of each row, in time
    # proportional to the pairs.
    lower = _upper_triangle(found, n).T.tocsr()
    upper = lower.T.tocsr()
    indptr = lower.indptr.astype(np.int64) + upper.indptr
    indices = np.empty(int(indptr[-1]), dtype=index_dtype(n))
    sq_dist = np.empty(int(indptr[-1]), dtype=np.float64)
    # A row's neighbours: those before it, then those after it.
    for part, start in ((lower, upper.indptr[:-1]), (upper, lower.indptr[1:])):
        at = np.arange(part.nnz) + np.repeat(start, np.diff(part.indptr))
        indices[at], sq_dist[at] = part.indices, part.data
    return Pairs(indptr, indices, sq_dist)


def _upper_triangle(found: list[Found], n: int) -> sparse.csr_array:
    total = sum(len(part.i) for part in found)
    row, col = np.empty((2, total), dtype=index_dtype(n))
    sq_dist = np.empty(total, dtype=np.float64)
    at = 0
    while found:
        i, j, sq = found.pop()
        place = slice(at, at + len(i))
        np.minimum(i, j, out=row[place])
        np.maximum(i, j, out=col[place])
        sq_dist[place] = sq
        at += len(i)
    return sparse.coo_array((sq_dist, (row, col)), shape=(n, n)).tocsr()


def weigh(loss: NDArray[np.int64], weights: Weights) -> NDArray[np.int64]:
    """Loss of a row that stands for `weights` points, again in whole quanta.

    Whole weights multiply exactly, so that a weight of 3 is the same as three copies.
    """
    if np.issubdtype(weights.dtype, np.integer):
        return np.asarray(loss * weights, dtype=np.int64)
    return np.rint(loss * weights).astype(np.int64)


_ENTRIES = 1 << 18


def cuts(degrees: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where to cut rows so that each part has some 100,000 neighbours, or is one row."""
    part = np.cumsum(degrees) // _ENTRIES
    return np.flatnonzero(np.diff(part)) + 1
