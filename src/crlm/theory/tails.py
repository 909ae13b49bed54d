r"""Tails of the distributions that the theorems use, as natural logarithms.

Exact where the tail can be computed, a proven upper bound where it cannot. Valid and free of
overflow for dimensions to 1e5 and samples to 1e12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from crlm.theory.special import (
    TINY,
    Array,
    as_floats,
    continued_fraction,
    log1pmx,
    log_of,
    log_sum,
    number_or_array,
    stirling_error,
)

_LOG_TINY = math.log(TINY)


def chi2_logsf(x: ArrayLike, d: ArrayLike) -> Any:
    r"""Logarithm of :math:`P(\chi^2_d \ge x)`, exact; numbers or arrays.

    This is the tail that `deltato0` bounds: a point of a d-dimensional Gaussian is farther than
    :math:`\sigma\sqrt{dG}` from its mean with probability ``exp(chi2_logsf(d * G, d))``.

    >>> round(chi2_logsf(80, 20), 6), round(chi2_logsf(2000, 500), 6)
    (-19.355662, -408.206797)
    """
    x, d = as_floats(x, d)
    a, y = 0.5 * d, np.maximum(0.5 * x, 0.0)
    sf = special.gammaincc(a, y)
    out = log_of(sf, special.gammainc(a, y))
    # For large a SciPy's small values lose digits; there too the fraction is used.
    deep = (y > a) & (y < np.inf) & ((sf < TINY) | ((a >= 1000.0) & (sf < 1e-8)))
    if deep.any():
        out[deep] = _log_gammaincc(a[deep], y[deep])
    return number_or_array(out)


def _log_gammaincc(a: Array, y: Array) -> Array:
    r"""Logarithm of :math:`\Gamma(a, y) / \Gamma(a)` for y well above a."""
    m = y / a - 1.0
    prefix = a * log1pmx(m) + 0.5 * np.log(a / (2.0 * np.pi)) - stirling_error(a)
    b0 = y + 1.0 - a

    def step(i: int) -> tuple[Array, Array]:
        return -i * (i - a), b0 + 2.0 * i

    result: Array = prefix - np.log(continued_fraction(b0, step, a.shape))
    return result


def chi2_logsf_chernoff(x: ArrayLike, d: ArrayLike) -> Any:
    r"""Upper bound :math:`-\frac d2 (g - 1 - \ln g)`, g = x/d, of :func:`chi2_logsf`.

    Holds for every :math:`g \ge 1` and is 0 below; it replaces the exponent :math:`(G-1)^2/8` of
    `deltato0`, which is too large for G > 2.62. The least of
    :math:`e^{-\lambda x} (1-2\lambda)^{-d/2}`, the moment bound, over :math:`\lambda`.

    >>> round(chi2_logsf_chernoff(80, 20), 6)
    -16.137056
    """
    x, d = as_floats(x, d)
    return number_or_array(0.5 * d * log1pmx(np.maximum(x / d - 1.0, 0.0)))


def chi2_logisf(log_p: float, d: float) -> float:
    r"""The x with ``chi2_logsf(x, d) == log_p``: the quantile from above, by bisection.

    The bracket is the bound of Laurent and Massart,
    :math:`P(\chi^2_d \ge d + 2\sqrt{dL} + 2L) \le e^{-L}`.

    >>> round(chi2_logisf(chi2_logsf(80.0, 20), 20), 9)
    80.0
    """
    if log_p >= 0.0:
        return 0.0
    depth = -log_p
    high = d + 2.0 * math.sqrt(d * depth) + 2.0 * depth + 10.0
    return bisect(lambda x: bool(chi2_logsf(x, d) > log_p), 0.0, high)


def bisect(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """Point where a condition that holds at `low` and not at `high` ends, to the last digits.

    Returns the upper end of the last bracket, where the condition does not hold.
    """
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 4e-16 * high:
            break
        if is_below(middle):
            low = middle
        else:
            high = middle
    return high


def root(excess: Callable[[float], float], bad: float, good: float) -> float:
    """Where a smooth `excess`, positive at `bad` and not at `good`, is zero; never on the bad side.

    >>> root(lambda x: x * x - 2.0, bad=2.0, good=0.0) <= math.sqrt(2.0)
    True
    """
    ends = sorted((bad, good))
    found = float(optimize.brentq(lambda x: min(excess(x), 1e3), *ends, xtol=1e-13, rtol=1e-13))
    step = 1e-13 * (1.0 if good > bad else -1.0)
    while excess(found) > 0.0:
        found, step = found + step, 2.0 * step
    return found


def ncx2_logcdf_chernoff(x: ArrayLike, d: ArrayLike, lam: ArrayLike) -> Any:
    r"""Upper bound of the logarithm of :math:`P(\chi'^2_d(\lambda) \le x)`; numbers or arrays.

    The moment bound, least at :math:`u = (d + \sqrt{d^2 + 4x\lambda}) / (2x)`; 0 from the mean
    :math:`d + \lambda` on. Two points of different clusters are nearer than R with at most this
    probability (cluster-cluster term of Theorem X).

    >>> round(ncx2_logcdf_chernoff(50, 20, 100), 6)
    -8.460993
    """
    x, d, lam = as_floats(x, d, lam)
    positive = np.maximum(x, 1e-300)
    u = (d + np.sqrt(d * d + 4.0 * positive * lam)) / (2.0 * positive)
    value = 0.5 * ((u - 1.0) * positive - d * np.log(u) + lam * (1.0 / u - 1.0))
    value = np.where(x <= 0.0, -np.inf, np.minimum(value, 0.0))
    return number_or_array(np.where(x >= d + lam, 0.0, value))


def ncx2_logcdf(x: ArrayLike, d: ArrayLike, lam: ArrayLike) -> Any:
    r"""Logarithm of :math:`P(\chi'^2_d(\lambda) \le x)`, or its Chernoff bound in the far tail.

    Exact while :math:`d + \lambda < 2\cdot 10^4` and SciPy's value is above 1e-250.

    >>> round(ncx2_logcdf(5, 2, 30), 6), round(ncx2_logcdf(9e9, 2, 30), 6)
    (-7.928125, 0.0)
    """
    x, d, lam = as_floats(x, d, lam)
    bound = np.asarray(ncx2_logcdf_chernoff(x, d, lam))
    near = (d + lam < 2e4) & (x > 0.0) & (bound > -576.0) & (x < 1e5)
    value = np.zeros_like(x)
    value[near] = special.chndtr(x[near], d[near], lam[near])
    exact = value > 1e-250
    return number_or_array(
        np.where(exact, np.minimum(bound, np.log(np.where(exact, value, 1.0))), bound)
    )


def log_binom_coefficient(n: ArrayLike, r: ArrayLike) -> Any:
    """Logarithm of n over r, to all digits even for n of 1e12, where differences of lgamma fail.

    >>> round(float(log_binom_coefficient(10, 3)), 9) == round(math.log(120), 9)
    True
    """
    n, r = as_floats(n, r)
    inner = (r > 0) & (r < n)
    s = np.where(inner, r, 1.0)
    m = np.where(inner, n, 2.0)
    corrections = stirling_error(m) - stirling_error(s) - stirling_error(m - s)
    entropy = -s * np.log(s / m) - (m - s) * np.log1p(-s / m)
    value = entropy + corrections + 0.5 * np.log(m / (2.0 * np.pi * s * (m - s)))
    return number_or_array(np.where(inner, value, 0.0))


def log_binom_pmf(r: ArrayLike, n: float, p: float) -> Array:
    """Logarithm of P(Bin(n, p) = r), by Loader's method: no cancellation for any n."""
    (r,) = as_floats(r)
    if p >= 1.0:
        return np.where(r == n, 0.0, -np.inf)
    inner = (r > 0) & (r < n)
    s = np.where(inner, r, 0.5 * n)
    corrections = stirling_error(n) - stirling_error(s) - stirling_error(n - s)
    value = corrections - _deviance(s, n * p) - _deviance(n - s, n * (1.0 - p))
    value += 0.5 * np.log(n / (2.0 * np.pi * s * (n - s)))
    ends = np.where(r == 0, n * math.log1p(-p), np.where(r == n, n * math.log(p), -np.inf))
    result: Array = np.where(inner, value, ends)
    return result


