"""The clusters at every bandwidth, from one search at the largest.

The pairs of a smaller radius are some of those of a larger one, and the loss of a pair is
rounded for each bandwidth anew; so a step of the path is a fit on fewer pairs, to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.labels import BACKGROUND
from crlm.loss import sq_cutoff
from crlm.search import RankedPairs, pairs_within
from crlm.task import Judged, Task

_SAME = 0.95  # Jaccard index from which on two sets of rows are the same cluster's
_FOLLOWS = 0.5  # and from which on one comes from the other


class SigmaPath(NamedTuple):
    """Clusters at each of some bandwidths.

    Attributes
    ----------
    sigmas : ndarray of shape (n_steps,)
        Bandwidths, ascending.
    n_clusters : ndarray of shape (n_steps,)
    share : ndarray of shape (n_steps,)
        Share of the rows that are in clusters.
    members : list of list of ndarray
        Rows of each cluster at each bandwidth, in the order found.
    p_values : list of ndarray
        Their p-values.
    centers : list of ndarray
        Row at the middle of each cluster at each bandwidth.
    tracks : list of ndarray
        A number for each cluster that stays the same while it can be followed from one
        bandwidth to the next: at least half of the rows of both are common.
    stable : list of tuple of float
        Ranges of at least two bandwidths over which every cluster keeps 95 % of its rows, widest
        first.
    """

    sigmas: NDArray[np.float64]
    n_clusters: NDArray[np.intp]
    share: NDArray[np.float64]
    members: list[list[NDArray[np.intp]]]
    p_values: list[NDArray[np.float64]]
    tracks: list[NDArray[np.intp]]
    stable: list[tuple[float, float]]
    n_samples: int
    centers: list[NDArray[np.intp]]

    def __repr__(self) -> str:
        """Give what is read first; the rows of all clusters are long."""
        low, high = (f"{sigma:.4g}" for sigma in self.sigmas[[0, -1]])
        stable = ", ".join(f"({first:.4g}, {last:.4g})" for first, last in self.stable[:3])
        more = ", ..." if len(self.stable) > 3 else ""
        return (
            f"SigmaPath({len(self.sigmas)} sigmas from {low} to {high}, "
            f"n_clusters={self.n_clusters.min()} to {self.n_clusters.max()}, "
            f"stable=[{stable}{more}])"
        )

    def labels(self, step: int) -> NDArray[np.int64]:
        """Label of every row at one of the bandwidths, as a fit there gives them."""
        labels = np.full(self.n_samples, BACKGROUND, dtype=np.int64)
        for j, rows in enumerate(self.members[step]):
            labels[rows] = j
        return labels


def walk(task: Task, sigmas: NDArray[np.float64]) -> SigmaPath:
    """Clusters at each of the bandwidths, which ascend.

    Raises
    ------
    MemoryLimitError
        When the pairs of the largest radius do not fit in memory.
    """
    d = task.X.shape[1]
    if task.alpha is not None:
        task = task.remembering()
    pairs = pairs_within(
        task.X,
        sq_cutoff(float(sigmas[-1]), d, task.G),
        memory_limit=task.memory_limit,
        n_jobs=task.n_jobs,
    )
    ranked = RankedPairs.of(pairs)
    steps: list[list[Judged]] = []
    for done, sigma in enumerate(sigmas.tolist(), start=1):
        steps.append(clusters_at(task, ranked, sigma))
        if task.progress is not None:
            task.progress(done, len(sigmas))
    members = [[judged.cluster.ball.members for judged in step] for step in steps]
    n = len(task.X)
    return SigmaPath(
        sigmas,
        np.array([len(step) for step in steps], dtype=np.intp),
        np.array([sum(map(len, rows)) / n for rows in members]),
        members,
        [np.array([judged.p_value for judged in step]) for step in steps],
        _follow(members),
        _stable(sigmas, members),
        n,
        [
            np.array([judged.cluster.ball.center_index for judged in step], dtype=np.intp)
            for step in steps
        ],
    )


def clusters_at(task: Task, ranked: RankedPairs, sigma: float) -> list[Judged]:
    """Clusters at a bandwidth whose pairs are all among those given."""
    near = ranked.near(sigma, task.X.shape[1], task.G, task.weights, task.counted)
    return task.clusters(near, sigma)


def _follow(members: list[list[NDArray[np.intp]]]) -> list[NDArray[np.intp]]:
    """Number each cluster; it keeps its number while half of its rows stay."""
    tracks: list[NDArray[np.intp]] = []
    before: list[NDArray[np.intp]] = []
    used = 0
    for step in members:
        numbers = np.full(len(step), -1, dtype=np.intp)
        for j, rows in enumerate(step):
            overlap = [_jaccard(rows, other) for other in before]
            best = int(np.argmax(overlap)) if overlap else -1
            if best >= 0 and overlap[best] >= _FOLLOWS:
                numbers[j] = tracks[-1][best]
            else:
                numbers[j], used = used, used + 1
        tracks.append(numbers)
        before = step
    return tracks


def _stable(
    sigmas: NDArray[np.float64], members: list[list[NDArray[np.intp]]]
) -> list[tuple[float, float]]:
    """Ranges over which nothing changes but a few rows, widest first."""
    ranges: list[tuple[float, float]] = []
    start = 0
    for step in range(1, len(members) + 1):
        if step < len(members) and _same(members[step - 1], members[step]):
            continue
        if step - start > 1 and members[start]:
            ranges.append((float(sigmas[start]), float(sigmas[step - 1])))
        start = step
    return sorted(ranges, key=lambda ends: ends[0] / ends[1])


def _same(one: list[NDArray[np.intp]], other: list[NDArray[np.intp]]) -> bool:
    """Whether two steps have the same clusters, in whatever order."""
    return len(one) == len(other) and all(
        max(_jaccard(rows, candidate) for candidate in other) >= _SAME for rows in one
    )


def _jaccard(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    common = len(np.intersect1d(a, b, assume_unique=True))
    return common / (len(a) + len(b) - common)
