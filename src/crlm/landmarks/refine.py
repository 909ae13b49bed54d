"""Better centres: of each cluster the row nearest to its mean, found in one more pass.

Where all of a cluster is within the radius of two rows, the one nearer to the mean has the smaller
loss: a sum of squares grows with the distance from the mean and with nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.landmarks.sieve import Sieve
from crlm.landmarks.tally import I64, label_rows
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances


class Nearest(NamedTuple):
    """Of each cluster the member nearest to its mean; equally near ones by their number."""

    sq_dist: NDArray[np.float64]  # (k,) inf for a cluster without members here
    rows: I64  # (k,)
    points: Floats  # (k, d)


def nearest_rows(
    X: Floats,
    start: int,
    sieve: Sieve,
    means: NDArray[np.float64],
    weights: Weights | None = None,
) -> Nearest:
    """Nearest of the rows of `X`, which are number `start` and on; only rows that count."""
    labels = label_rows(X, sieve)
    if weights is not None:
        labels[weights == 0] = -1
    found = Nearest(
        np.full(len(means), np.inf), np.zeros(len(means), np.int64), np.zeros(means.shape, X.dtype)
    )
    for j in np.unique(labels[labels >= 0]).tolist():
        members = np.flatnonzero(labels == j)
        points = X[members].astype(np.float64)
        sq_dist = sq_distances(points, np.broadcast_to(means[j], points.shape))
        i = int(sq_dist.argmin())
        found.sq_dist[j], found.rows[j] = sq_dist[i], start + members[i]
        found.points[j] = X[members[i]]
    return found


def merge_nearest(parts: Sequence[Nearest]) -> Nearest:
    """Nearest of all, in whatever order they were found."""
    sq_dist, rows = np.stack([p.sq_dist for p in parts]), np.stack([p.rows for p in parts])
    best = np.lexsort((rows, sq_dist), axis=0)[0]
    j = np.arange(len(best))
    return Nearest(sq_dist[best, j], rows[best, j], np.stack([p.points for p in parts])[best, j])
