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

from crlm.background.growth import CONTRAST, tail
from crlm.background.references import References
from crlm.background.significance import MIN_SIZE, Background, Judge
from crlm.bandwidth.near import Near, near_rows
from crlm.bandwidth.radii import Found, grid, spread
from crlm.greedy import Ball
from crlm.search import Floats

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

_QUARTER = 0.25
_FAR = 100.0  # no log distance is further from that of R0 than this


def rare_path(X: Floats, references: References, alpha: float) -> RarePath | None:
    """Look at all rows from near; None where that cannot be done."""
    near = near_rows(X, references)
    return None if near is None else RarePath(near, references, alpha)


class RarePath:
    """Clusters among all rows at each radius up to R0, smallest radius first.

    Log distances and radii are those over R0.
    """

    def __init__(self, near: Near, references: References, alpha: float) -> None:
        self.n, self._near = near.n, near
        self._needed = math.log(self.n / alpha)
        # In few dimensions clusters may be less than twice as dense as their background.
        self._contrast = 1.0 if references.is_flat else CONTRAST
        log_d, self._delta = near.log_d, 0.0
        if len(log_d) and (quarter := float(log_d[int(_QUARTER * len(log_d))])) < 0.0:
            self._delta = math.log(_QUARTER) / quarter
        self._some = near.surprising(self._delta, self._contrast, self._needed)
        nearest = near.log_r[near.starts[self._some] + MIN_SIZE - 2].min(initial=0.0)
        log_R0 = math.log(near.R0)
        radii = grid(references, log_R0 + max(float(nearest), -_FAR), log_R0).radii
        self.radii = radii[radii < near.R0]
        self._log_radii = np.log(self.radii / near.R0)

    def _surprise(self, rows: Rows, m: Rows, log_R: float) -> F64:
        N, log_q = self._near.N[rows].astype(np.float64), np.full(m.shape, self._delta * log_R)
        return tail(m, N, log_q, 1.0, np.full(m.shape, self._contrast))

    def clusters(self) -> list[list[Found]]:
        """Balls that are surprising, at each radius."""
        lists = [self._near.log_r[self._near.of(row)] for row in self._some]
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
        lists = [self._near.of(row, size) for row, size in zip(rows, m, strict=True)]
        loss = [float(np.expm1(2.0 * (self._near.log_r[near] - log_R)).sum()) for near in lists]
        found: list[Found] = []
        gone = np.zeros(self.n, dtype=bool)
        for j in np.argsort(loss, kind="stable").tolist():
            if gone[rows[j]]:
                continue
            near = self._near.others[lists[j]]
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
            expected = min(float(ball.m), q * float(self._near.N[ball.center]))
            return max(0.0, ball.m + 1 - CONTRAST * expected)

        shares = np.exp(self._delta * self._log_radii).tolist()
        return np.array(
            [sum(worth(ball, q) for ball in balls) for balls, q in zip(found, shares, strict=True)],
            dtype=np.float64,
        )

    def sigma(self, ball: Found) -> float:
        """Standard deviation per coordinate of the members of a ball."""
        return spread(self._near.points[ball.members])

    def gap(self, ball: Found) -> float:
        """Distance of the nearest point outside a ball over that of the farthest inside."""
        near = self._near.of(ball.center)
        log_r, inside = self._near.log_r[near], np.isin(self._near.others[near], ball.members)
        return float(np.exp(log_r[~inside].min(initial=0.0) - log_r[inside].max()))

    def are_more_than_chance(
        self, balls: list[Found], radius: float, X: Floats, background: Background, alpha: float
    ) -> bool:
        """Whether some of the balls of a radius pass the test that clusters have to pass."""
        judge = Judge(X, background, radius, alpha)
        rows = self._near.rows
        found = (
            Ball(int(rows[ball.center]), rows[ball.members], ball.m + 1.0, math.nan)
            for ball in balls
        )
        passed = [ball for ball in found if judge(ball)]
        return bool(passed) and judge.any_beyond_doubt(passed)
