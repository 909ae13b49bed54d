"""The engine for any dimension: a matrix product per block discards, float64 decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.search.budget import Budget
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import Frame, frame
from crlm.search.pairs import Found, Pairs, assemble, index_dtype

Progress = Callable[[int, int], object]

BLOCK = 1024  # rows of a block: 4 MB of products, near the size of a core's cache


def search_blocks(
    X: Floats,
    sq_cutoff: float,
    *,
    memory_limit: int,
    n_jobs: int,
    progress: Progress | None,
    block: int,
) -> Pairs:
    """All pairs of rows with ``sq_dist < sq_cutoff``, never more than a block of them dense."""
    n, d = X.shape
    f = frame(X, sq_cutoff)
    block = min(block, max(n, 1))
    itemsize = np.dtype(f.dtype).itemsize
    workspace = itemsize * (d + 2) * (n + n_jobs * block) + n_jobs * block**2 * (itemsize + 1)
    budget = Budget(X, sq_cutoff, limit=memory_limit, workspace=workspace + (1 << 24))
    budget.probe()

    right = f.right(X)
    found: list[Found] = []
    starts = range(0, n, block)

    def stripe(start: int) -> list[Found]:
        return list(_stripe(X, right, f, sq_cutoff, start, block))

    # BLAS gets one thread, because the blocks themselves are spread over threads.
    with threadpool_limits(limits=1, user_api="blas"):
        for done, parts in enumerate(_in_parallel(stripe, starts, n_jobs), start=1):
            for part in parts:
                budget.add(len(part.i), share=done / len(starts))
            found += parts
            if progress is not None:
                progress(done, len(starts))
    return assemble(found, n)


def _stripe(
    X: Floats, right: Floats, f: Frame, sq_cutoff: float, start: int, block: int
) -> Iterator[Found]:
    """Pairs of the rows from `start` with themselves and all later rows."""
    n = len(X)
    left = f.left(right[start : start + block])
    products = np.empty((len(left), block), dtype=f.dtype)
    near = np.empty((len(left), block), dtype=bool)
    for other in range(start, n, block):
        width = min(block, n - other)
        V = np.matmul(left, right[other : other + width].T, out=products[:, :width])
        np.less(V, f.cutoff, out=near[:, :width])
        i, j = np.nonzero(near[:, :width])
        if other == start:
            i, j = i[i < j], j[i < j]
        if len(i):
            yield _measure(X, i + start, j + other, sq_cutoff)


def _measure(X: Floats, i: NDArray[np.intp], j: NDArray[np.intp], sq_cutoff: float) -> Found:
    """Keep the candidate pairs that really are closer than the radius."""
    sq_dist = sq_distances_of_pairs(X, i, X, j)
    close = sq_dist < sq_cutoff
    dtype = index_dtype(len(X))
    return Found(i[close].astype(dtype), j[close].astype(dtype), sq_dist[close])


def _in_parallel(
    work: Callable[[int], list[Found]], items: range, n_jobs: int
) -> Iterator[list[Found]]:
    """Results of `work` as they finish; on any exception nothing is left running.

    Only a few items are handed out at a time, so that an interrupt or a broken budget does
    not wait for the rest.
    """
    if n_jobs == 1:
        yield from map(work, items)
        return
    queue = iter(items)
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="crlm") as pool:
        running: set[Future[list[Found]]] = set()
        try:
            while True:
                for item in queue:
                    running.add(pool.submit(work, item))
                    if len(running) > n_jobs:
                        break
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
