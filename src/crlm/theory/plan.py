"""How many points, how heavy a cluster, which bandwidth: the theorems turned round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from crlm.theory.guarantees import KINDS, Kind, sharp
from crlm.theory.printed import log_terms as printed_terms
from crlm.theory.printed import margins_W
from crlm.theory.setting import (
    Setting,
    check_count,
    check_delta,
    check_depth,
    check_kind,
    check_mixture,
    check_positive,
    make_setting,
    require_separations,
)
from crlm.theory.sharp import log_geometry, log_pair
from crlm.theory.special import Array, exp, log_sum, safe_log
from crlm.theory.tails import bisect, chi2_logisf, log_binom_le, root

_MAX_N = 2**100  # nobody has more points


def adaptive_G(n: float, d: float, delta: float = 0.01) -> float:
    """Smallest G for which ``n * P(chi2_d > d G)`` is at most `delta`.

    With this depth every one of n points of an isotropic Gaussian lies within
    ``sigma * sqrt(d * G)`` of its mean (condition C2), except with probability `delta`.

    >>> round(adaptive_G(1000, d=100), 3)
    1.721
    """
    n, d = check_count("n", n), check_count("d", d)
    return chi2_logisf(math.log(check_delta(delta)) - math.log(n), d) / d


def points_per_cluster(delta: float = 0.01) -> float:
    r"""The c with :math:`(1 + c) e^{-c} = \delta`: n = c / weight points are enough, and needed.

    With c expected points a cluster gets fewer than two with at most this probability.

    >>> round(points_per_cluster(0.01), 6)
    6.638352
    """
    log_delta = math.log(check_delta(delta))
    return bisect(lambda c: math.log1p(c) - c > log_delta, 0.0, 10.0 - 2.0 * log_delta)


def log_max_n(
    d: float, *, sigma_max: float, D: float, G: float = 4.0, kind: Kind = "printed"
) -> float:
    """Logarithm of :func:`max_n`, which for d of some thousands is no float any more."""
    check_kind(kind, "printed", "corrected")
    d, G = check_count("d", d), check_depth(G)
    exponent = (G - 1.0) ** 2 / 8.0 if kind == "printed" else 0.5 * (G - 1.0 - math.log(G))
    sigma_max, D = check_positive("sigma_max", sigma_max), check_positive("D", D)
    volume = math.log(D) - math.log(2.0 * sigma_max) - 0.5 * math.log(G)
    return 0.5 * d * min(exponent, volume)


def max_n(d: float, *, sigma_max: float, D: float, G: float = 4.0, kind: Kind = "printed") -> float:
    r"""Number of points up to which C1 and C2 may be taken for granted (`cor:probcheck`).

    :math:`e^{cd/2}` with :math:`c = \min((G-1)^2/8, \ln(D / 2\sigma_{\max}\sqrt G))` as printed;
    corrected, the first is :math:`(G - 1 - \ln G)/2`. Only an upper limit: clusters need some 7
    points each as well. inf where it is beyond a float.

    >>> f"{max_n(500, sigma_max=10, D=100):.2e}"
    '3.05e+99'
    >>> f"{max_n(500, sigma_max=10, D=100, kind='corrected'):.2e}"
    '4.01e+87'
    """
    return exp(log_max_n(d, sigma_max=sigma_max, D=D, G=G, kind=kind))


def plan_n(
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
    delta: float = 0.01,
    kind: Kind = "sharp",
    *,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
) -> int | None:
    """Fewest points with which CRLM succeeds with probability ``1 - delta``.

    None when no number of points is enough: the terms that grow with n win.

    >>> plan_n(20, 0.01, 1.0, sigma_max=2.5, D=60.0)
    662
    >>> plan_n(20, 0.01, 1.0, sigma_max=2.5, D=60.0, kind="printed")
    580957
    """
    check_kind(kind, *KINDS)
    s = make_setting(2, d, weights, sigmas, sigma_max, D, G, center_norms, separations)
    log_delta = math.log(check_delta(delta))
    if kind != "sharp":
        return _plan_n_printed(s, sigma_max, G, log_delta, corrected=kind == "corrected")
    require_separations(s)

    def excess(n: int) -> float:
        return sharp(replace(s, n=float(n)), hasty=True).log_failure - log_delta

    # Where already the numbers of points per cluster are too small, nothing else matters.
    start = _first(lambda n: _log_few(s.weights, n) <= log_delta, 2)
    return None if start is None else _first(lambda n: excess(n) <= 0.0, start, excess)


def _log_few(weights: Array, n: int) -> float:
    return log_sum([log_binom_le(1.0, float(n), pi) for pi in weights.tolist()])


def _first(
    is_enough: Callable[[int], bool], start: int, excess: Callable[[int], float] | None = None
) -> int | None:
    """Least n from `start` on that is enough, by doubling and bisection.

    When the failure, given by `excess`, only grows from some n on, there is none.
    """
    if is_enough(start):
        return start
    low, step, last = start, max(1, start // 16), math.inf
    while not is_enough(low + step):
        if low + step > _MAX_N:
            return None
        now = excess(low + step) if excess else -math.inf
        if now >= last and now > 0.0:
            return _inside(is_enough, low - step // 2, low + step)
        low, step, last = low + step, 2 * step, now
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _inside(is_enough: Callable[[int], bool], low: int, high: int) -> int | None:
    """Least n between two that is enough, where the failure stops falling and rises."""
    tried = sorted({int(n) for n in np.linspace(float(max(low, 2)), float(high), 65)})
    i = next((i for i, n in enumerate(tried) if is_enough(n)), None)
    if i is None:
        return None
    low, high = tried[max(i - 1, 0)], tried[i]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _plan_n_printed(
    s: Setting, sigma_max: float, G: float, log_delta: float, *, corrected: bool
) -> int | None:
    W = float(margins_W(s, sigma_max, G).min())
    if W <= 0.0:
        return None

    def excess(n: int) -> float:
        terms = printed_terms(replace(s, n=float(n)), sigma_max, G, corrected=corrected)
        return log_sum(list(terms.values())) - log_delta

    # From here on the term of the losses falls with n; before, it is above 1.
    start = max(2, math.ceil(2.0 * (G / W) ** 2))
    return _first(lambda n: excess(n) <= 0.0, start, excess)


def plan_weight(
    n: float,
    d: float,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
    delta: float = 0.01,
    kind: Kind = "sharp",
    *,
    k: int | None = None,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
) -> float | None:
    """Share of the smallest cluster that is found with probability ``1 - delta``.

    For k clusters of equal share (as many as `sigmas`, unless told). None if there is none.

    >>> round(plan_weight(500, 20, 1.0, sigma_max=2.5, D=60.0), 6)
    0.013202
    """
    check_kind(kind, *KINDS)
    _, sigma = check_mixture(1e-9, sigmas)
    k = len(sigma) if k is None else int(check_count("k", k))
    equal = np.full(k, 1.0 / k)
    base = make_setting(
        n,
        d,
        equal,
        sigma if len(sigma) == k else sigma[0],
        sigma_max,
        D,
        G,
        center_norms,
        separations,
    )
    log_delta = math.log(check_delta(delta))
    if kind == "sharp":
        require_separations(base)

    def excess(log_pi: float) -> float:
        s = replace(base, weights=np.full(k, math.exp(log_pi)))
        return _log_failure(s, sigma_max, G, kind) - log_delta

    low = math.log(points_per_cluster(delta) / base.n) - 3.0
    grid = np.linspace(min(low, -math.log(k) - 1.0), -math.log(k), 25).tolist()
    high = next((x for x in grid if excess(x) <= 0.0), None)
    if high is None or high == grid[0]:
        return None if high is None else math.exp(high)
    return math.exp(root(excess, high - (grid[1] - grid[0]), high))


def _log_failure(s: Setting, sigma_max: float, G: float, kind: Kind) -> float:
    if kind == "sharp":
        return sharp(s, hasty=True).log_failure
    terms = printed_terms(s, sigma_max, G, corrected=kind == "corrected")
    return log_sum(list(terms.values()))


@dataclass(frozen=True)
class SigmaMaxInterval:
    """Bandwidths with which CRLM succeeds, and every bound by the name it has in the figures.

    Attributes
    ----------
    a3 : float
        Twice the largest sigma; `sigma_max` must be above it (A3).
    a1, a2, weight : float
        `sigma_max` must be below these (A1, A2, weight condition); inf where nothing limits it.
    theorem_lower, theorem : float
        Between these the bound of the theorem is at least ``1 - delta``; NaN if nowhere.
    lower, upper : float
        All of them together; NaN if nothing is left. For the sharp kind the theorem alone
        decides, for it assumes none of the others.
    best, best_failure : float
        Sharp: the bandwidth that fails least, and how often; NaN for the other kinds.
    """

    kind: str
    a3: float
    a1: float
    a2: float
    weight: float
    theorem_lower: float
    theorem: float
    lower: float
    upper: float
    best: float = math.nan
    best_failure: float = math.nan

    @property
    def is_empty(self) -> bool:
        """Whether no bandwidth is good enough."""
        return math.isnan(self.lower)


def sigma_max_interval(
    n: float,
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    D: float,
    G: float = 4.0,
    delta: float = 0.01,
    *,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
    kind: Kind = "sharp",
) -> SigmaMaxInterval:
    r"""Bandwidths for which success is promised with probability ``1 - delta``.

    Parameters as in :func:`guarantee`. Means not given are taken to be in the middle (A1) and far
    apart (A2); the sharp kind then takes the largest volume, and for k > 1 refuses.

    Examples
    --------
    >>> interval = sigma_max_interval(1e4, 100, 0.1, 1.0, D=50.0, kind="printed")
    >>> interval.a3, interval.a1, round(interval.weight, 4), round(interval.theorem, 4)
    (2.0, 12.5, 25.4369, 10.887)
    >>> interval = sigma_max_interval(1e4, 100, 0.1, 1.0, D=50.0, center_norms=0.0)
    >>> round(interval.lower, 4), round(interval.upper, 4)
    (0.9949, 21.1076)
    """
    check_kind(kind, *KINDS)
    s = make_setting(n, d, weights, sigmas, 1.0, D, G, center_norms, separations)
    log_delta = math.log(check_delta(delta))
    norms = 0.0 if s.center_norms is None else float(s.center_norms.max())
    a3 = 2.0 * float(s.sigmas.max())
    a1 = (s.D - norms / math.sqrt(s.d)) / (2.0 * math.sqrt(G))
    a2 = _least_gap(s) / (2.0 * math.sqrt(s.d * G))
    weight = _weight_limit(s, G)
    if kind == "sharp":
        require_separations(s)
        low, high, best, failure = _sharp_range(s, G, log_delta)
        return SigmaMaxInterval(kind, a3, a1, a2, weight, low, high, low, high, best, failure)
    low, high = _theorem_range(s, G, log_delta, corrected=kind == "corrected")
    ends = max(a3, low), min(a1, a2, weight, high)
    # A comparison with NaN is false: an empty theorem leaves nothing.
    lower, upper = ends if not math.isnan(low) and ends[0] < ends[1] else (math.nan, math.nan)
    return SigmaMaxInterval(kind, a3, a1, a2, weight, low, high, lower, upper)


def _least_gap(s: Setting) -> float:
    if s.k == 1 or s.separations is None:
        return math.inf
    return float(s.separations[np.triu_indices(s.k, 1)].min())


def _weight_limit(s: Setting, G: float) -> float:
    """Bandwidth up to which `eq:wtcond1` holds for every cluster."""
    if s.pi_bg <= 0.0 or (s.weights >= 1.0).any():
        return math.inf
    constant = np.log1p(-s.weights) - np.log(s.weights) + math.log(G) - math.log(0.5 * s.d + 1.0)

    def is_met(x: float) -> bool:
        log_q = s.d * (x + 0.5 * math.log(G) - math.log(s.D))
        b = G - (1.0 + G) * np.square(s.sigmas * math.exp(-x))
        return bool((b > 0.0).all() and (constant + log_q < np.log(b)).all())

    # From twice the largest sigma on the condition, once lost, stays lost.
    low = math.log(2.0 * float(s.sigmas.max()))
    if not is_met(low):
        return math.exp(low)
    reach = max(0.0, math.log(s.D) - low) + float(safe_log(2.0 / s.weights.min())) + 50.0
    return math.exp(low + bisect(lambda x: is_met(low + x), 0.0, reach))


def _theorem_range(
    s: Setting, G: float, log_delta: float, *, corrected: bool
) -> tuple[float, float]:
    """Bandwidths at which the terms of the theorem add up to at most delta."""

    def excess(log_sigma: float) -> float:
        terms = printed_terms(s, math.exp(log_sigma), G, corrected=corrected)
        return min(1e3, log_sum(list(terms.values())) - log_delta)

    # Below the lower end W is negative, above the upper one the volume alone is too much.
    low = math.log(float(s.sigmas.max())) + 0.5 * math.log((1.0 + G) / G)
    share = (log_delta - math.log(s.n) - math.log(s.k)) / s.d
    high = math.log(s.D) - math.log(2.0) - 0.5 * math.log(G) + min(share, 0.0)
    if low >= high:
        return math.nan, math.nan
    grid = np.linspace(low, high, 2001).tolist()
    good = [i for i, x in enumerate(grid) if excess(x) <= 0.0]
    if not good:
        return math.nan, math.nan
    return (
        math.exp(_end(excess, grid, good[0], -1)),
        math.exp(_end(excess, grid, good[-1], 1)),
    )


def _end(excess: Callable[[float], float], grid: list[float], i: int, side: int) -> float:
    """End of a run of good points, between one of the grid and its bad neighbour."""
    if not 0 <= i + side < len(grid):
        return grid[i]
    return root(excess, grid[i + side], grid[i])


def _sharp_range(s: Setting, G: float, log_delta: float) -> tuple[float, float, float, float]:
    """Bandwidths at which Theorem X promises enough, the best one, and its failure."""

    def excess(log_R: float) -> float:
        at = replace(s, R=math.exp(log_R))
        hopeless = log_sum(log_pair(at)) > 0.0 and log_geometry(at).total >= math.log(0.999)
        return -log_delta if hopeless else sharp(at, hasty=True).log_failure - log_delta

    def is_torn(log_R: float) -> bool:
        return log_pair(replace(s, R=math.exp(log_R)))[0] > math.log(4.0) + log_delta

    high = math.log(2.0 * s.B)
    smallest = math.log(float(s.sigmas.min())) + 0.5 * math.log(s.d) - 10.0
    low = smallest + bisect(lambda x: is_torn(smallest + x), 0.0, max(high - smallest, 1.0))
    grid = np.linspace(low, max(high, low + 1e-9), 96).tolist()
    values = [excess(x) for x in grid]
    i = int(np.argmin(values))
    scale = math.sqrt(s.d * G)
    best, failure = math.exp(grid[i]) / scale, min(1.0, exp(values[i] + log_delta))
    if values[i] > 0.0:
        return math.nan, math.nan, best, failure
    first = last = i
    while first > 0 and values[first - 1] <= 0.0:
        first -= 1
    while last < 95 and values[last + 1] <= 0.0:
        last += 1
    ends = _end(excess, grid, first, -1), _end(excess, grid, last, 1)
    return math.exp(ends[0]) / scale, math.exp(ends[1]) / scale, best, failure
