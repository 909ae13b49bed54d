"""The first pass: how many rows, between which values, and a random draw of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.identity import U64, merge_seals, seal
from crlm.landmarks.keys import keys
from crlm.search import Floats

_EVERY = np.uint64(2**64 - 1)


class Survey(NamedTuple):
    """What one pass over some rows tells.

    Attributes
    ----------
    n : int
        Number of rows.
    low, high : ndarray of shape (d,)
        Smallest and largest number of each column.
    keys, rows, points : ndarray
        The rows of smallest key: their keys, numbers and values, in the order of the keys.
    seal : int
        Number that belongs to these rows and to no others.
    """

    n: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    keys: U64
    rows: NDArray[np.int64]
    points: Floats
    seal: int


def survey(X: Floats, start: int, seed: int, size: int, bar: np.uint64 = _EVERY) -> Survey:
    """Look at rows that are number `start` and on; keep at most `size`, of keys below `bar`."""
    own = keys(seed, start, start + len(X))
    at = np.flatnonzero(own <= bar)
    d = X.shape[1]
    low = X.min(axis=0, initial=np.inf).astype(np.float64) if len(X) else np.full(d, np.inf)
    high = X.max(axis=0, initial=-np.inf).astype(np.float64) if len(X) else np.full(d, -np.inf)
    return smallest(Survey(len(X), low, high, own[at], start + at, X[at], seal(X, start)), size)


def smallest(found: Survey, size: int) -> Survey:
    """The same with no more than `size` rows kept."""
    order = np.lexsort((found.rows, found.keys))[:size]
    kept = found.keys[order], found.rows[order], found.points[order]
    return found._replace(keys=kept[0], rows=kept[1], points=kept[2])


def merge_surveys(parts: Sequence[Survey], size: int) -> Survey:
    """The survey of all rows together, in whatever order they were looked at."""
    together = Survey(
        sum(part.n for part in parts),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.points for part in parts]),
        merge_seals([part.seal for part in parts]),
    )
    return smallest(together, size)


class Pool(NamedTuple):
    """The rows that were drawn: first the landmarks, then more of the sample, each ascending.

    Attributes
    ----------
    m : int
        Number of landmarks: rows that may be centres.
    sample : ndarray of bool
        Rows that the background is learnt from.
    """

    n: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: NDArray[np.int64]
    points: Floats
    m: int
    sample: NDArray[np.bool_]


def make_pool(found: Survey, m: int, n_sample: int) -> Pool:
    """Landmarks and sample from a survey that kept enough rows for both."""
    m, n_sample = min(m, found.n), min(n_sample, found.n)
    landmarks = np.argsort(found.rows[:m], kind="stable")
    others = m + np.argsort(found.rows[m:], kind="stable")
    order = np.concatenate([landmarks, others])
    return Pool(
        *(found.n, found.low, found.high),
        *(found.rows[order], np.ascontiguousarray(found.points[order])),
        *(m, order < n_sample),
    )
