"""All pairs of rows closer than a radius, exactly, in bounded memory.

::

    X, R^2 --> pairs_within --+-- d <= 8:  tree     k-d tree proposes     --+--> Pairs
                              +-- else:    blocks   matrix product filters --+
                                              |
                                   distance: float64 from differences decides, in every engine

Engines differ in speed only. Each discards pairs by a cheap test with a proven error bound
and measures what is left by the one definition in :mod:`crlm.search.distance`, so they agree
to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from crlm.search.balls import first_ball
from crlm.search.blocks import BLOCK, search_blocks
from crlm.search.distance import Floats
from crlm.search.graph import Neighbourhood, StoredGraph
from crlm.search.pairs import Pairs
from crlm.search.tree import search_tree

__all__ = [
    "Floats",
    "Neighbourhood",
    "Pairs",
    "StoredGraph",
    "first_ball",
    "pairs_within",
]

# Beyond about this dimension a k-d tree visits most of its leaves.
_TREE_MAX_D = 8


def pairs_within(
    X: Floats,
    sq_cutoff: float,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    progress: Callable[[int, int], object] | None = None,
    _engine: Literal["tree", "blocks"] | None = None,
    _block: int = BLOCK,
) -> Pairs:
    """All pairs of rows whose squared distance is strictly less than `sq_cutoff`.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    sq_cutoff : float
    memory_limit : int
        Bytes that the search may allocate.
    n_jobs : int
        Threads. The result does not depend on it.
    progress : callable or None
        Called as ``progress(done, total)`` while the search runs.

    Raises
    ------
    MemoryLimitError
        Before more than `memory_limit` bytes are taken.
    """
    if (_engine or ("tree" if X.shape[1] <= _TREE_MAX_D else "blocks")) == "tree":
        return search_tree(X, sq_cutoff, memory_limit=memory_limit, n_jobs=n_jobs)
    return search_blocks(
        X,
        sq_cutoff,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
        progress=progress,
        block=_block,
    )
