"""The stored neighbour graph, and the three questions that the greedy loop asks of it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crlm.loss import fixed_point, robust_loss
from crlm.search.pairs import Counted, Pairs, Weights, slices, weigh


class Neighbourhood(Protocol):
    """What `crlm.greedy` needs to know of a data set; points already taken do not count."""

    L: NDArray[np.int64]  # (n,) loss of each row as a centre, in quanta, while it is alive
    alone: NDArray[np.int64]  # (n,) the part of it that a row has from itself
    alive: NDArray[np.bool_]  # (n,) rows that belong to no cluster yet
    m: NDArray[np.int64]  # (n,) other rows in each ball that count, while it is alive

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        ...

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data."""
        ...


class StoredGraph:
    """Neighbourhood with every pair in memory.

    Parameters
    ----------
    pairs : Pairs
    sigma_max, d, G
        Of the loss.
    weights : ndarray of shape (n,), whole numbers (int64) or any (float64)
        How many points each row stands for.
    counted : ndarray of shape (n,) of bool, or None
        Rows that count as neighbours, copies once; None for all.
    """

    def __init__(
        self,
        pairs: Pairs,
        sigma_max: float,
        d: int,
        G: float,
        weights: Weights,
        counted: Counted | None = None,
    ) -> None:
        self.pairs = pairs
        self._halves = (pairs, pairs.turned_round())  # neighbours at later and at earlier places
        self._sigma_max, self._d, self._G = sigma_max, d, G
        self._order, n = pairs.order, len(weights)
        self._place = np.empty(n, dtype=np.intp)
        self._place[self._order] = np.arange(n)
        self._weights = weights
        counted = np.ones(n, dtype=bool) if counted is None else counted
        self.m = pairs.degrees(counted)
        self._counted = counted.astype(np.int64)  # numbers of one kind are added up fast
        self.alive = np.ones(n, dtype=bool)
        self._alive = self.alive.copy()  # by place
        self.alone = weigh(fixed_point(np.full(n, -G)), weights)  # each row lies in its own ball
        self.L = self.alone.copy()
        self.L[self._order] += self._sums(pairs, weights[self._order])

    def _sums(self, pairs: Pairs, weights: Weights) -> NDArray[np.int64]:
        """Losses from all pairs; these and the weights by place."""
        sums = np.zeros(len(weights), dtype=np.int64)
        degrees = np.diff(pairs.indptr)
        for part in slices(degrees):
            entries = slice(int(pairs.indptr[part.start]), int(pairs.indptr[part.stop]))
            loss, others = self._loss(pairs.sq_dist[entries]), pairs.indices[entries]
            # reduceat wants a place for every row and gives nonsense for an empty one, so
            # rows without neighbours are left out.
            places = part.start + np.flatnonzero(degrees[part])
            if len(places):
                starts = pairs.indptr[places] - entries.start
                sums[places] += np.add.reduceat(weigh(loss, weights[others]), starts)
            owners = np.repeat(np.arange(part.start, part.stop), degrees[part])
            np.add.at(sums, others, weigh(loss, weights[owners]))
        return sums

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        p = self._place[i]
        places = np.concatenate([half.indices[half.slice_of(p)] for half in self._halves])
        near = self._order[places]
        return np.sort(np.append(near[self.alive[near]], i))

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data.

        Removing a point changes the loss only at its neighbours, because the loss has bounded
        support. Each pair is subtracted at most twice over a whole run, so any number of
        clusters together costs one pass over the pairs.
        """
        self.alive[C] = False
        places = self._place[C]
        self._alive[places] = False
        for half in self._halves:
            stops = half.indptr[places + 1]
            degrees = stops - half.indptr[places]
            # A few members at a time, so that what is gathered stays small.
            for part in slices(degrees):
                at = np.repeat(stops[part] - np.cumsum(degrees[part]), degrees[part])
                at += np.arange(len(at))
                others = half.indices[at]
                left = np.flatnonzero(self._alive[others])  # who is gone has no need of a loss
                if len(left):
                    owners = np.repeat(C[part], degrees[part])[left]
                    loss = weigh(self._loss(half.sq_dist[at[left]]), self._weights[owners])
                    rows = self._order[others[left]]
                    np.subtract.at(self.L, rows, loss)
                    np.subtract.at(self.m, rows, self._counted[owners])

    def _loss(self, sq_dist: NDArray[np.float64]) -> NDArray[np.int64]:
        return fixed_point(robust_loss(sq_dist, self._sigma_max, self._d, self._G))
