"""How long a search will take, roughly, told before it starts.

Pairs are counted on a sample (:mod:`crlm.search.plan`). What one of them costs is known for a
common core, in nanoseconds; a matrix product tells how fast this one is.
"""

from __future__ import annotations

import time

import numpy as np

from crlm.search.plan import Plan

_PRODUCT_COLUMN = 0.022  # of a matrix product
_TREE_COLUMN = 70.0  # proposing and measuring a near pair
_DENSE, _DENSE_COLUMN = 4.3, 0.06


def seconds_of_tree(n: int, d: int, near: float, n_jobs: int) -> float:
    """Time to find all near pairs by trees, given their share."""
    return _seconds(near * n**2 / 2 * _TREE_COLUMN * d, n_jobs)


def seconds_of_blocks(plan: Plan, near: float, n_jobs: int) -> float:
    """Time to find all near pairs by boxes, filter and measuring."""
    n, d, costs = len(plan.runs.order), len(plan.frame.center), plan.costs
    filtering = plan.looked_at * (costs.pair + costs.column * plan.frame.width)
    measuring = max(plan.kept, near) * costs.measuring(d)
    return _seconds(n**2 / 2 * (filtering + plan.looking + measuring), n_jobs)


def seconds_of_dense(n: int, d: int, n_jobs: int) -> float:
    """Time to sum the losses of all pairs in blocks."""
    return _seconds(n**2 * (_DENSE + _DENSE_COLUMN * d), n_jobs)


def in_words(seconds: float) -> str:
    """Write a time the way people say it.

    >>> in_words(0.2), in_words(42.4), in_words(600), in_words(20_000)
    ('less than a second', '42 s', '10 min', '5.6 h')
    """
    if seconds < 1.0:
        return "less than a second"
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000.0 else f"{seconds / 3600:.1f} h"


def _seconds(nanoseconds: float, n_jobs: int) -> float:
    return nanoseconds * 1e-9 * _slowness() / n_jobs


def _slowness() -> float:
    """Time of a product on this core over that on a common one."""
    A = np.ones((512, 64), dtype=np.float32)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A.T
        times.append(time.perf_counter() - start)
    return min(times) * 1e9 / (512 * 512 * 64 * _PRODUCT_COLUMN)
