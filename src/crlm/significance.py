"""Significance: is a ball a cluster, or what the background does now and then.

The null hypothesis: the points are a background alone, whose count around each point grows as a
power of the radius (:mod:`crlm.growth`). Every point is a possible centre, so the chance of one
ball is multiplied by the number of points (Bonferroni):

    p = min(1, n * P(as many points in a ball of the background)).

At ``alpha`` the chance of reporting *any* cluster on such a background is then at most about
``alpha``. "About", because the growth is estimated and the scan over radii is paid for by the
contrast of 2 rather than counted; ``docs/selection.md`` has the simulated rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crlm.greedy import Ball
from crlm.growth import LARGEST, MIN_POINTS, Growth, levels
from crlm.references import References
from crlm.search import Floats, Weights

F64 = NDArray[np.float64]

_MAX_ROUNDS = 12
# Points of clusters are left out of the background, but never so many that nothing is left.
_MIN_LEFT = 20
_BLOCK = 512  # rows measured against the references at a time: 8 MB


@dataclass(frozen=True)
class Background:
    """What the background of a data set looks like around a point.

    Attributes
    ----------
    references : References
        Rows to measure against.
    growth : Growth or None
        How it grows; None when there are too few rows to say.
    """

    references: References
    growth: Growth | None
    best: tuple[float, float]  # surprise of the most surprising ball of all, and log of its radius

    @classmethod
    def learn(
        cls, X: Floats, weights: Weights, alpha: float = 0.01, n: int | None = None
    ) -> Background:
        """Learn from the rows that belong to no cluster.

        Clusters are found and left out in rounds, the most surprising balls first: around a
        background point a cluster comes all at once, which is no growth. `n` is the number of
        rows of which `X` is a random sample, if it is one.
        """
        references = References.choose(X, weights, n)
        log_r = references.log_r
        n = len(log_r)
        if n < MIN_POINTS:
            return cls(references, None, (-math.inf, float(np.median(log_r[:, n - 1 :]))))
        needed = math.log(n / alpha)
        left = np.arange(n)
        best: tuple[float, float] | None = None
        for _ in range(_MAX_ROUNDS):
            growth = Growth.learn(log_r)
            surprise, sizes = _most_surprising(growth, log_r, needed)
            top = int(np.argmax(surprise))
            best = best or (float(surprise[top]), float(log_r[top, sizes[top]]))
            if surprise[top] < needed:
                break
            inside = references.log_distances[np.ix_(left, left)]
            taken = _disjoint(inside, log_r, surprise, sizes, max(needed, surprise[top] / 2.0))
            if len(left) - taken.sum() < max(n // 4, _MIN_LEFT):
                break
            left = left[~taken]
            log_r = np.sort(references.log_distances[np.ix_(left, left)], axis=1)
        assert best is not None
        return cls(references, growth, best)

    def log_p(self, log_r: F64, m: NDArray[np.intp], log_R: float, worth: float = 0.0) -> F64:
        """Log p-values of balls with `m` points beside their centres.

        `log_r` are the sorted log distances of the centres to the references; p-values beyond
        ``exp(-worth)`` are not looked at closely.
        """
        if self.growth is None:
            return np.zeros(len(m))
        references = self.references
        log_n = math.log(references.n_points)
        rows = np.arange(len(m))
        surprise = self.growth.surprise(log_r, rows, m, log_R, references.w, log_n + worth)
        # Two points cannot be told from chance: any point has a nearest neighbour.
        return np.where(m >= 2, np.minimum(log_n - surprise, 0.0), 0.0)


class Judge:
    """Decides which balls of one radius are clusters, and keeps their p-values.

    `n_distinct` counts the members of a ball, copies once; without it they are rows of `X`.
    """

    def __init__(
        self,
        X: Floats,
        background: Background,
        radius: float,
        alpha: float,
        n_distinct: Callable[[Ball], int] | None = None,
    ) -> None:
        self._X, self._background, self._log_R = X, background, math.log(radius)
        self._log_alpha = math.log(alpha)
        distinct = background.references.distinct
        self._n_distinct = n_distinct or (lambda ball: int(distinct[ball.members].sum()))
        self._log_p: dict[int, float] = {}

    def __call__(self, ball: Ball) -> bool:
        """Whether the ball is more than chance."""
        i, references = ball.center_index, self._background.references
        m = np.array([self._n_distinct(ball) - 1])
        log_r = references.log_r_of(self._X, np.array([i]))
        self._log_p[i] = float(self._background.log_p(log_r, m, self._log_R)[0])
        return self._log_p[i] <= self._log_alpha

    def p_value(self, ball: Ball) -> float:
        """P-value of a ball that was judged."""
        return math.exp(self._log_p[ball.center_index])

    def candidates(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those rows whose balls may be more than chance.

        Judged without looking for the ball: by as many points as the references inside it can
        possibly stand for. A search that does not store its pairs is so spared most balls.
        """
        blocks = [rows[at : at + _BLOCK] for at in range(0, len(rows), _BLOCK)]
        none = np.zeros(0, dtype=np.intp)
        return np.concatenate([none, *(block[self._may_pass(block)] for block in blocks)])

    def with_points(self, rows: NDArray[np.intp], m: NDArray[np.int64]) -> NDArray[np.intp]:
        """Those rows that may be more than chance with at most `m` points beside them."""
        none = np.zeros(0, dtype=np.intp)
        most = LARGEST * self._background.references.n_points
        found = [none]
        for at in range(0, len(rows), _BLOCK):
            part, counts = rows[at : at + _BLOCK], m[at : at + _BLOCK]
            log_r = self._background.references.log_r_of(self._X, part)
            log_p = self._background.log_p(log_r, counts, self._log_R, worth=-self._log_alpha)
            # A ball of most points is none, but may become one when others are removed.
            found.append(part[(log_p <= self._log_alpha) | (counts > most)])
        return np.concatenate(found)

    def _may_pass(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        log_r = self._background.references.log_r_of(self._X, rows)
        w, n = self._background.references.w, log_r.shape[1]
        inside = (log_r < self._log_R).sum(axis=1) - 1
        # Each reference stands for w points, give or take; when all are references, exactly.
        most = inside + (1.0 - 1.0 / w) * (4.0 * np.sqrt(inside) + 6.0)
        m = np.ceil(w * np.minimum(most, np.maximum(inside, LARGEST * n))).astype(np.intp)
        log_p = self._background.log_p(log_r, m, self._log_R, worth=-self._log_alpha)
        return log_p <= self._log_alpha


def _most_surprising(growth: Growth, log_r: F64, worth: float) -> tuple[F64, NDArray[np.intp]]:
    """For each point its most surprising ball: how much, and with how many others."""
    n = len(log_r)
    surprise, sizes = np.full(n, -np.inf), np.full(n, 2, dtype=np.intp)
    for m in levels(2, max(2, n // 2)):
        now = growth.surprise(log_r, np.arange(n), np.full(n, m), log_r[:, m], worth=worth)
        more = now > surprise
        surprise[more], sizes[more] = now[more], m
    return surprise, sizes


def _disjoint(
    log_D: F64, log_r: F64, surprise: F64, sizes: NDArray[np.intp], least: float
) -> NDArray[np.bool_]:
    """Points of the most surprising balls that do not touch each other."""
    taken = np.zeros(len(log_r), dtype=bool)
    for i in np.argsort(-surprise, kind="stable"):
        if surprise[i] < least:
            break
        ball = log_D[i] <= log_r[i, sizes[i]]
        if not (taken & ball).any():
            taken |= ball
    return taken
