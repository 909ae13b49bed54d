"""The neighbourhood without a stored graph: losses are summed as pairs are found.

For a radius that takes in much of the data, or memory that does not hold the pairs. What is
needed again is computed again: removing points means finding their neighbours a second time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.loss import fixed_point, robust_loss
from crlm.search.blocks import Blocks
from crlm.search.dense import TILE, DenseLosses
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import Weights, weigh
from crlm.search.parallel import Progress, in_parallel


class StreamedGraph:
    """Neighbourhood that keeps one number per row.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    blocks : Blocks or None
        The filter, for a radius that reaches few pairs; None looks at all of them in blocks.
    sq_cutoff, sigma_max, G
        Of the loss.
    weights : ndarray of shape (n,)
        How many points each row stands for.
    """

    def __init__(
        self,
        X: Floats,
        blocks: Blocks | None,
        sq_cutoff: float,
        sigma_max: float,
        G: float,
        weights: Weights,
        *,
        n_jobs: int,
        progress: Progress | None = None,
    ) -> None:
        self._X, self._sq_cutoff, self._n_jobs = X, sq_cutoff, n_jobs
        self._losses: _SparseLosses | _DenseLosses
        if blocks is None:
            self._losses = _DenseLosses(X, sigma_max, G, weights)
        else:
            self._losses = _SparseLosses(blocks, sigma_max, G, weights)
        n = len(X)
        self.alive = np.ones(n, dtype=bool)
        self.L = weigh(fixed_point(np.full(n, -G)), weights)  # each row lies in its own ball
        self.L += self._caused_by(np.arange(n), progress)

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        near = np.flatnonzero(self.alive)
        sq_dist = sq_distances_of_pairs(self._X, np.full(len(near), i), self._X, near)
        return near[sq_dist < self._sq_cutoff]

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data."""
        self.alive[C] = False
        self.L -= self._caused_by(C)

    def _caused_by(
        self, C: NDArray[np.intp], progress: Progress | None = None
    ) -> NDArray[np.int64]:
        """Loss that each row has from the rows `C` in its ball, itself not counted."""
        caused = np.zeros(len(self._X), dtype=np.int64)
        parts = self._losses.parts()

        def task(part: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
            return parts[part], self._losses.sums(part, parts[part], C)

        with threadpool_limits(limits=1, user_api="blas"):
            for rows, losses in in_parallel(task, range(len(parts)), self._n_jobs, progress):
                caused[rows] = losses
        return caused


class _SparseLosses:
    """Sums of losses from the pairs that pass the filter, one run at a time."""

    def __init__(self, blocks: Blocks, sigma_max: float, G: float, weights: Weights) -> None:
        self._blocks, self._sigma_max, self._G, self._weights = blocks, sigma_max, G, weights
        order = blocks.plan.runs.order
        self._place = np.empty_like(order)
        self._place[order] = np.arange(len(order))

    def parts(self) -> list[NDArray[np.intp]]:
        runs = self._blocks.plan.runs
        return [runs.rows(b) for b in range(runs.n_runs)]

    def sums(self, b: int, rows: NDArray[np.intp], C: NDArray[np.intp]) -> NDArray[np.int64]:
        start = b * self._blocks.plan.runs.size
        L = np.zeros(len(rows), dtype=np.int64)
        for i, j in self._blocks.pairs_with(b, np.sort(self._place[C])):
            found = self._blocks.measure(i, j)
            loss = robust_loss(found.sq_dist, self._sigma_max, self._blocks.X.shape[1], self._G)
            weighed = weigh(fixed_point(loss), self._weights[found.j])
            np.add.at(L, self._place[found.i] - start, weighed)
        return L


class _DenseLosses:
    """Sums of losses over all pairs, in blocks."""

    def __init__(self, X: Floats, sigma_max: float, G: float, weights: Weights) -> None:
        self._dense = DenseLosses(X, sigma_max, G, weights)
        self._n = len(X)

    def parts(self) -> list[NDArray[np.intp]]:
        return np.split(np.arange(self._n), range(TILE[0], self._n, TILE[0]))

    def sums(self, part: int, rows: NDArray[np.intp], C: NDArray[np.intp]) -> NDArray[np.int64]:
        return self._dense.sums(rows, C)
