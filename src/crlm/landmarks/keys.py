"""Numbers that look random and depend on a row alone: a draw without state, and marks of rows.

A row is drawn when its key is among the smallest. Keys depend on the seed and the row's number, so
blocks, shards and threads draw the same rows in any order, whether or not n is known.
"""

from __future__ import annotations

import math

import numpy as np

from crlm.identity import U64, mix, numbered
from crlm.search import Floats


def keys(seed: int, start: int, stop: int) -> U64:
    """Keys of the rows from `start` to `stop`.

    >>> int(keys(0, 5, 9)[2]) == int(keys(0, 7, 8)[0])
    True
    """
    offset = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return mix(numbered(start, stop) + offset)


def likely_bar(n: int, size: int) -> np.uint64:
    """Number that the `size` smallest of n keys are below, but for one chance in 10**20.

    With it a shard knows which of its rows to send before it has seen the others.
    """
    share = (size + 10.0 * math.sqrt(size) + 50.0) / max(n, 1)
    return np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(int(share * 2.0**64))


def copy_marks(X: Floats) -> U64:
    """One number for each row; equal rows have equal ones, others with 64 bits of chance."""
    bits = np.add(X, 0.0, dtype=np.float64).view(np.uint64)  # one zero, not two
    columns = numbered(1, X.shape[1] + 1)
    return mix(mix(bits + columns).sum(axis=1, dtype=np.uint64))
