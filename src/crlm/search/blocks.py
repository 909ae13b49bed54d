"""The filter at work: boxes exclude runs of rows, the bound on distances excludes pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.plan import Plan
from crlm.search.product import Product
from crlm.search.tiles import Tiles

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Blocks:
    """Rows made ready for the filter. A *place* is a position in the order of the runs."""

    X: Floats
    sq_cutoff: float
    plan: Plan
    sieve: Product | Tiles

    @staticmethod
    def workspace(plan: Plan, n_jobs: int) -> int:
        """Bytes that the rows and the work of all threads take."""
        sieve = Product if plan.tiles is None else Tiles
        return sieve.workspace(plan, n_jobs) + 40 * len(plan.runs.order) + (1 << 24)

    @classmethod
    def prepare(cls, X: Floats, sq_cutoff: float, plan: Plan, n_jobs: int) -> Blocks:
        """Transform all rows."""
        sieve = Product if plan.tiles is None else Tiles
        return cls(X, sq_cutoff, plan, sieve.prepare(X, plan, n_jobs))

    def later_pairs(self, b: int) -> Iterator[tuple[Places, Places]]:
        """Candidate pairs, as places, of run b with itself and all later runs, each once."""
        size = self.plan.runs.size
        near = b + np.flatnonzero(self.plan.runs.sq_gaps(b, b) < self.plan.reach)
        for i, j in self.sieve.with_later_runs(b, near):
            if j.min() < (b + 1) * size:  # the run with itself
                later = i < j
                i, j = i[later], j[later]
            yield i, j

    def pairs_with(self, b: int, places: Places) -> Iterator[tuple[Places, Places]]:
        """Candidate pairs of run b with some places, ascending, anywhere."""
        near = self.plan.runs.sq_gaps(b, 0) < self.plan.reach
        if not near.all():
            places = places[near[places // self.plan.runs.size]]
        for i, j in self.sieve.with_places(b, places):
            other = i != j
            yield i[other], j[other]

    def measure(self, i: Places, j: Places) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which candidates really are closer than the radius, and their squared distances."""
        order = self.plan.runs.order
        sq_dist = sq_distances_of_pairs(self.X, order[i], self.X, order[j])
        close = sq_dist < self.sq_cutoff
        return close, sq_dist[close]
