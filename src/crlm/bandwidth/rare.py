"""Clusters too rare for the references: the radius from all rows.

Of more than two thousand rows the references are a sample, and of a cluster of twenty among fifty
thousand it holds one row, or none. Such a cluster shows only from near. So all pairs of rows up to
a radius R0 are found, and a ball is set against the points around its centre up to R0:

    surprise = -log P(Binomial(N, c (R / R0)^delta) >= m),

m of N points being within R; c is 2, or 1 in up to three dimensions. The growth `delta` is that of
all pairs, from a quarter of them to all up to R0, which are background nearly all. This quick look
says which radius to try, and no more: whether there is anything is for
:class:`crlm.background.significance.Judge` to say, as everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crlm.background.growth import CONTRAST, tail
from crlm.background.references import References
from crlm.background.significance import MIN_SIZE, Background, Judge
from crlm.bandwidth.radii import Found, grid, spread
from crlm.errors import InputError, MemoryLimitError
from crlm.greedy import Ball
from crlm.search import Floats, Pairs, RankedPairs, pairs_within

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

# R0 takes in some sixty points around a row, which is room for a shell around what the references
# do not show; of more than thirty thousand rows fewer, to stay within a hundred megabytes.
_PAIRS_PER_ROW, _MAX_PAIRS = 32, 1 << 20
_LIMIT = 1 << 30  # bytes: if distances are not at all what they seemed, there is no quick look
_QUARTER = 0.25
_TINY, _FAR = 1e-300, 100.0  # no log distance is further from that of R0 than this


def rare_path(X: Floats, references: References, alpha: float) -> RarePath | None:
    """Look at all rows from near; None where that cannot be done."""
    n = references.n_points
    log_r = references.log_r[:, 1:]
    n_pairs = min(_PAIRS_PER_ROW * n, _MAX_PAIRS)
    at = min(int(2.0 * n_pairs / n**2 * log_r.size), log_r.size - 1)
    log_R0 = float(np.partition(log_r, at, axis=None)[at])
    R0 = float(grid(references, log_R0, log_R0).radii[0])  # which follows the units
    rows = np.flatnonzero(references.distinct)
    points = X if len(rows) == len(X) else X[rows]
    try:
        pairs = pairs_within(points, R0**2, memory_limit=_LIMIT, n_jobs=references.n_jobs)
    except (InputError, MemoryLimitError):
        return None
    return RarePath(points, rows, pairs, R0, references, alpha)


class RarePath:
    """Clusters among all rows at each radius up to R0, smallest radius first.

    Log distances and radii are those over R0.
    """

    def __init__(
        self,
        points: Floats,
        rows: Rows,
        pairs: Pairs,
        R0: float,
        references: References,
        alpha: float,
    ) -> None:
        self.n = len(points)
        self._points, self._rows, self._R0 = points, rows, R0
        self._needed = math.log(self.n / alpha)
        # In few dimensions clusters may be less than twice as dense as their background.
        self._contrast = 1.0 if references.is_flat else CONTRAST
        ranked = RankedPairs.of(pairs)
        with np.errstate(divide="ignore"):  # copies of a row count once, but squares may vanish
            log_d = 0.5 * np.log(ranked.sq_dist / R0**2)
        self._delta = 0.0
        if len(log_d) and (near := float(log_d[int(_QUARTER * len(log_d))])) < 0.0:
            self._delta = math.log(_QUARTER) / near
        # Neighbours of each row, nearest first.
        self._starts, self._others, ranks = ranked.lists
        self._log_r = log_d[ranks]
        self._N = np.diff(self._starts, append=len(ranks))
        self._some = self._surprising()
        nearest = self._log_r[self._starts[self._some] + MIN_SIZE - 2].min(initial=0.0)
        log_R0 = math.log(R0)
        radii = grid(references, log_R0 + max(float(nearest), -_FAR), log_R0).radii
        self.radii = radii[radii < R0]
        self._log_radii = np.log(self.radii / R0)

    def _surprising(self) -> Rows:
        """Rows around which some ball is surprising; it may end at one of its points."""
        m = np.arange(1, len(self._log_r) + 1) - np.repeat(self._starts, self._N)
        N = np.repeat(self._N, self._N)
        p = np.minimum(self._contrast * np.exp(self._delta * self._log_r), 1.0)
        at = np.flatnonzero((m >= MIN_SIZE - 1) & (m > N * p))
        m, N, p = m[at].astype(np.float64), N[at].astype(np.float64), np.maximum(p[at], _TINY)
        # The chance of m or more is at least that of m, so that a surprise is at most this.
        most = special.rel_entr(m, N * p) + special.rel_entr(N - m, N * (1.0 - p))
        at = at[most + 0.5 * np.log(8.0 * m) >= self._needed]
        return np.unique(np.searchsorted(self._starts, at, side="right") - 1)

    def _surprise(self, rows: Rows, m: Rows, log_R: float) -> F64:
        N, log_q = self._N[rows].astype(np.float64), np.full(m.shape, self._delta * log_R)
        return tail(m, N, log_q, 1.0, np.full(m.shape, self._contrast))

    def _list(self, row: int, size: int | None = None) -> slice:
        """Where the nearest neighbours of a row are."""
        start = int(self._starts[row])
        return slice(start, start + int(self._N[row] if size is None else size))

    def clusters(self) -> list[list[Found]]:
        """Balls that are surprising, at each radius."""
        lists = [self._log_r[self._list(row)] for row in self._some]
        sizes = np.array([log_r.searchsorted(self._log_radii) for log_r in lists], dtype=np.intp)
        by_radius = sizes.reshape(len(lists), len(self.radii)).T
        return [
            self._greedy(m, log_R)
            for m, log_R in zip(by_radius, self._log_radii.tolist(), strict=True)
        ]

    def _greedy(self, m: Rows, log_R: float) -> list[Found]:
        """Least loss first, each without the points of those before."""
        some = m >= MIN_SIZE - 1
        rows, m = self._some[some], m[some]
        some = self._surprise(rows, m, log_R) >= self._needed
        rows, m = rows[some], m[some]
        lists = [self._list(row, size) for row, size in zip(rows, m, strict=True)]
        loss = [float(np.expm1(2.0 * (self._log_r[near] - log_R)).sum()) for near in lists]
        found: list[Found] = []
        gone = np.zeros(self.n, dtype=bool)
        for j in np.argsort(loss, kind="stable").tolist():
            if gone[rows[j]]:
                continue
            near = self._others[lists[j]]
            near = near[~gone[near]]
            left = np.array([len(near)])
            surprise = float(self._surprise(rows[j : j + 1], left, log_R)[0])
            if len(near) >= MIN_SIZE - 1 and surprise >= self._needed:
                members = np.sort(np.append(near, rows[j])).astype(np.intp)
                gone[members] = True
                found.append(Found(int(rows[j]), members, len(near), surprise))
        return found

    def net(self, found: list[list[Found]]) -> F64:
        """Points of the clusters at each radius, less twice the background among them."""

        def worth(ball: Found, q: float) -> float:
            expected = min(float(ball.m), q * float(self._N[ball.center]))
            return max(0.0, ball.m + 1 - CONTRAST * expected)

        shares = np.exp(self._delta * self._log_radii).tolist()
        return np.array(
            [sum(worth(ball, q) for ball in balls) for balls, q in zip(found, shares, strict=True)],
            dtype=np.float64,
        )

    def sigma(self, ball: Found) -> float:
        """Standard deviation per coordinate of the members of a ball."""
        return spread(self._points[ball.members])

    def gap(self, ball: Found) -> float:
        """Distance of the nearest point outside a ball over that of the farthest inside."""
        near = self._list(ball.center)
        log_r, inside = self._log_r[near], np.isin(self._others[near], ball.members)
        return float(np.exp(log_r[~inside].min(initial=0.0) - log_r[inside].max()))

    def are_more_than_chance(
        self, balls: list[Found], radius: float, X: Floats, background: Background, alpha: float
    ) -> bool:
        """Whether some of the balls of a radius pass the test that clusters have to pass."""
        judge = Judge(X, background, radius, alpha)
        rows = self._rows
        found = (
            Ball(int(rows[ball.center]), rows[ball.members], ball.m + 1.0, math.nan)
            for ball in balls
        )
        passed = [ball for ball in found if judge(ball)]
        return bool(passed) and judge.any_beyond_doubt(passed)
