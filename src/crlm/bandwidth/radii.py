"""Significant clusters of the references at each radius of a fine grid."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.background.growth import CONTRAST, LARGEST, Growth
from crlm.background.references import References
from crlm.background.significance import Background
from crlm.search import Floats

F64 = NDArray[np.float64]

# Radii differ by 2**(1/32). A count that grows as the 30th power of the radius, as for embeddings,
# doubles from one to the next. They are placed by the spread of the data, to a millionth of a step:
# so they follow the units, and the last bit of a distance does not move them.
STEPS = 32
_PLACES = 2.0**20
_MAX_RADII = 32 * 16
_BEYOND = math.log(2.0) / 32.0
_TWICE = math.log(2.0) + 0.01  # log of two radii, and more than rounding adds


class Found(NamedTuple):
    """A significant ball among the references."""

    center: int
    members: NDArray[np.intp]
    m: int  # members without the centre
    surprise: float


class Grid(NamedTuple):
    """Radii, ascending."""

    radii: F64
    logs: F64


def grid(references: References, log_low: float, log_high: float) -> Grid:
    """Radii from one to another, in steps of 2**(1/32); at most the 16 octaves below the last."""
    phase = _phase(references)
    # The last bit of a distance must not decide on which side of a step it is.
    low, high = (
        round((log_R / math.log(2.0) * STEPS - phase) * _PLACES) / _PLACES
        for log_R in (log_low, log_high)
    )
    first = max(math.floor(low), math.ceil(high) - _MAX_RADII)
    at = np.arange(first, math.ceil(high) + 1) + phase
    return Grid(np.exp2(at / STEPS), at * math.log(2.0) / STEPS)


def _phase(references: References) -> float:
    """Where the spread of the references lies between two powers of 2**(1/32), from 0 to 1."""
    sq = float(np.square(references.points).sum(axis=1).mean())
    steps = 0.5 * STEPS * math.log2(sq) if sq else 0.0
    return round((steps - math.floor(steps)) * _PLACES) / _PLACES


def ends(log_last: F64, log_next: F64) -> F64:
    """Log radii of balls that end between two distances: half-way, but at most 2 % beyond."""
    return log_last + np.minimum(0.5 * (log_next - log_last), _BEYOND)


def spread(points: Floats) -> float:
    """Standard deviation per coordinate of some points."""
    moved = points.astype(np.float64) - points[0]  # a large common offset costs no digits
    sq = float(np.square(moved - moved.mean(axis=0)).sum())
    return math.sqrt(sq / (points.shape[1] * max(1, len(points) - 1)))


class ReferencePath:
    """Significant clusters of the references at each radius, smallest radius first."""

    def __init__(self, X: Floats, background: Background, growth: Growth, alpha: float) -> None:
        self._X = X
        self._references, self._growth = background.references, growth
        self._inflation = background.inflation.simple
        self.log_r = self._references.log_r
        self.n = len(self.log_r)
        self._needed = math.log(self.n / alpha)
        middle = float(np.median(self.log_r[:, len(self.log_r) // 2]))
        low = float(self.log_r[:, 2].min())
        self.radii, self._log_radii = grid(self._references, low, middle)

    def clusters(self) -> list[list[Found]]:
        """Clusters of Algorithm 2 at each radius that are more than chance."""
        at, rows, m, surprise = self._significant()
        loss = self._losses(at, rows, m)
        ends = np.searchsorted(at, np.arange(1, len(self.radii)))
        balls = (np.split(of, ends) for of in (rows, m, surprise, loss))
        return [self._greedy(*here) for here in zip(*balls, self._log_radii, strict=True)]

    def _significant(self) -> list[NDArray[Any]]:
        """Balls that are more than chance, by radius: its number, their rows, sizes, surprises."""
        # Points in the open ball around each reference, without itself.
        sizes = np.array([row.searchsorted(self._log_radii) - 1 for row in self.log_r]).T
        found = []
        for start in range(0, len(sizes), STEPS):  # an octave at a time, to save memory
            some = sizes[start : start + STEPS]
            at, rows = np.nonzero((some >= 2) & (some <= LARGEST * len(self.log_r)))
            m, at = some[at, rows], at + start
            surprise = self._surprise(rows, m, self._log_radii[at])
            found.append([of[surprise >= self._needed] for of in (at, rows, m, surprise)])
        return [np.concatenate(of) for of in zip(*found, strict=True)]

    def _surprise(self, rows: NDArray[np.intp], m: NDArray[np.intp], log_R: ArrayLike) -> F64:
        return self._growth.surprise(self._references.around, rows, m, log_R) / self._inflation

    def _losses(self, at: NDArray[np.intp], rows: NDArray[np.intp], m: NDArray[np.intp]) -> F64:
        """Losses over G, and without that of the centre itself."""
        unit = self.log_r[0, -1]  # a typical length, so that squares keep their digits
        sq_sums = np.empty((len(self.log_r), m.max(initial=0) + 1))
        some = np.unique(rows)
        nearest = self.log_r[some, : sq_sums.shape[1]]
        sq_sums[some] = np.cumsum(np.exp(2.0 * (nearest - unit)), axis=1)
        loss: F64 = sq_sums[rows, m] * np.exp(2.0 * (unit - self._log_radii))[at] - m
        return loss

    def net(self, found: list[list[Found]]) -> F64:
        """Points of the clusters at each radius, less twice the background among them."""
        balls = [ball for at_radius in found for ball in at_radius]
        n_clusters = [len(at_radius) for at_radius in found]
        centers = np.array([ball.center for ball in balls], dtype=np.intp)
        m = np.array([ball.m for ball in balls], dtype=np.intp)
        log_R = np.repeat(self._log_radii, n_clusters)
        expected = self._growth.expected(self.log_r, centers, m, log_R)
        worth = np.maximum(m + 1 - CONTRAST * expected, 0.0)
        parts = np.split(worth, np.cumsum(n_clusters)[:-1])
        return np.array([sum(part.tolist()) for part in parts], dtype=np.float64)

    def _greedy(
        self, rows: NDArray[np.intp], m: NDArray[np.intp], surprise: F64, loss: F64, log_R: float
    ) -> list[Found]:
        """Least loss first; balls that shared points with it are judged anew without them."""
        log_D = self._references.log_distances
        found: list[Found] = []
        gone = np.zeros(len(self.log_r), dtype=bool)
        still = np.arange(len(rows))  # places of the rows that may yet be a centre
        while len(still):
            j = int(still[np.argmin(loss[still])])
            log_d = log_D[rows[j]]
            members = np.flatnonzero((log_d < log_R) & ~gone)
            found.append(Found(int(rows[j]), members, int(m[j]), float(surprise[j])))
            gone[members] = True
            still = still[~gone[rows[still]]]
            beside = still[log_d[rows[still]] < log_R + _TWICE]  # others share no points
            shared = log_D[np.ix_(rows[beside], members)]
            near = shared < log_R
            lost = near.sum(axis=1)
            some = lost > 0
            changed = beside[some]
            if not len(changed):
                continue
            weight = 1.0 - np.exp(2.0 * (shared[some] - log_R))
            loss[changed] += np.where(near[some], weight, 0.0).sum(axis=1)
            m[changed] -= lost[some]
            surprise[changed] = self._surprise(rows[changed], np.maximum(m[changed], 1), log_R)
            still = still[(m[still] >= 2) & (surprise[still] >= self._needed)]
        return found

    def sigma(self, ball: Found) -> float:
        """Standard deviation per coordinate of the members of a ball."""
        return spread(self._X[self._references.rows[ball.members]])

    def gap(self, ball: Found) -> float:
        """Distance of the nearest point outside a ball over that of the farthest inside."""
        log_D = self._references.log_distances[ball.center]
        outside = np.ones(len(log_D), dtype=bool)
        outside[ball.members] = False
        return float(np.exp(log_D[outside].min() - log_D[ball.members].max()))
