"""The neighbourhood without a stored graph: losses are summed as pairs are found.

For a radius that takes in much of the data, or memory that does not hold the pairs. What is
needed again is computed again: removing points means finding their neighbours a second time.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from crlm.loss import fixed_point, robust_loss
from crlm.search.blocks import Blocks
from crlm.search.dense import DenseLosses
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import Charge, Counted, Part, Weights, weigh
from crlm.search.parallel import Progress, in_parallel, one_blas_thread


class StreamedGraph:
    """Neighbourhood that keeps two numbers per row.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    blocks : Blocks or None
        The filter, for a radius that reaches few pairs; None looks at all of them in blocks.
    sq_cutoff, sigma_max, G
        Of the loss.
    weights : ndarray of shape (n,)
        How many points each row stands for.
    counted : ndarray of shape (n,) of bool, or None
        Rows that count as neighbours, copies once; None for all.
    """

    def __init__(
        self,
        X: Floats,
        blocks: Blocks | None,
        sq_cutoff: float,
        sigma_max: float,
        G: float,
        weights: Weights,
        counted: Counted | None = None,
        *,
        n_jobs: int,
        progress: Progress | None = None,
    ) -> None:
        self._X, self._sq_cutoff, self._n_jobs = X, sq_cutoff, n_jobs
        n = len(X)
        of = sigma_max, G, weights, np.ones(n, dtype=bool) if counted is None else counted
        self._losses: SparseLosses | DenseLosses
        self._losses = DenseLosses(X, *of) if blocks is None else SparseLosses(blocks, *of)
        self.alive = np.ones(n, dtype=bool)
        self.alone = weigh(fixed_point(np.full(n, -G)), weights)  # each row lies in its own ball
        losses, self.m = self._sum(self._losses.all_parts(), progress)
        self.L = self.alone + losses

    def ball(self, i: int) -> NDArray[np.intp]:
        """Rows alive in the open ball around row `i`, ascending, with `i` itself."""
        near = np.flatnonzero(self.alive)
        sq_dist = sq_distances_of_pairs(self._X, np.full(len(near), i), self._X, near)
        return near[sq_dist < self._sq_cutoff]

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these rows out of the data."""
        self.alive[C] = False
        losses, m = self._sum(self._losses.parts_from(C), None)
        self.L -= losses
        self.m -= m

    def _sum(
        self, parts: list[Part], progress: Progress | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Losses and neighbours that the parts of the work add to each row."""
        losses, m = np.zeros((2, len(self._X)), dtype=np.int64)
        with one_blas_thread():
            for charges in in_parallel(lambda part: part(), parts, self._n_jobs, progress):
                for one in charges:
                    np.add.at(losses, one.rows, one.loss)
                    np.add.at(m, one.rows, one.m)
        return losses, m


class SparseLosses:
    """Losses from the pairs that pass the filter, one run at a time."""

    def __init__(
        self, blocks: Blocks, sigma_max: float, G: float, weights: Weights, counted: Counted
    ) -> None:
        self._blocks, self._sigma_max, self._G = blocks, sigma_max, G
        self._order = blocks.plan.runs.order
        self._weights, self._counted = weights[self._order], counted[self._order]  # by place
        self._counted = self._counted.astype(np.int64)  # numbers of one kind are added up fast

    def all_parts(self) -> list[Part]:
        """Losses of all rows from all others; each pair is found once and charged to both."""
        return [partial(self._all, b) for b in range(self._blocks.plan.runs.n_runs)]

    def parts_from(self, C: NDArray[np.intp]) -> list[Part]:
        """Losses of all rows from the rows `C`."""
        places = np.flatnonzero(np.isin(self._order, C))
        return [partial(self._from, b, places) for b in range(self._blocks.plan.runs.n_runs)]

    def _all(self, b: int) -> list[Charge]:
        start, rows = self._run(b)
        own = Charge(rows, *np.zeros((2, len(rows)), dtype=np.int64))
        charges = [own]
        for near in self._blocks.later_pairs(b):
            i, j, loss = self._measured(*near)
            self._add(own, i - start, j, loss)
            # Summed by row at once: a panel has fewer rows than near pairs.
            places, which = np.unique(j, return_inverse=True)
            others = Charge(self._order[places], *np.zeros((2, len(places)), dtype=np.int64))
            self._add(others, which, i, loss)
            charges.append(others)
        return charges

    def _from(self, b: int, places: NDArray[np.intp]) -> list[Charge]:
        start, rows = self._run(b)
        own = Charge(rows, *np.zeros((2, len(rows)), dtype=np.int64))
        for near in self._blocks.pairs_with(b, places):
            i, j, loss = self._measured(*near)
            self._add(own, i - start, j, loss)
        return [own]

    def _add(
        self,
        to: Charge,
        at: NDArray[np.intp],
        others: NDArray[np.intp],
        loss: NDArray[np.int64],
    ) -> None:
        """Add pairs of some rows, by where they are in a charge, with other places."""
        np.add.at(to.loss, at, weigh(loss, self._weights[others]))
        np.add.at(to.m, at, self._counted[others])

    def _run(self, b: int) -> tuple[int, NDArray[np.intp]]:
        runs = self._blocks.plan.runs
        return b * runs.size, runs.rows(b)

    def _measured(
        self, i: NDArray[np.intp], j: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
        """Pairs, as places, that really are near, and their losses."""
        close, sq_dist = self._blocks.measure(i, j)
        return i[close], j[close], self._loss(sq_dist)

    def _loss(self, sq_dist: NDArray[np.float64]) -> NDArray[np.int64]:
        d = self._blocks.X.shape[1]
        return fixed_point(robust_loss(sq_dist, self._sigma_max, d, self._G))
