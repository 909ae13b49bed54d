"""All near pairs of a collection, a task for each pair of partitions."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import dask
import numpy as np
from threadpoolctl import threadpool_limits

from crlm.dask.frames import Partitions
from crlm.landmarks.sieve import NearPairs, Sieve, make_sieve, near_pairs
from crlm.landmarks.source import Block
from crlm.landmarks.survey import Pool
from crlm.search import Floats, Pairs
from crlm.search.budget import Budget
from crlm.search.pairs import Found, assemble, found

_N_TRIED = 4096


def find_pairs(
    data: Partitions, X: Floats, sigma_max: float, G: float, metric: str, budget: Budget
) -> Pairs:
    """All pairs of rows closer than the radius; `X` are the same rows, to plan with.

    Raises
    ------
    MemoryLimitError
        Before more pairs are kept than the budget allows.
    """
    plan = _plan(X, sigma_max, G)
    numbered = list(enumerate(zip(data.parts, data.starts, strict=True)))
    tasks = [
        [
            dask.delayed(pairs_between)(a, p, first, b, q, second, plan, metric, data.d)
            for q, (b, second) in numbered[p:]
        ]
        for p, (a, first) in numbered
    ]
    lists = dask.compute(*tasks)

    def parts() -> Generator[Found, None, None]:
        for start, length, near in zip(data.starts, data.lengths, lists, strict=True):
            i, j, sq_dist = (np.concatenate(arrays) for arrays in zip(*near, strict=True))
            order = np.lexsort((j, i))
            places = range(start, start + length)
            yield found(places, i[order], j[order], sq_dist[order], data.n)

    return assemble(parts(), np.arange(data.n), budget.check)


def pairs_between(
    a: Any, p: int, first: int, b: Any, q: int, second: int, plan: Sieve, metric: str, d: int
) -> NearPairs:
    """Near pairs of two partitions, each pair once, by their rows among all."""
    left = Block(p, first, a, "partition").points(metric, d)
    right = Block(q, second, b, "partition").points(metric, d)
    with threadpool_limits(limits=1, user_api="blas"):
        rows = second + np.arange(len(right))
        sieve = plan.around(right, rows)
        i, j, sq_dist = near_pairs(left, sieve)
    i, j = i + first, j + second
    later = i < j
    return NearPairs(i[later], j[later], sq_dist[later])


def _plan(X: Floats, sigma_max: float, G: float) -> Sieve:
    """A sieve without landmarks: what to filter on."""
    some = X[:: max(1, len(X) // _N_TRIED)]
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    none = np.zeros(len(some), dtype=np.int64)
    pool = Pool(len(X), low, high, none, some, len(some), none.astype(bool))
    return make_sieve(pool, sigma_max, G).only(none[:0])
