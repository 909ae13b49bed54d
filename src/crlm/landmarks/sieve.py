"""The second pass, for some rows: which landmarks are near each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.landmarks.survey import Pool
from crlm.loss import sq_cutoff as squared_cutoff
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import Frame, frame_in_box, middle
from crlm.search.plan import choose_directions, leading_directions, near_share

# Rows and landmarks of one product: half a megabyte of float32, in the cache of a core.
_TILE = (256, 512)
_MAX_DIRECTIONS = 256
_N_TRIED = 2048
_SMALL = 10**7  # pairs that are filtered sooner than a plan is made


class Sieve(NamedTuple):
    """Landmarks made ready for the filter, and the loss."""

    frame: Frame
    landmarks: Floats  # (m, d)
    rows: NDArray[np.int64]  # (m,) their row numbers
    left: Floats  # (m, width), one side of the product
    sq_cutoff: float
    sigma_max: float
    G: float

    def only(self, which: NDArray[np.intp]) -> Sieve:
        """The same for some of the landmarks."""
        return self._replace(
            landmarks=self.landmarks[which], rows=self.rows[which], left=self.left[which]
        )

    def around(self, points: Floats, rows: NDArray[np.int64]) -> Sieve:
        """The same for other landmarks."""
        left = self.frame.left(self.frame.right(points))
        return self._replace(landmarks=points, rows=rows, left=left)


class NearPairs(NamedTuple):
    """Pairs of a row and a landmark closer than the radius, by row, then by landmark."""

    i: NDArray[np.intp]
    j: NDArray[np.intp]
    sq_dist: NDArray[np.float64]


def make_sieve(pool: Pool, sigma_max: float, G: float) -> Sieve:
    """Choose what to filter on, by trying it on the rows that were drawn."""
    d = pool.points.shape[1]
    cutoff = squared_cutoff(sigma_max, d, G)
    f = frame_in_box(middle(pool.points), pool.low, pool.high, cutoff)
    tried = pool.points[:: max(1, len(pool.points) // _N_TRIED)]
    if pool.n * pool.m > _SMALL:
        directions = leading_directions(tried[::2], min(d, _MAX_DIRECTIONS))
        sample = f.along(directions).coordinates(tried[1::2])
        near = near_share(pool.points, cutoff)
        count, _ = choose_directions(sample, f.cutoff, d, 1.0, near)
        f = f.along(None if count == d else directions[:, :count])
    landmarks = pool.points[: pool.m]
    left = f.left(f.right(landmarks))
    return Sieve(f, landmarks, pool.rows[: pool.m], left, cutoff, sigma_max, G)


def near_pairs(X: Floats, sieve: Sieve) -> NearPairs:
    """Landmarks closer than the radius to each row of `X`."""
    i, j = _candidates(X, sieve)
    sq_dist = sq_distances_of_pairs(X, i, sieve.landmarks, j)
    close = sq_dist < sieve.sq_cutoff
    i, j, sq_dist = i[close], j[close], sq_dist[close]
    order = np.lexsort((j, i))
    return NearPairs(i[order], j[order], sq_dist[order])


def _candidates(X: Floats, sieve: Sieve) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs that the product does not exclude."""
    f, left, (height, width) = sieve.frame, sieve.left, _TILE
    right = f.right(X)
    products = np.empty(height * width, dtype=f.dtype)
    below = np.empty(height * width, dtype=bool)
    rows, others = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for top in range(0, len(X), height):
        part = right[top : top + height]
        for at in range(0, len(left), width):
            panel = left[at : at + width]
            shape, cells = (len(part), len(panel)), len(part) * len(panel)
            V = np.matmul(part, panel.T, out=products[:cells].reshape(shape))
            hits = np.flatnonzero(np.less(V, f.cutoff, out=below[:cells].reshape(shape)))
            if len(hits):
                i, j = np.divmod(hits, len(panel))
                rows.append(i + top)
                others.append(j + at)
    return np.concatenate(rows), np.concatenate(others)
