"""The one definition of distance: float64, from differences, summed in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crlm.search.kernel import compiled

Floats = NDArray[np.float32] | NDArray[np.float64]

_CHUNK_ELEMENTS = 1 << 17  # 1 MB of differences at a time: stays in cache
_SEQUENTIAL = 8  # NumPy adds fewer numbers than this one after the other


def sq_distances(A: Floats, B: Floats) -> NDArray[np.float64]:
    """Squared distances between matching rows of two C-contiguous arrays.

    Every decision of the library is taken on these numbers. ``add.reduce`` over a contiguous
    axis adds in an order that depends on d alone, so the same two rows give the same bits in
    every engine, block and thread; ``einsum`` or a matrix product would not.
    """
    # Converting before subtracting is exact, and twice as fast as a subtraction that converts.
    diff = A.astype(np.float64)
    diff -= B.astype(np.float64, copy=False)
    diff *= diff
    result: NDArray[np.float64] = diff.sum(axis=-1)
    return result


def sq_distances_of_pairs(
    X: Floats, i: NDArray[np.intp], Y: Floats, j: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Squared distances between ``X[i]`` and ``Y[j]``, a cache-sized chunk at a time."""
    kernel = compiled()
    if kernel is not None and X.dtype == Y.dtype and _is_plain(X) and _is_plain(Y):
        return kernel.sq_distances(X, i, Y, j)
    out = np.empty(len(i), dtype=np.float64)
    few = X.shape[1] < _SEQUENTIAL
    for part in chunks(len(i), X.shape[1]):
        if few:
            out[part] = _by_column(X, i[part], Y, j[part])
        else:
            out[part] = sq_distances(X.take(i[part], axis=0), Y.take(j[part], axis=0))
    return out


def _is_plain(X: Floats) -> bool:
    """Whether C can read the rows where they are."""
    return X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative


def _by_column(
    X: Floats, i: NDArray[np.intp], Y: Floats, j: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The same for few columns, one at a time: the sum over a row adds them from left to right."""
    total = np.zeros(len(i))
    for x, y in zip(X.T, Y.T, strict=True):
        diff = x[i].astype(np.float64)
        diff -= y[j]
        diff *= diff
        total += diff
    return total


def chunks(n_rows: int, d: int) -> Iterator[slice]:
    """Slices that cover `n_rows` rows of `d` numbers in cache-sized parts.

    >>> list(chunks(5, 1 << 16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _CHUNK_ELEMENTS // d)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
