"""Special functions in logarithms, where SciPy's underflow or lose digits.

Everything takes numbers or arrays and never warns: what is tiny is summed as a continued
fraction behind a prefix that is itself a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]

TINY = 1e-290  # below this a probability is computed as a logarithm from the start
_MAX_STEPS = 100_000  # of a continued fraction; some square root of the size is needed


def as_floats(*values: ArrayLike) -> list[Array]:
    """Arguments as float64 arrays of one shape."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
    return [np.array(array) for array in arrays]


def number_or_array(values: Array) -> Any:
    """A plain float for what was a number, the array for what was one."""
    return values.item() if np.ndim(values) == 0 else values


def safe_log(x: ArrayLike) -> Any:
    """Logarithm, with -inf at zero and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def log_of(p: ArrayLike, complement: ArrayLike) -> Any:
    """Logarithm of a probability, from its complement where it is close to 1."""
    with np.errstate(divide="ignore"):
        return np.where(np.asarray(p) > 0.5, np.log1p(-np.asarray(complement)), np.log(p))


def log_sum(logs: ArrayLike) -> float:
    """Logarithm of a sum of exponentials; -inf for nothing at all.

    >>> round(log_sum([0.0, 0.0]), 3), log_sum([])
    (0.693, -inf)
    """
    array = np.asarray(logs, dtype=np.float64)
    top = float(array.max(initial=-np.inf))
    if not np.isfinite(top):
        return top
    return top + float(np.log(np.exp(array - top).sum()))


def exp(log_value: float) -> float:
    """Exponential that becomes inf instead of an error."""
    return float(np.exp(log_value)) if log_value < 709.0 else float("inf")


def log1pmx(m: ArrayLike) -> Array:
    """``log(1 + m) - m`` without the cancellation near zero.

    >>> float(log1pmx(1e-9))
    -4.999999996666667e-19
    """
    (m,) = as_floats(m)
    out: Array = np.asarray(safe_log(1.0 + m) - m)
    small = np.abs(m) < 0.1
    x = m[small]
    series = np.zeros_like(x)
    for i in range(18, 1, -1):
        series = series * -x + 1.0 / i
    out[small] = -series * x * x
    return out


def stirling_error(n: ArrayLike) -> Array:
    """``log(n!)`` less Stirling's formula ``(n + 1/2) log n - n + log(2 pi) / 2``, for n > 0."""
    (n,) = as_floats(n)
    big = np.maximum(n, 16.0)
    inverse = 1.0 / (big * big)
    series = np.full_like(big, 1.0 / 1188.0)
    for coefficient in (1.0 / 1680.0, 1.0 / 1260.0, 1.0 / 360.0, 1.0 / 12.0):
        series = coefficient - inverse * series
    series = series / big
    few = np.clip(n, 1e-300, 16.0)
    direct = special.gammaln(few + 1.0) - (few + 0.5) * np.log(few) + few
    direct -= 0.5 * np.log(2.0 * np.pi)
    return np.where(n > 16.0, series, direct)


def continued_fraction(
    b0: Array, step: Callable[[int], tuple[Array, Array]], shape: tuple[int, ...]
) -> Array:
    """``b0 + a1 / (b1 + a2 / (b2 + ...))`` by the method of Lentz; ``step(i)`` is (a_i, b_i)."""
    floor = 1e-300
    f = np.where(np.abs(b0) < floor, floor, b0)
    C, D = f.copy(), np.zeros(shape)
    for i in range(1, _MAX_STEPS):
        a, b = step(i)
        D = b + a * D
        C = b + a / C
        D = 1.0 / np.where(np.abs(D) < floor, floor, D)
        C = np.where(np.abs(C) < floor, floor, C)
        f = f * (C * D)
        if np.all(np.abs(C * D - 1.0) < 1e-15):
            break
    return f


def log_betainc(a: float, b: float, x: float, y: float | None = None) -> float:
    """Logarithm of the regularised incomplete beta function ``I_x(a, b)``.

    `y` is 1 - x, for an x so close to 1 that the difference would lose digits.

    >>> round(log_betainc(600.0, 0.5, 0.01), 6)
    -2766.868133
    """
    y = 1.0 - x if y is None else y
    if x <= 0.0 or y <= 0.0:
        return -np.inf if x <= 0.0 else 0.0
    if x <= y:
        value, rest = special.betainc(a, b, x), special.betaincc(a, b, x)
    else:
        value, rest = special.betaincc(b, a, y), special.betainc(b, a, y)
    if value > TINY:
        return float(log_of(value, rest))
    prefix = a * np.log(x) + b * np.log(y) - special.betaln(a, b) - np.log(a)
    return float(prefix - np.log(_beta_fraction(a, b, x)))


def _beta_fraction(a: float, b: float, x: float) -> Array:
    """Denominator of the continued fraction of ``I_x(a, b)``, for x below its mean."""

    def step(i: int) -> tuple[Array, Array]:
        m = i // 2
        if i % 2:
            factor = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            factor = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))
        return np.asarray(factor * x), np.asarray(1.0)

    return continued_fraction(np.asarray(1.0), step, ())
