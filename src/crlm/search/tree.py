"""The engine for low dimension: a k-d tree proposes, float64 decides."""

from __future__ import annotations

import math

from scipy.spatial import cKDTree

from crlm.search.budget import Budget
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import Found, Pairs, assemble, index_dtype

# The tree measures distances in its own order of summation; a radius longer by this factor
# makes sure that it proposes every pair that we would accept.
_SLACK = 1.0 + 1e-9


def search_tree(X: Floats, sq_cutoff: float, *, memory_limit: int, n_jobs: int) -> Pairs:
    """All pairs of rows with ``sq_dist < sq_cutoff``, in time about n log n plus their number."""
    n, d = X.shape
    budget = Budget(X, sq_cutoff, limit=memory_limit, workspace=n * (8 * d + 64) + (1 << 24))
    budget.probe()

    tree = cKDTree(X)
    radius = math.sqrt(sq_cutoff) * _SLACK
    with_self = tree.query_ball_point(X, radius, return_length=True, workers=n_jobs)
    budget.add(int(with_self.sum() - n) // 2, share=1.0)

    proposed = tree.query_pairs(radius, output_type="ndarray")
    i, j = proposed[:, 0], proposed[:, 1]
    sq_dist = sq_distances_of_pairs(X, i, X, j)
    close = sq_dist < sq_cutoff
    dtype = index_dtype(n)
    return assemble([Found(i[close].astype(dtype), j[close].astype(dtype), sq_dist[close])], n)
