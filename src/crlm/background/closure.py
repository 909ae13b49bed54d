"""Closure: how far some rows keep to themselves.

The closure of a set of rows is the share of their nearest neighbours, of each row some, that belong
to the set. Balls of a background have one too, the larger the more rows they hold; that of a
cluster is larger than that of a ball of the background with as many rows, and by how many standard
errors is its *strength*.

In many dimensions a few rows, those nearest to the middle of a crowd, are neighbours of nearly all
others, and most are nobody's. So neighbours are told by the distance over the square root of how
far the neighbour's own neighbours are (local scaling): a row in a crowd must be nearer than one in
an empty place to count. They are those among the references, and equally distant ones count all or
not at all, so that the order of the rows does not tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crlm.background.references import References

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

# With log n neighbours each, rows at random just hang together; with twice as many, firmly.
_NEIGHBOURS = 2.0
# Scaled log distances in parts of 2**16, so that equal ones are equal in any units. Those of
# neighbours differ by more.
_PLACES = 2.0**16
_SURE = 1e-3  # no share is known better than this


class Closure:
    """Closures of sets of references."""

    def __init__(self, references: References) -> None:
        self._log_D = references.log_distances
        n = len(references.rows)
        self.n_neighbours = k = min(n - 1, max(2, int(_NEIGHBOURS * math.log(n))))
        self._scaled = _locally_scaled(references, k)
        nearest = np.partition(self._scaled, k, axis=1)[:, : k + 1]
        self._reach = np.sort(nearest, axis=1)  # the row itself first
        near = self._near(np.arange(n), k)
        self._from, self._to = np.nonzero(near)
        self._asked = near.sum(axis=1)

    def of(self, members: Mask) -> float:
        """Closure of a set, with no more neighbours of each than it has other members."""
        rows = np.flatnonzero(members)
        near = self._near(rows, min(self.n_neighbours, len(rows) - 1))
        return float(near[:, members].sum() / near.sum())

    def _near(self, rows: Rows, k: int) -> Mask:
        """Which references are among the k nearest of some, (n_rows, n_references)."""
        near: Mask = self._scaled[rows] <= self._reach[rows, k][:, None]
        near[np.arange(len(rows)), rows] = False
        return near

    def profile(self, log_d: F64) -> F64:
        """Closure of the ball that reaches as far as the m-th nearest row, for each m.

        Rows that are equally far come together, with the last of them.

        Parameters
        ----------
        log_d : ndarray of shape (n_references,)
            Log distances from the centre.
        """
        n = len(log_d)
        place = np.searchsorted(np.sort(log_d), log_d, side="right") - 1
        found = np.bincount(np.maximum(place[self._from], place[self._to]), minlength=n)
        asked = np.bincount(place, self._asked, minlength=n)
        closures: F64 = found.cumsum() / np.maximum(asked.cumsum(), 1.0)
        return closures

    def profiles(self, m: Rows) -> F64:
        """Closure of the balls with `m` rows beside their centre, around each reference."""
        return np.array([self.profile(log_d)[m] for log_d in self._log_D])


def strengths(closures: F64, usual: F64, size: Rows) -> F64:
    """Closures over what is usual for balls of as many rows, in standard errors."""
    usual = np.clip(usual, _SURE, 1.0 - _SURE)
    strengths: F64 = (closures - usual) / np.sqrt(usual * (1.0 - usual) / size)
    return strengths


def _locally_scaled(references: References, k: int) -> NDArray[np.int32]:
    """Log distance less half of the log of how far the k-th neighbour of the other is.

    Whole numbers, from a place that moves with the units of the data.
    """
    far = references.log_r[:, k]
    nearest = far.min()
    scaled = references.log_distances - 0.5 * (far - nearest)
    scaled -= nearest
    np.fill_diagonal(scaled, -np.inf)
    scaled *= _PLACES
    np.maximum(scaled, np.iinfo(np.int32).min, out=scaled)
    whole: NDArray[np.int32] = np.rint(scaled, out=scaled).astype(np.int32)
    return whole
