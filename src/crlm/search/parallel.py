"""Work spread over threads, one item after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[int, int], object]


def one_blas_thread() -> AbstractContextManager[Any]:
    """While it lasts BLAS has one thread: ours are spread over blocks instead.

    The libraries are looked up once, which takes longer than a small fit. NumPy's and SciPy's
    are loaded before anything here is.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg.blas  # noqa: F401 - so that it is found

    return ThreadpoolController()


def in_parallel(
    work: Callable[[T], R], items: Sequence[T], n_jobs: int, progress: Progress | None = None
) -> Generator[R, None, None]:
    """Results of `work` in the order of the items; on any exception nothing is left running.

    Only a few items are handed out at a time, so that an interrupt or a broken budget does
    not wait for the rest; who gives up closes the generator. `progress` is called in the
    caller's thread; what it raises ends the work.
    """
    for done, result in enumerate(_results(work, items, n_jobs), start=1):
        yield result
        if progress is not None:
            progress(done, len(items))


def _results(work: Callable[[T], R], items: Sequence[T], n_jobs: int) -> Iterator[R]:
    if n_jobs == 1:
        yield from map(work, items)
        return
    queue = iter(items)
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="crlm") as pool:
        running = deque(pool.submit(work, item) for item in islice(queue, 2 * n_jobs))
        try:
            while running:
                result = running.popleft().result()
                running.extend(pool.submit(work, item) for item in islice(queue, 1))
                yield result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
