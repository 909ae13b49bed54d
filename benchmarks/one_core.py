"""Processor time on one core, a peer's over ours: other work on the machine moves it less."""

import time
from collections.abc import Callable
from statistics import median

from common import arguments
from scipy.spatial import cKDTree
from sklearn.cluster import DBSCAN
from threadpoolctl import threadpool_limits

from crlm import CRLM
from crlm.bench.data import Data, gmmub, uniform
from crlm.search import pairs_within


def cpu(work: Callable, repeats: int) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def search(data: Data) -> object:
    return pairs_within(data.X, data.radius**2, memory_limit=8 * 10**9, n_jobs=1)


def faiss_search(data: Data) -> object:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(data.X.shape[1])
    index.add(data.X)
    return index.range_search(data.X, data.radius**2)


def dbscan(data: Data, algorithm: str) -> object:
    return DBSCAN(eps=data.radius, min_samples=2, n_jobs=1, algorithm=algorithm).fit(data.X)


def query_pairs(data: Data) -> object:
    return cKDTree(data.X).query_pairs(data.radius, output_type="ndarray")


def main() -> None:
    full, repeats = arguments(__doc__)
    for d in (10, 100, 1000):
        data = gmmub(40_000 if full else 10_000, d)
        ours = cpu(lambda data=data: search(data), repeats)
        fit = cpu(lambda data=data: CRLM(10.0, alpha=None, n_jobs=1).fit(data.X), repeats)
        kinds = ["brute", "kd_tree"] if d == 10 else ["brute"]
        peer = min(cpu(lambda data=data, kind=kind: dbscan(data, kind), 1) for kind in kinds)
        print(f"{data.name}: DBSCAN over fit {peer / fit:.1f}", flush=True)
        try:
            peer = cpu(lambda data=data: faiss_search(data), 1)
            print(f"{data.name}: FAISS over pairs {peer / ours:.1f}", flush=True)
        except ImportError:
            print(f"{data.name}: left out, faiss is not installed")
    for d in (2, 3):
        data = uniform(1_000_000 if full else 100_000, d)
        ours = cpu(lambda data=data: search(data), repeats)
        peer = cpu(lambda data=data: query_pairs(data), repeats)
        print(f"{data.name}: query_pairs over pairs {peer / ours:.2f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
