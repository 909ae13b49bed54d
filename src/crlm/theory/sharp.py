r"""Theorem X: a bound on the probability that CRLM fails, for any radius R > 0.

Failure is anything but: every cluster has at least two points, and the first k balls are
exactly the k clusters. It needs one of

- *geometry*: two points of a cluster are R or more apart, or a point of a cluster is nearer
  than R to one of another cluster or of the background (`log_pair`, `log_ball`);
- *crowding*: a background point has too many background points around it (`log_crowded`);
- *size*: a cluster is too small, or too spread out, to beat it (`log_small`).

No event is conditioned on another, and A1, A2, A3 and the weight condition are not assumed.
Proofs: docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize

from crlm.theory.geometry import log_kummer_m1, log_lens, log_q, log_q2
from crlm.theory.setting import Setting
from crlm.theory.special import Array, log_sum, safe_log
from crlm.theory.tails import (
    chi2_logsf,
    chi2_logsf_chernoff,
    log_binom_ge,
    log_binom_le,
    log_binom_mean,
    log_fail_iid,
    ncx2_logcdf,
)

_MAX_LAMBDA = 600.0  # beyond it the series of the moment generating function would overflow
_LAMBDAS = np.geomspace(0.01, _MAX_LAMBDA, 80)
_NEGLIGIBLE = math.log(1e-12)  # what is below needs no better bound
_MAX_STEPS = 64  # from there; never needed where the bound is worth anything
_MANY_DOF = 2e6  # beyond it a sum of squares is bounded, not computed


class Loss(NamedTuple):
    """Bound on the probability that some background point beats some cluster, in logs."""

    total: float
    t: int | None  # background neighbours tolerated; None for the joint moment bound
    crowded: float
    small: float


class Geometry(NamedTuple):
    """Bound on the probability that balls are not exactly the clusters, in logs."""

    total: float
    form: str  # "pair" or "ball"
    cover: float
    intrusion: float
    separation: float


class Pairs(NamedTuple):
    """How many pairs of points matter: all, or those with a candidate centre."""

    unordered: float
    ordered: float


def all_pairs(n: float, m: float | None = None) -> Pairs:
    """Pairs of n points with at least one among m candidates; all points are, unless told."""
    m = n if m is None else m
    return Pairs(0.5 * m * (m - 1.0) + m * (n - m), m * (n - 1.0))


# Geometry


def log_pair(s: Setting, m: float | None = None) -> tuple[float, float, float]:
    r"""Union over pairs: logs of (cover, background, separation).

    With N the number of ordered pairs: two points of cluster j are R apart,
    :math:`\frac N2 \pi_j^2 P(\chi^2_d \ge R^2/2\sigma_j^2)` or one is R/2 from its mean,
    :math:`n \pi_j P(\chi^2_d \ge R^2/4\sigma_j^2)`, whichever is less; a background point is in a
    ball, :math:`N \pi_0 \sum_j \pi_j\, q`; two clusters meet,
    :math:`N \pi_j \pi_l P(\chi'^2_d(\Delta^2/s^2) \le R^2/s^2)`, :math:`s^2 = \sigma_j^2 +
    \sigma_l^2`.
    """
    pairs = all_pairs(s.n, m)
    ratio = np.square(s.R / s.sigmas)
    two = safe_log(pairs.unordered) + 2.0 * np.log(s.weights) + chi2_logsf(0.5 * ratio, s.d)
    one = math.log(s.n) + np.log(s.weights) + chi2_logsf(0.25 * ratio, s.d)
    background = safe_log(pairs.ordered) + safe_log(s.pi_bg) + math.log(math.fsum(s.weights))
    return (
        log_sum(np.minimum(two, one)),
        float(background + log_q(s.R, s.D, s.d)),
        _log_meeting(s, pairs),
    )


def _log_meeting(s: Setting, pairs: Pairs) -> float:
    if s.separations is None or s.k == 1:
        return -math.inf
    i, j = np.triu_indices(s.k, 1)
    sq = np.square(s.sigmas[i]) + np.square(s.sigmas[j])
    near = ncx2_logcdf(s.R**2 / sq, s.d, np.square(s.separations[i, j]) / sq)
    log_pi = np.log(s.weights)
    return log_sum(safe_log(2.0 * pairs.unordered) + log_pi[i] + log_pi[j] + near)


def log_ball(s: Setting) -> tuple[float, float, float]:
    """Balls around the means: log of the probability, and of its parts (cover, background).

    Every point is good, independently of the others, when it lies within sigma_j sqrt(u d) of
    its mean, or is background and not within R + sigma_j sqrt(u d) of any mean. Least over the u
    for which the triangle inequality then gives the geometry; 0 (nothing) when there is none.
    """
    top = _largest_u(s)
    if top <= 1.0:
        return 0.0, 0.0, -math.inf
    log_u = minimiser(lambda x: log_ball_at(s, math.exp(x))[0], 0.0, math.log(top))
    return log_ball_at(s, math.exp(log_u))


def log_ball_at(s: Setting, u: float) -> tuple[float, float, float]:
    """The same for a given u: log of the probability, and of its parts (cover, background)."""
    stray = math.log(math.fsum(s.weights)) + float(chi2_logsf(u * s.d, s.d))
    reach = s.R + s.sigmas * math.sqrt(u * s.d)
    if s.center_norms is None:
        volumes = [log_q(r, s.D, s.d) for r in reach]
    else:
        volumes = [log_lens(c, r, s.B, s.d) for c, r in zip(s.center_norms, reach, strict=True)]
    inside = float(safe_log(s.pi_bg)) + log_sum(volumes)
    either = log_sum([stray, inside])
    total = log_fail_iid(either, s.n)
    if either == -math.inf:
        return total, -math.inf, -math.inf
    return total, total + stray - either, total + inside - either


def _largest_u(s: Setting) -> float:
    """Largest u with which points near their means make the geometry right."""
    reach = s.R / (2.0 * float(s.sigmas.max()))
    if s.k > 1:
        if s.separations is None:
            return 0.0
        i, j = np.triu_indices(s.k, 1)
        gaps = (s.separations[i, j] - s.R) / (s.sigmas[i] + s.sigmas[j])
        reach = min(reach, float(gaps.min()))
    return max(reach, 0.0) ** 2 / s.d


def u_range(s: Setting, n_values: int) -> list[float]:
    """Some u for `log_ball_at`, from 1 to the largest; none when there is none."""
    top = _largest_u(s)
    return np.geomspace(1.0, top, n_values).tolist() if top > 1.0 else []


def log_geometry(s: Setting, m: float | None = None) -> Geometry:
    """The better of the two forms."""
    pair, ball = log_pair(s, m), log_ball(s)
    if ball[0] < log_sum(pair):
        return Geometry(ball[0], "ball", ball[1], ball[2], -math.inf)
    return Geometry(log_sum(pair), "pair", *pair)


# Loss


def log_crowded(t: float, n: float, d: float, pi_bg: float, R: float, D: float) -> float:
    r"""Log of a bound on P(some background point has weights of more than t around it).

    Union over the points; given one, the others are independent. By the count,
    :math:`P(\mathrm{Bin}(n-1, \pi_0 q) \ge t + 1)`, or by the moments of the weights; for t = 0
    also by the exact law of a pair.
    """
    if pi_bg <= 0.0 or n < 2:
        return -math.inf
    log_bg = math.log(pi_bg)
    log_p = log_bg + log_q(R, D, d)
    one = min(log_binom_ge(t + 1.0, n - 1.0, log_p), _log_weight_moments(t, n, d, log_p))
    by_points = math.log(n) + log_bg + one
    if t > 0:
        return by_points
    by_pairs = math.log(n) + math.log(n - 1.0) - math.log(2.0) + 2.0 * log_bg + log_q2(R, D, d)
    return min(by_points, by_pairs)


def _log_weight_moments(t: float, n: float, d: float, log_p: float) -> float:
    """Least over a grid of lambda: every single one gives a valid bound."""
    if t <= 0:
        return 0.0
    return min(0.0, float((-_LAMBDAS * t + (n - 1.0) * _log_mgf(d, log_p)).min()))


def _log_mgf(d: float, log_p: float) -> Array:
    """Log of the moment generating function of one point's weight, 0 unless in the ball."""
    result: Array = np.logaddexp(0.0, log_p + _log_kummer_grid(d))
    return result


