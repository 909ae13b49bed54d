"""Pairs in the order of their distance: the neighbourhood at any smaller radius is a prefix.

For whoever asks at many bandwidths. It costs twice the memory of plain pairs and a sort, and
then each bandwidth only looks at the pairs that are near at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from crlm.loss import fixed_point, robust_loss, sq_cutoff
from crlm.search.pairs import Counted, Pairs, Weights, index_dtype, weigh

I64 = NDArray[np.int64]
_EXACT = 2.0**53  # whole numbers below this are exact as floats


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """All pairs up to a radius, nearest first.

    Attributes
    ----------
    i, j : ndarray of shape (n_pairs,)
        The two rows.
    sq_dist : ndarray of shape (n_pairs,)
        Ascending.
    n : int
        Rows.
    """

    i: NDArray[np.integer]
    j: NDArray[np.integer]
    sq_dist: NDArray[np.float64]
    n: int

    @classmethod
    def of(cls, pairs: Pairs) -> RankedPairs:
        """Sort."""
        by = np.argsort(pairs.sq_dist, kind="stable")
        n = len(pairs.order)
        order = pairs.order.astype(index_dtype(n))
        first = np.repeat(order, np.diff(pairs.indptr))[by]
        return cls(first, order[pairs.indices[by]], pairs.sq_dist[by], n)

    @cached_property
    def lists(self) -> tuple[I64, NDArray[np.integer], NDArray[np.integer]]:
        """Neighbours of each row, nearest first: where they start, who they are, their rank."""
        m = len(self.sq_dist)
        rows, others = np.stack([self.i, self.j]), np.stack([self.j, self.i])
        ranks = np.repeat(np.arange(m, dtype=index_dtype(max(m, 1))), 2)
        # Nearest first, and SciPy keeps the order within a row.
        entries = (ranks, (rows.T.ravel(), others.T.ravel()))
        listed = sparse.coo_array(entries, shape=(self.n, self.n))
        listed.has_canonical_format = True
        lists = listed.tocsr()
        return lists.indptr[:-1].astype(np.int64), lists.indices, lists.data

    def near(
        self, sigma: float, d: int, G: float, weights: Weights, counted: Counted | None = None
    ) -> RankedGraph:
        """Neighbourhood at a bandwidth whose radius is within that of the pairs."""
        m = int(np.searchsorted(self.sq_dist, sq_cutoff(sigma, d, G)))
        loss = fixed_point(robust_loss(self.sq_dist[:m], sigma, d, G))
        return RankedGraph(self, m, loss, G, weights, counted)


class RankedGraph:
    """Neighbourhood that is a prefix of ranked pairs."""

    def __init__(
        self,
        ranked: RankedPairs,
        n_pairs: int,
        loss: I64,
        G: float,
        weights: Weights,
        counted: Counted | None = None,
    ) -> None:
        n = ranked.n
        i, j = ranked.i[:n_pairs], ranked.j[:n_pairs]
        self._starts, self._others, self._ranks = ranked.lists
        self._degrees = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
        self._loss, self._weights = loss, weights
        self._counted = np.ones(n, dtype=bool) if counted is None else counted
        self.m = self._degrees.astype(np.int64)
        if not self._counted.all():
            self.m = _counts(i, self._counted[j], n) + _counts(j, self._counted[i], n)
        self.alive = np.ones(n, dtype=bool)
        self.alone = weigh(fixed_point(np.full(n, -G)), weights)
        self.L = self.alone.copy()
        for row, other in ((i, j), (j, i)):
            self.L += _sums(row, weigh(loss, weights[other]), n)

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        start = self._starts[i]
        near = self._others[start : start + self._degrees[i]].astype(np.intp)
        return np.sort(np.append(near[self.alive[near]], i))

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data."""
        self.alive[C] = False
        counts = self._degrees[C]
        skip = np.repeat(self._starts[C] - np.cumsum(counts) + counts, counts)
        at = np.arange(len(skip)) + skip
        weights: Weights = np.repeat(self._weights[C], counts)  # type: ignore[assignment]
        loss = weigh(self._loss[self._ranks[at]], weights)
        others, counted = self._others[at], np.repeat(self._counted[C], counts)
        if len(at) < len(self.L):  # then it is cheaper to go to each than through all rows
            np.subtract.at(self.L, others, loss)
            np.subtract.at(self.m, others, counted.astype(np.int64))
        else:
            self.L -= _sums(others, loss, len(self.L))
            self.m -= _counts(others, counted, len(self.m))


def _counts(rows: NDArray[np.integer], counted: Counted, n: int) -> I64:
    """How many times each row is there with one that counts."""
    return np.bincount(rows[counted], minlength=n).astype(np.int64)


def _sums(rows: NDArray[np.integer], loss: I64, n: int) -> I64:
    """Sum of the losses of each row, exact: as floats while none can reach 2^53."""
    most = int(np.bincount(rows, minlength=n).max(initial=0))
    if most * float(-loss.min(initial=0)) < _EXACT:
        return np.bincount(rows, loss, minlength=n).astype(np.int64)
    out = np.zeros(n, dtype=np.int64)
    np.add.at(out, rows, loss)
    return out
