"""All pairs, found once and kept."""

from __future__ import annotations

import numpy as np

from crlm.search.blocks import Blocks
from crlm.search.budget import Budget
from crlm.search.pairs import Found, Pairs, assemble, found
from crlm.search.parallel import Progress, in_parallel

# Enough tasks for every thread, none so long that an interrupt would wait for it.
_TASKS_PER_THREAD, _MAX_ROWS = 8, 2048


def find_pairs(
    blocks: Blocks,
    budget: Budget,
    *,
    n_jobs: int,
    progress: Progress | None = None,
    expected: float = 0.0,
) -> Pairs:
    """All pairs of rows closer than the radius, of which there are about `expected`.

    Raises
    ------
    MemoryLimitError
        Before more pairs are kept than the budget allows.
    """
    runs, n = blocks.plan.runs, len(blocks.X)
    step = max(1, min(_MAX_ROWS // runs.size, runs.n_runs // (n_jobs * _TASKS_PER_THREAD)))
    tasks = [range(b, min(b + step, runs.n_runs)) for b in range(0, runs.n_runs, step)]

    def task(part: range) -> Found:
        near = [pair for b in part for pair in blocks.later_pairs(b)]
        none = np.zeros(0, dtype=np.intp)
        i = np.concatenate([none, *(pair[0] for pair in near)])
        j = np.concatenate([none, *(pair[1] for pair in near)])
        close, sq_dist = blocks.measure(i, j)
        places = range(part.start * runs.size, min(part.stop * runs.size, n))
        return found(places, i[close], j[close], sq_dist, n)

    return assemble(in_parallel(task, tasks, n_jobs, progress), runs.order, budget.check, expected)
