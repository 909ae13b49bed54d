"""Candidate centres and losses from a random subset of the points, balls over all of them.

A uniform subset of an iid sample is an iid sample, so that what was said for n points holds
for the subset; only the geometry still concerns all points. V1, where the same points are
candidates and losses, is ``guarantee(..., landmarks=s)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from crlm.errors import ParameterError
from crlm.theory.geometry import log_q, log_q2
from crlm.theory.guarantees import Guarantee
from crlm.theory.setting import Setting, check_count, make_setting, require_separations
from crlm.theory.sharp import log_ball_at, log_geometry, log_loss, u_range
from crlm.theory.special import Array, log_sum, safe_log
from crlm.theory.tails import log_binom_coefficient, log_binom_ge, log_binom_le

_MAX_T = 16  # background neighbours tried; more never paid
_N_U = 24  # radii tried for each


def landmark_guarantee(
    n: float,
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
    *,
    candidates: int,
    losses: int | None = None,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
) -> Guarantee:
    """Probability of success with `candidates` random candidate centres.

    With `losses` given (V2): losses are summed over that many other points, disjoint from the
    candidates, without the candidate's own term, and the search stops at a loss of 0. Without
    (V3): losses are summed over all n points.

    >>> g = landmark_guarantee(1000, 10, [.05, .1], [1, 1.5], 16 / 40**.5, 20, candidates=200,
    ...                        separations=60)
    >>> round(g.failure, 9)
    0.137228223
    """
    s = make_setting(n, d, weights, sigmas, sigma_max, D, G, center_norms, separations)
    require_separations(s)
    m = check_count("candidates", candidates)
    J = None if losses is None else check_count("losses", losses)
    if m + (J or 0.0) > s.n:
        msg = (
            f"candidates = {m:g} and losses = {J or 0:g} are disjoint parts of n = {s.n:g} points, "
            "but are more than that together. Take fewer."
        )
        raise ParameterError(msg)
    options = [_without_neighbours(s, m, J), *_with_neighbours(s, m, J)]
    return min(options, key=lambda found: found.log_failure)


def _without_neighbours(s: Setting, m: float, J: float | None) -> Guarantee:
    """T = 0: no two background points that count are neighbours."""
    geometry = log_geometry(s, m)
    others = s.n - 1.0 if J is None else J
    pairs = math.log(m) + float(safe_log(others)) + 2.0 * float(safe_log(s.pi_bg))
    terms = {
        "cover": geometry.cover,
        "intrusion": geometry.intrusion,
        "separation": geometry.separation,
        "crowding": pairs + log_q2(s.R, s.D, s.d),
        "size": _log_few(s, J, np.ones(s.k)),
        "candidates": _log_missed(s, m),
    }
    return Guarantee("sharp", terms, 0, geometry.form)


def _with_neighbours(s: Setting, m: float, J: float | None) -> Iterator[Guarantee]:
    """T >= 1: at most t neighbours in the background, clusters tight around their means."""
    log_p = float(safe_log(s.pi_bg)) + log_q(s.R, s.D, s.d)
    others = s.n - 1.0 if J is None else J
    for u in u_range(s, _N_U):
        _, cover, intrusion = log_ball_at(s, u)
        kappa = s.sigmas * math.sqrt(u * s.d) / s.R
        if not (kappa < 0.5).all():
            continue
        for t in range(1, _MAX_T + 1):
            one = math.log(m) + float(safe_log(s.pi_bg)) + log_binom_ge(t + 1.0, others, log_p)
            terms = {
                "cover": cover,
                "intrusion": intrusion,
                "crowding": one,
                "size": _log_few(s, J, t / (1.0 - 4.0 * np.square(kappa))),
                "candidates": _log_missed(s, m),
            }
            yield Guarantee("sharp", terms, t, "ball")


def _log_few(s: Setting, J: float | None, need: Array) -> float:
    """Log of P(some cluster has fewer than `need` points, besides the centre, for its loss)."""
    sizes, extra = (s.n, 0.0) if J is None else (J, -1.0)
    pairs = zip(s.weights.tolist(), np.ceil(need).tolist(), strict=True)
    return log_sum([log_binom_le(r + extra, sizes, pi) for pi, r in pairs])


def _log_missed(s: Setting, m: float) -> float:
    """Log of a bound on P(some cluster has no candidate)."""
    return log_sum([m * math.log1p(-pi) if pi < 1.0 else -math.inf for pi in s.weights.tolist()])


def landmark_conditional(
    n: float, sizes: ArrayLike, kappas: ArrayLike, s: float, t0: float = 0
) -> float:
    r"""Probability that s random landmarks (V1) give another result, for these very data.

    Assumes that cover and separation hold for the partition. `kappas` are
    :math:`\max\|x - \mu_j\| / R`, at most 1/2, and `t0` the most background neighbours of a
    background point (both in a certificate). Then A_j > s_j (1 - 2 kappa_j^2) beats 1 + t0, unless
    the sample holds too few points of a cluster: a sum of hypergeometric tails.

    >>> round(landmark_conditional(10_000, [100], [0.4], 800), 12)
    0.002242602205
    """
    n, s = check_count("n", n), check_count("s", s)
    size, kappa = np.broadcast_arrays(
        np.atleast_1d(np.asarray(sizes, float)), np.asarray(kappas, float)
    )
    if not ((size >= 1.0).all() and size.sum() <= n and s <= n):
        msg = (
            f"sizes {size.tolist()} and s = {s:g} must fit into n = {n:g} points. Give the sizes "
            "of the clusters and at most n landmarks."
        )
        raise ParameterError(msg)
    if not ((kappa >= 0.0) & (kappa <= 0.5)).all() or t0 < 0:
        msg = (
            f"kappas {kappa.tolist()} must lie between 0 and 0.5, and t0 = {t0!r} must not be "
            "negative: the largest distance from a mean over R, and a number of neighbours."
        )
        raise ParameterError(msg)
    least = np.maximum(1.0, np.ceil((1.0 + t0) / (1.0 - 2.0 * np.square(kappa))) - 1.0)
    total = log_sum([_log_hypergeom_le(r, n, K, s) for r, K in zip(least, size, strict=True)])
    return min(1.0, math.exp(total)) if total < 700.0 else 1.0


def _log_hypergeom_le(r: float, n: float, K: float, s: float) -> float:
    """Log of P(at most r of s draws, without putting back, are among K of n)."""
    low = max(0.0, s - (n - K))
    if r < low:
        return -math.inf
    i = np.arange(low, min(r, K, s) + 1.0)
    ways = log_binom_coefficient(K, i) + log_binom_coefficient(n - K, s - i)
    return min(0.0, log_sum(ways - log_binom_coefficient(n, s)))


def plan_candidates(min_weight: float, delta: float = 0.01, k: int | None = None) -> int:
    """Fewest candidates (V3) of which each of k clusters has one, but with chance `delta`.

    Losses over all points leave one way to fail that the number of candidates decides: no
    candidate lies in some cluster. For clusters of at least `min_weight` each that has a chance
    of at most ``k * (1 - min_weight)**m``. There are at most ``1 / min_weight`` of them, which is
    the k that is taken when none is given.

    >>> plan_candidates(0.01, k=1), plan_candidates(0.01)
    (459, 917)
    """
    if not 0.0 < min_weight <= 1.0:
        msg = (
            f"min_weight must be a number between 0 and 1, got {min_weight!r}. It is the share of "
            "all points in the smallest cluster that must not be missed."
        )
        raise ParameterError(msg)
    if not 0.0 < delta < 1.0:
        msg = (
            f"delta must be a number between 0 and 1, got {delta!r}. It is the chance of missing "
            "a cluster; 0.01 is usual."
        )
        raise ParameterError(msg)
    most = max(1, math.floor(1.0 / min_weight))
    k = most if k is None else min(k, most)
    if min_weight == 1.0:
        return 1
    return max(1, math.ceil(math.log(delta / k) / math.log1p(-min_weight)))


def candidate_weight(candidates: int, delta: float = 0.01) -> float:
    """Smallest share of all points that has one of the candidates, but with chance `delta`.

    :func:`plan_candidates` for one cluster, turned round.

    >>> round(candidate_weight(459), 5)
    0.00998
    """
    return -math.expm1(math.log(delta) / check_count("candidates", candidates))


def plan_landmarks(
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
    delta: float = 0.01,
    *,
    n: float,
) -> int | None:
    """Fewest landmarks (V1) for which comparing losses fails with at most ``delta / 2``.

    Some 7 over the least weight, whatever n is; None if n itself is too few.

    >>> plan_landmarks(20, 0.01, 1.0, 2.5, 60.0, n=1e6)
    740
    """
    s = make_setting(n, d, weights, sigmas, sigma_max, D, G)
    log_half = math.log(0.5 * delta)

    def is_short(m: int) -> bool:
        return log_loss(s, float(m)).total > log_half

    low, high = 1, 2
    while is_short(high):
        if high >= s.n:
            return None
        low, high = high, int(min(2 * high, s.n))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_short(middle) else (low, middle)
    return high
