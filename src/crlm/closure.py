"""Closure: how far some rows keep to themselves.

The closure of a set of rows is the share of their nearest neighbours that belong to it; of each
row as many are asked as the set has other rows, up to a limit. Balls of a background have one too,
the larger the more rows they hold; that of a cluster is larger than that of a ball of the
background with as many rows.

Neighbours are those among the references. Equally distant ones count all or not at all, so that
the order of the rows does not tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crlm.references import References, fingerprints

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

# With log n neighbours each, rows at random just hang together; with twice as many, firmly.
_NEIGHBOURS = 2.0
_BALLS = 128  # of the background: enough for a median
_LEAST = 20  # rows of the background, or else all are asked
_SURE = 1e-3  # no share is known better than this


class Closure:
    """Closures of sets of references.

    Parameters
    ----------
    references : References
    outside : ndarray of bool
        References in no cluster: balls around some of them are what a background does.
    """

    def __init__(self, references: References, outside: Mask) -> None:
        self._references = references
        n = len(references.rows)
        self.n_neighbours = min(n - 1, max(2, int(_NEIGHBOURS * math.log(n))))
        self._from, self._to = np.nonzero(self._near(np.arange(n), self.n_neighbours))
        self._rank = self._ranks()
        rows = np.flatnonzero(outside) if outside.sum() >= _LEAST else np.arange(n)
        balls = [self._profile(references.log_distances[row]) for row in self._spread_out(rows)]
        usual = np.clip(np.median(balls, axis=0), _SURE, 1.0 - _SURE)
        self._usual, self._scatter = usual, np.sqrt(usual * (1.0 - usual) / np.arange(1, n + 1))

    def excess(self, log_d: F64, log_R: F64, own: Mask) -> F64:
        """Closures of balls over what is usual for as many rows, in standard errors.

        -inf for balls of less than three rows or of more than half of them.

        Parameters
        ----------
        log_d : ndarray of shape (n_references,)
            Log distances from the centre.
        log_R : ndarray of shape (n_radii,)
            Log radii, ascending.
        own : ndarray of bool
            References that may belong to the ball; others are outside, however near.
        """
        profile = self._profile(np.where(own, log_d, np.inf))
        n_inside = np.searchsorted(np.sort(log_d[own]), log_R)
        last = np.maximum(n_inside, 1) - 1
        excess = (profile[last] - self._usual[last]) / self._scatter[last]
        enough = (n_inside >= 3) & (n_inside <= len(log_d) // 2)
        return np.where(enough, excess, -np.inf)

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

    def _ranks(self) -> NDArray[np.intp]:
        """Which neighbour of a row another one is, from 1; as far as another, the same."""
        references = self._references
        log_d = references.log_distances[self._from, self._to]
        parts = np.split(log_d, np.flatnonzero(np.diff(self._from)) + 1)
        of_each = zip(references.log_r, parts, strict=True)
        return np.concatenate([log_r.searchsorted(part) for log_r, part in of_each])

    def _profile(self, log_d: F64) -> F64:
        """Closure of the ball that reaches as far as the m-th nearest row, for each m."""
        n = len(log_d)
        place = np.searchsorted(np.sort(log_d), log_d)  # of the first one that is as far
        asked = np.maximum(place[self._from], self._rank)  # from that place on
        found = np.maximum(place[self._to], asked)
        n_asked, n_found = (np.bincount(at, minlength=n).cumsum() for at in (asked, found))
        closure: F64 = n_found / np.maximum(n_asked, 1)
        return closure

    def _spread_out(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Some rows, from the most crowded to the loneliest; the same ones in any order."""
        n = len(self._references.rows)
        log_r = self._references.log_r[rows]
        keys = [log_r[:, at] for at in (n - 1, n // 2, n // 4, self.n_neighbours)]
        order = np.lexsort([fingerprints(log_r), *keys])
        # With many equal distances rows have far more neighbours, and a ball takes as much longer.
        n_balls = max(_BALLS // 16, _BALLS * n * self.n_neighbours // len(self._from))
        some = np.linspace(0, len(rows) - 1, min(len(rows), n_balls)).astype(np.intp)
        return rows[order[some]]
