"""Times as ratios of one run, after the answers are compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.bench.data import Data
from crlm.bench.memory import peak_memory
from crlm.bench.programs import FITS, PAIRS, Program
from crlm.checks import check_n_jobs
from crlm.loss import sq_cutoff
from crlm.search.filter import frame
from crlm.search.parallel import in_parallel
from crlm.search.plan import make_plan, near_share

_LONG = 5.0  # seconds after which a call is not repeated: noise is short
_WARM = 64
_SIDE = 512


class Row(NamedTuple):
    """One program beside crlm on one data set."""

    task: str  # "pairs" or "fit"
    data: str
    peer: str
    seconds: float
    peer_seconds: float
    n_same: int  # pairs that both found, or rows that both put in or out of clusters
    n_all: int  # pairs that either found, or rows
    memory: int | None
    peer_memory: int | None

    @property
    def ratio(self) -> float:
        """The peer's time over ours."""
        return self.peer_seconds / self.seconds


def programs(task: str) -> dict[str, Program]:
    """Programs that do a task, ours first."""
    return PAIRS if task == "pairs" else FITS


def missing(task: str, peers: Sequence[str]) -> list[str]:
    """Packages that some peers need and that are not installed."""
    wanted = [programs(task)[peer] for peer in peers]
    return [program.package for program in wanted if not program.is_installed]


def compare(
    task: str, data: Data, peers: Sequence[str], repeats: int, *, memory: bool = False
) -> Iterator[Row]:
    """Time of crlm and of its installed peers on the same data, one after the other."""
    known = programs(task)
    ours, answer = _answer(known["crlm"], data, repeats)
    our_memory = peak_memory(task, "crlm", data) if memory else None
    for key in peers:
        peer = known[key]
        if peer.is_installed:
            theirs, other = _answer(peer, data, repeats)
            their_memory = peak_memory(task, key, data) if memory else None
            same, total = _agreement(task, answer, other)
            sizes = (our_memory, their_memory)
            yield Row(task, data.name, peer.name, ours, theirs, same, total, *sizes)


def time_of(program: Program, data: Data, repeats: int) -> tuple[float, Any]:
    """Median time of a program, and what it answered."""
    program.run(data._replace(X=data.X[:_WARM]))  # imports are not what is measured
    return seconds(lambda: program.run(data), repeats)


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median time of a call, and what it returned last."""
    times: list[float] = []
    result = None
    while len(times) < repeats and (not times or times[-1] < _LONG):
        result = None  # freed before the next call makes another
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return median(times), result


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Growth exponent: slope of time over size, both as logarithms.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 3)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def time_over_floor(data: Data, repeats: int) -> float:
    """Our search over the bare float32 product of all pairs, in the columns of its filter."""
    X, cutoff = data.X, sq_cutoff(data.sigma_max, data.X.shape[1])
    width = make_plan(X, frame(X, cutoff), near_share(X, cutoff)).frame.width
    n = max(_SIDE, len(X) // _SIDE * _SIDE)  # whole blocks: NumPy is slow on a part of an array
    A = np.random.default_rng(0).normal(size=(n, width)).astype(np.float32)

    def product(start: int) -> None:
        out = np.empty((_SIDE, _SIDE), dtype=np.float32)
        for other in range(start, n, _SIDE):
            np.matmul(A[start : start + _SIDE], A[other : other + _SIDE].T, out=out)

    def all_products() -> None:
        for _ in in_parallel(product, range(0, n, _SIDE), check_n_jobs(None)):
            pass

    search = time_of(PAIRS["crlm"], data, repeats)[0]
    with threadpool_limits(limits=1, user_api="blas"):
        floor = seconds(all_products, repeats)[0]
    return search / floor


def _answer(program: Program, data: Data, repeats: int) -> tuple[float, NDArray[Any]]:
    took, raw = time_of(program, data, repeats)
    return took, program.read(raw, len(data.X))


def _agreement(task: str, ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[int, int]:
    """How many answers agree, and of how many."""
    if task == "pairs":
        both = len(np.intersect1d(ours, theirs, assume_unique=True))
        return both, len(ours) + len(theirs) - both
    return int((ours == theirs).sum()), len(ours)
