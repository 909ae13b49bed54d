"""Rows in an order that puts near ones together, and boxes around each run of them.

Two runs whose boxes are farther apart than the radius share no pair, so the engine never looks
at them. In low dimension that leaves work proportional to n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SOME = 4096  # rows that tell the spread well enough


class Runs(NamedTuple):
    """Rows cut into runs: run b is ``order[b * size : (b + 1) * size]``."""

    order: NDArray[np.intp]  # (n,) row numbers
    size: int
    low: NDArray[np.float64]  # (n_runs, n_axes) corners of the box around each run
    high: NDArray[np.float64]

    @property
    def n_runs(self) -> int:
        """Number of runs; the last may be shorter than the others."""
        return len(self.low)

    def rows(self, b: int) -> NDArray[np.intp]:
        """Rows of run b."""
        return self.order[b * self.size : (b + 1) * self.size]

    def grouped(self, k: int) -> Runs:
        """The same order in runs of `k` runs each."""
        starts = np.arange(0, self.n_runs, k)
        low = np.minimum.reduceat(self.low, starts, axis=0)
        high = np.maximum.reduceat(self.high, starts, axis=0)
        return Runs(self.order, self.size * k, low, high)

    def sq_gaps(self, b: int, first: int) -> NDArray[np.float64]:
        """Squared distances from the box of run b to those of the runs from `first` on."""
        gap = np.maximum(self.low[first:] - self.high[b], self.low[b] - self.high[first:])
        sq_gaps: NDArray[np.float64] = np.square(np.maximum(gap, 0.0)).sum(axis=1)
        return sq_gaps


def cut_into_runs(C: NDArray[np.float64], size: int) -> Runs:
    """Slice along the first column, each slice along the second, and so on (sort-tile packing).

    Parameters
    ----------
    C : ndarray of shape (n, n_axes)
        Coordinates to cut along. Few of them make thin slices, which exclude more when the
        radius is a fair share of the spread; many make cubes. None at all keep the order.
    size : int
        Rows of a run.
    """
    n, n_axes = C.shape
    order = np.arange(n)
    rows_of_slice = n
    for axis, n_slices in enumerate(_slices(C, -(-n // size))):
        for start in range(0, n, rows_of_slice):
            rows = order[start : start + rows_of_slice]
            rows[:] = rows[np.argsort(C[rows, axis])]
        # Whole runs to a slice, so that the next cut does not cross this one.
        rows_of_slice = max(1, -(-rows_of_slice // (n_slices * size))) * size
    starts = np.arange(0, n, size)
    if not n_axes:
        return Runs(order, size, np.zeros((len(starts), 0)), np.zeros((len(starts), 0)))
    placed = C[order]
    low = np.minimum.reduceat(placed, starts, axis=0)
    high = np.maximum.reduceat(placed, starts, axis=0)
    return Runs(order, size, low, high)


def _slices(C: NDArray[np.float64], n_runs: int) -> list[int]:
    """Slices along each axis, in proportion to the spread, about `n_runs` in all."""
    some = C[:: -(-len(C) // _SOME)]
    spread = np.maximum(np.std(some, axis=0), np.finfo(np.float64).tiny)
    shares = np.log(spread) - np.log(spread).mean() if len(spread) else spread
    per_axis = np.exp(shares) * n_runs ** (1.0 / max(1, len(spread)))
    return [max(1, round(float(x))) for x in np.minimum(per_axis, n_runs)]
