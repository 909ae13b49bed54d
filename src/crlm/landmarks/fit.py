"""A fit with landmarks: three passes, and the greedy loop between the second and the third."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.references import MAX_REFERENCES
from crlm.background.significance import Background, Judge
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.errors import MemoryLimitError
from crlm.greedy import Ball
from crlm.landmarks.groups import Groups, LandmarkGraph
from crlm.landmarks.passes import Runner
from crlm.landmarks.refine import Nearest
from crlm.landmarks.sieve import Sieve, make_sieve
from crlm.landmarks.survey import Pool, make_pool
from crlm.landmarks.tally import Moments, Tally, moments, unit_of
from crlm.loss import fixed_point
from crlm.search import Floats, Progress, Weights
from crlm.search.pairs import weigh
from crlm.task import Task
from crlm.theory.plan import adaptive_G

log = logging.getLogger("crlm")


class Settings(NamedTuple):
    """Parameters of a fit, checked."""

    sigma_max: float | Literal["auto", "histogram"]
    G: float | Literal["auto"]
    alpha: float | None
    k: int | None
    min_size: int
    m: int
    seed: int
    memory_limit: int
    n_jobs: int
    progress: Progress | None
    weights: Weights | None = None
    refine: bool = False


class Outcome(NamedTuple):
    """What a fit with landmarks found."""

    labels: Any
    rows: NDArray[np.int64]  # (k,) of the centres
    centers: Floats
    losses: NDArray[np.float64]
    p_values: NDArray[np.float64]
    moments: Moments
    tally: Tally
    n: int
    d: int
    sigma_max: float
    G: float
    estimate: SigmaEstimate | None
    enclosing: tuple[NDArray[np.float64], float]
    landmarks: NDArray[np.int64]
    seal: int


@dataclass(frozen=True)
class PoolTask(Task):
    """The rows that were drawn; `n` of them all."""

    n: int = 0

    @cached_property
    def background(self) -> Background:
        """What balls are judged against, learnt from the sample."""
        return self.learnt or Background.learn(
            self.X, self.weights, self._level, self.n, self.n_jobs
        )

    def worthwhile(self, counts: NDArray[np.int64], sigma_max: float) -> NDArray[np.intp]:
        """Landmarks with enough rows near them to be the centre of a cluster."""
        rows = np.flatnonzero(counts >= 2)
        if self.alpha is None:
            return rows
        judge = Judge(self.X, self.background, self.radius(sigma_max), self.alpha)
        return judge.with_points(rows, counts[rows] - 1)


def fit_landmarks(run: Runner, settings: Settings) -> Outcome:
    """Clusters of Algorithm 2 with `m` random rows as the only possible centres.

    Losses and balls are over all rows. The bandwidth and the background are learnt from 2,048 rows
    of the same draw; the points of a ball are counted among all rows, and its chance is multiplied
    by the number of all rows, as if each had been tried. With `refine` the clusters are then found
    again, with their centres and the rows nearest to their means as the only candidates.
    """
    s = settings
    found = run.survey(s.seed, max(s.m, MAX_REFERENCES))
    pool = make_pool(found, s.m, MAX_REFERENCES)
    G = adaptive_G(pool.n, pool.points.shape[1]) if s.G == "auto" else s.G
    task = _task(pool, s, G)
    sigma_max, estimate = task.bandwidth(s.sigma_max)
    sieve = make_sieve(pool, sigma_max, G)
    log.info(
        "landmarks: %s of %s rows x %s columns; filter on %s columns",
        *(pool.m, pool.n, pool.points.shape[1], sieve.frame.width - 2),
    )
    middle, unit = (pool.low + pool.high) / 2.0, unit_of(task.radius(sigma_max))
    groups = _groups(run, task, sieve, middle)
    balls, chosen = _clusters(task, s, groups, sieve, np.arange(pool.m))
    labels, total = run.tally(chosen, unit)
    if s.refine and len(balls):
        means = moments(total, chosen.landmarks, unit, sigma_max).means
        task, sieve_of_few, which = _better(pool, task, sieve, chosen, run.nearest(chosen, means))
        few = run.groups(sieve_of_few, middle, marked=task.alpha is not None)
        balls, chosen = _clusters(task, s, _renumbered(few, which), sieve_of_few, which)
        labels, total = run.tally(chosen, unit)
    return Outcome(
        labels=labels,
        rows=chosen.rows,
        centers=chosen.landmarks,
        losses=np.array([ball.loss for ball, _ in balls], dtype=np.float64),
        p_values=np.array([p_value for _, p_value in balls], dtype=np.float64),
        moments=moments(total, chosen.landmarks, unit, sigma_max),
        tally=total,
        n=pool.n,
        d=pool.points.shape[1],
        sigma_max=sigma_max,
        G=G,
        estimate=estimate,
        enclosing=(middle, math.sqrt(groups.sq_radius)),
        landmarks=sieve.rows,
        seal=found.seal,
    )


def _clusters(
    task: PoolTask, s: Settings, groups: Groups, sieve: Sieve, which: NDArray[np.intp]
) -> tuple[list[tuple[Ball, float]], Sieve]:
    """Balls of Algorithm 2, best first, with p-values; and the sieve of their centres.

    The sieve's landmarks are the rows `which` of the task.
    """
    m = int(which[-1]) + 1
    own: Weights = np.zeros(m, dtype=np.int64 if s.weights is None else s.weights.dtype)
    own[which] = 1 if s.weights is None else s.weights[sieve.rows]
    alone = weigh(fixed_point(np.full(m, -sieve.G)), own)
    near = LandmarkGraph(groups, m, alone, whole=bool(np.issubdtype(own.dtype, np.integer)))
    near.weights[:m] = own > 0

    def n_distinct(ball: Ball) -> int:
        return near.n_distinct(ball.members)

    balls = list(task.balls(near, sieve.sigma_max, near.weights, n_distinct))
    centers = np.array([ball.center_index for ball, _ in balls], dtype=np.intp)
    return balls, sieve.only(np.searchsorted(which, centers))


def _better(
    pool: Pool, task: PoolTask, sieve: Sieve, chosen: Sieve, nearest: Nearest
) -> tuple[PoolTask, Sieve, NDArray[np.intp]]:
    """Task and sieve of the centres so far and of the rows nearest to the means.

    Rows that were not drawn come after those that were, which keep their numbers.
    """
    place = {row: i for i, row in enumerate(pool.rows.tolist())}
    new = np.flatnonzero([row not in place for row in nearest.rows.tolist()])
    place |= {row: len(place) + i for i, row in enumerate(nearest.rows[new].tolist())}
    rows = np.concatenate([pool.rows, nearest.rows[new]])
    X = np.concatenate([pool.points, nearest.points[new]])
    tried = {place[row] for row in [*chosen.rows.tolist(), *nearest.rows.tolist()]}
    which = np.array(sorted(tried), dtype=np.intp)
    weights = np.concatenate([task.weights, np.zeros(len(new), dtype=task.weights.dtype)])
    learnt = None if task.alpha is None else task.background
    wider = replace(task, X=X, weights=weights, learnt=learnt)
    return wider, sieve.around(np.ascontiguousarray(X[which]), rows[which]), which


def _renumbered(groups: Groups, which: NDArray[np.intp]) -> Groups:
    """Groups of some landmarks, by the numbers that these have among all."""
    own = np.stack([which[groups.own[:, 0]], groups.own[:, 1]], axis=1)
    return groups._replace(landmarks=which[groups.landmarks].astype(np.int32), own=own)


def _groups(run: Runner, task: PoolTask, sieve: Sieve, middle: NDArray[np.float64]) -> Groups:
    """Rows in groups by the landmarks near them.

    If those do not fit in memory, rows are only counted, which takes one number for each landmark,
    and groups are made for the landmarks whose count may be a cluster: no other can be a centre.
    """
    marked = task.alpha is not None
    try:
        return run.groups(sieve, middle, marked=marked)
    except MemoryLimitError as error:
        too_many = error
    kept = task.worthwhile(run.counts(sieve), sieve.sigma_max)
    if len(kept) == len(sieve.rows):
        raise too_many
    log.info("landmarks: %s of them may be clusters; the rest is not kept", len(kept))
    return _renumbered(run.groups(sieve.only(kept), middle, marked=marked), kept)


def _task(pool: Pool, s: Settings, G: float) -> PoolTask:
    sample, n = pool.sample.astype(np.int64), pool.n
    if s.weights is not None:
        sample[s.weights[pool.rows] == 0] = 0
        n = int(np.count_nonzero(s.weights))  # rows without weight are none
    return PoolTask(
        *(pool.points, sample, G, s.alpha, s.k, s.min_size),
        *(s.memory_limit, s.n_jobs, s.progress),
        n=n,
    )
