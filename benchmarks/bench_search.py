"""Time of search and fit beside the exact peers, as ratios of one run, answers compared.

    python benchmarks/bench_search.py            # a few minutes
    python benchmarks/bench_search.py --full     # the sizes of docs/performance.md

Every row is the median of several runs of each program in this process, one after the other, so
that both see the same machine. "same" says whether the pairs (search) or the partition at the
same radius (fit) agree. Peers that are not installed are left out: pip install '.[bench]'.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median

import numpy as np

from crlm import CRLM, GMMUB
from crlm.loss import sq_cutoff
from crlm.search import pairs_within

MEMORY = 8 * 10**9


def timed(work: Callable, repeats: int) -> tuple[float, object]:
    """Median seconds of a call, and what it returned last."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return median(seconds), result


def gmmub(n: int, d: int) -> np.ndarray:
    """The paper's simulation: three clusters of 1 %, sigma 1, 2, 3, in a ball of D = 100."""
    model = GMMUB.draw(3, d, [1, 2, 3], 0.01, D=100, sigma_max=10, rng=0)
    return model.sample(n, rng=1)[0].astype(np.float32)


def embeddings(n: int, d: int) -> np.ndarray:
    """Rows of unit length with a power-law spectrum, as neural networks make them."""
    X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def row(name: str, peer: str, ours: float, theirs: float, same: object) -> None:
    print(
        f"{name:<34} {peer:<22} {ours:8.3f} s {theirs:8.3f} s {theirs / ours:7.1f} x   same: {same}"
    )


