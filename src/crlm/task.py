"""One data set with its settings, checked: what a fit and a path have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.growth import LARGEST
from crlm.background.significance import Background, Judge, least_weight
from crlm.bandwidth.sigma import ALPHA, SigmaEstimate, suggest_sigma_max
from crlm.data_checks import check_suggested
from crlm.greedy import Ball, Cluster, accepted_balls, mean_shift_step
from crlm.loss import G_PAPER, sq_cutoff
from crlm.search import Floats, Neighbourhood, Weights
from crlm.search.distance import sq_distances_of_pairs


class Judged(NamedTuple):
    """A cluster, its p-value, NaN when it was not tested, and the bandwidth of its ball."""

    cluster: Cluster
    p_value: float
    bandwidth: float


@dataclass(frozen=True)
class Task:
    """Data and settings. The symbols are the paper's; `k` is None for as many as are real."""

    X: Floats
    weights: Weights
    G: float
    alpha: float | None
    k: int | None
    min_size: int
    memory_limit: int
    n_jobs: int
    progress: Callable[[int, int], object] | None
    learnt: Background | None = None  # when it is known already

    @cached_property
    def background(self) -> Background:
        """What balls are judged against."""
        return self.learnt or Background.learn(
            self.X, self.weights, self._level, n_jobs=self.n_jobs
        )

    def remembering(self) -> Task:
        """Return the same task, made fast for many bandwidths."""
        return replace(self, learnt=self.background.remembering())

    @property
    def counted(self) -> NDArray[np.bool_] | None:
        """Rows that count as points of a ball when it is judged: copies once; None for all."""
        return None if self.alpha is None else self.background.references.distinct

    @property
    def _level(self) -> float:
        return self.alpha or ALPHA

    def bandwidth(
        self, given: float | Literal["auto", "histogram"]
    ) -> tuple[float, SigmaEstimate | None]:
        """Bandwidth to use, and what it was read from unless it was given."""
        if given == "auto":
            estimate = suggest_sigma_max(self.X, self.background, self._level)
        elif given == "histogram":
            from crlm.bandwidth.histogram import read_histogram  # few need it

            estimate = read_histogram(self.X, self.weights)
        else:
            return float(given), None
        # One radius for any G
        return check_suggested(estimate.suggested * math.sqrt(G_PAPER / self.G)), estimate

    def confirmed(self, estimate: SigmaEstimate, n_clusters: int) -> SigmaEstimate:
        """Return what a sample says of the bandwidth, as far as all rows bear it out.

        They may show clusters that are too small for the sample, or not those that it shows.
        """
        if n_clusters:
            seen = self.alpha is not None and estimate.evidence == "weak"
            return estimate._replace(evidence="moderate") if seen else estimate
        # Or else they are only too small for the caller.
        wanted = self.min_size <= least_weight(self.weights)
        if not estimate.n_clusters.any() or not wanted:
            return estimate
        return estimate._replace(evidence="weak")

    def radius(self, sigma_max: float) -> float:
        """Radius of the balls."""
        return math.sqrt(sq_cutoff(sigma_max, self.X.shape[1], self.G))

    def clusters(self, near: Neighbourhood, sigma_max: float) -> list[Judged]:
        """Clusters of Algorithm 2 that are large enough and more than chance."""
        found = self.balls(near, sigma_max, self.weights)
        return [self._judged(ball, p_value, sigma_max) for ball, p_value in found]

    def _judged(self, ball: Ball, p_value: float, bandwidth: float) -> Judged:
        mean_and_sigma = mean_shift_step(self.X, ball, bandwidth, self.weights)
        return Judged(Cluster(ball, *mean_and_sigma), p_value, bandwidth)

    def own_clusters(
        self,
        near: Neighbourhood,
        sigma_max: float,
        estimate: SigmaEstimate,
        search: Callable[[float], Neighbourhood],
    ) -> list[Judged]:
        """Clusters with a bandwidth each, where one for all does not suit them.

        `search` gives the losses and balls of all rows at a smaller bandwidth. With clear evidence
        clusters stay the same for many bandwidths, and so they do here.
        """
        if self.has_own_balls(estimate):
            # A limit takes the first ones of those that are better without it.
            unlimited = replace(self, k=None, learnt=self.background)
            found = unlimited.clusters(near, sigma_max)
            return unlimited._with_own_balls(found, sigma_max)[: self.k]
        found = self.clusters(near, sigma_max)
        if self.alpha is None or not found:
            return found
        if self.background.references.is_flat:
            return self._with_closer(found, sigma_max, search)
        return self._with_tight(found, sigma_max) if estimate.rare else found

    def has_own_balls(self, estimate: SigmaEstimate) -> bool:
        """Whether each cluster is sought with a ball of its own."""
        background = self.background
        many = not (background.references.is_flat or background.is_thin)  # dimensions
        seen = estimate.evidence == "moderate" and not estimate.rare
        return self.alpha is not None and seen and many

    def _with_own_balls(self, found: list[Judged], sigma_max: float) -> list[Judged]:
        """Clusters with a ball of their own, or those found with one bandwidth if better."""
        from crlm.bandwidth.own import Drawing, keep_more, own_clusters, tight_clusters  # seldom

        drawing = Drawing(self.X, self.weights, sigma_max, self.G, [])
        of = self.X, self.background, drawing, self._level, self.min_size
        tight = list(tight_clusters(*of))
        own = own_clusters(*of, least_weight(self.weights))
        judged = [self._judged(*one) for one in chain(tight, own)]
        one_for_all, each = (
            [one.cluster.ball.members for one in clusters] for clusters in (found, judged)
        )
        better = not judged or keep_more(self.background.references, one_for_all, each)
        return found if better else judged

    def _with_tight(self, found: list[Judged], sigma_max: float) -> list[Judged]:
        """Clusters, and tight groups among the rest."""
        from crlm.bandwidth.own import Drawing, tight_clusters  # not for a given bandwidth

        taken = [one.cluster.ball.members for one in found]
        drawing = Drawing(self.X, self.weights, sigma_max, self.G, taken)
        more = tight_clusters(self.X, self.background, drawing, self._level, self.min_size)
        room = None if self.k is None else self.k - len(found)
        return [*found, *(self._judged(*one) for one in islice(more, room))]

    def _with_closer(
        self, found: list[Judged], sigma_max: float, search: Callable[[float], Neighbourhood]
    ) -> list[Judged]:
        """Clusters, and those that smaller bandwidths show among the rest."""
        growth = self.background.growth
        if growth is None:
            return found
        from crlm.bandwidth.closer import Closer  # not for a given bandwidth

        data = self.X, self.weights, self.background, growth
        closer = Closer(*data, self.G, self._level, self._accepts)
        taken = [one.cluster.ball.members for one in found]
        more = closer.clusters(taken, sigma_max, search)
        room = None if self.k is None else self.k - len(found)
        return [*found, *(self._judged(*one) for one in islice(more, room))]

    def balls(
        self,
        near: Neighbourhood,
        sigma_max: float,
        weights: Weights,
        n_distinct: Callable[[Ball], int] | None = None,
    ) -> list[tuple[Ball, float]]:
        """Balls of these clusters, in the order found, and their p-values."""
        if self.alpha is None:
            found = accepted_balls(near, weights, self._is_large)
            return [(ball, math.nan) for ball in islice(found, self.k)]
        promising = near.alone > near.L
        if n_distinct is None:
            promising &= self.background.references.distinct  # a copy has the same ball
        judge = Judge(self.X, self.background, self.radius(sigma_max), self.alpha, n_distinct)
        candidates = np.flatnonzero(promising)
        accept, may = partial(self._accepts, judge), judge.may_be_centers(near, candidates)
        found = accepted_balls(near, weights, accept, candidates, may)
        balls = list(islice(found, self.k))
        if not judge.any_beyond_doubt(chain(balls, found)):  # those beyond the limit count too
            return []
        return [(ball, judge.p_value(ball)) for ball in balls]

    def is_most(self, losses: NDArray[np.int64], sigma_max: float) -> bool:
        """Whether the ball of least loss holds most of the rows that differ, but not all."""
        n, d = self.X.shape
        rows, best = np.arange(n), np.full(n, losses.argmin())
        near = sq_distances_of_pairs(self.X, rows, self.X, best) < sq_cutoff(sigma_max, d, self.G)
        distinct = self.background.references.distinct
        return bool(LARGEST * distinct.sum() < (near & distinct).sum() < distinct.sum())

    def _is_large(self, ball: Ball) -> bool:
        return ball.size >= self.min_size

    def _accepts(self, judge: Judge, ball: Ball) -> bool:
        return self._is_large(ball) and judge(ball)
