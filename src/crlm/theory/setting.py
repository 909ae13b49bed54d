"""What the theorems are given: a model and a radius, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crlm.errors import ParameterError
from crlm.loss import sq_cutoff
from crlm.theory.special import Array

_WEIGHT_ROUNDING = 1e-9  # three times 1/3 may add up to a little more than 1


@dataclass(frozen=True)
class Setting:
    r"""A GMMUB of which only sizes matter, n points of it, and the radius R of the balls.

    `center_norms` are the distances of the means from the middle of the background, or None;
    `separations` the distances between the means, (k, k), or None. :math:`R` stands for
    :math:`\sigma_{\max}\sqrt{dG}`: the result of CRLM depends on both through R alone.
    """

    n: float
    d: float
    weights: Array
    sigmas: Array
    R: float
    D: float
    center_norms: Array | None = None
    separations: Array | None = None

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.weights)

    @property
    def pi_bg(self) -> float:
        """Share of the background."""
        return max(0.0, 1.0 - math.fsum(self.weights))

    @property
    def B(self) -> float:
        """Radius of the background."""
        return self.D * math.sqrt(self.d)


def make_setting(
    n: float,
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
) -> Setting:
    """Setting from what a user gave; a single weight or sigma is that of every cluster."""
    n, d = check_count("n", n), check_count("d", d)
    pi, sigma = check_mixture(weights, sigmas)
    R = math.sqrt(sq_cutoff(check_positive("sigma_max", sigma_max), int(d), check_depth(G)))
    return Setting(
        n,
        d,
        pi,
        sigma,
        R,
        check_positive("D", D),
        check_norms(center_norms, len(pi)),
        check_separations(separations, len(pi)),
    )


def check_mixture(weights: ArrayLike, sigmas: ArrayLike) -> tuple[Array, Array]:
    """Weights and sigmas of k clusters, one of each per cluster."""
    pi, sigma = _numbers("weights", weights), _numbers("sigmas", sigmas)
    k = max(pi.size, sigma.size)
    if pi.ndim > 1 or sigma.ndim > 1 or not {pi.size, sigma.size} <= {1, k} or k == 0:
        msg = (
            f"weights has shape {pi.shape} and sigmas {sigma.shape}, but there must be one of each "
            "for every cluster. Give two lists of equal length, or one number for all."
        )
        raise ParameterError(msg)
    if (pi <= 0.0).any() or (sigma <= 0.0).any():
        msg = (
            f"weights {pi.tolist()} and sigmas {sigma.tolist()} must be greater than 0: a cluster "
            "without points or without spread is none. Leave it out."
        )
        raise ParameterError(msg)
    pi, sigma = np.broadcast_to(pi, k).copy(), np.broadcast_to(sigma, k).copy()
    check_shares(pi)
    return pi, sigma


def check_shares(pi: Array) -> None:
    """Refuse weights that together are more than everything."""
    total = math.fsum(pi)
    if total > 1.0 + _WEIGHT_ROUNDING:
        msg = (
            f"weights add up to {total:.10g}, but the clusters together have at most 1; the rest "
            "is the background's. Divide them by their sum, or by more to leave a rest."
        )
        raise ParameterError(msg)


def check_count(name: str, value: float) -> float:
    """Whole number of at least 1; 1e6 counts as whole."""
    number = _single(name, value)
    if not (number >= 1.0 and number == math.floor(number)):
        msg = f"{name} = {value!r}, but it must be a whole number of at least 1, such as 1e6."
        raise ParameterError(msg)
    return number


def check_positive(name: str, value: float) -> float:
    """Single number greater than 0."""
    number = _single(name, value)
    if number <= 0.0:
        msg = f"{name} = {value!r}, but it must be a number greater than 0."
        raise ParameterError(msg)
    return number


def check_depth(G: float) -> float:
    """Depth of the loss."""
    number = _single("G", G)
    if number <= 1.0:
        msg = f"G = {G!r}, but the theorems need a depth greater than 1. The paper takes 4."
        raise ParameterError(msg)
    return number


def check_delta(delta: float) -> float:
    """Probability that may be lost."""
    number = _single("delta", delta)
    if not 0.0 < number < 1.0:
        msg = (
            f"delta = {delta!r}, but a chance of failure lies between 0 and 1. 0.01 asks for "
            "success with probability 0.99."
        )
        raise ParameterError(msg)
    return number


def check_kind(kind: str, *allowed: str) -> str:
    """Which statement of a theorem is meant."""
    if kind not in allowed:
        msg = f"kind = {kind!r}, but it must be one of {', '.join(map(repr, allowed))}."
        raise ParameterError(msg)
    return kind


def check_norms(center_norms: ArrayLike | None, k: int) -> Array | None:
    """Distance of each mean from the middle of the background."""
    if center_norms is None:
        return None
    norms = _numbers("center_norms", center_norms)
    if norms.shape not in ((), (1,), (k,)) or (norms < 0.0).any():
        msg = (
            f"center_norms has shape {norms.shape} and least entry "
            f"{norms.min(initial=math.inf):g}, but must be {k} distances of at least 0, one per "
            "cluster, or one for all."
        )
        raise ParameterError(msg)
    return np.broadcast_to(norms, k).copy()


def check_separations(separations: ArrayLike | None, k: int) -> Array | None:
    """Distances between the means, (k, k); a single one is the least, and stands for all."""
    if separations is None:
        return None
    gaps = _numbers("separations", separations)
    off_diagonal = gaps[~np.eye(k, dtype=bool)] if gaps.shape == (k, k) else gaps
    if gaps.shape not in ((), (1,), (k, k)) or (off_diagonal < 0.0).any():
        msg = (
            f"separations has shape {gaps.shape}, but must be one distance of at least 0 (the "
            f"smallest between two means) or all of them, ({k}, {k})."
        )
        raise ParameterError(msg)
    return np.broadcast_to(gaps, (k, k)).copy()


def require_separations(setting: Setting) -> None:
    """Refuse to leave out a way to fail."""
    if setting.k > 1 and setting.separations is None:
        msg = (
            f"kind = 'sharp' with {setting.k} clusters needs separations: clusters may take "
            "points of each other, and to leave that out would promise too much. Give the "
            "smallest distance between two means, or a (k, k) array of all."
        )
        raise ParameterError(msg)


def _single(name: str, value: float) -> float:
    array = _numbers(name, value)
    if array.ndim != 0:
        msg = f"{name} = {value!r}, but it must be a single number."
        raise ParameterError(msg)
    return float(array)


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} cannot be read as numbers ({error}). Give numbers or an array of numbers."
        raise ParameterError(msg) from error
    if not np.isfinite(array).all():
        msg = f"{name} contains NaN or infinity; every entry must be finite. Replace or drop it."
        raise ParameterError(msg)
    return array
