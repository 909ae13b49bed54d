"""Balls: which of a few hold each row, as `predict` asks, and how wide one around all must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.labels import BACKGROUND
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import frame
from crlm.search.parallel import one_blas_thread

_ROWS = 4096
_MARGIN = 1e3


def first_ball(X: Floats, centers: Floats, sq_cutoffs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of the first ball that contains each row, or ``BACKGROUND``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    centers : ndarray of shape (k, d)
        In order of precedence.
    sq_cutoffs : ndarray of shape (k,)
        Squared radii; the balls are open.
    """
    found = np.full(len(X), BACKGROUND, dtype=np.int64)
    if not len(centers) or not len(X):
        return found
    # Rows far outside the box of the centres are drawn in to its rim, still too far from all of
    # them, so that one frame serves both sides whatever the rows hold.
    widest = float(sq_cutoffs.max())
    margin = _MARGIN * np.sqrt(widest)
    low = centers.min(axis=0).astype(np.float64) - margin
    high = centers.max(axis=0).astype(np.float64) + margin
    f = frame(np.concatenate([centers.astype(np.float64), low[None], high[None]]), widest)
    left = f.left(f.right(centers))
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        drawn_in = np.clip(rows.astype(np.float64), low, high)
        i, j = np.nonzero(f.right(drawn_in) @ left.T < f.cutoff)
        close = sq_distances_of_pairs(rows, i, centers, j) < sq_cutoffs[j]
        i, j = i[close], j[close]
        # nonzero gives the balls of a row in ascending order: the first one wins.
        row, first = np.unique(i, return_index=True)
        found[start + row] = j[first]
    return found


def farthest(
    X: Floats, center: NDArray[np.float64], kept: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Rows that may be the farthest from a point, mostly one; only of those `kept`, if given.

    ``|x|^2 - 2 x c`` in the precision of `X` is off by less than ``(d + 4) eps (|x|^2 + |c|^2)``,
    and so is a distance measured from differences. Numbers too large for their squares make the
    error infinite, and leave all rows.

    >>> farthest(np.array([[0.0], [3.0], [9.0], [-1.0]]), np.array([5.0])).tolist()
    [3]
    """
    c: NDArray[np.floating[Any]] = center.astype(X.dtype)
    limits = np.finfo(X.dtype)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        sq_norms = np.einsum("ij,ij->i", X, X)
        sq = sq_norms - 2.0 * (X @ c)
        if kept is not None:
            sq[~kept] = -np.inf
        scale = float(sq_norms.max()) + float(c @ c)
        error = 4.0 * (len(c) + 4) * (float(limits.eps) * scale + float(limits.tiny))
        near = sq < float(sq.max()) - error
    return np.flatnonzero(~near if kept is None else kept & ~near)