def _deviance(x: Array, mean: float) -> Array:
    """``x log(x / mean) + mean - x``."""
    return -x * log1pmx((mean - x) / x)


def log_binom_ge(r: float, n: float, log_p: float) -> float:
    """Logarithm of P(Bin(n, p) >= r), from the logarithm of p.

    Never above the union bound ``log C(n, r) + r log p``, which alone is used where p underflows.

    >>> round(log_binom_ge(3, 4999, math.log(1e-4)), 6)
    -4.242306
    """
    if r <= 0:
        return 0.0
    if r > n or log_p == -math.inf:
        return -math.inf
    union = float(log_binom_coefficient(n, r)) + r * log_p
    p = math.exp(min(log_p, 0.0))
    if log_p < _LOG_TINY or p >= 1.0:
        return min(0.0, union)
    value = float(special.betainc(r, n - r + 1.0, p))
    if value > TINY:
        tail = float(log_of(value, special.betaincc(r, n - r + 1.0, p)))
    else:
        tail = _log_geometric_tail(r, n, p, n - r, (n - r) * p / ((r + 1.0) * (1.0 - p)), 1.0)
    return min(0.0, union, tail)


def log_binom_le(r: float, n: float, p: float) -> float:
    """Logarithm of P(Bin(n, p) <= r).

    >>> round(log_binom_le(4, 1000, 0.02), 6)
    -11.117213
    """
    if r < 0:
        return -math.inf
    if r >= n or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return -math.inf
    value = float(special.betaincc(r + 1.0, n - r, p))
    if value > TINY:
        return float(log_of(value, special.betainc(r + 1.0, n - r, p)))
    return _log_geometric_tail(r, n, p, r, r * (1.0 - p) / ((n - r + 1.0) * p), -1.0)


