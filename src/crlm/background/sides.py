"""On which sides of a place the points around it lie.

* *Tilt.* Where an edge of the data cuts off part of a shell, or the density falls to one side, more
  points lie on the other: their mean is off the centre. So what a shell lacks can be told from
  where its points are, and need not be feared everywhere (:mod:`crlm.background.growth`).
* *Directions.* Along a ridge (skewed columns have them, and correlated ones) points lie along a
  line, and farther out their number grows as along a line, not as in all directions there are.

Measured for rows that span up to three dimensions. In more, the shell around a ball reaches
through much of the data, whose ends then show on all sides.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.search.parallel import one_blas_thread

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

MAX_SPAN = 3
_NONE = 1e-9  # share of the widest extent below which there is none
_TRIED = 16  # points that nearly always tell
_SMALL = 1e-150  # distances whose squares are still numbers
_TINY = 1e-280  # fourth powers of distances that are
# How much more uneven than on average points are by chance, in one place of twenty in a plane.
_CHANCE = 3.0
# Rounded to this, so that the order in which equal distances come does not tell. Single precision
# holds what is left.
_QUANTUM = 2.0**-20


class Sides(NamedTuple):
    """How the points around some places lie, up to each of them."""

    tilt: F32  # how lopsided; 0 to 1
    directions: F32  # in which they extend; 1 to `n_directions`
    n_directions: int  # that all points span

    @classmethod
    def level(cls, shape: tuple[int, ...], n_directions: int) -> Sides:
        """Sides of places that are alike in all directions."""
        even = np.broadcast_to(np.float32(0.0), shape)
        return cls(even, np.broadcast_to(np.float32(n_directions), shape), n_directions)

    @classmethod
    def measure(cls, points: F64, places: F64, order: NDArray[np.intp], r: F64) -> Sides:
        """Sides of places, from the M nearest points for each M.

        Parameters
        ----------
        points, places : ndarray of shape (n, n_directions), (n_places, n_directions)
        order : ndarray of shape (n_places, n)
            Points by their distance; the first is the place itself, or stands for it.
        r : ndarray of shape (n_places, n)
            Their distances.
        """
        pairs = zip(points.T, places.T, strict=True)
        offsets = [x[order] - place[:, None] for x, place in pairs]
        for offset in offsets:
            offset[:, 0] = 0.0
        last = _last_of_equals(r)

        def rounded(of: F64) -> F32:
            of /= _QUANTUM
            np.rint(of, out=of)
            of *= _QUANTUM
            return np.take_along_axis(of, last, axis=1).astype(np.float32)

        return cls(rounded(_tilt(offsets, r)), rounded(_directions(offsets, r)), len(offsets))


def span(points: F64) -> F64 | None:
    """Directions (d, n_directions) that the points span; None if these are more than three.

    A column that is there twice adds none.
    """
    d = points.shape[1]
    centred = points - points.mean(axis=0)
    least = _NONE * np.linalg.norm(centred)
    for some in (centred[:_TRIED], centred):  # some points extend no farther than all
        with one_blas_thread():  # of few rows more take hundreds of times as long
            _, extents, directions = np.linalg.svd(some, full_matrices=False)
        n_directions = int((extents > least).sum())
        if n_directions > MAX_SPAN:
            return None
    if n_directions == d:
        return np.eye(d)
    return np.ascontiguousarray(directions[:n_directions].T)


def _tilt(offsets: list[F64], r: F64) -> F64:
    """Length of the mean offset of the M nearest points over the distance of the last, by M.

    Less what M points spread evenly in a ball have by chance: a square of k / (k + 2) M.
    """
    k, counts = len(offsets), _counts(r)
    sq = np.zeros(r.shape)
    for offset in offsets:
        mean = np.cumsum(offset, axis=1)
        mean /= counts
        sq += np.square(mean, out=mean)
    sq /= np.square(np.maximum(r, _SMALL))
    sq -= k / (k + 2.0) / counts
    return np.sqrt(np.maximum(sq, 0.0, out=sq), out=sq)


def _directions(offsets: list[F64], r: F64) -> F64:
    """Directions in which the M nearest points extend: (sum v)^2 / sum v^2, by M.

    v are the eigenvalues of the second moments of their offsets: k equal ones count as k, and one
    beside others that are 0 as 1. Points spread evenly in a ball have k / (1 + e), by chance with
    e = (k - 1) (k + 2)^2 / (k (k + 4) M) on average. Three times as much is taken off.
    """
    k, counts = len(offsets), _counts(r)
    trace, sq = np.zeros(r.shape), np.zeros(r.shape)
    if k == 0:  # all points are one
        return trace
    for a, b in itertools.combinations_with_replacement(range(k), 2):
        moment = np.cumsum(offsets[a] * offsets[b], axis=1)
        if a == b:
            trace += moment
        sq += (1.0 if a == b else 2.0) * np.square(moment, out=moment)
    np.square(trace, out=trace)
    known = sq > _TINY
    uneven = np.divide(k * sq, trace, out=np.ones_like(sq), where=known)
    uneven -= 1.0 + _CHANCE * (k - 1) * (k + 2) ** 2 / (k * (k + 4)) / counts
    return k / (1.0 + np.maximum(uneven, 0.0, out=uneven))


def _counts(of: F64) -> F64:
    return np.maximum(np.arange(of.shape[1], dtype=np.float64), 1.0)


def _last_of_equals(r: F64) -> NDArray[np.intp]:
    """Where the last of equal numbers stands, in rows that are sorted."""
    n = r.shape[1]
    is_last = np.ones(r.shape, dtype=bool)
    is_last[:, :-1] = r[:, 1:] != r[:, :-1]
    at = np.where(is_last, np.arange(n), n)
    last: NDArray[np.intp] = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
    return last
