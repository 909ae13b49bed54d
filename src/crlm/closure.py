"""Closure: how far some rows keep to themselves.

The closure of a set of rows is the share of their nearest neighbours, of each row some, that belong
to the set. Balls of a background have one too, the larger the more rows they hold; that of a
cluster is larger than that of a ball of the background with as many rows.

Neighbours are those among the references. Equally distant ones count all or not at all, so that
the order of the rows does not tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crlm.references import References

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

# With log n neighbours each, rows at random just hang together; with twice as many, firmly.
_NEIGHBOURS = 2.0


class Closure:
    """Closures of sets of references."""

    def __init__(self, references: References) -> None:
        self._references = references
        n = len(references.rows)
        self.n_neighbours = min(n - 1, max(2, int(_NEIGHBOURS * math.log(n))))
        near = self._near(np.arange(n), self.n_neighbours)
        self._from, self._to = np.nonzero(near)
        self._asked = near.sum(axis=1)

    def of(self, members: Mask) -> float:
        """Closure of a set, with no more neighbours of each than it has other members."""
        rows = np.flatnonzero(members)
        near = self._near(rows, min(self.n_neighbours, len(rows) - 1))
        return float(near[:, members].sum() / near.sum())

    def _near(self, rows: NDArray[np.intp], k: int) -> Mask:
        """Which references are among the k nearest of some, (n_rows, n_references)."""
        references = self._references
        near: Mask = references.log_distances[rows] <= references.log_r[rows, k][:, None]
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