@lru_cache(maxsize=64)
def _log_kummer_grid(d: float) -> Array:
    return np.array([log_kummer_m1(lam, d) for lam in _LAMBDAS.tolist()])


def log_small(
    t: float, n: float, d: float, weight: float, sigma: float, R: float, min_size: float = 2
) -> float:
    r"""Log of P(cluster j does not beat a background point with weights of t around it).

    By F1 the best loss in the cluster is at most :math:`-G A_j`, :math:`A_j = n_j - 2 SS_j /
    R^2`, and :math:`SS_j / \sigma_j^2` is :math:`\chi^2_{d(n_j-1)}` given :math:`n_j`. So this is
    :math:`P(A_j \le 1 + t)`, exact; for t = 0 it is :math:`P(n_j \le 1)`. (From some two million
    degrees of freedom on, the chi-square tail is replaced by its Chernoff bound.)
    """
    if t <= 0:
        return log_binom_le(min_size - 1.0, n, weight)
    x = 0.5 * (R / sigma) ** 2

    def log_spread(r: Array) -> Array:
        dof, limit = d * (r - 1.0), (r - 1.0 - t) * x
        out = np.asarray(chi2_logsf_chernoff(limit, dof))
        few = dof <= _MANY_DOF
        out[few] = chi2_logsf(limit[few], dof[few])
        return out

    few = log_binom_le(t + 1.0, n, weight)
    spread = log_binom_mean(n, weight, log_spread, t + 2.0)
    value = min(0.0, log_sum([few, spread]))
    return max(value, log_binom_le(min_size - 1.0, n, weight))


