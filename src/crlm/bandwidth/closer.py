"""Clusters narrower than others, among the rows that are left; in up to three dimensions.

There a ball too wide for a cluster holds so much background that a small one is not seen in it,
and edges are too blurred to tell how far a cluster reaches. So Algorithm 2 goes on with smaller
bandwidths. Beside j - 1 clusters of bandwidths before, those of another one need p <= j * alpha
(Benjamini and Hochberg 1995, or less). The first needs no more and no less than ever, so that the
chance of any cluster on background alone stays what it is; and of all that are reported, about a
share of alpha is chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crlm.background.growth import LARGEST, Growth
from crlm.background.significance import Background, Judge
from crlm.bandwidth.own import Own
from crlm.greedy import Ball, accepted_balls
from crlm.loss import sq_cutoff
from crlm.search import Floats, Neighbourhood, Weights

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

# Clusters three times as narrow as others are common. From one step to the next a ball in a plane
# loses a sixth of its background, which is what a small cluster may need to be seen.
_STEPS = np.exp2(-np.arange(1, 17) / 8.0)
_LARGEST = 0.5  # p-value that is some evidence, beside however many clusters
# A ball holds no more points than its references and so many standard deviations stand for, and a
# few more where there are hardly any; once in tens of thousands.
_DEVIATIONS, _FEW = 4.0, 6.0


@dataclass(frozen=True)
class Closer:
    """Looks for clusters at smaller bandwidths."""

    X: Floats
    weights: Weights
    background: Background
    growth: Growth
    G: float
    alpha: float
    accepts: Callable[[Judge, Ball], bool]

    def clusters(
        self,
        found: Sequence[Rows],
        sigma_max: float,
        search: Callable[[float], Neighbourhood],
    ) -> Iterator[Own]:
        """Yield clusters beside those found, which are given by their rows.

        Each row is tried as a centre where its ball is the least likely; bandwidths with the least
        likely balls come first. P-values are divided by j, so that they are at most alpha too.
        `search` gives the neighbourhood at a bandwidth smaller than `sigma_max`.
        """
        bandwidths = (sigma_max * _STEPS).tolist()
        d = self.X.shape[1]
        radii = [math.sqrt(sq_cutoff(bandwidth, d, self.G)) for bandwidth in bandwidths]
        taken = list(found)
        free = self.background.references.distinct.copy()  # a copy has the same ball
        free[np.concatenate(taken)] = False
        rows = np.flatnonzero(free)
        step_of, surprise, log_p = self._at_best(rows, radii)
        most = [surprise[step_of == step].max(initial=0.0) for step in range(len(radii))]
        for step in np.argsort(np.negative(most), kind="stable").tolist():
            level = max(self.alpha, min((len(taken) + 1) * self.alpha, _LARGEST))
            worth = (step_of == step) & (log_p <= math.log(level))
            candidates = rows[free[rows] & worth]
            if not len(candidates):
                continue
            near = search(bandwidths[step])
            near.remove(np.concatenate(taken))
            judge = Judge(self.X, self.background, radii[step], level)
            accept, may = partial(self.accepts, judge), judge.may_be_centers(near, candidates)
            for ball in accepted_balls(near, self.weights, accept, candidates, may):
                taken.append(ball.members)
                free[ball.members] = False
                yield Own(ball, judge.p_value(ball) * self.alpha / level, bandwidths[step])

    def _at_best(self, rows: Rows, radii: Sequence[float]) -> tuple[Rows, F64, F64]:
        """Radius at which the ball of each row is most surprising, and how much it is there.

        Counted among the references, so that it does not matter how pairs are found. And the log
        p-value that it has at best. All radii at a time: to measure the rows is what takes time.
        """
        references = self.background.references
        log_R, log_largest = np.log(radii), math.log(max(self.alpha, _LARGEST))
        steps, surprises, log_p = np.zeros(len(rows), dtype=np.intp), *np.zeros((2, len(rows)))
        for part, log_r in references.in_blocks(self.X, rows):
            inside = np.array([(log_r < one).sum(axis=1) - 1 for one in log_R])
            which = np.arange(len(log_r))
            surprise = self.growth.surprise(
                references.level(log_r),
                which,
                np.rint(references.w * inside).astype(np.intp),
                log_R[:, None],
                references.w,
            )
            steps[part] = best = surprise.argmax(axis=0)
            surprises[part] = surprise[best, which]
            m = self._most(inside[best, which], log_r.shape[1])
            level = references.level(log_r)
            log_p[part] = self.background.log_p(level, m, log_R[best], log_largest)
        return steps, surprises, log_p

    def _most(self, inside: Rows, n: int) -> Rows:
        """Points that balls hold at most, by the references inside; no more than a cluster can."""
        w = self.background.references.w
        # Each stands for w points, give or take; when all are references, exactly.
        most = inside + (1.0 - 1.0 / w) * (_DEVIATIONS * np.sqrt(inside) + _FEW)
        return np.ceil(w * np.minimum(most, LARGEST * n)).astype(np.intp)
