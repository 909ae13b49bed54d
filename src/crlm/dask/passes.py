"""The three passes as tasks: one for each partition, and a tree that adds up their results.

A task is a function of its partition and of some small numbers, and has no other effect. So a task
that is lost with its worker is run again, elsewhere, to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.dask.frames import Partitions
from crlm.errors import InputError
from crlm.landmarks.groups import Gatherer, Groups, count_rows, group_rows, merge_groups
from crlm.landmarks.keys import likely_bar
from crlm.landmarks.refine import Nearest, merge_nearest, nearest_rows
from crlm.landmarks.sieve import Sieve, make_sieve
from crlm.landmarks.source import Block
from crlm.landmarks.survey import Survey, make_pool, merge_surveys, survey
from crlm.landmarks.tally import Tally, label_rows, merge_tallies, tally
from crlm.search import Floats

_FAN_IN = 8
_TILE = 1 << 15  # rows that a task turns at a time: what it works in stays small


class DaskRunner:
    """The passes over the partitions of a collection."""

    def __init__(self, data: Partitions, *, metric: str, memory_limit: int, m: int) -> None:
        self._data, self._metric, self._limit, self._m = data, metric, memory_limit, m

    def survey(self, seed: int, size: int) -> Survey:
        """Count the rows and draw `size` of them."""
        bar = likely_bar(self._data.n, size)
        task = partial(survey_part, metric=self._metric, d=self._data.d)
        parts = [
            dask.delayed(task)(part, number, start, seed, size, int(bar))
            for number, part, start in self._numbered()
        ]
        # Kept on the cluster: the second pass takes the landmarks from there.
        (self._found,) = dask.persist(_tree(partial(merge_surveys, size=size), parts))
        found: Survey = self._found.compute()
        self._drawn = found.rows[: self._m]
        if found.n != self._data.n:
            msg = (
                f"X has {self._data.n:,} rows by its chunks, but {found.n:,} were found. Its "
                f"chunks are not what they say; X.compute_chunk_sizes() mends them."
            )
            raise InputError(msg)
        return found

    def groups(self, sieve: Sieve, middle: NDArray[np.float64], *, marked: bool) -> Groups:
        """Rows near the landmarks of the sieve, in groups."""
        there = self._remote(sieve)
        task = partial(group_part, metric=self._metric, d=self._data.d, marked=marked)
        parts = [
            dask.delayed(task)(part, number, start, there, middle)
            for number, part, start in self._numbered()
        ]
        merge = partial(merge_groups, memory_limit=self._limit)
        found: Groups = _tree(merge, parts).compute()
        return found

    def counts(self, sieve: Sieve) -> NDArray[np.int64]:
        """Rows near each landmark of the sieve, when groups of them would not fit."""
        there = self._remote(sieve)
        task = partial(count_part, metric=self._metric, d=self._data.d)
        parts = [
            dask.delayed(task)(part, number, start, there)
            for number, part, start in self._numbered()
        ]
        total: NDArray[np.int64] = _tree(partial(np.sum, axis=0), parts).compute()
        return total

    def _remote(self, sieve: Sieve) -> Any:
        """The same sieve, made on the cluster from the landmarks that are there; few are sent."""
        if not np.isin(sieve.rows, self._drawn).all():
            return dask.delayed(sieve, traverse=False)
        return dask.delayed(remake_sieve)(
            self._found, self._m, sieve.sigma_max, sieve.G, sieve.rows
        )

    def tally(self, sieve: Sieve, unit: int) -> tuple[Any, Tally]:
        """Labels by the balls of the sieve, when they are asked for, and sums over the members."""
        task = partial(tally_part, metric=self._metric, d=self._data.d)
        parts = [
            dask.delayed(task)(part, number, start, sieve, unit)
            for number, part, start in self._numbered()
        ]
        total: Tally = _tree(merge_tallies, parts).compute()
        return None, total

    def nearest(self, sieve: Sieve, means: NDArray[np.float64]) -> Nearest:
        """Of the members of each ball the one nearest to its mean."""
        task = partial(nearest_part, metric=self._metric, d=self._data.d)
        parts = [
            dask.delayed(task)(part, number, start, sieve, means)
            for number, part, start in self._numbered()
        ]
        found: Nearest = _tree(merge_nearest, parts).compute()
        return found

    def _numbered(self) -> Iterator[tuple[int, Any, int]]:
        for number, (part, start) in enumerate(
            zip(self._data.parts, self._data.starts, strict=True)
        ):
            yield number, part, start


def _tree(merge: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """Merge a few at a time, so that no machine holds the results of all."""
    while True:
        parts = [
            dask.delayed(merge)(parts[at : at + _FAN_IN]) for at in range(0, len(parts), _FAN_IN)
        ]
        if len(parts) == 1:
            return parts[0]


def survey_part(
    part: Any, number: int, start: int, seed: int, size: int, bar: int, *, metric: str, d: int
) -> Survey:
    """First pass over one partition."""
    X = Block(number, start, part, "partition").points(metric, d)
    return survey(X, start, seed, size, np.uint64(bar))


def remake_sieve(
    found: Survey, m: int, sigma_max: float, G: float, rows: NDArray[np.int64]
) -> Sieve:
    """Sieve of those landmarks that are these rows."""
    sieve = make_sieve(make_pool(found, m, 0), sigma_max, G)
    return sieve.only(np.flatnonzero(np.isin(sieve.rows, rows)))


def count_part(
    part: Any, number: int, start: int, sieve: Sieve, *, metric: str, d: int
) -> NDArray[np.int64]:
    """Count the rows near each landmark, in one partition."""
    total = np.zeros(len(sieve.rows), dtype=np.int64)
    with threadpool_limits(limits=1, user_api="blas"):
        for _, X in _tiles(part, number, start, metric, d):
            total += count_rows(X, sieve)
    return total


def group_part(
    part: Any,
    number: int,
    start: int,
    sieve: Sieve,
    middle: NDArray[np.float64],
    *,
    metric: str,
    d: int,
    marked: bool,
) -> Groups:
    """Second pass over one partition."""
    gatherer = Gatherer()
    with threadpool_limits(limits=1, user_api="blas"):
        for at, X in _tiles(part, number, start, metric, d):
            gatherer.add(group_rows(X, at, sieve, middle, marked=marked))
    return gatherer.finish()


def tally_part(
    part: Any, number: int, start: int, sieve: Sieve, unit: int, *, metric: str, d: int
) -> Tally:
    """Third pass over one partition."""
    total = Tally.empty(*sieve.landmarks.shape)
    with threadpool_limits(limits=1, user_api="blas"):
        for _, X in _tiles(part, number, start, metric, d):
            found = tally(X, label_rows(X, sieve), sieve.landmarks, unit, None)
            total = merge_tallies([total, found])
    return total


def nearest_part(
    part: Any,
    number: int,
    start: int,
    sieve: Sieve,
    means: NDArray[np.float64],
    *,
    metric: str,
    d: int,
) -> Nearest:
    """Look for better centres in one partition."""
    nothing = np.zeros((0, d), dtype=sieve.landmarks.dtype)  # a partition may be empty
    found = [nearest_rows(nothing, 0, sieve, means)]
    with threadpool_limits(limits=1, user_api="blas"):
        for at, X in _tiles(part, number, start, metric, d):
            found.append(nearest_rows(X, at, sieve, means))
    return merge_nearest(found)


def _tiles(part: Any, number: int, start: int, metric: str, d: int) -> Iterator[tuple[int, Floats]]:
    X = Block(number, start, part, "partition").points(metric, d)
    for at in range(0, len(X), _TILE):
        yield start + at, X[at : at + _TILE]
