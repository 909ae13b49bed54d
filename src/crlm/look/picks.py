"""Which rows of a cluster to look at: its middle, its edge, and those that nearly made it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm.labels import BACKGROUND
from crlm.search.distance import chunks

Rows = NDArray[np.intp]
F64 = NDArray[np.float64]


class Picks(NamedTuple):
    """Rows of one cluster, and how far they are from the middle of its ball, in radii.

    Attributes
    ----------
    center : ndarray
        Members nearest to the middle, nearest first.
    edge : ndarray
        Other members farthest from it, farthest first: where mistakes show.
    nearly : ndarray
        Background nearest to it, nearest first.
    distances : dict of int to float
        Of each of these rows, over the radius: below 1 inside the ball.
    """

    center: Rows
    edge: Rows
    nearly: Rows
    distances: dict[int, float]

    @property
    def rows(self) -> list[int]:
        """All of them, in this order."""
        return [int(i) for i in np.concatenate([self.center, self.edge, self.nearly])]


def pick_rows(
    X: NDArray[np.floating],
    labels: NDArray[Any],
    middles: NDArray[np.floating],
    radius: float,
    n_rows: int = 8,
) -> list[Picks]:
    """Rows to look at, `n_rows` of each kind at most, for each cluster.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    middles : ndarray of shape (k, d)
        Middle of each ball. Only clusters 0 to k - 1 are looked at.
    radius : float
        Of the balls.
    n_rows : int
    """
    background = _nearest(X, np.flatnonzero(labels == BACKGROUND), middles, n_rows)
    found = []
    for j, middle in enumerate(middles):
        members = np.flatnonzero(labels == j)
        far = _distances(X, members, middle[None])[:, 0]
        order = np.argsort(far, kind="stable")
        center, rest = order[:n_rows], order[n_rows:]
        edge = rest[::-1][:n_rows]
        nearly, how_far = background[j]
        rows = np.concatenate([members[center], members[edge], nearly])
        over = np.concatenate([far[center], far[edge], how_far]) / radius
        found.append(
            Picks(
                members[center],
                members[edge],
                nearly,
                dict(zip(rows.tolist(), over.tolist(), strict=True)),
            )
        )
    return found


def top_direction(points: NDArray[np.floating]) -> float:
    """Share of the variance along the direction in which the points vary most, times d.

    1 for a round cloud of many points. A cloud of few points is never quite round by chance;
    :func:`round_limit` is what to expect of one.
    """
    n, d = points.shape
    rest = points - points.mean(axis=0, dtype=np.float64)
    gram = rest.T @ rest if d <= n else rest @ rest.T
    total = float(np.trace(gram))
    if total <= 0.0:
        return 1.0
    top = float(np.linalg.eigvalsh(gram)[-1])
    return float(top / total * d)


def round_limit(n: int, d: int) -> float:
    """Largest :func:`top_direction` expected of `n` points of a round Gaussian cluster.

    The edge of Marchenko and Pastur's law.

    >>> round_limit(100, 1), round_limit(100, 100), round(round_limit(10_000, 100), 2)
    (1.21, 4.0, 1.21)
    """
    return float(round((1.0 + math.sqrt(d / max(n, 1))) ** 2, 12))


def _nearest(
    X: NDArray[np.floating], rows: Rows, middles: NDArray[np.floating], n_rows: int
) -> list[tuple[Rows, F64]]:
    """For each middle the nearest of some rows, nearest first, and their distances."""
    best = [(np.zeros(0, dtype=np.intp), np.zeros(0)) for _ in middles]
    if not len(middles):
        return best
    for part in chunks(len(rows), X.shape[1]):
        found = _distances(X, rows[part], middles)
        for j, (near, far) in enumerate(best):
            both, dist = np.append(near, rows[part]), np.append(far, found[:, j])
            order = np.argsort(dist, kind="stable")[:n_rows]
            best[j] = both[order], dist[order]
    return best


def _distances(X: NDArray[np.floating], rows: Rows, middles: NDArray[np.floating]) -> F64:
    found: F64 = distance.cdist(X[rows], middles)
    return found
