"""Data to measure on: the paper's simulation and the shapes that real data have."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.loss import sq_cutoff
from crlm.model import GMMUB
from crlm.search.distance import Floats


class Data(NamedTuple):
    """Rows, and the bandwidth whose radius all programs are given."""

    name: str
    X: Floats
    sigma_max: float

    @property
    def radius(self) -> float:
        """Radius of a ball."""
        return math.sqrt(sq_cutoff(self.sigma_max, self.X.shape[1]))

    @classmethod
    def within(cls, name: str, X: Floats, sq_radius: float) -> Data:
        """Data with the bandwidth that belongs to a radius."""
        n, d = X.shape
        return cls(f"{name} {n:,} x {d}", X, math.sqrt(sq_radius / sq_cutoff(1.0, d)))


def gmmub(n: int, d: int) -> Data:
    """The paper's simulation: three clusters of 1 %, sigma 1, 2, 3, in a ball of D = 100."""
    model = GMMUB.draw(3, d, [1, 2, 3], 0.01, D=100, sigma_max=10, rng=0)
    X = model.sample(n, rng=1)[0].astype(np.float32)
    return Data(f"GMMUB {n:,} x {d}", X, 10.0)


def embeddings(n: int, d: int) -> Data:
    """Rows of unit length with a power-law spectrum; the radius takes in 0.1 % of all pairs."""
    X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Data.within("embeddings", X.astype(np.float32), _quantile(X, 1e-3))


def half_near(n: int, d: int) -> Data:
    """One Gaussian; the radius takes in half of all pairs."""
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    return Data.within("half of all pairs near,", X, _quantile(X, 0.5))


def uniform(n: int, d: int) -> Data:
    """A cube evenly filled; some 30 neighbours to a row."""
    X = np.random.default_rng(0).uniform(size=(n, d))
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return Data.within("uniform", X, (30 / n / ball) ** (2 / d))


def many_clusters(n: int, d: int, k: int, n_pairs: int = 320_000) -> Data:
    """Tight clusters in a wide cube, with the same number of near pairs for every k."""
    rng = np.random.default_rng(0)
    size = min(math.isqrt(2 * n_pairs // k), n // (2 * k))
    tight = np.repeat(rng.uniform(-1000, 1000, (k, d)), size, axis=0)
    tight += rng.normal(size=tight.shape)
    background = rng.uniform(-1000, 1000, (n - len(tight), d))
    X = np.vstack([background, tight]).astype(np.float32)
    return Data(f"{k} clusters in {n:,} x {d}", X, 3.0)


def _quantile(X: NDArray[np.floating], share: float) -> float:
    """Squared distance that this share of pairs is below, in a sample."""
    some = X[:: max(1, len(X) // 2000)].astype(np.float64)
    sq_norm = np.square(some).sum(axis=1)
    sq_dist = sq_norm[:, None] + sq_norm - 2.0 * some @ some.T
    return float(np.quantile(sq_dist[np.triu_indices(len(some), 1)], share))
