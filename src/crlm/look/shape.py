"""Whether a cluster is as round as the method assumes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def top_direction(points: NDArray[np.floating]) -> float:
    """Share of the variance along the direction in which the points vary most, times d.

    1 for a round cloud of very many points. A cloud of few is never quite round by chance;
    :func:`round_limit` is what to expect of one.
    """
    n, d = points.shape
    rest = points - points.mean(axis=0, dtype=np.float64)
    gram = rest.T @ rest if d <= n else rest @ rest.T
    total = float(np.trace(gram))
    if total <= 0.0:
        return 1.0
    top = float(np.linalg.eigvalsh(gram)[-1])
    return float(top / total * d)


def round_limit(n: int, d: int) -> float:
    """Largest :func:`top_direction` expected of `n` points of a round Gaussian cluster.

    The edge of Marchenko and Pastur's law.

    >>> round_limit(100, 1), round_limit(100, 100), round_limit(10_000, 100)
    (1.21, 4.0, 1.21)
    """
    return float(round((1.0 + math.sqrt(d / max(n, 1))) ** 2, 12))
