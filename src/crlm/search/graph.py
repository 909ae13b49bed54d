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
        self.pairs, self._sigma_max, self._d, self._G = pairs, sigma_max, d, G
        self._weights = weights
        n = len(weights)
        self.alive = np.ones(n, dtype=bool)
        self.L = weigh(fixed_point(np.full(n, -G)), weights)  # each row lies in its own ball
        ends = [0, *cuts(np.diff(pairs.indptr)).tolist(), n]
        for start, stop in pairwise(ends):
            part = slice(int(pairs.indptr[start]), int(pairs.indptr[stop]))
            loss = weigh(self._loss(part), weights[pairs.indices[part]])
            # reduceat wants a place for every row and gives nonsense for an empty one, so
            # rows without neighbours are left out.
            ptr = pairs.indptr[start : stop + 1] - pairs.indptr[start]
            rows = np.flatnonzero(np.diff(ptr))
            if len(rows):
                self.L[start + rows] += np.add.reduceat(loss, ptr[rows])

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        near = self.pairs.indices[self.pairs.row(i)].astype(np.intp)
        near = near[self.alive[near]]
        return np.insert(near, np.searchsorted(near, i), i)

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data.

        Removing a point changes the loss only at its neighbours, because the loss has bounded
        support. Each pair is subtracted at most twice over a whole run, so any number of
        clusters together costs one pass over the pairs.
        """
        self.alive[C] = False
        for at, owner in self.pairs.entries(C):
            loss = weigh(self._loss(at), self._weights[owner])
            np.subtract.at(self.L, self.pairs.indices[at], loss)

    def _loss(self, part: slice | NDArray[np.int64]) -> NDArray[np.int64]:
        return fixed_point(robust_loss(self.pairs.sq_dist[part], self._sigma_max, self._d, self._G))