def _log_geometric_tail(
    r: float, n: float, p: float, n_left: float, ratio: float, sign: float
) -> float:
    """Sum of binomial probabilities from r on, far from the mean, where they fall by `ratio`.

    They fall faster and faster, so that what is left out is below exp(-50) of the sum.
    """
    steps = math.ceil(50.0 / -math.log(ratio)) if 0.0 < ratio < 1.0 else 0
    return log_sum(log_binom_pmf(r + sign * np.arange(min(steps, n_left) + 1.0), n, p))


def log_binom_mean(n: float, p: float, log_f: Callable[[Array], Array], first: float) -> float:
    """Logarithm of the sum of P(Bin(n, p) = r) f(r) over r = first, ..., n.

    The terms must rise and then fall. The places where they matter are found by looking closer
    and closer. Where these are very many the terms are smooth, and the trapezoidal rule with a
    step of a small part of their width gives the sum to all digits.
    """
    low, high = float(first), float(n)
    if low > high:
        return -math.inf
    if p >= 1.0:
        return float(log_f(np.array([high]))[0])
    while True:
        r = np.unique(np.rint(np.linspace(low, high, 257)))
        terms = log_binom_pmf(r, n, p) + log_f(r)
        keep = np.flatnonzero(terms > terms.max() - 50.0)
        if not len(keep):
            return -math.inf
        narrower = r[max(keep[0] - 1, 0)], r[min(keep[-1] + 1, len(r) - 1)]
        if high - low <= 256 or narrower == (low, high) or len(keep) > 64:
            break
        low, high = narrower
    stride = max(1.0, math.floor((high - low) / 4096.0))
    r = np.arange(low, high + 1.0, stride)
    return log_sum(log_binom_pmf(r, n, p) + log_f(r)) + math.log(stride)


def log_fail_iid(log_p: float, n: float) -> float:
    """Logarithm of ``1 - (1 - p)**n``: some of n independent trials fails.

    >>> round(math.exp(log_fail_iid(math.log(0.5), 3)), 6)
    0.875
    """
    if log_p > -1e-16:
        return 0.0
    if log_p < -600.0:
        return min(0.0, math.log(n) + log_p)
    exponent = n * math.log1p(-math.exp(log_p))
    return math.log(-math.expm1(exponent)) if exponent < 0.0 else -math.inf
