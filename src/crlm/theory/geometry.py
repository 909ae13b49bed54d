r"""Volumes in a ball of background, as logarithms of probabilities.

The background is uniform in a ball of radius :math:`B = D\sqrt d`.
"""

from __future__ import annotations

import math

import numpy as np

from crlm.theory.special import log_betainc, log_sum


def log_q(r: float, D: float, d: float) -> float:
    r"""Logarithm of :math:`q = (r / B)^d`: share of the background within r of an inner point.

    An upper bound for any point, because near the edge part of the ball lies outside.

    >>> round(log_q(5.0, 2.0, 10), 6)
    -2.350018
    """
    if r <= 0.0:
        return -math.inf
    return min(0.0, d * (math.log(r) - math.log(D) - 0.5 * math.log(d)))


def log_q2(r: float, D: float, d: float) -> float:
    r"""Logarithm of :math:`P(\|y - y'\| < r)` for two background points, exact.

    The law of the length of a random segment in a ball ("ball line picking"). Never above
    :func:`log_q`.

    >>> round(log_q2(84.0, 10.0, 100), 6)
    -28.698248
    """
    log_s = math.log(r) - math.log(D) - 0.5 * math.log(d) if r > 0.0 else -math.inf
    if log_s >= math.log(2.0):
        return 0.0
    quarter = math.exp(2.0 * (log_s - math.log(2.0)))
    half = 0.5 * (d + 1.0)
    near = d * log_s + log_betainc(half, 0.5, 1.0 - quarter, quarter)
    rim = _log_symmetric_betainc(half, log_s)
    return min(0.0, log_sum([near, rim]), log_q(r, D, d))


def _log_symmetric_betainc(a: float, log_s: float) -> float:
    """``log I_x(a, a)`` at x = s**2 / 4, also where x underflows."""
    x = math.exp(2.0 * (log_s - math.log(2.0)))
    if x < 1e-290:
        return -math.inf  # some 1e-290**a, beside s**d of the same d: nothing
    return log_betainc(a, a, x)


def log_lens(c: float, r: float, B: float, d: float) -> float:
    r"""Logarithm of :math:`P(\|y - \mu\| < r)`, y uniform in the ball of radius B, exact.

    `c` is the distance of :math:`\mu` from the centre of that ball. Two caps where the spheres
    cut each other; never above :math:`d \ln(r / B)`. (`C1bounds` prints an equality that holds
    only for :math:`c + r \le B`.)

    >>> round(log_lens(0.5, 0.7, 1.0, 20), 6), log_lens(3.0, 1.0, 1.0, 20)
    (-7.158108, -inf)
    """
    if c >= r + B or r <= 0.0:
        return -math.inf
    if r >= c + B:
        return 0.0
    volume = d * (math.log(r) - math.log(B))
    if c + r <= B:
        return min(0.0, volume)
    # In units of B, so that no square leaves the range of a float.
    c, r = c / B, r / B
    on_rim = (c * c + (1.0 - r) * (1.0 + r)) / (2.0 * c)
    on_ball = (c * c - (1.0 - r) * (1.0 + r)) / (2.0 * c * r)
    value = log_sum([_log_cap(on_rim, d), volume + _log_cap(on_ball, d)])
    return min(0.0, volume, value)


def _log_cap(cosine: float, d: float) -> float:
    """Logarithm of the share of a ball beyond a plane at this distance, in radii."""
    cosine = min(1.0, max(-1.0, cosine))
    sq_sine = (1.0 - cosine) * (1.0 + cosine)
    log_half = log_betainc(0.5 * (d + 1.0), 0.5, sq_sine, cosine * cosine) - math.log(2.0)
    return log_half if cosine >= 0.0 else math.log1p(-math.exp(log_half))


def log_kummer_m1(lam: float, d: float) -> float:
    r"""Logarithm of :math:`E e^{\lambda w} - 1` for the weight w of a point in a ball.

    A point uniform in a ball of radius R around a centre lowers its loss by G w with
    :math:`w = 1 - \|y\|^2/R^2`, which is Beta(1, d/2). The moment generating function is
    :math:`{}_1F_1(1; d/2 + 1; \lambda)`, here summed as its series.

    >>> round(log_kummer_m1(10.0, 20), 6)
    1.203797
    """
    if lam <= 0.0:
        return -math.inf
    n_terms = int(lam + 12.0 * math.sqrt(lam) + 40.0)
    steps = np.log(lam) - np.log(0.5 * d + 1.0 + np.arange(n_terms))
    return log_sum(np.cumsum(steps))
