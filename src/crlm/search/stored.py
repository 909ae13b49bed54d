"""All pairs, found once and kept."""

from __future__ import annotations

import numpy as np

from crlm.search.blocks import Blocks
from crlm.search.budget import Budget
from crlm.search.pairs import Found, Pairs, assemble, index_dtype
from crlm.search.parallel import Progress, in_parallel

_TASKS_PER_THREAD = 64


def find_pairs(
    blocks: Blocks, budget: Budget, *, n_jobs: int, progress: Progress | None = None
) -> Pairs:
    """All pairs of rows closer than the radius.

    Raises
    ------
    MemoryLimitError
        Before more pairs are kept than the budget allows.
    """
    n, n_runs = len(blocks.X), blocks.plan.runs.n_runs
    step = max(1, n_runs // (n_jobs * _TASKS_PER_THREAD))
    tasks = [range(b, min(b + step, n_runs)) for b in range(0, n_runs, step)]
    dtype, order = index_dtype(n), blocks.plan.runs.order

    def task(part: range) -> Found:
        near = [pair for b in part for pair in blocks.later_pairs(b)]
        none = np.zeros(0, dtype=np.intp)
        i = np.concatenate([none, *(pair[0] for pair in near)])
        j = np.concatenate([none, *(pair[1] for pair in near)])
        close, sq_dist = blocks.measure(i, j)
        i, j = order[i[close]], order[j[close]]
        return Found(i.astype(dtype), j.astype(dtype), sq_dist)

    found: list[Found] = []
    n_pairs = 0
    for part in in_parallel(task, tasks, n_jobs, progress):
        n_pairs += len(part.i)
        budget.check(n_pairs)
        found.append(part)
    return assemble(found, n)
