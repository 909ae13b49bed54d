"""All pairs of rows closer than a radius, exactly, in bounded memory.

::

    X, R^2 --> plan: directions, axes and runs, tried on a sample
                 |
                 v
    blocks:  boxes exclude runs --> float32 product excludes pairs --> float64 decides
                 |                                                        (distance)
                 +-- the pairs fit in memory --> stored  --> StoredGraph   --+
                 +-- they do not             --> stream  --> StreamedGraph --+--> Neighbourhood
                 +-- most of them are near   --> dense   --> StreamedGraph --+

All of these differ in time and memory only. What is cheap may only discard, with a proven error
bound; what is left is measured by the one definition in :mod:`crlm.search.distance`, so the
losses and the balls are the same to the last bit.
"""

from __future__ import annotations

import logging
from typing import Literal

from threadpoolctl import threadpool_limits

from crlm.errors import MemoryLimitError
from crlm.loss import sq_cutoff as squared_cutoff
from crlm.search.balls import first_ball
from crlm.search.blocks import Blocks
from crlm.search.budget import Budget
from crlm.search.dense import dense_workspace
from crlm.search.distance import Floats
from crlm.search.graph import Neighbourhood, StoredGraph
from crlm.search.pairs import Pairs, Weights
from crlm.search.parallel import Progress
from crlm.search.plan import Plan, make_plan
from crlm.search.stored import find_pairs
from crlm.search.stream import StreamedGraph

__all__ = [
    "Floats",
    "Neighbourhood",
    "Pairs",
    "Progress",
    "Weights",
    "first_ball",
    "neighbourhood",
    "pairs_within",
]

log = logging.getLogger("crlm")

# From this share of near pairs on, looking at all of them in blocks is faster than one by one.
_DENSE = 0.02


def neighbourhood(
    X: Floats,
    sigma_max: float,
    G: float,
    weights: Weights,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    progress: Progress | None = None,
    _engine: Literal["stored", "stream", "dense"] | None = None,
    _block: int | None = None,
) -> Neighbourhood:
    """Losses and balls of all rows, at one bandwidth.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    sigma_max, G : float
        Of the loss.
    weights : ndarray of shape (n,)
        How many points each row stands for.
    memory_limit : int
        Bytes that may be allocated. Less means more time, never another result.
    n_jobs : int
        Threads. The result does not depend on it.
    progress : callable or None
        Called as ``progress(done, total)`` while the search runs.
    """
    n, d = X.shape
    cutoff = squared_cutoff(sigma_max, d, G)
    # BLAS gets one thread, because the blocks themselves are spread over threads.
    with threadpool_limits(limits=1, user_api="blas"):
        plan = make_plan(X, cutoff, _block)
        budget = Budget(n, memory_limit, Blocks.workspace(plan, n_jobs))
        engine = _engine or _choose_engine(plan, budget)
        log.info("%s: %s", engine, _ENGINES[engine])
        if engine == "dense":
            Budget(n, memory_limit, dense_workspace(d, n_jobs)).check(0)
            blocks = None
        else:
            blocks = Blocks.prepare(X, cutoff, plan, n_jobs)
            if engine == "stored":
                try:
                    pairs = find_pairs(blocks, budget, n_jobs=n_jobs, progress=progress)
                    return StoredGraph(pairs, sigma_max, d, G, weights)
                except MemoryLimitError:
                    log.info("more pairs than expected; going on without storing them")
        return StreamedGraph(
            X, blocks, cutoff, sigma_max, G, weights, n_jobs=n_jobs, progress=progress
        )


_ENGINES = {
    "stored": "all pairs are found once and kept",
    "stream": "the pairs would not fit in memory_limit, and are found again when needed",
    "dense": "the radius takes in much of the data, so all pairs are summed in blocks",
}


def _choose_engine(plan: Plan, budget: Budget) -> Literal["stored", "stream", "dense"]:
    if plan.kept > _DENSE or budget.max_pairs < 0:
        return "dense"  # which also works in the least memory
    expected = plan.kept * budget.n**2 / 2
    return "stored" if expected <= budget.max_pairs else "stream"


def pairs_within(
    X: Floats,
    sq_cutoff: float,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    progress: Progress | None = None,
    _block: int | None = None,
) -> Pairs:
    """All pairs of rows whose squared distance is strictly less than `sq_cutoff`.

    Raises
    ------
    MemoryLimitError
        Before more than `memory_limit` bytes are taken.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        plan = make_plan(X, sq_cutoff, _block)
        budget = Budget(len(X), memory_limit, Blocks.workspace(plan, n_jobs))
        budget.check(plan.kept * len(X) ** 2 / 2, doubt=0.2)  # a sample errs by some percent
        blocks = Blocks.prepare(X, sq_cutoff, plan, n_jobs)
        return find_pairs(blocks, budget, n_jobs=n_jobs, progress=progress)
