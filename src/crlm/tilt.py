"""How lopsided the points around a place lie.

Where an edge of the data cuts off part of a shell, or the density falls to one side, more points
lie on the other: their mean is off the centre. So what a shell lacks can be told from where its
points are, and need not be feared everywhere (:mod:`crlm.growth`).

Measured for rows that span up to three dimensions. In more, the shell around a ball reaches
through much of the data, whose ends then show on all sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

MAX_SPAN = 3
_NONE = 1e-9  # share of the widest extent below which there is none
_TRIED = 16  # points that nearly always tell
_BLOCK = 256  # places at a time: 4 MB
_SMALL = 1e-150  # distances whose squares are still numbers
# Rounded to this, so that the order in which equal distances come does not tell.
_QUANTUM = 2.0**-20


def span(points: F64) -> F64 | None:
    """Directions (d, n_directions) that the points span; None if these are more than three.

    A column that is there twice adds none.
    """
    if points.shape[1] <= MAX_SPAN:
        return np.eye(points.shape[1])
    for some in (points[:_TRIED], points):
        _, extents, directions = np.linalg.svd(some - some[0], full_matrices=False)
        n_directions = int((extents > _NONE * extents[0]).sum())
        if n_directions > MAX_SPAN:
            return None
    return np.ascontiguousarray(directions[:n_directions].T)


def tilts(points: F64, places: F64, order: NDArray[np.intp], r: F64) -> F64:
    """Length of the mean offset of the M nearest points over the distance of the last, by M.

    Less what M points spread evenly in a ball have by chance: a square of k / (k + 2) M.

    Parameters
    ----------
    points, places : ndarray of shape (n, n_directions), (n_places, n_directions)
    order : ndarray of shape (n_places, n)
        Points by their distance; the first is the place itself, or stands for it.
    r : ndarray of shape (n_places, n)
        Their distances.
    """
    n = len(points)
    out = np.empty(r.shape)
    counts = np.maximum(np.arange(n), 1)
    by_chance = points.shape[1] / (points.shape[1] + 2.0) / counts
    for start in range(0, len(places), _BLOCK):
        part = slice(start, start + _BLOCK)
        sq = np.zeros(r[part].shape)
        for x, place in zip(points.T, places[part].T, strict=True):
            offsets = x[order[part]] - place[:, None]
            offsets[:, 0] = 0.0
            np.cumsum(offsets, axis=1, out=offsets)
            offsets /= counts
            sq += np.square(offsets, out=offsets)
        sq /= np.square(np.maximum(r[part], _SMALL))
        sq -= by_chance
        tilt = np.sqrt(np.maximum(sq, 0.0, out=sq), out=sq)
        out[part] = np.take_along_axis(tilt, _last_of_equals(r[part]), axis=1)
    out /= _QUANTUM
    np.rint(out, out=out)
    out *= _QUANTUM
    return out


def _last_of_equals(r: F64) -> NDArray[np.intp]:
    """Where the last of equal numbers stands, in rows that are sorted."""
    n = r.shape[1]
    is_last = np.ones(r.shape, dtype=bool)
    is_last[:, :-1] = r[:, 1:] != r[:, :-1]
    at = np.where(is_last, np.arange(n), n)
    last: NDArray[np.intp] = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
    return last
