"""crlm and the programs that answer the same question, each in its fastest setting.

A program takes data and returns its answer as it comes; `read` then brings the answers into one
form, outside the measured time: a code ``i * n + j`` for each pair ``i < j``, ascending, or a
truth value for each row, whether it lies in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.bench.data import Data
from crlm.checks import check_n_jobs
from crlm.loss import sq_cutoff
from crlm.search import pairs_within

_MEMORY = 8 * 10**9


class Program(NamedTuple):
    """One way to answer a question."""

    name: str
    package: str  # that it needs
    run: Callable[[Data], Any]
    read: Callable[[Any, int], NDArray[Any]]

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.package) is not None


# All near pairs


def _crlm_pairs(data: Data) -> Any:
    cutoff = sq_cutoff(data.sigma_max, data.X.shape[1])
    return pairs_within(data.X, cutoff, memory_limit=_MEMORY, n_jobs=check_n_jobs(None))


def _faiss(data: Data) -> Any:
    import faiss

    X = np.ascontiguousarray(data.X, dtype=np.float32)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    limits, _, indices = index.range_search(X, data.radius**2)
    return limits.astype(np.int64), indices


def _radius_neighbors(data: Data) -> Any:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(radius=data.radius, n_jobs=-1, algorithm=_algorithm(data))
    graph = search.fit(data.X).radius_neighbors_graph(mode="distance")
    return graph.indptr, graph.indices


def _query_pairs(data: Data) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(data.X).query_pairs(data.radius, output_type="ndarray")


def _codes_of_places(answer: Any, n: int) -> NDArray[np.int64]:
    i = answer.order[np.repeat(np.arange(n), np.diff(answer.indptr))]
    return _codes_of_list(np.column_stack([i, answer.order[answer.indices]]), n)


def _codes_of_rows(answer: Any, n: int) -> NDArray[np.int64]:
    indptr, j = answer
    i = np.repeat(np.arange(n), np.diff(indptr))
    once = i < j
    return np.sort(i[once] * n + j[once])


def _codes_of_list(answer: Any, n: int) -> NDArray[np.int64]:
    return np.sort(answer.min(axis=1) * n + answer.max(axis=1))


# A clustering


def _crlm_fit(data: Data) -> Any:
    from crlm.estimator import CRLM

    return CRLM(data.sigma_max, alpha=None).fit(data.X)  # as the others: nothing is tested


def _dbscan(data: Data) -> Any:
    from sklearn.cluster import DBSCAN

    algorithm = _algorithm(data)
    return DBSCAN(eps=data.radius, min_samples=2, n_jobs=-1, algorithm=algorithm).fit(data.X)


def _sklearn_hdbscan(data: Data) -> Any:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(n_jobs=-1, copy=True).fit(data.X)


def _contrib_hdbscan(data: Data) -> Any:
    import hdbscan

    return hdbscan.HDBSCAN(core_dist_n_jobs=-1).fit(data.X)


def _optics(data: Data) -> Any:
    from sklearn.cluster import OPTICS

    return OPTICS(max_eps=data.radius, n_jobs=-1, algorithm=_algorithm(data)).fit(data.X)


def _in_cluster(answer: Any, n: int) -> NDArray[np.bool_]:
    return np.asarray(answer.labels_ >= 0)


def _algorithm(data: Data) -> str:
    """scikit-learn's faster one: its trees visit most of their leaves from a dozen columns on."""
    return "kd_tree" if data.X.shape[1] <= 10 else "brute"


# The first of each is ours.
PAIRS = {
    "crlm": Program("crlm", "crlm", _crlm_pairs, _codes_of_places),
    "faiss": Program("FAISS range_search", "faiss", _faiss, _codes_of_rows),
    "radius_neighbors": Program(
        "sklearn radius_neighbors", "sklearn", _radius_neighbors, _codes_of_rows
    ),
    "query_pairs": Program("cKDTree.query_pairs", "scipy", _query_pairs, _codes_of_list),
}
FITS = {
    "crlm": Program("crlm", "crlm", _crlm_fit, _in_cluster),
    "dbscan": Program("sklearn DBSCAN", "sklearn", _dbscan, _in_cluster),
    "hdbscan": Program("sklearn HDBSCAN", "sklearn", _sklearn_hdbscan, _in_cluster),
    "contrib": Program("hdbscan HDBSCAN", "hdbscan", _contrib_hdbscan, _in_cluster),
    "optics": Program("sklearn OPTICS", "sklearn", _optics, _in_cluster),
}
