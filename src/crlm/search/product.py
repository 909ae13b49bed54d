"""The filter as matrix products, a cache-sized one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats, chunks
from crlm.search.parallel import in_parallel
from crlm.search.plan import CELLS, Plan

# Runs without a gap between them that are worth a product of their own.
_LONG = 3

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Product:
    """Rows made ready for products."""

    plan: Plan
    right: Floats  # (n, width) right side of the product, by place
    more: list[Floats]  # what each further look needs, by place

    @staticmethod
    def workspace(plan: Plan, n_jobs: int) -> int:
        """Bytes that the rows and the products of all threads take."""
        n, itemsize = len(plan.runs.order), np.dtype(plan.frame.dtype).itemsize
        return n * itemsize * sum(plan.frame.widths) + n_jobs * CELLS * (itemsize + 64)

    @classmethod
    def prepare(cls, X: Floats, plan: Plan, n_jobs: int) -> Product:
        """Transform all rows."""
        f, order = plan.frame, plan.runs.order
        rows = f.empty(len(X))

        def fill(part: slice) -> None:
            for out, filled in zip(rows, f.rows(X.take(order[part], axis=0)), strict=True):
                out[part] = filled

        for _ in in_parallel(fill, list(chunks(*X.shape)), n_jobs):
            pass
        return cls(plan, rows[0], rows[1:])

    def with_later_runs(self, b: int, runs: Places) -> Iterator[tuple[Places, Places]]:
        """Pairs that pass the filter, as places, of run b with some runs, ascending from b on."""
        return self._near_pairs(b, self._panels(runs))

    def with_places(self, b: int, places: Places) -> Iterator[tuple[Places, Places]]:
        """The same with some places, ascending, anywhere."""
        if len(places) == len(self.right):
            return self._near_pairs(b, self._panels(np.arange(self.plan.runs.n_runs)))
        return self._near_pairs(b, self._cut(places))

    def _near_pairs(
        self, b: int, panels: Iterator[slice | Places]
    ) -> Iterator[tuple[Places, Places]]:
        f, size = self.plan.frame, self.plan.runs.size
        start = b * size
        left = f.left(self.right[start : start + size])
        # One tile for all panels: nothing of this size is allocated in the loop.
        products = np.empty(len(left) * self._width, dtype=f.dtype)
        near = np.empty(len(left) * self._width, dtype=bool)
        for places in panels:
            panel = self.right[places]
            cells = len(panel) * len(left)
            V = products[:cells]
            # The longer side first: BLAS is a fifth faster that way.
            np.matmul(panel, left.T, out=V.reshape(len(panel), len(left)))
            if V.min() >= f.cutoff:
                continue  # found out at half the cost of a list
            at = np.flatnonzero(np.less(V, f.cutoff, out=near[:cells]))
            j, i = np.divmod(at, len(left))
            i, j = i + start, j + places.start if isinstance(places, slice) else places[j]
            if self.more:
                i, j = self._look_again(V[at], i, j)
            if len(i):
                yield i, j

    def _look_again(self, V: NDArray[Any], i: Places, j: Places) -> tuple[Places, Places]:
        """Candidates that stay when more directions are looked at, some at a time."""
        cutoff, rest = self.plan.frame.cutoff, self.right[:, -3]
        for rows in self.more:
            dots = np.empty_like(V)
            for part in chunks(len(i), rows.shape[1]):
                a, b = rows.take(i[part], axis=0), rows.take(j[part], axis=0)
                np.einsum("ij,ij->i", a, b, out=dots[part])
            V = V + 2.0 * (rest[i] * rest[j] - dots)
            near = np.flatnonzero(np.less(V, cutoff))
            V, i, j, rest = V[near], i[near], j[near], rows[:, -1]
        return i, j

    def _panels(self, near: Places) -> Iterator[slice | Places]:
        """Places of some runs, ascending, a panel at a time."""
        size, n = self.plan.runs.size, len(self.right)
        last = np.flatnonzero(near[1:] - near[:-1] > 1)  # of a group of runs without a gap
        if len(near) >= _LONG * (len(last) + 1):
            starts = np.append(near[:1], near[last + 1]) * size
            stops = np.minimum(np.append(near[last], near[-1:]) * size + size, n)
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                for at in range(start, stop, self._width):
                    yield slice(at, min(at + self._width, stop))
        else:
            # Many short groups: gather them, so that a product is worth its call.
            places = (near[:, None] * size + np.arange(size)).ravel()
            yield from self._cut(places[places < n])

    def _cut(self, places: Places) -> Iterator[Places]:
        for at in range(0, len(places), self._width):
            yield places[at : at + self._width]

    @property
    def _width(self) -> int:
        """Columns of a product."""
        return max(1, CELLS // self.plan.runs.size)
