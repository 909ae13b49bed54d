"""Significance: is a ball a cluster, or what the background does now and then.

The null hypothesis: the points are a background alone, whose count around each point grows as a
power of the radius (:mod:`crlm.background.growth`). Every point is a possible centre, so the chance
of one ball is multiplied by the number of points (Bonferroni):

    p = min(1, n * P(as many points in a ball of the background)).

Real backgrounds are not that simple, so that one more thing is asked: some ball must pass the same
test against a background of which each place may be as odd as the data allow (``severe=True`` in
:meth:`crlm.background.growth.Growth.surprise`), with the growth of all rows or with that of the
rest (:mod:`crlm.background.rest`). If none does, nothing is reported. Skewed, heavy-tailed or
discrete columns break even that, and so do columns that hang together. So the same is asked of
decoys, data with such columns and no clusters (:mod:`crlm.background.decoys`); what they show too
much is taken off (:attr:`Background.inflation`). Of few rows no ball may be that certain where
clusters hold many of them; then all rows are asked together whether they keep to themselves more
than those of decoys (:mod:`crlm.background.kinship`).

At ``alpha`` the chance of reporting *any* cluster on such a background is then at most about
``alpha``. "About", because the growth is estimated and the scan over radii is paid for by the
contrast of 2, or in up to three dimensions a factor of 4 in p, rather than counted;
``docs/selection-study.md`` has the simulated rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.background.growth import MIN_POINTS, Growth, levels
from crlm.background.references import MEASURED, Around, References, Remembered
from crlm.background.rest import asked_severely, learn_growth
from crlm.greedy import Ball
from crlm.search import Floats, Neighbourhood, Weights

if TYPE_CHECKING:
    from crlm.background.inflation import Inflation

F64 = NDArray[np.float64]

_THIN = 2.0  # growth of the points of a plane: on lines they have less
# Two points cannot be told from chance: any point has a nearest neighbour.
MIN_SIZE = 3


def least_weight(weights: Weights) -> float:
    """Weight that any cluster has at least."""
    return MIN_SIZE * float(weights[weights > 0].min(initial=1))


@dataclass(frozen=True)
class Background:
    """What the background of a data set looks like around a point.

    Attributes
    ----------
    references : References
        Rows to measure against.
    growth : Growth or None
        How it grows, read off the rows that belong to no cluster; None when there are too few
        rows to say.
    overall : Growth or None
        The same, read off all rows.
    surprise : float
        That of the most surprising ball of all, asked severely.
    log_radius : float
        Log of the radius of the most surprising ball.
    by_all : float
        Surprise of the most surprising ball with the growth of all rows only.
    simply : float
        Surprise of the most surprising ball, asked simply.
    needed : float
        Surprise that is more than chance.
    """

    references: References
    growth: Growth | None
    overall: Growth | None
    surprise: float
    log_radius: float
    by_all: float = -math.inf
    simply: float = -math.inf
    needed: float = math.inf

    @property
    def alone(self) -> bool:
        """Whether the references may be background alone."""
        return self.top < self.needed and not self.keep_to_themselves

    @cached_property
    def keep_to_themselves(self) -> bool:
        """Whether few rows are more than background all together, if no ball of them is.

        Not asked where no ball would be a cluster all the same.
        """
        if self.simply < self.needed or self.references.is_flat or self.is_thin:
            return False
        from crlm.background.kinship import MAX_ROWS, keep_to_themselves  # few need it

        n = len(self.references.rows)
        if n > MAX_ROWS or self.simply / self.inflation.simple < self.needed:
            return False
        alpha = n * math.exp(-self.needed)
        return keep_to_themselves(self.references, alpha / 2.0)  # the second of two ways in

    @property
    def is_thin(self) -> bool:
        """Whether rows lie along lines, so that any ball keeps to itself, whatever it holds."""
        return self.growth is not None and float(np.median(self.growth.delta)) < _THIN

    @property
    def top(self) -> float:
        """Surprise of the most surprising ball, over the inflation where that matters."""
        if self.surprise < self.needed:
            return self.surprise
        top = self.surprise / self.inflation.severe
        if self.by_all < self.needed <= top and not self.with_rest:
            return self.by_all
        return top

    @cached_property
    def inflation(self) -> Inflation:
        """How much too surprising balls are, as decoys show it."""
        from crlm.background.inflation import inflation  # few need it

        return inflation(self.references, self.by_all, self.needed)

    @cached_property
    def with_rest(self) -> bool:
        """Whether a ball may be beyond doubt with the growth of the rest alone."""
        from crlm.background.inflation import may_ask_the_rest  # few need it

        return self.growth is self.overall or may_ask_the_rest(self.references, self.needed)

    @classmethod
    def learn(
        cls,
        X: Floats,
        weights: Weights,
        alpha: float = 0.01,
        n: int | None = None,
        n_jobs: int = 1,
    ) -> Background:
        """Learn from the rows that belong to no cluster.

        `n` is the number of rows of which `X` is a random sample, if it is one.
        """
        references = References.choose(X, weights, n, n_jobs)
        log_r = references.log_r
        n = len(log_r)
        if n < MIN_POINTS:
            return cls(references, None, None, -math.inf, float(np.median(log_r[:, n - 1 :])))
        needed = math.log(n / alpha)
        learnt = learn_growth(references, needed, asked_from=needed)
        by_all, _ = learnt.best_overall
        simply = float(learnt.by_the_rest.max())
        return cls(references, learnt.growth, learnt.overall, *learnt.best, by_all, simply, needed)

    def remembering(self) -> Background:
        """Return the same, keeping distances once measured: for many radii."""
        kept = {item.name: getattr(self.references, item.name) for item in fields(References)}
        same = copy(self)  # with what decoys were asked already
        vars(same)["references"] = Remembered(**kept)
        return same

    def log_p(
        self,
        around: Around,
        m: NDArray[np.intp],
        log_R: ArrayLike,
        log_alpha: float,
        *,
        severe: bool = False,
    ) -> F64:
        """Log p-values of balls with `m` points beside their centres, which `around` is of.

        If it is of one point only, all balls are around that one. Those above `log_alpha` may be
        too small, for nobody asks for them.
        """
        if self.growth is None or self.overall is None:
            return np.zeros(len(m))
        references = self.references
        log_n = math.log(references.n_points)
        rows = np.arange(len(around.log_r))
        balls = around, rows, m, log_R, references.w
        if severe:
            by_all, surprise = asked_severely(self.growth, self.overall, *balls)
        else:
            by_all = surprise = self.growth.surprise(*balls)
        needed = log_n - log_alpha
        if (surprise >= needed).any():
            surprise = self._deflated(surprise, m, severe)
        by_the_rest = (by_all < needed) & (surprise >= needed)
        if by_the_rest.any() and not self.with_rest:
            surprise = np.where(by_the_rest, by_all, surprise)
        return np.where(m + 1 >= MIN_SIZE, np.minimum(log_n - surprise, 0.0), 0.0)

    def _deflated(self, surprise: F64, m: NDArray[np.intp], severe: bool) -> F64:
        """Surprises of balls of `m` points, less what decoys show."""
        if not severe:
            return surprise / self.inflation.simple
        if self.references.w == 1.0 or self.references.is_flat:
            return surprise / self.inflation.severe
        # Decoys have as many points as there are references. A place that is odd in them holds w
        # times as many rows, and is as much more surprising; a place with few rows is not.
        return surprise / self.inflation.few - self.inflation.each * m


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
        self._log_p[ball.center_index] = log_p = self._judge(ball)
        return log_p <= self._log_alpha

    def any_beyond_doubt(self, balls: Iterable[Ball]) -> bool:
        """Whether there is more than background at all: here, or among the references."""
        if not self._background.alone:
            return True
        return any(map(self.is_beyond_doubt, balls))

    def is_beyond_doubt(self, ball: Ball) -> bool:
        """Whether this ball alone shows that there is more than background."""
        return self._judge(ball, severe=True) <= self._log_alpha

    def _judge(self, ball: Ball, *, severe: bool = False) -> float:
        m = np.array([self._n_distinct(ball) - 1])
        around = self._background.references.around_of(self._X, ball.center_index)
        log_p = self._background.log_p(around, m, self._log_R, self._log_alpha, severe=severe)
        return float(log_p[0])

    def p_value(self, ball: Ball) -> float:
        """P-value of a ball that was judged."""
        return math.exp(self._log_p[ball.center_index])

    def may_be_centers(self, near: Neighbourhood, rows: NDArray[np.intp]) -> Callable[[int], bool]:
        """Function that says whether the ball of one of some rows may be more than chance.

        Judged by the number of its points, without looking for them: a search that did not store
        pairs is so spared most balls. Rows are judged in blocks, in the order of their losses, and
        only when one of them comes up: most members of a cluster are gone by then. A row that has
        lost neighbours since is judged again, for a ball of fewer points may be more surprising:
        the shell around it is another.
        """
        judged, passed = np.full(len(near.L), -1), np.zeros(len(near.L), dtype=bool)
        asked, size = np.zeros(len(near.L), dtype=bool), 4

        def may(i: int) -> bool:
            nonlocal rows, size
            asked[i] = True  # each is once
            if judged[i] != near.m[i]:
                rows = rows[near.alive[rows] & ~asked[rows]]
                others = rows[judged[rows] != near.m[rows]]
                if len(others) > size:
                    others = others[np.argpartition(near.L[others], size)[:size]]
                block = np.append(others, i)
                judged[block] = m = near.m[block]
                passed[block] = self._may_pass(block, m)
                size = min(2 * size, MEASURED - 1)
            return bool(passed[i])

        return may

    def with_points(self, rows: NDArray[np.intp], m: NDArray[np.int64]) -> NDArray[np.intp]:
        """Those rows that may be more than chance with at most `m` points beside them.

        With all of them, or with less when others are removed: a ball of most points is none, and
        a smaller one may be more surprising.
        """
        references = self._background.references
        sizes = levels(MIN_SIZE - 1, max(MIN_SIZE, int(m.max(initial=0))))
        found = [np.zeros(0, dtype=np.intp)]
        for part, log_r in references.in_blocks(self._X, rows):
            level = references.level(log_r)
            passed = np.zeros(len(log_r), dtype=bool)
            for size in [*sizes.tolist(), int(m[part].max())]:
                counts = np.minimum(m[part], size)
                log_p = self._background.log_p(level, counts, self._log_R, self._log_alpha)
                passed |= log_p <= self._log_alpha
            found.append(rows[part][passed])
        return np.concatenate(found)

    def _may_pass(self, rows: NDArray[np.intp], m: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which balls may be more than chance; are, where lopsided places do not matter."""
        passed = m >= MIN_SIZE - 1  # too few need not be measured
        rows, m = rows[passed], m[passed]
        if len(rows):
            references = self._background.references
            level = references.level(references.log_r_of(self._X, rows))
            log_p = self._background.log_p(level, m, self._log_R, self._log_alpha)
            passed[passed] = log_p <= self._log_alpha
        return passed
