"""All pairs in low dimension: a k-d tree proposes, float64 decides.

Up to six columns or so a tree finds near pairs several times faster than boxes and products;
from eight on it visits most of its leaves.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree

from crlm.search.budget import Budget
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import Found, Pairs, assemble, index_dtype
from crlm.search.parallel import Progress, in_parallel

MAX_D = 6
# The tree sums in its own order; a radius longer by this factor makes sure that it proposes
# every pair that we would accept.
_SLACK = 1.0 + 1e-9
_N_PROBES = 1000
_CHUNK = 1 << 18
# The tree's own list of pairs doubles as it grows, and is copied once.
TREE_BYTES_PER_PAIR = 96


def tree_workspace(n: int, d: int) -> int:
    """Bytes of the tree itself and of a copy of the rows."""
    return n * (16 * d + 64) + (1 << 24)


def find_pairs_by_tree(
    X: Floats, sq_cutoff: float, budget: Budget, *, n_jobs: int, progress: Progress | None = None
) -> Pairs:
    """All pairs of rows closer than the radius.

    Raises
    ------
    MemoryLimitError
        Before the pairs take more than the budget allows.
    """
    n = len(X)
    tree = cKDTree(X)
    radius = math.sqrt(sq_cutoff) * _SLACK
    probes = X[np.unique(np.linspace(0, n - 1, _N_PROBES).astype(np.intp))]
    with_self = tree.query_ball_point(probes, radius, return_length=True, workers=n_jobs)
    budget.check(n * float(with_self.mean() - 1) / 2, doubt=0.1)

    # In a function of its own, so that what the tree proposed is freed before sorting.
    return assemble(_measured(X, sq_cutoff, tree, radius, n_jobs, progress), n)


def _measured(
    X: Floats,
    sq_cutoff: float,
    tree: cKDTree,
    radius: float,
    n_jobs: int,
    progress: Progress | None,
) -> list[Found]:
    """Pairs that the tree proposes and that really are near."""
    proposed = tree.query_pairs(radius, output_type="ndarray")
    dtype = index_dtype(len(X))

    def measure(start: int) -> Found:
        i, j = proposed[start : start + _CHUNK].T
        sq_dist = sq_distances_of_pairs(X, i, X, j)
        close = sq_dist < sq_cutoff
        return Found(i[close].astype(dtype), j[close].astype(dtype), sq_dist[close])

    return list(in_parallel(measure, range(0, len(proposed), _CHUNK), n_jobs, progress))
