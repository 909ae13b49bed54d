"""Numbers that stand for rows: whether those that are given are those of a fit.

A fit in memory keeps a mark of each row and can say which was changed. A fit in passes keeps one
seal of all, 8 bytes however many rows there are, and can say whether any was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crlm.search import Floats
from crlm.search.distance import chunks

U64 = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ALL_BITS = 2**64 - 1


def mix(x: U64) -> U64:
    """Spread every bit over all others: the finaliser of splitmix64, a permutation."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    out: U64 = x ^ (x >> np.uint64(31))
    return out


def numbered(start: int, stop: int) -> U64:
    """Numbers from `start` to `stop`, each far from the next."""
    return np.arange(start, stop).astype(np.uint64) * _STEP


def row_marks(X: Floats) -> U64:
    """One number per row that changes when any entry does.

    The bits of each entry times an odd number of its column, added up modulo 2**64: a change of
    one entry cannot go unnoticed, and of several only by a rare accident.
    """
    rng = np.random.default_rng(0)
    odd = rng.integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    marks = np.empty(len(X), dtype=np.uint64)
    for part in chunks(len(X), X.shape[1]):
        bits = (X[part].astype(np.float64, copy=False) + 0.0).view(np.uint64)  # one zero, not two
        marks[part] = np.einsum("ij,j->i", bits, odd)
    return marks


def seal(X: Floats, start: int = 0) -> int:
    """One number for these rows in this order, number `start` and on; see :func:`merge_seals`.

    >>> X = np.arange(12.0).reshape(6, 2)
    >>> merge_seals([seal(X[4:], 4), seal(X[:4])]) == seal(X) != seal(X[::-1].copy())
    True
    """
    marks = mix(row_marks(X)) + numbered(start, start + len(X))
    return int(mix(marks).sum(dtype=np.uint64))


def merge_seals(parts: list[int]) -> int:
    """Seal of all rows together, in whatever order they were looked at."""
    return sum(parts) & _ALL_BITS
