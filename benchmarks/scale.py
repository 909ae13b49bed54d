"""Landmarks from 10^5 to 10^7 rows on disk, beside what else could be done at that size.

    python benchmarks/scale.py                          sizes for a quick look
    python benchmarks/scale.py --full --folder DIR      all of docs/scale.md

Each program runs in a process of its own, one after the other: the fit with landmarks, the bare
product of landmarks by rows, MiniBatchKMeans, ten iterations of FAISS k-means with as many centres
as landmarks, and the fit on one and two workers of Dask. Printed are ratios of processor time in
one run, peak memory, F, and the exponent in the number of rows. The full sizes need 2.6 GB in the
folder, which is cleared at the end, 4 GB of memory, and hours, nearly all of them for FAISS.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from crlm import CRLM, GMMUB, scores, theory
from crlm.bench.measure import exponent
from crlm.bench.memory import peak

D, K, WEIGHT, SIGMA_MAX = 64, 20, 0.0005, 2.5
M = theory.plan_candidates(WEIGHT, k=K)
ITERATIONS = 10
_TOLD = [0.0]
_CHUNK = 100_000
_SLICE = 200_000  # rows on which the bare product is measured: it costs the same for every row


def tell(what: str) -> None:
    """What is going on, on the stream that holds no results: a line that moves, or one a minute."""
    now, moves = time.monotonic(), sys.stderr.isatty()
    if what and now - _TOLD[0] < (0.2 if moves else 60.0):
        return
    _TOLD[0] = now
    if moves:
        print(f"\r{what:<76}\r", end="", file=sys.stderr, flush=True)
    elif what:
        print(f"    {what}", file=sys.stderr, flush=True)


def write_data(folder: Path, n: int) -> Path:
    """Twenty clusters of 0.05 % each and a background of 99 %, float32."""
    model = GMMUB.draw(K, D, 1.0, WEIGHT, D=60, sigma_max=SIGMA_MAX, rng=0)
    path = folder / f"X{n}.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
    y = np.lib.format.open_memmap(path.with_suffix(".y.npy"), "w+", np.int8, (n,))
    for at in range(0, n, _CHUNK):
        tell(f"drawing rows: {at:,} of {n:,}")
        part = slice(at, min(at + _CHUNK, n))
        X[part], y[part] = model.sample(part.stop - at, rng=at)
    return path


# Programs, each called in a process of its own


def settings() -> dict:
    return {"max_clusters": K, "n_landmarks": M}


def fit(path: Path, threads: int, n: int) -> np.ndarray:
    def progress(done: int, total: int) -> None:
        tell(f"crlm: {100 * done / total:.0f} %")

    model = CRLM(SIGMA_MAX, n_jobs=threads, progress=progress, **settings())
    return model.fit(np.load(path, mmap_mode="r")).labels_


def bare(path: Path, threads: int, n: int) -> None:
    """Product of all landmarks by the rows, a cache-sized part at a time; nothing is looked at."""
    X = np.load(path, mmap_mode="r")
    landmarks = np.ascontiguousarray(X[:: max(1, len(X) // M)][:M])
    out = np.empty((256, 512), dtype=np.float32)
    for at in range(0, n, 256):
        tell(f"bare product: {at:,} of {n:,}")
        rows = np.array(X[at : at + 256])
        for j in range(0, len(landmarks) - 511, 512):
            np.matmul(rows, landmarks[j : j + 512].T, out=out[: len(rows)])


def faiss(path: Path, threads: int, n: int) -> np.ndarray:
    """K-means on all rows (by itself FAISS takes 256 for each centre), then their labels."""
    import faiss

    faiss.omp_set_num_threads(threads)
    X = np.load(path)
    centers = None
    for i in range(ITERATIONS):
        tell(f"FAISS: iteration {i + 1} of {ITERATIONS}")
        model = faiss.Kmeans(
            D, centers_for(n), niter=1, seed=0, max_points_per_centroid=n, min_points_per_centroid=1
        )
        model.train(X, init_centroids=centers)
        centers = model.centroids
    tell("FAISS: labels")
    return np.concatenate([model.index.search(part, 1)[1][:, 0] for part in np.array_split(X, 100)])


def centers_for(n: int) -> int:
    return min(M, n // 2)


def minibatch(path: Path, threads: int, n: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    tell("MiniBatchKMeans")
    model = MiniBatchKMeans(256, random_state=0, n_init=1, batch_size=4096)
    return model.fit_predict(np.load(path, mmap_mode="r"))


def dask_fit(path: Path, workers: int, n: int) -> np.ndarray:
    """The fit on so many workers of one thread each; starting them does not count."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    import crlm.dask

    warnings.simplefilter("ignore")
    step = max(1, n // 40)
    parts = [
        da.from_delayed(
            delayed(rows_of)(str(path), at, min(at + step, n)),
            (min(at + step, n) - at, D),
            meta=np.zeros((0, D), np.float32),
        )
        for at in range(0, n, step)
    ]
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        tell(f"Dask: {workers} worker(s)")
        crlm.dask.CRLM(SIGMA_MAX, n_landmarks=100).fit(da.concatenate(parts[:workers]))  # imports
        start = time.perf_counter()
        model = crlm.dask.CRLM(SIGMA_MAX, **settings()).fit(da.concatenate(parts))
        TIMED["wall"] = time.perf_counter() - start
        return model.labels_.compute()


def rows_of(path: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


PROGRAMS = {f.__name__: f for f in (fit, bare, faiss, minibatch, dask_fit)}
TIMED: dict[str, float] = {}  # by a program itself, in place of the whole call


def child(name: str, path: Path, threads: int, n: int) -> None:
    """Run one program and print what it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    with threadpool_limits(threads):
        labels = PROGRAMS[name](path, threads, n)
    took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "peak": peak()}
    if labels is not None:
        tell(f"{name}: F")
        took["F"] = scores.f_measure(np.load(path.with_suffix(".y.npy")), labels)
    tell("")
    print(json.dumps({**took, **TIMED}))


def run(name: str, path: Path, n: int, threads: int = 1) -> dict[str, float]:
    call = [sys.executable, __file__, "--child", name, str(path), str(threads), str(n)]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# What is printed


def show(what: str, took: dict[str, float], ours: dict[str, float], rest: str = "") -> None:
    times = f"{took['cpu']:9.1f} s cpu {took['wall']:9.1f} s wall"
    ratio = f"{took['cpu'] / ours['cpu']:7.2f} x"
    print(f"  {what:<42} {times} {ratio}  F {took['F']:.4f}  {rest}", flush=True)


def compare(path: Path, n: int, *, with_faiss: bool) -> dict[str, float]:
    """Print one size; returns what the fit took."""
    print(f"{n:,} x {D}, {M:,} landmarks", flush=True)
    ours = run("fit", path, n)
    rate = f"{n / ours['cpu']:,.0f} rows per second of a core"
    show("crlm, three passes", ours, ours, f"{ours['peak'] / 1e6:,.0f} MB at most, {rate}")
    share = min(n, _SLICE)
    product = run("bare", path, share)["cpu"] * n / share
    print(f"  {'over the bare product':<42} {ours['cpu'] / product:9.2f}", flush=True)
    show("MiniBatchKMeans, 256 centres", run("minibatch", path, n), ours)
    if with_faiss:
        what = f"FAISS k-means, {centers_for(n):,} centres, {ITERATIONS} times"
        show(what, run("faiss", path, n), ours)
    return ours


def speed_up(path: Path, n: int, one: dict[str, float]) -> None:
    """Print what a second thread and a second worker of Dask are worth."""
    two = run("fit", path, n, 2)
    print(
        f"\r  {'wall time of one thread over two':<42} {one['wall'] / two['wall']:9.2f}", flush=True
    )
    walls = [run("dask_fit", path, n, workers) for workers in (1, 2)]
    ratio = walls[0]["wall"] / walls[1]["wall"]
    good = f"F {walls[0]['F']:.4f} and {walls[1]['F']:.4f}"
    print(f"  {'wall time of one Dask worker over two':<42} {ratio:9.2f}  {good}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the sizes of docs/scale.md")
    parser.add_argument("--folder", type=Path, help="where to put the rows for a while")
    parser.add_argument("--without-faiss", action="store_true", help="minutes instead of hours")
    given = parser.parse_args()
    sizes = [100_000, 1_000_000, 10_000_000] if given.full else [20_000, 50_000, 100_000]
    times = []
    for n in sizes:
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="crlm-scale-") as folder:
            path = write_data(Path(folder), n)
            ends = n in (sizes[0], sizes[-1]) and not given.without_faiss
            ours = compare(path, n, with_faiss=ends)
            times.append(ours["cpu"])
            if n == sizes[1]:
                speed_up(path, n, ours)
    print(f"exponent of processor time in rows: {exponent(sizes, times):.2f}", flush=True)
    last = exponent(sizes[1:], times[1:])
    print(f"the same without the smallest size: {last:.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        name, path, threads, n = sys.argv[2:]
        child(name, Path(path), int(threads), int(n))
    else:
        main()
