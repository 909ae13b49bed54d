"""What a page needs to show the clusters at other bandwidths, exactly.

The slider of a page moves between *stops*. At each stop Python has run Algorithm 2 with all its
settings, the test for clusters too, and hands over the rows at the middle of the clusters, in the
order found. The members are then the rows near each centre that no earlier cluster has taken.
A page knows which pairs are near at a stop, because each pair comes with the number of the first
stop at which it is. No distance is compared in the page and nothing is rounded there, so its
labels are those of a fit, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.bandwidth.sigma import SigmaEstimate
from crlm.errors import MemoryLimitError
from crlm.loss import sq_cutoff
from crlm.page import encode
from crlm.path import clusters_at
from crlm.search import Pairs, RankedPairs, pairs_within
from crlm.task import Judged, Task

F64 = NDArray[np.float64]

MAX_PAIRS = 300_000  # that a page keeps
N_STOPS = 200
_MAX_STOPS = 255  # so that the number of a stop is a byte
_WIDEST = 2.0  # times the bandwidth: "far too large"
_BEYOND = 1.3  # times the end of its plateau
_NARROWEST = 48.0  # the slider's range, as a ratio
_SMALLER = 0.8
_EXACT = 2.0**23  # losses, in quanta of 2^-30, are then below 2^53


def stored_pairs(
    task: Task, estimate: SigmaEstimate, sigma: float, max_pairs: int
) -> tuple[Pairs, float]:
    """Pairs up to a bandwidth well above `sigma`, or as far as `max_pairs` allow.

    Returns
    -------
    pairs : Pairs
    sigma_hi : float
        The bandwidth up to which all pairs are there; 0 when there is no such.
    """
    d = task.X.shape[1]
    plateau = estimate.plateau[1] * _scale(task) if math.isfinite(estimate.plateau[1]) else sigma
    high = max(_WIDEST * sigma, _BEYOND * plateau)
    high = _affordable(task, estimate, high, 1.5 * max_pairs)
    while True:
        try:
            pairs = pairs_within(
                task.X,
                sq_cutoff(high, d, task.G),
                memory_limit=task.memory_limit,
                n_jobs=task.n_jobs,
                progress=task.progress,
            )
            break
        except MemoryLimitError:
            if high < 1e-3 * sigma:
                raise
            high *= _SMALLER
    if pairs.n_pairs > max_pairs:
        # All pairs nearer than the first that is too many.
        sq = float(np.partition(pairs.sq_dist, max_pairs)[max_pairs])
        high = min(high, math.sqrt(sq / (d * task.G)))
        while sq_cutoff(high, d, task.G) > sq:
            high = math.nextafter(high, 0.0)
        pairs = pairs.closer(sq_cutoff(high, d, task.G))
    return pairs, high


def stops(pairs: Pairs, task: Task, high: float, *marks: float) -> F64:
    """Bandwidths for a slider: from where no pair is near, in equal ratios, and the marks."""
    d = task.X.shape[1]
    least = float(pairs.sq_dist.min(initial=math.inf))
    first = math.sqrt(least / (d * task.G)) if math.isfinite(least) else 0.0
    low = max(high / _NARROWEST, min(0.8 * first, high / 4.0))
    inside = [mark for mark in marks if 0.0 < mark <= high]
    grid = np.geomspace(min([low, *inside]), high, N_STOPS)
    grid[-1] = high  # not a bit beyond what is stored
    return np.unique(np.concatenate([grid, inside]))[-_MAX_STOPS:]


def preview(
    task: Task, estimate: SigmaEstimate, sigma: float, max_pairs: int = MAX_PAIRS
) -> dict[str, Any] | None:
    """Everything for a page that re-clusters by itself, as JSON.

    None when even the pairs of equal rows are more than `max_pairs`.

    Parameters
    ----------
    task : Task
        Data and settings.
    estimate : SigmaEstimate
        The histogram, and where to look.
    sigma : float
        Bandwidth of the model; one of the stops, when the pairs reach that far.
    max_pairs : int
        The budget; with fewer pairs the stops end earlier.
    """
    pairs, high = stored_pairs(task, estimate, sigma, max_pairs)
    if high == 0.0:
        return None
    sigmas = stops(pairs, task, high, sigma, estimate.suggested * _scale(task))
    if task.alpha is not None:
        task = task.remembering()
    ranked = RankedPairs.of(pairs)
    steps = [clusters_at(task, ranked, at) for at in sigmas.tolist()]
    return {
        "n": len(task.X),
        "d": task.X.shape[1],
        "G": task.G,
        "sigmas": sigmas.tolist(),
        "graph": graph_record(pairs, task, sigmas),
        "steps": [step_record(step) for step in steps],
    }


def graph_limit(pairs: Pairs, task: Task) -> bool:
    """Whether a page can keep these pairs, and sum their losses without rounding."""
    return pairs.n_pairs <= MAX_PAIRS and float(task.weights.sum()) * task.G < _EXACT


def step_record(step: Sequence[Judged]) -> dict[str, list[Any]]:
    """Clusters at one stop: centres in the order found, and what the table shows."""
    clusters = [judged.cluster for judged in step]
    return {
        "centers": [int(cluster.ball.center_index) for cluster in clusters],
        "sizes": [cluster.ball.size for cluster in clusters],
        "sigmas": [cluster.sigma_hat for cluster in clusters],
        "losses": [cluster.ball.loss for cluster in clusters],
        "p": [None if math.isnan(judged.p_value) else judged.p_value for judged in step],
    }


def graph_record(pairs: Pairs, task: Task, sigmas: F64) -> dict[str, dict[str, str]]:
    """Each pair once, by rows, with the number of the first stop at which it is near."""
    d = task.X.shape[1]
    indptr, indices, sq_dist = by_row(pairs)
    cutoffs = np.array([sq_cutoff(sigma, d, task.G) for sigma in sigmas.tolist()])
    # Near is strictly less: the first cutoff above the squared distance.
    first = np.searchsorted(cutoffs, sq_dist, side="right").astype(np.uint8)
    small = indices.astype(np.uint16) if len(task.X) <= 2**16 else indices
    return {"indptr": encode(indptr), "indices": encode(small), "reach": encode(first)}


def by_row(pairs: Pairs) -> tuple[NDArray[np.int32], NDArray[np.int32], F64]:
    """The same pairs with rows for places: ends, later rows, squared distances."""
    n = len(pairs.order)
    place = np.repeat(np.arange(n), np.diff(pairs.indptr))
    a, b = pairs.order[place], pairs.order[pairs.indices]
    i, j = np.minimum(a, b), np.maximum(a, b)
    by = np.lexsort((j, i))
    indptr = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(np.bincount(i, minlength=n), out=indptr[1:])
    return indptr, j[by].astype(np.int32), pairs.sq_dist[by]


def _scale(task: Task) -> float:
    """Bandwidths of an estimate are for G = 4; what counts is the radius."""
    return math.sqrt(4.0 / task.G)


def _affordable(task: Task, estimate: SigmaEstimate, high: float, max_pairs: float) -> float:
    """`high`, or the bandwidth at which about `max_pairs` are near, judged by the histogram."""
    share = np.cumsum(estimate.counts) / max(1.0, float(estimate.counts.sum()))
    n = len(task.X)
    within = share * (n * (n - 1) / 2.0)
    too_many = np.flatnonzero(within > max_pairs)
    if not len(too_many):
        return high
    # The radius over sqrt(2 d) is sigma * sqrt(G / 2).
    return min(high, float(estimate.edges[too_many[0] + 1]) / math.sqrt(task.G / 2.0))
