"""KNNCLUST (Tran, Wehrens and Buydens 2006): rows take the class that is densest around them.

Every row starts as a class of its own. A row then goes to the class with the largest density at
its place, estimated from its k nearest neighbours with a Gaussian kernel as wide as the
distance to the farthest of them. This is repeated until nothing changes; the number of clusters
comes out by itself, and falls as the number of neighbours grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crlm.baselines.common import Floats, Labels, Method, Trial

NEIGHBOURS = (10, 3, 5, 7, 15, 20, 30, 50, 80)
_SWEEPS = 100


class KNNCLUST(Method):
    """Clustering by a nearest-neighbour kernel density, tried for several numbers of neighbours."""

    name: ClassVar[str] = "KNNCLUST"

    def __init__(
        self,
        seed: int = 0,
        *,
        background: bool = True,
        neighbours: tuple[int, ...] = NEIGHBOURS,
    ) -> None:
        super().__init__(seed, background=background)
        self.neighbours = neighbours

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Labels for each number of neighbours; k, the number of clusters, is not used."""
        most = min(max(self.neighbours), len(X) - 1)
        dist, near = NearestNeighbors(n_neighbors=most).fit(X).kneighbors()
        order = np.random.default_rng(self.seed).permutation(len(X))
        for m in self.neighbours:
            if m <= most:
                labels = settle(dist[:, :m], near[:, :m], order)
                yield Trial(f"{m} neighbours", labels)


def settle(dist: Floats, near: NDArray[np.intp], order: NDArray[np.intp]) -> Labels:
    """Move rows, in this order, to their densest class until none moves any more.

    Parameters
    ----------
    dist, near : ndarray of shape (n, m)
        Distances and numbers of the neighbours of each row, nearest first, itself left out.
    """
    width = np.maximum(dist[:, -1:], 1e-300)
    kernel = np.exp(-0.5 * np.square(dist / width)).tolist()
    neighbours = near.tolist()
    labels = list(range(len(dist)))
    for _ in range(_SWEEPS):
        moved = False
        for i in order.tolist():
            best = _densest(labels, neighbours[i], kernel[i], labels[i])
            moved = moved or best != labels[i]
            labels[i] = best
        if not moved:
            break
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _densest(labels: list[int], near: list[int], kernel: list[float], own: int) -> int:
    """Class with the largest sum of kernels; among equals the row's own, then the nearest."""
    density: dict[int, float] = {}
    for j, weight in zip(near, kernel, strict=True):
        density[labels[j]] = density.get(labels[j], 0.0) + weight
    best = max(density.values())
    if density.get(own, 0.0) == best:
        return own
    return next(label for label, value in density.items() if value == best)