def log_joint(s: Setting, weight: float, sigma: float, n: float) -> float:
    r"""Log of the joint moment bound for a cluster against all background points (`Cher_j`)."""
    if s.pi_bg <= 0.0:
        return -math.inf
    sq = (sigma / s.R) ** 2
    log_p = math.log(s.pi_bg) + log_q(s.R, s.D, s.d)
    log_other = math.log1p(-weight) if weight < 1.0 else -math.inf

    def bound(x: float) -> float:
        lam = math.exp(x)
        log_phi = -lam - 0.5 * s.d * math.log1p(-4.0 * lam * sq)
        parts = [log_other, math.log(weight) + log_phi, log_p + log_kummer_m1(lam, s.d)]
        return lam + (n - 1.0) * log_sum(parts)

    top = min(0.25 / sq * (1.0 - 1e-12), _MAX_LAMBDA)
    return math.log(n) + math.log(s.pi_bg) + _least(bound, math.log(top) - 25.0, math.log(top))


def log_loss(
    s: Setting, n: float | None = None, *, min_size: float = 2, enough: float = -math.inf
) -> Loss:
    """Least over t of crowding plus size, or the joint moment bound if that is less.

    The joint bound is tried when the other leaves something to gain. A total below `enough` ends
    the search: whoever adds it to something larger needs no better one.
    """
    n = s.n if n is None else n
    best = _best_threshold(s, n, min_size, enough)
    if best.total < max(_NEGLIGIBLE, enough):
        return best
    single = _log_any(s, lambda weight, _: log_binom_le(min_size - 1.0, n, weight))
    joint = _log_any(s, lambda weight, sigma: log_joint(s, weight, sigma, n))
    both = log_sum([joint, single])
    return Loss(both, None, joint, single) if both < best.total else best


def _best_threshold(s: Setting, n: float, min_size: float, enough: float) -> Loss:
    """Least over t = 0, 1, ...: the background neighbours that are tolerated.

    Crowding falls with t and size grows. From where they cross, t goes up until size alone, and
    down until crowding alone, is more than the best sum so far, or all there is.
    """

    @cache
    def at(t: int) -> Loss:
        crowded = log_crowded(t, n, s.d, s.pi_bg, s.R, s.D)
        small = _log_any(s, lambda pi, sigma: log_small(t, n, s.d, pi, sigma, s.R, min_size))
        return Loss(log_sum([crowded, small]), t, crowded, small)

    best = at(0)
    if best.small >= 0.0 or best.crowded < best.small - 40.0:
        return best  # size is all that matters, and it only gets worse
    low, high = 0, 1
    while high < n and at(high).crowded > at(high).small:
        low, high = high, 2 * high
    if at(high).total < enough:
        return at(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle).crowded > at(middle).small else (low, middle)
    for step, grows, falls in ((1, "small", "crowded"), (-1, "crowded", "small")):
        t = high if step > 0 else high - 1
        for _ in range(_MAX_STEPS):
            if not 1 <= t <= n or getattr(at(t), grows) >= best.total:
                break
            best = min(best, at(t), key=lambda loss: loss.total)
            if getattr(at(t), falls) < getattr(at(t), grows) - 40.0:
                break  # nothing left to fall
            t += step
    return best


def _log_any(s: Setting, log_p: Callable[[float, float], float]) -> float:
    """Log of a sum over the clusters, of a function of weight and sigma; equal ones once."""
    clusters = list(zip(s.weights.tolist(), s.sigmas.tolist(), strict=True))
    each = {cluster: log_p(*cluster) for cluster in set(clusters)}
    return log_sum([each[cluster] for cluster in clusters])


# Search for the least of a smooth function


def _least(f: Callable[[float], float], low: float, high: float) -> float:
    return f(minimiser(f, low, high))


def minimiser(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f, falling and then rising, is least between two ends, which are tried too."""
    grid = np.linspace(low, high, 17)
    values = [f(x) for x in grid.tolist()]
    i = int(np.argmin(values))
    bracket = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, 16)])
    inner = float(
        optimize.minimize_scalar(f, bounds=bracket, method="bounded", options={"xatol": 1e-8}).x
    )
    return min([inner, float(grid[i])], key=f)