def against_faiss(name: str, X: np.ndarray, cutoff: float, repeats: int) -> None:
    try:
        import faiss
    except ImportError:
        return

    def search():
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.range_search(X, cutoff)

    ours, pairs = timed(lambda: pairs_within(X, cutoff, memory_limit=MEMORY, n_jobs=2), repeats)
    theirs, (limits, _, indices) = timed(search, max(1, repeats // 2))
    # FAISS decides in float32, so pairs within rounding of the radius may differ.
    rows = np.repeat(np.arange(len(X)), np.diff(limits.astype(np.int64)))
    mine = np.repeat(np.arange(len(X)), np.diff(pairs.indptr))
    off = rows != indices
    a = set(zip(rows[off].tolist(), indices[off].tolist(), strict=True))
    b = set(zip(mine.tolist(), pairs.indices.tolist(), strict=True))
    row(name, "FAISS range_search", ours, theirs, f"{len(a & b):,} of {len(a | b):,} pairs")


def against_dbscan(
    name: str, X: np.ndarray, sigma_max: float, repeats: int, comparable: bool = True
) -> None:
    """Where clusters are apart, both put the same rows in clusters; DBSCAN chains otherwise."""
    from sklearn.cluster import DBSCAN

    radius = np.sqrt(sq_cutoff(sigma_max, X.shape[1]))
    ours, model = timed(lambda: CRLM(sigma_max, n_jobs=2).fit(X), repeats)
    best = (np.inf, None)
    for algorithm in ("brute", "kd_tree") if X.shape[1] <= 10 else ("brute",):
        peer = DBSCAN(eps=radius, min_samples=2, n_jobs=2, algorithm=algorithm)
        best = min(best, timed(lambda peer=peer: peer.fit(X), 1), key=lambda found: found[0])
    same = np.array_equal(model.labels_ >= 0, best[1].labels_ >= 0)
    answer = f"{same} (rows in clusters)" if comparable else "not comparable, it chains"
    row(name, "sklearn DBSCAN", ours, best[0], answer)


def against_hdbscan(name: str, X: np.ndarray, sigma_max: float, repeats: int) -> None:
    from sklearn.cluster import HDBSCAN

    ours, model = timed(lambda: CRLM(sigma_max, n_jobs=2).fit(X), repeats)
    theirs, peer = timed(lambda: HDBSCAN(n_jobs=2, copy=True).fit(X), 1)
    row(name, "sklearn HDBSCAN", ours, theirs, f"{model.n_clusters_} and {peer.labels_.max() + 1}")


def against_kdtree(name: str, n: int, d: int, repeats: int) -> None:
    from scipy.spatial import cKDTree

    X = np.random.default_rng(0).uniform(size=(n, d))
    radius = (30 / n / {2: np.pi, 3: 4 / 3 * np.pi}[d]) ** (1 / d)
    ours, pairs = timed(lambda: pairs_within(X, radius**2, memory_limit=MEMORY, n_jobs=2), repeats)
    theirs, found = timed(lambda: cKDTree(X).query_pairs(radius, output_type="ndarray"), repeats)
    row(name, "cKDTree.query_pairs", ours, theirs, pairs.n_pairs == len(found))


def against_floor(name: str, X: np.ndarray, cutoff: float, repeats: int) -> None:
    """The bare matrix product of the filter, over the same columns and all pairs once."""
    from threadpoolctl import threadpool_limits

    from crlm.search.plan import make_plan, near_share

    width, n = make_plan(X, cutoff, near_share(X, cutoff)).frame.width, len(X)
    n -= n % 512  # whole blocks only: NumPy multiplies into a part of an array without BLAS
    A = np.random.default_rng(0).normal(size=(n, width)).astype(np.float32)
    out = np.empty((512, 512), dtype=np.float32)

    def product():
        for start in range(0, n, 512):
            for other in range(start, n, 512):
                np.matmul(A[start : start + 512], A[other : other + 512].T, out=out)

    ours, _ = timed(lambda: pairs_within(X, cutoff, memory_limit=MEMORY, n_jobs=2), repeats)
    with threadpool_limits(limits=2, user_api="blas"):
        floor, _ = timed(product, repeats)
    times = f"{ours:8.3f} s {floor:8.3f} s {ours / floor:7.1f} x its time"
    print(f"{name:<34} {'bare product':<22} {times}", flush=True)


def n_clusters_cost(n: int, d: int, repeats: int) -> None:
    """Time for 64 clusters over time for one, at equal n and equal number of pairs."""
    rng = np.random.default_rng(0)
    background = rng.uniform(-1000, 1000, (n - 6400, d))
    seconds = []
    for k in (1, 64):
        centers = rng.uniform(-1000, 1000, (k, d))
        # One cluster of 800 rows has as many pairs as 64 clusters of 100.
        size = 800 if k == 1 else 100
        rest = rng.uniform(-1000, 1000, (6400 - k * size, d))
        tight = np.repeat(centers, size, axis=0) + rng.normal(size=(k * size, d))
        X = np.vstack([background, rest, tight]).astype(np.float32)
        seconds.append(timed(lambda X=X: CRLM(3.0, n_jobs=2).fit(X), repeats)[0])
    print(f"{f'fit, {n:,} x {d}':<34} 64 clusters over 1: {seconds[1] / seconds[0]:.2f} x the time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the sizes of docs/performance.md")
    full = parser.parse_args().full
    warnings.simplefilter("ignore")
    n, repeats = (40_000, 5) if full else (10_000, 3)
    print(f"{'':<34} {'peer':<22} {'crlm':>10} {'peer':>10} {'ratio':>9}")
    for d in (10, 100, 1000):
        X = gmmub(n, d)
        against_faiss(f"pairs, GMMUB {n:,} x {d}", X, sq_cutoff(10.0, d), repeats)
        against_dbscan(f"fit, GMMUB {n:,} x {d}", X, 10.0, repeats)
    against_hdbscan("fit, GMMUB 10,000 x 100", gmmub(10_000, 100), 10.0, repeats)
    m = 50_000 if full else 10_000
    X = embeddings(m, 768)
    some = X[:: m // 2000].astype(np.float64)
    sq = 2.0 - 2.0 * some @ some.T
    cutoff = float(np.quantile(sq[np.triu_indices(len(some), 1)], 1e-3))
    against_faiss(f"pairs, embeddings {m:,} x 768", X, cutoff, repeats)
    n_clusters_cost(20_000, 50, repeats)
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(20_000 if full else 5_000, 50)).astype(np.float32)
    name = f"fit, half of all pairs, {len(dense):,} x 50"
    against_dbscan(name, dense, np.sqrt(100 / 200), 1, comparable=False)
    low = 1_000_000 if full else 100_000
    against_kdtree(f"pairs, uniform {low:,} x 2", low, 2, repeats)
    against_kdtree(f"pairs, uniform {low:,} x 3", low, 3, repeats)
    big = 100_000 if full else 20_000
    against_floor(f"pairs, GMMUB {big:,} x 100", gmmub(big, 100), sq_cutoff(10.0, 100), repeats)


if __name__ == "__main__":
    main()
