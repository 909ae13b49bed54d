"""The stored neighbour graph, and the three questions that the greedy loop asks of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crlm.loss import fixed_point, robust_loss
from crlm.search.pairs import Pairs, Weights, cuts, weigh


class Neighbourhood(Protocol):
    """What `crlm.greedy` needs to know of a data set; points already taken do not count."""

    L: NDArray[np.int64]  # (n,) loss of each row as a centre, in quanta, kept up to date
    alone: NDArray[np.int64]  # (n,) the part of it that a row has from itself
    alive: NDArray[np.bool_]  # (n,) rows that belong to no cluster yet

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
    """

    def __init__(
        self,
        pairs: Pairs,
        sigma_max: float,
        d: int,
        G: float,
        weights: Weights,
    ) -> None:
        self.pairs = pairs
        self._halves = (pairs, pairs.turned_round())  # neighbours at later and at earlier places
        self._sigma_max, self._d, self._G = sigma_max, d, G
        self._order, n = pairs.order, len(weights)
        self._place = np.empty(n, dtype=np.intp)
        self._place[self._order] = np.arange(n)
        self._weights = weights[self._order]  # by place
        self.alive = np.ones(n, dtype=bool)
        self.alone = weigh(fixed_point(np.full(n, -G)), weights)  # each row lies in its own ball
        self.L = self.alone.copy()
        for half in self._halves:
            self._add_up(half)

    def _add_up(self, half: Pairs) -> None:
        """Add the losses from one half of the neighbours."""
        ends = [0, *cuts(np.diff(half.indptr)).tolist(), len(self.L)]
        for start, stop in pairwise(ends):
            part = slice(int(half.indptr[start]), int(half.indptr[stop]))
            loss = weigh(self._loss(half, part), self._weights[half.indices[part]])
            # reduceat wants a place for every row and gives nonsense for an empty one, so
            # rows without neighbours are left out.
            ptr = half.indptr[start : stop + 1] - half.indptr[start]
            places = np.flatnonzero(np.diff(ptr))
            if len(places):
                self.L[self._order[start + places]] += np.add.reduceat(loss, ptr[places])

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
        for half in self._halves:
            places = self._place[C]
            degrees = half.indptr[places + 1] - half.indptr[places]
            # A few members at a time, so that what is gathered stays small.
            for part in np.split(places, cuts(degrees)):
                at, owner = _entries(half, part)
                loss = weigh(self._loss(half, at), self._weights[owner])
                np.subtract.at(self.L, self._order[half.indices[at]], loss)

    def _loss(self, half: Pairs, part: slice | NDArray[np.int64]) -> NDArray[np.int64]:
        return fixed_point(robust_loss(half.sq_dist[part], self._sigma_max, self._d, self._G))


def _entries(half: Pairs, places: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Where the neighbours of some places are, and whose they are."""
    first = half.indptr[places].astype(np.int64)
    degrees = half.indptr[places + 1] - first
    skip = np.repeat(first - np.concatenate([[0], np.cumsum(degrees)[:-1]]), degrees)
    return np.arange(len(skip)) + skip, np.repeat(places, degrees)
