"""How far the fitted centres and sigmas are from the true ones (`cor:convergencerate`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crlm.theory.printed import center_rate_terms
from crlm.theory.setting import (
    check_count,
    check_delta,
    check_mixture,
    check_positive,
    make_setting,
)
from crlm.theory.special import log_sum
from crlm.theory.tails import chi2_logisf, chi2_logsf, log_binom_mean, root


class CenterRate(NamedTuple):
    """`cor:convergencerate` as printed: the error, and the five terms of its failure."""

    error: float  # every centre is nearer than this to its mean
    log_terms: list[float]


class Interval(NamedTuple):
    """Ends of an interval."""

    lower: float
    upper: float


def center_tail(n: float, d: float, weight: float, sigma: float, eps: float) -> float:
    r"""Probability that the mean of a cluster's points is `eps` or more from its true mean.

    Exact, with an empty cluster counted as a miss:
    :math:`(1-\pi_j)^n + \sum_{r \ge 1} P(n_j = r)\, P(\chi^2_d \ge r\varepsilon^2/\sigma_j^2)`. If
    CRLM returns the clusters exactly, this is the error of ``cluster_centers_``.

    >>> round(center_tail(200, 2, 0.05, 1.0, eps=math.sqrt(4 * 2 / 10)), 6)
    0.035999
    """
    n, d, pi, sigma = _one_cluster(n, d, weight, sigma)
    return math.exp(_log_center_tail(n, d, pi, sigma, check_positive("eps", eps)))


def center_bound(n: float, d: float, weight: float, sigma: float, delta: float = 0.01) -> float:
    """The error `eps` of a cluster's mean that is exceeded with probability `delta`.

    inf when the cluster is empty more often than that.

    >>> eps = center_bound(1000, 100, 0.01, 1.0)
    >>> round(center_tail(1000, 100, 0.01, 1.0, eps), 9)
    0.01
    """
    n, d, pi, sigma = _one_cluster(n, d, weight, sigma)
    log_delta = math.log(check_delta(delta))
    if pi < 1.0 and n * math.log1p(-pi) >= log_delta:
        return math.inf
    high = math.log(sigma) + 0.5 * math.log(chi2_logisf(log_delta - 60.0, d))  # for one point
    low = high - 0.5 * math.log(n) - 20.0

    def excess(log_eps: float) -> float:
        return _log_center_tail(n, d, pi, sigma, math.exp(log_eps)) - log_delta

    return math.exp(root(excess, low, high))


def center_rate(
    n: float,
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
) -> CenterRate:
    r"""`cor:convergencerate` as printed: :math:`4 d \max\sigma^2 / (n \min\pi)` and its terms."""
    s = make_setting(n, d, weights, sigmas, sigma_max, D, G)
    error = 2.0 * float(s.sigmas.max()) * math.sqrt(s.d / (s.n * float(s.weights.min())))
    return CenterRate(error, center_rate_terms(s, sigma_max, G))


def sigma_interval(sigma_hat: float, size: float, d: float, delta: float = 0.05) -> Interval:
    r"""Where the true sigma of a cluster lies, with probability ``1 - delta``.

    For a cluster found exactly :math:`d(n_j - 1)\hat\sigma_j^2/\sigma_j^2` is
    :math:`\chi^2_{d(n_j-1)}`. A single point says nothing: (0, inf).

    >>> low, high = sigma_interval(1.0, size=50, d=20)
    >>> round(low, 3), round(high, 3)
    (0.958, 1.046)
    """
    sigma_hat, d = check_positive("sigma_hat", sigma_hat), check_count("d", d)
    dof = d * (check_count("size", size) - 1.0)
    half = 0.5 * check_delta(delta)
    if dof == 0.0:
        return Interval(0.0, math.inf)
    low, high = chi2_logisf(math.log1p(-half), dof), chi2_logisf(math.log(half), dof)
    return Interval(sigma_hat * math.sqrt(dof / high), sigma_hat * math.sqrt(dof / low))


def _log_center_tail(n: float, d: float, pi: float, sigma: float, eps: float) -> float:
    x = (eps / sigma) ** 2
    if pi >= 1.0:
        return float(chi2_logsf(n * x, d))
    empty = n * math.log1p(-pi)
    missed = log_binom_mean(n, pi, lambda r: np.asarray(chi2_logsf(r * x, d)), 1.0)
    return min(0.0, log_sum([empty, missed]))


def _one_cluster(
    n: float, d: float, weight: float, sigma: float
) -> tuple[float, float, float, float]:
    pi, spread = check_mixture(weight, sigma)
    return check_count("n", n), check_count("d", d), float(pi[0]), float(spread[0])
