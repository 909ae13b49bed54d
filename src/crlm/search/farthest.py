"""The row that is farthest from a point: a product proposes, who measures decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats
from crlm.search.parallel import one_blas_thread


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
