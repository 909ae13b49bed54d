"""CRLM on dask arrays and dataframes.

>>> import dask.array as da
>>> from crlm import GMMUB
>>> from crlm.dask import CRLM
>>> truth = GMMUB.draw(k=2, d=20, sigmas=1, weights=0.05, D=60, sigma_max=2.5, rng=0)
>>> X = da.from_array(truth.sample(1000, rng=1)[0], chunks=(300, -1))
>>> model = CRLM(2.5, n_landmarks=200).fit(X)
>>> model.n_clusters_, model.labels_.chunks
(2, ((300, 300, 300, 100),))
"""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm import checks, estimator
from crlm.dask.frames import Partitions, compute, delayed, is_collection, partitions
from crlm.dask.pairs import find_pairs
from crlm.dask.passes import DaskRunner
from crlm.errors import MemoryLimitError, ParameterError
from crlm.landmarks.fit import fit_landmarks
from crlm.landmarks.source import Block
from crlm.search import Floats, Neighbourhood, StoredGraph, first_ball
from crlm.search.budget import Budget, in_words
from crlm.task import Task

__all__ = ["CRLM"]


class CRLM(estimator.CRLM):
    """:class:`crlm.CRLM` for dask arrays and dataframes, with the same parameters.

    With `n_landmarks` the data stay where they are: landmarks go to the workers, and groups of
    rows, counts and sums come back. Without, the fit is exact: a task for each pair of partitions
    finds the near pairs, and the rows come to this process too, so they must fit in
    `memory_limit`. `labels_` and what `predict` returns are dask arrays with the chunks of `X`,
    computed when they are needed. All else is as in :class:`crlm.CRLM`, and equal to it to the
    bit. Data that are no dask collections are fitted as there.
    """

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        keep_checkpoint: bool = False,
    ) -> Self:
        """Find the clusters of `X`, a dask array or dataframe; see :meth:`crlm.CRLM.fit`."""
        if not is_collection(X):
            super().fit(X, y, sample_weight, checkpoint=checkpoint, keep_checkpoint=keep_checkpoint)
            return self
        if checkpoint is not None or keep_checkpoint:
            msg = "a fit on dask has no checkpoint: tasks that are lost are run again. Leave it out"
            raise ParameterError(msg)
        if checks.check_n_landmarks(self.n_landmarks) is None:
            return self._fit_exactly(X, sample_weight)
        if sample_weight is not None:
            msg = "sample_weight with landmarks needs an array in memory; repeat rows instead."
            raise ParameterError(msg)
        settings = self._settings()
        metric = checks.check_metric(self.metric)
        data = partitions(X)
        run = DaskRunner(data, metric=metric, memory_limit=settings.memory_limit, m=settings.m)
        found = fit_landmarks(run, settings)
        self._warn_of(found, settings)
        self._adopt(found, copy(self))
        self.labels_ = self._labels(data)
        return self

    def _fit_exactly(self, X: Any, sample_weight: Any) -> Self:
        """Gather the rows, and have their pairs found by the workers."""
        metric = checks.check_metric(self.metric)
        limit = checks.check_memory_limit(self.memory_limit)
        data = partitions(X)
        needed = 8 * data.n * data.d
        if needed > limit:
            msg = (
                f"an exact fit gathers all {data.n:,} rows, up to {in_words(needed)}, over the "
                f"memory limit of {in_words(limit)}. Use n_landmarks='auto', or pass "
                f"memory_limit='{-(-needed * 4 // 10**6)}MB'."
            )
            raise MemoryLimitError(msg)
        gather = delayed(_rows)
        parts = [
            gather(part, number, start, data.d)
            for number, (part, start) in enumerate(zip(data.parts, data.starts, strict=True))
        ]
        self._partitions, self._metric_of_fit = data, metric
        try:
            super().fit(np.concatenate(compute(*parts)), sample_weight=sample_weight)
        finally:
            self.__dict__.pop("_partitions", None)
            self.__dict__.pop("_metric_of_fit", None)
        self.labels_ = self._labels(data)
        return self

    def _neighbourhood(self, task: Task, sigma_max: float) -> Neighbourhood:
        data: Partitions | None = getattr(self, "_partitions", None)
        if data is None:
            return super()._neighbourhood(task, sigma_max)
        budget = Budget(len(task.X), task.memory_limit, task.X.nbytes)
        try:
            pairs = find_pairs(data, task.X, sigma_max, task.G, self._metric_of_fit, budget)
        except MemoryLimitError:
            return super()._neighbourhood(task, sigma_max)  # without storing them
        d = task.X.shape[1]
        return StoredGraph(pairs, sigma_max, d, task.G, task.weights, task.counted)

    def predict(self, X: Any) -> Any:
        """Cluster of each row: the first ball, in the order found, that contains it, or -1."""
        if not is_collection(X):
            return super().predict(X)
        return self._labels(partitions(X))

    def _labels(self, data: Partitions) -> Any:
        return data.labels(labels_of, self.ball_centers_, self._sq_cutoffs(), self._metric)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model to one file; its labels come to this process."""
        super(CRLM, self._gathered()).save(path, force=force)

    def report(self, path: str | os.PathLike[str], X: Any = None, **more: Any) -> Path:
        """Write one HTML file; labels and rows come to this process."""
        rows = X.compute() if is_collection(X) else X
        return super(CRLM, self._gathered()).report(path, rows, **more)

    def _gathered(self) -> Self:
        """The same model with its labels in memory."""
        here = copy(self)
        if hasattr(self, "labels_"):
            here.labels_ = np.asarray(self.labels_)
        return here

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "labels_") or not is_collection(self.labels_):
            return super().__repr__(N_CHAR_MAX)
        settings = super(estimator.CRLM, self).__repr__()
        return f"{settings}: {self.n_clusters_} clusters"


def labels_of(part: Any, centers: Floats, cutoffs: NDArray[np.float64], metric: str) -> Any:
    """Labels of one partition."""
    X = Block(0, 0, part, "partition").points(metric, centers.shape[1])
    return first_ball(X, centers, cutoffs)


def _rows(part: Any, number: int, start: int, d: int) -> Floats:
    return Block(number, start, part, "partition").points("euclidean", d)
