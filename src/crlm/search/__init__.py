"""All pairs of rows closer than a radius, exactly, in bounded memory.

::

    X, R^2 --> plan: directions, axes and runs, tried on a sample
                 |
                 v
    blocks:  boxes exclude runs --> float32 bound excludes pairs --> float64 decides
                 |                    (product, or tiles in C)              (distance)
                 +-- the pairs fit in memory --> stored  --> StoredGraph   --+
                 +-- they do not             --> stream  --> StreamedGraph --+--> Neighbourhood
                 +-- most of them are near   --> dense   --> StreamedGraph --+

All of these differ in time and memory only. What is cheap may only discard, with a proven error
bound; what is left is measured by the one definition in :mod:`crlm.search.distance`, so the
losses and the balls are the same to the last bit.
"""

from __future__ import annotations

import logging
from functools import cached_property, partial
from typing import Literal

from crlm.errors import MemoryLimitError
from crlm.loss import sq_cutoff as squared_cutoff
from crlm.search.balls import first_ball
from crlm.search.blocks import Blocks
from crlm.search.budget import Budget
from crlm.search.budget import in_words as bytes_in_words
from crlm.search.dense import dense_workspace
from crlm.search.distance import Floats
from crlm.search.estimate import in_words as time_in_words
from crlm.search.estimate import seconds_of_blocks, seconds_of_dense, seconds_of_tree
from crlm.search.filter import frame
from crlm.search.graph import Neighbourhood, StoredGraph
from crlm.search.pairs import Counted, Pairs, Weights
from crlm.search.parallel import Progress, one_blas_thread
from crlm.search.plan import Plan, is_tiled, make_plan, near_share
from crlm.search.ranked import RankedPairs
from crlm.search.stored import find_pairs
from crlm.search.stream import StreamedGraph
from crlm.search.tree import (
    MAX_D,
    SLAB,
    TREE_BYTES_PER_PAIR,
    find_pairs_by_tree,
    tree_workspace,
)

__all__ = [
    "Counted",
    "Floats",
    "Neighbourhood",
    "Pairs",
    "Progress",
    "RankedPairs",
    "StoredGraph",
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
    counted: Counted | None = None,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    progress: Progress | None = None,
    _engine: Literal["tree", "stored", "stream", "dense"] | None = None,
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
    counted : ndarray of shape (n,) of bool, or None
        Rows that count as neighbours, copies once; None for all.
    memory_limit : int
        Bytes that may be allocated. Less means more time, never another result.
    n_jobs : int
        Threads. The result does not depend on it.
    progress : callable or None
        Called as ``progress(done, total)`` while the search runs.
    """
    cutoff = squared_cutoff(sigma_max, X.shape[1], G)
    # BLAS gets one thread, because the blocks themselves are spread over threads.
    with one_blas_thread():
        search = _Search(X, cutoff, memory_limit, n_jobs, _block)
        engine = _engine or search.choose()
        if log.isEnabledFor(logging.INFO):
            log.info("%s: %s; about %s and %s", engine, _ENGINES[engine], *search.estimate(engine))
        if engine in ("tree", "stored"):
            try:
                pairs = search.pairs(engine, progress)
                return StoredGraph(pairs, sigma_max, X.shape[1], G, weights, counted)
            except MemoryLimitError:
                log.info("more pairs than expected; going on without storing them")
        blocks = None if engine == "dense" else search.blocks()
        return StreamedGraph(
            X, blocks, cutoff, sigma_max, G, weights, counted, n_jobs=n_jobs, progress=progress
        )


def pairs_within(
    X: Floats,
    sq_cutoff: float,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    progress: Progress | None = None,
    _engine: Literal["tree", "stored"] | None = None,
    _block: int | None = None,
) -> Pairs:
    """All pairs of rows whose squared distance is strictly less than `sq_cutoff`.

    Raises
    ------
    MemoryLimitError
        Before more than `memory_limit` bytes are taken.
    """
    with one_blas_thread():
        search = _Search(X, sq_cutoff, memory_limit, n_jobs, _block)
        return search.pairs(_engine or ("tree" if search.is_low else "stored"), progress)


_ENGINES = {
    "tree": "few columns, so a tree finds all pairs, which are kept",
    "stored": "all pairs are found once and kept",
    "stream": "the pairs would not fit in memory_limit, and are found again when needed",
    "dense": "the radius takes in much of the data, so all pairs are summed in blocks",
}


class _Search:
    """One search: its plan is made once, and used by whichever engine is chosen."""

    def __init__(
        self, X: Floats, cutoff: float, memory_limit: int, n_jobs: int, block: int | None
    ) -> None:
        self._X, self._cutoff, self._limit, self._n_jobs = X, cutoff, memory_limit, n_jobs
        self._block = block
        self._frame = frame(X, cutoff)  # refuses what is out of all proportion to the radius
        self._near = near_share(X, cutoff)
        self.is_low = X.shape[1] <= MAX_D[is_tiled(self._frame, len(X))]

    @cached_property
    def _plan(self) -> Plan:
        make = partial(
            make_plan, self._X, self._frame, self._near, self._block, n_jobs=self._n_jobs
        )
        plan = make()
        if Blocks.workspace(plan, self._n_jobs) > self._limit / 2:  # it is for pairs, too
            plan = make(looks=False)
        return plan

    def choose(self) -> str:
        """Fastest engine that fits in memory."""
        n, d = self._X.shape
        storing = "tree" if self.is_low else "stored"
        if self._near <= _DENSE:
            if self._near * n**2 / 2 <= self._budget(storing).max_pairs:
                return storing
            if self._budget("stream").max_pairs >= 0:
                return "stream"
        # Dense also works in the least memory.
        Budget(n, self._limit, dense_workspace(d, self._n_jobs)).check(0)
        return "dense"

    def estimate(self, engine: str) -> tuple[str, str]:
        """Time and memory that an engine will take, in words."""
        (n, d), near, n_jobs = self._X.shape, self._near, self._n_jobs
        if engine == "dense":
            return (
                time_in_words(seconds_of_dense(n, d, n_jobs)),
                bytes_in_words(dense_workspace(d, n_jobs)),
            )
        if engine == "tree":
            seconds = seconds_of_tree(n, d, near, n_jobs)
        else:
            seconds = seconds_of_blocks(self._plan, near, n_jobs)
        n_pairs = 0.0 if engine == "stream" else near * n**2 / 2
        return time_in_words(seconds), bytes_in_words(self._budget(engine).needed(n_pairs))

    def pairs(self, engine: str, progress: Progress | None) -> Pairs:
        """All pairs, by tree or by blocks."""
        X, budget, expected = self._X, self._budget(engine), self._near * len(self._X) ** 2 / 2
        budget.check(expected, doubt=0.2)  # a sample errs by some percent
        if engine == "tree":
            return find_pairs_by_tree(
                X,
                self._cutoff,
                budget,
                n_jobs=self._n_jobs,
                progress=progress,
                expected=expected,
                slab_size=self._block or SLAB,
            )
        return find_pairs(
            self.blocks(), budget, n_jobs=self._n_jobs, progress=progress, expected=expected
        )

    def blocks(self) -> Blocks:
        """Rows made ready for the filter."""
        return Blocks.prepare(self._X, self._cutoff, self._plan, self._n_jobs)

    def _budget(self, engine: str) -> Budget:
        n, d = self._X.shape
        if engine == "tree":
            return Budget(n, self._limit, tree_workspace(n, d), TREE_BYTES_PER_PAIR)
        return Budget(n, self._limit, Blocks.workspace(self._plan, self._n_jobs))
