r"""Is the background plausibly uniform in a ball? Two tests that need neither its centre nor size.

*Pairs*: the distances of disjoint pairs do not depend on where the ball is. *Radii*: distances
from the mean of one half of the points, for the other half. Each is compared, up to a common
factor, with the same numbers drawn from a uniform ball of the same dimension. That costs nothing
in any dimension, because a distance needs two radii and one angle and not d coordinates.

Two tests, because each is blind to something: in high dimension a sphere has the pair distances
of a ball, and a box the radii of one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crlm.search import Floats

Array = NDArray[np.float64]

MAX_SAMPLE = 256  # pairs, and radii
_MEAN_OF = 4096  # points whose mean is the centre
_LEAST = 8  # fewer say nothing
_DRAWS = 999
_SEED = 20_240_229


def background_sample(X: Floats, rows: NDArray[np.intp]) -> tuple[list[float], list[float], int]:
    """Distances of some pairs, some radii, and how many points their centre was the mean of."""
    rows = np.random.default_rng(_SEED).permutation(rows)[: 2 * _MEAN_OF]
    half = len(rows) // 2
    if half < _LEAST:
        return [], [], 0
    first, second = rows[:half], rows[half : 2 * half]
    center = X[first].mean(axis=0, dtype=np.float64)
    a, b = (X[part[:MAX_SAMPLE]].astype(np.float64) for part in (first, second))
    return (
        np.linalg.norm(a - b, axis=1).tolist(),
        np.linalg.norm(b - center, axis=1).tolist(),
        half,
    )


def uniform_ball_p_value(
    pairs: list[float], radii: list[float], n_center: int, d: int
) -> float | None:
    """Chance that a background uniform in a ball looks as unlike one as this; None if too small.

    The lesser of the two tests' p-values, doubled. Deterministic: the draws have a fixed seed.
    """
    if n_center < _LEAST:
        return None
    rng = np.random.default_rng(_SEED)
    shape = (_DRAWS, len(pairs))
    by_pairs = _p_value(np.array(pairs), _distances(_radii(shape, d, rng), shape, d, rng))
    offset = np.sqrt(rng.chisquare(d, (_DRAWS, 1)) / ((d + 2.0) * n_center))
    by_radii = _p_value(np.array(radii), _distances(offset, shape, d, rng))
    return min(1.0, 2.0 * min(by_pairs, by_radii))


def _radii(shape: tuple[int, int], d: int, rng: np.random.Generator) -> Array:
    """Distances from the centre of points uniform in the unit ball."""
    result: Array = rng.random(shape) ** (1.0 / d)
    return result


def _distances(
    from_center: Array, shape: tuple[int, int], d: int, rng: np.random.Generator
) -> Array:
    """Distances from points at given radii to points uniform in the unit ball."""
    r = _radii(shape, d, rng)
    along = rng.standard_normal(shape)
    across = rng.chisquare(d - 1, shape) if d > 1 else np.zeros(shape)
    cosine = along / np.sqrt(along**2 + across)
    return np.sqrt(np.maximum(r**2 + from_center**2 - 2.0 * r * from_center * cosine, 0.0))


def _p_value(values: Array, draws: Array) -> float:
    """How often a draw is as far from all draws together as the values are, up to scale."""
    pool = np.sort(_scaled(draws).ravel())
    distances = _ks(_scaled(draws), pool)
    found = _ks(_scaled(values[np.newaxis]), pool)[0]
    return float((1 + np.count_nonzero(distances >= found)) / (1 + len(distances)))


def _scaled(samples: Array) -> Array:
    """Each sample over its median."""
    middle = np.median(samples, axis=1, keepdims=True)
    return samples / np.where(middle > 0.0, middle, 1.0)


def _ks(samples: Array, pool: Array) -> Array:
    """Kolmogorov-Smirnov distance of each sample from the pool."""
    n = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    low = np.searchsorted(pool, ordered, "left") / len(pool)
    high = np.searchsorted(pool, ordered, "right") / len(pool)
    steps = np.arange(n + 1) / n
    above, below = np.abs(steps[1:] - low), np.abs(high - steps[:-1])
    result: Array = np.maximum(above.max(axis=1), below.max(axis=1))
    return result


def effective_dimension(pairs: list[float]) -> float:
    """Dimension of a ball whose pair distances would vary as much as these.

    In a ball squared pair distances have a relative variance of about 1 / d.
    """
    sq = np.square(np.array(pairs))
    if len(sq) < 2 or sq.mean() == 0.0:
        return math.nan
    spread = float(sq.var(ddof=1) / sq.mean() ** 2)
    return 1.0 / spread if spread > 0.0 else math.inf
