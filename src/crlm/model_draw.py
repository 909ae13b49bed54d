"""Points uniform in a ball, and means that meet the assumptions A1, A2 and A3 of the paper."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm.errors import ParameterError

# Tries per mean before `spread_means` gives up. A mean that fits with probability 1 % is missed
# with probability 4e-5.
MAX_TRIES = 1000


def uniform_ball(n: int, d: int, radius: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw n points uniform in a ball around the origin, by the method of Muller (1959)."""
    X = rng.standard_normal((n, d))
    r = radius * rng.random(n) ** (1.0 / d)
    X *= (r / np.linalg.norm(X, axis=1))[:, np.newaxis]
    return X


def require_a1(D: float, sigma_max: float, G: float) -> None:
    """Refuse a ball that no cluster fits in."""
    slack = D - 2.0 * sigma_max * math.sqrt(G)
    if slack <= 0:
        msg = (
            f"A1 cannot hold: D = {D:g} must be greater than 2 * sigma_max * sqrt(G) = "
            f"{D - slack:g}. Make D larger or sigma_max smaller."
        )
        raise ParameterError(msg)


def require_a3(sigmas: NDArray[np.float64], sigma_max: float) -> None:
    """Refuse clusters too wide for the bandwidth."""
    least = 2.0 * sigmas.max(initial=0.0)
    if sigma_max <= least:
        msg = (
            f"A3 cannot hold: sigma_max = {sigma_max:g} must be greater than twice the largest "
            f"of sigmas, {least:g}. Make sigma_max larger or sigmas smaller."
        )
        raise ParameterError(msg)


def spread_means(
    k: int, d: int, radius: float, gap: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw k points more than `gap` from each other and from the rim of the ball (A1 and A2)."""
    means = np.empty((k, d))
    for j in range(k):
        candidates = (uniform_ball(1, d, radius - gap, rng) for _ in range(MAX_TRIES))
        mu = next((mu for mu in candidates if fits(mu, means[:j], radius, gap)), None)
        if mu is None:
            msg = (
                f"A2 cannot be met: no place was found for mean {j + 1} of {k} in {MAX_TRIES} "
                f"tries. The means must be more than {gap:g} apart (A2) in a ball of radius "
                f"{radius - gap:g} (A1). Make D larger, or sigma_max or k smaller."
            )
            raise ParameterError(msg)
        means[j] = mu
    return means


def fits(mu: NDArray[np.float64], means: NDArray[np.float64], radius: float, gap: float) -> bool:
    """Whether `mu`, of shape (1, d), keeps more than `gap` from the rim and the other means."""
    is_inside = float(np.linalg.norm(mu)) + gap < radius
    return is_inside and bool((distance.cdist(mu, means) > gap).all())
