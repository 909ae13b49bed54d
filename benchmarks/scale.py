"""Landmarks from 10^5 to 10^7 rows on disk, beside one bare matrix product, k-means of FAISS and
MiniBatchKMeans. Each in a process of its own; ratios of processor time in one run. With --full up
to 10^7 rows (2.6 GB in a temporary folder).
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments
from threadpoolctl import threadpool_limits

from crlm import CRLM, GMMUB, scores, theory
from crlm.bench.measure import exponent
from crlm.bench.memory import peak

D, K, WEIGHT, SIGMA_MAX = 64, 20, 0.0005, 2.5
M = theory.plan_candidates(WEIGHT, k=K)
_CHUNK = 100_000
_SLICE = 200_000  # rows on which what costs the same for every row is measured


def write_data(folder: Path, n: int) -> Path:
    """Twenty clusters of 0.05 % each and a background of 99 %, float32."""
    model = GMMUB.draw(K, D, 1.0, WEIGHT, D=60, sigma_max=SIGMA_MAX, rng=0)
    path = folder / f"X{n}.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
    y = np.lib.format.open_memmap(path.with_suffix(".y.npy"), "w+", np.int8, (n,))
    for at in range(0, n, _CHUNK):
        part = slice(at, min(at + _CHUNK, n))
        X[part], y[part] = model.sample(part.stop - at, rng=at)
    return path


def fit(path: Path, n_jobs: int, n: int) -> np.ndarray:
    X = np.load(path, mmap_mode="r")
    return CRLM(SIGMA_MAX, max_clusters=K, n_landmarks=M, n_jobs=n_jobs).fit(X).labels_


def bare(path: Path, n_jobs: int, n: int) -> None:
    """Product of all landmarks by the rows, a cache-sized part at a time; nothing is looked at."""
    X = np.load(path, mmap_mode="r")
    landmarks = np.ascontiguousarray(X[:: max(1, len(X) // M)][:M])
    out = np.empty((256, 512), dtype=np.float32)
    for at in range(0, n, 256):
        rows = np.array(X[at : at + 256])
        for j in range(0, len(landmarks) - 511, 512):
            np.matmul(rows, landmarks[j : j + 512].T, out=out[: len(rows)])


def faiss_kmeans(path: Path, n_jobs: int, n: int, iterations: int = 1) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_jobs)
    X = np.array(np.load(path, mmap_mode="r")[:n])
    k = min(M, n // 2)
    options = {"niter": iterations, "max_points_per_centroid": n, "min_points_per_centroid": 1}
    model = faiss.Kmeans(D, k, seed=0, **options)
    model.train(X)
    return model.index.search(X, 1)[1][:, 0]


def faiss_ten(path: Path, n_jobs: int, n: int) -> np.ndarray:
    return faiss_kmeans(path, n_jobs, n, 10)


def minibatch(path: Path, n_jobs: int, n: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    X = np.load(path, mmap_mode="r")[:n]
    return MiniBatchKMeans(256, random_state=0, n_init=1, batch_size=4096).fit_predict(X)


PROGRAMS = {f.__name__: f for f in (fit, bare, faiss_kmeans, faiss_ten, minibatch)}


def child(name: str, path: str, n_jobs: int, n: int) -> None:
    """Run one program and print what it took."""
    before = peak()
    cpu, wall = time.process_time(), time.perf_counter()
    with threadpool_limits(n_jobs):
        labels = PROGRAMS[name](Path(path), n_jobs, n)
    took = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "peak": peak(),
        "over": peak() - before,
    }
    if labels is not None:
        y = np.load(Path(path).with_suffix(".y.npy"))[: len(labels)]
        took["F"] = scores.f_measure(y, labels)
    print(json.dumps(took))


def run(name: str, path: Path, n: int, n_jobs: int = 1) -> dict[str, float]:
    call = [sys.executable, __file__, "--child", name, str(path), str(n_jobs), str(n)]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(what: str, took: dict[str, float], rest: str = "") -> None:
    times = f"{took['cpu']:9.1f} s cpu {took['wall']:9.1f} s wall"
    print(f"  {what:<44} {times}  F {took['F']:.4f}  {rest}", flush=True)


def compare(path: Path, n: int) -> float:
    """Print one size; returns the processor time of the fit."""
    print(f"{n:,} x {D}, {M:,} landmarks")
    ours = run("fit", path, n)
    share = min(n, _SLICE)
    product = run("bare", path, share)["cpu"] * n / share
    speed = f"{n / ours['cpu']:,.0f} rows per second of a core"
    show("crlm, three passes", ours, f"{ours['peak'] / 1e6:,.0f} MB at most, {speed}")
    print(
        f"  over the bare product                        {ours['cpu'] / product:9.2f}", flush=True
    )
    if n <= 1_000_000:
        two = run("fit", path, n, 2)
        print(f"  wall time of one thread over that of two     {ours['wall'] / two['wall']:9.2f}")
    show("MiniBatchKMeans, 256 centres", run("minibatch", path, min(n, 1_000_000)))
    return ours["cpu"]


def kmeans(path: Path, n: int) -> float:
    """Print FAISS beside it; returns the processor time of one iteration for each row."""
    one, ten = run("faiss_kmeans", path, n), run("faiss_ten", path, n)
    show(f"FAISS k-means, {min(M, n // 2):,} centres, 10 iterations", ten)
    return (ten["cpu"] - one["cpu"]) / 9.0 / n


def main() -> None:
    full, _ = arguments(__doc__)
    sizes = [100_000, 1_000_000, 10_000_000] if full else [30_000, 100_000]
    times, step = [], 0.0
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = write_data(Path(folder), n)
            times.append(compare(path, n))
            step = step or kmeans(path, n)
        ratio = 10 * step * n / times[-1]
        print(f"  10 iterations of FAISS over crlm             {ratio:9.2f}", flush=True)
    print(f"exponent of processor time in rows: {exponent(sizes, times):.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
