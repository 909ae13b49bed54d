"""Which of a few balls hold each row: the question that `predict` asks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crlm.labels import BACKGROUND
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import frame

_ROWS = 4096


def first_ball(X: Floats, centers: Floats, sq_cutoff: float) -> NDArray[np.int64]:
    """Number of the first ball that contains each row, or ``BACKGROUND``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    centers : ndarray of shape (k, d)
        In order of precedence.
    sq_cutoff : float
        Squared radius, the same for all balls; the ball is open.
    """
    found = np.full(len(X), BACKGROUND, dtype=np.int64)
    if not len(centers) or not len(X):
        return found
    # One frame for both sides, or the filter's unit and origin would not agree.
    f = frame(np.concatenate([centers, _extremes(X)]), sq_cutoff)
    left = f.left(f.right(centers))
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        i, j = np.nonzero(f.right(rows) @ left.T < f.cutoff)
        close = sq_distances_of_pairs(rows, i, centers, j) < sq_cutoff
        i, j = i[close], j[close]
        # nonzero gives the balls of a row in ascending order: the first one wins.
        row, first = np.unique(i, return_index=True)
        found[start + row] = j[first]
    return found


def _extremes(X: Floats) -> Floats:
    """Two corners of the box around `X`, which bound the norm of every row."""
    return np.stack([X.min(axis=0), X.max(axis=0)])
