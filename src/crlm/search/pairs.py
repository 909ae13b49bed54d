"""All pairs closer than the radius, as lists of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Weights = NDArray[np.int64] | NDArray[np.float64]
Counted = NDArray[np.bool_]  # (n,) rows that count as neighbours of others


class Charge(NamedTuple):
    """What some rows get from others."""

    rows: NDArray[np.integer]
    loss: NDArray[np.int64]
    m: NDArray[np.int64]  # neighbours that count


Part = Callable[[], list[Charge]]  # a share of the work, to be called in any thread


class Found(NamedTuple):
    """What one task found: neighbours, at later places, of a few places that follow each other."""

    start: int  # first of these places
    counts: NDArray[np.integer]  # neighbours of each
    indices: NDArray[np.integer]  # places of the neighbours
    sq_dist: NDArray[np.float64]


class Pairs(NamedTuple):
    """Every pair once, at the earlier of its two places.

    Rows are numbered by *place*, a position in the order of the search: near rows are at near
    places, so that what is sorted or gathered stays in the cache. The neighbours of place p at
    later places are ``indices[indptr[p]:indptr[p + 1]]``, in no particular order.
    """

    order: NDArray[np.intp]  # (n,) row at each place
    indptr: NDArray[np.integer]  # (n + 1,)
    indices: NDArray[np.integer]  # (n_pairs,) places
    sq_dist: NDArray[np.float64]  # (n_pairs,)

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs."""
        return len(self.indices)

    def slice_of(self, p: int) -> slice:
        """Where the neighbours of place `p` are."""
        return slice(int(self.indptr[p]), int(self.indptr[p + 1]))

    def degrees(self, counted: Counted) -> NDArray[np.int64]:
        """Number of neighbours of each row that count."""
        n, counts = len(self.order), counted[self.order]
        degrees = np.diff(self.indptr).astype(np.int64)
        if counts.all():
            degrees += np.bincount(self.indices, minlength=n)
        else:
            from_earlier = self.indices[np.repeat(counts, degrees)]
            later = np.zeros(self.n_pairs + 1, dtype=self.indptr.dtype)
            np.cumsum(counts[self.indices], out=later[1:])
            degrees = np.bincount(from_earlier, minlength=n) + np.diff(later[self.indptr])
        by_row = np.empty(n, dtype=np.int64)
        by_row[self.order] = degrees
        return by_row

    def closer(self, sq_cutoff: float) -> Pairs:
        """Those pairs whose squared distance is less than `sq_cutoff`."""
        near = self.sq_dist < sq_cutoff
        kept = np.concatenate([[0], np.cumsum(near)])[self.indptr].astype(self.indptr.dtype)
        return Pairs(self.order, kept, self.indices[near], self.sq_dist[near])

    def in_parts(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
        """Every pair once, a part at a time: its two rows and their squared distance."""
        degrees = np.diff(self.indptr)
        for places in slices(degrees):
            part = slice(int(self.indptr[places.start]), int(self.indptr[places.stop]))
            i = np.repeat(self.order[places], degrees[places])
            yield i, self.order[self.indices[part]], self.sq_dist[part]

    def coincident(self) -> NDArray[np.intp]:
        """Rows that are at distance zero from another one, ascending."""
        at = np.flatnonzero(self.sq_dist == 0.0)
        earlier = np.searchsorted(self.indptr, at, side="right") - 1
        return np.unique(self.order[np.concatenate([earlier, self.indices[at]])])

    def turned_round(self) -> Pairs:
        """The same pairs, each at the later of its two places."""
        n = len(self.order)
        lists = sparse.csr_array((self.sq_dist, self.indices, self.indptr), shape=(n, n))
        other = lists.T.tocsr()
        return Pairs(self.order, other.indptr, other.indices, other.data)


_ENTRIES = 1 << 16  # what is made of them stays in the cache


def slices(degrees: NDArray[np.integer]) -> Iterator[slice]:
    """Slices that cut places into parts of some 65,000 neighbours, or of one place.

    >>> list(slices(np.array([40_000, 20_000, 30_000])))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    ends = np.cumsum(degrees)
    cuts = [0]
    if len(ends) and ends[-1] >= _ENTRIES:
        cuts += (np.flatnonzero(np.diff(ends // _ENTRIES)) + 1).tolist()
    return starmap(slice, pairwise([*cuts, len(degrees)]))


# What is alive at once, per pair: the list with room to grow (18 bytes), the same turned round
# (12), and the lists of the tasks at work.
BYTES_PER_PAIR = 48


def index_dtype(n: int) -> type[np.integer]:
    """Smallest type that can number `n` rows."""
    return np.int32 if n < 2**31 else np.int64


def found(
    places: range,
    i: NDArray[np.integer],
    j: NDArray[np.integer],
    sq_dist: NDArray[np.float64],
    n: int,
) -> Found:
    """Pairs sorted by their earlier place `i`, which lies in `places`; `j` is the later one."""
    dtype = index_dtype(n)
    row, col = np.subtract(i, places.start).astype(dtype), j.astype(dtype)
    listed = sparse.coo_array((sq_dist, (row, col)), shape=(len(places), n))
    listed.has_canonical_format = True  # each pair comes once: nothing to add up, nothing to sort
    by_row = listed.tocsr()
    return Found(places.start, np.diff(by_row.indptr), by_row.indices, by_row.data)


def assemble(
    parts: Generator[Found, None, None],
    order: NDArray[np.intp],
    check: Callable[[float], None],
    expected: float = 0.0,
) -> Pairs:
    """Join the parts of a search, which come in the order of their places.

    `check` is told the number of pairs before they are kept; `expected` is a guess at it.
    """
    n = len(order)
    counts = np.zeros(n, dtype=np.int64)
    indices, sq_dist = _Growing(index_dtype(n), expected), _Growing(np.float64, expected)
    with closing(parts):
        for part in parts:
            check(indices.size + len(part.indices))
            counts[part.start : part.start + len(part.counts)] = part.counts
            indices.extend(part.indices)
            sq_dist.extend(part.sq_dist)
    # Of the type of the indices when that is wide enough: SciPy would copy both into a wider one.
    indptr = np.zeros(n + 1, dtype=index_dtype(max(n, indices.size)))
    np.cumsum(counts, out=indptr[1:])
    return Pairs(order, indptr, indices.finish(), sq_dist.finish())


class _Growing:
    """An array that grows in place. What is reserved costs nothing until it is written to."""

    def __init__(self, dtype: type[np.generic], expected: float) -> None:
        self._array = np.empty(int(1.25 * expected), dtype=dtype)
        self.size = 0

    def extend(self, part: NDArray[Any]) -> None:
        stop = self.size + len(part)
        if stop > len(self._array):
            self._array.resize(max(stop, len(self._array) * 5 // 4), refcheck=False)
        self._array[self.size : stop] = part
        self.size = stop

    def finish(self) -> NDArray[Any]:
        self._array.resize(self.size, refcheck=False)
        return self._array


def weigh(loss: NDArray[np.int64], weights: Weights) -> NDArray[np.int64]:
    """Loss of a row that stands for `weights` points, again in whole quanta.

    Whole weights multiply exactly, so that a weight of 3 is the same as three copies.
    """
    if np.issubdtype(weights.dtype, np.integer):
        return np.asarray(loss * weights, dtype=np.int64)
    return np.rint(loss * weights).astype(np.int64)
