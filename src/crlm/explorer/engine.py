"""Clusters at any setting, fast: one search, then every answer from its pairs.

::

    task --prepare--> estimate, pairs up to sigma_hi, stops
    settings --answer--> clusters          from the pairs; beyond sigma_hi a search of its own
    fill: answers at the stops, in the background, nearest to what is looked at first

An answer is what ``CRLM(...).fit`` gives with the same settings, to the bit.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.bandwidth.sigma import ALPHA, SigmaEstimate, suggest_sigma_max
from crlm.certificate import Certificate, certify
from crlm.data_checks import check_suggested
from crlm.labels import BACKGROUND
from crlm.loss import G_PAPER, sq_cutoff
from crlm.path import clusters_at
from crlm.preview import graph_limit, step_record, stops, stored_pairs
from crlm.search import Pairs, RankedPairs, StoredGraph, neighbourhood
from crlm.task import Judged, Task

Rows = NDArray[np.int32]

MAX_PAIRS = 10_000_000  # kept on the server, in some 400 MB; more would be slow to drag
_KEPT_ROWS = 30_000_000  # members in kept answers: 240 MB


@dataclass(frozen=True)
class Settings:
    """What can be changed while looking."""

    sigma: float
    min_size: int
    max_clusters: int | None
    alpha: float | None


class Answer(NamedTuple):
    """Clusters at some settings."""

    settings: Settings
    record: dict[str, list[Any]]  # centers, sizes, sigmas, losses, p
    members: list[Rows]
    seconds: float

    def labels(self, n: int) -> NDArray[np.int64]:
        """Label of every row."""
        labels = np.full(n, BACKGROUND, dtype=np.int64)
        for j, rows in enumerate(self.members):
            labels[rows] = j
        return labels

    @property
    def n_clustered(self) -> int:
        """Rows in clusters."""
        return sum(map(len, self.members))


class SupersededError(Exception):
    """Somebody has asked for something else meanwhile."""


class CancelledError(Exception):
    """Nobody wants the result any more."""


class Engine:
    """Answers questions about one data set.

    Parameters
    ----------
    task : Task
        Data, and the settings to start with.
    given : float, "auto" or "histogram"
        The bandwidth to start with, or how to find it.
    max_pairs : int
        Pairs to keep.
    """

    estimate: SigmaEstimate
    start: Settings
    pairs: Pairs
    high: float  # bandwidth up to which the pairs reach
    stops: NDArray[np.float64]
    has_own_balls: bool

    def __init__(self, task: Task, given: Any, max_pairs: int = MAX_PAIRS) -> None:
        self.task, self._given, self._max_pairs = task, given, max_pairs
        self._tasks: dict[float | None, Task] = {}
        self._answers: OrderedDict[Settings, Answer] = OrderedDict()
        self._kept = 0
        self._work = threading.Lock()  # one computation at a time
        self._waiting = 0  # questions of people, who come before the background
        self._counting = threading.Lock()

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.task.X)

    def prepare(self) -> None:
        """Read the distances and find the pairs; takes as long as a fit."""
        level = self.task.alpha or ALPHA
        self.estimate = suggest_sigma_max(self.task.X, self.task.background, level)
        self.suggested = self.estimate.suggested * math.sqrt(G_PAPER / self.task.G)
        auto = self._given == "auto"
        check_suggested(self.suggested)
        sigma = self.suggested if auto else self.task.bandwidth(self._given)[0]
        learnt = self.task.background
        self._tasks[self.task.alpha] = replace(
            self.task, progress=None, learnt=learnt.remembering()
        )
        self.pairs, self.high = stored_pairs(self.task, self.estimate, sigma, self._max_pairs)
        self._ranked = RankedPairs.of(self.pairs)
        high = self.high or sigma
        self.stops = stops(self.pairs, self.task, high, sigma, self.suggested)
        self.start = Settings(sigma, self.task.min_size, self.task.k, self.task.alpha)
        # A fit with these settings gives each cluster a bandwidth of its own.
        self.has_own_balls = auto and self.task.has_own_balls(self.estimate)

    def fits_in_a_page(self) -> bool:
        """Whether a page may do it by itself."""
        whole = np.issubdtype(self.task.weights.dtype, np.integer)
        return whole and graph_limit(self.pairs, self.task)

    def known(self, settings: Settings) -> Answer | None:
        """Answer that is there already."""
        return self._answers.get(settings)

    def answer(
        self,
        settings: Settings,
        is_stale: Callable[[], bool] = lambda: False,
        *,
        idle: bool = False,
    ) -> Answer:
        """Clusters at these settings.

        Raises
        ------
        SupersededError
            `is_stale` says so when its turn comes.
        """
        if found := self.known(settings):
            return found
        self._queue(0 if idle else 1)
        try:
            with self._work:
                if is_stale():
                    raise SupersededError
                return self.known(settings) or self._keep(self._compute(settings))
        finally:
            self._queue(0 if idle else -1)

    def fill(self, settings: Settings, is_stale: Callable[[], bool]) -> Any:
        """Yield the answer at every stop, nearest first, until it is stale."""
        start = int(np.argmin(np.abs(np.log(self.stops / settings.sigma))))
        # Every eighth first, so that the curve is there soon.
        order = sorted(range(len(self.stops)), key=lambda i: ((i - start) % 8 > 0, abs(i - start)))
        for i in order:
            while self._waiting and not is_stale():
                time.sleep(0.01)
            if is_stale():
                return
            at = replace(settings, sigma=float(self.stops[i]))
            yield i, self.answer(at, is_stale, idle=True)
            time.sleep(0.001)  # lets others at the lock

    def certificate(self, settings: Settings) -> Certificate:
        """How far the answer can be trusted."""
        answer = self.answer(settings)
        with self._work:
            near = self._near(settings)
            return certify(
                self.task.X,
                answer.labels(self.n),
                np.array(answer.record["centers"], dtype=np.int64),
                settings.sigma,
                self.task.G,
                near,
                self.task.weights,
            )

    def _queue(self, by: int) -> None:
        with self._counting:
            self._waiting += by

    def _compute(self, settings: Settings) -> Answer:
        began = time.perf_counter()
        task = replace(
            self._task_at(settings.alpha), k=settings.max_clusters, min_size=settings.min_size
        )
        judged = self._judged(task, settings.sigma)
        members = [one.cluster.ball.members.astype(np.int32) for one in judged]
        return Answer(settings, step_record(judged), members, time.perf_counter() - began)

    def _judged(self, task: Task, sigma: float) -> list[Judged]:
        if sigma <= self.high:
            return clusters_at(task, self._ranked, sigma)
        return task.clusters(self._search(task, sigma), sigma)

    def _near(self, settings: Settings) -> Any:
        if settings.sigma > self.high:
            return self._search(self.task, settings.sigma)
        d, G = self.task.X.shape[1], self.task.G
        pairs = self.pairs.closer(sq_cutoff(settings.sigma, d, G))
        return StoredGraph(pairs, settings.sigma, d, G, self.task.weights)

    def _search(self, task: Task, sigma: float) -> Any:
        return neighbourhood(
            *(task.X, sigma, task.G, task.weights, task.counted),
            memory_limit=task.memory_limit,
            n_jobs=task.n_jobs,
        )

    def _task_at(self, alpha: float | None) -> Task:
        """Task with this level; what it learns about the background is kept."""
        if alpha not in self._tasks:
            task = replace(self.task, alpha=alpha, learnt=None, progress=None)
            self._tasks[alpha] = task if alpha is None else task.remembering()
        return self._tasks[alpha]

    def _keep(self, answer: Answer) -> Answer:
        self._answers[answer.settings] = answer
        self._kept += answer.n_clustered + 1000
        while self._kept > _KEPT_ROWS and len(self._answers) > 1:
            _, old = self._answers.popitem(last=False)
            self._kept -= old.n_clustered + 1000
        return answer
