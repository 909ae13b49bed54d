"""The probability that CRLM returns exactly the clusters, and what it depends on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import ArrayLike

from crlm.errors import ParameterError
from crlm.theory.geometry import log_q, log_q2
from crlm.theory.printed import log_terms as printed_terms
from crlm.theory.printed import violated
from crlm.theory.setting import (
    Setting,
    check_count,
    check_depth,
    check_kind,
    make_setting,
    require_separations,
)
from crlm.theory.sharp import Pairs, all_pairs, log_geometry, log_loss
from crlm.theory.special import exp, log_sum, safe_log
from crlm.theory.tails import log_binom_ge

Kind = Literal["printed", "corrected", "sharp"]
KINDS: tuple[Kind, ...] = ("printed", "corrected", "sharp")

# What each way to fail means, and what would help.
MEANINGS = {
    "cover": "a point of a cluster lies too far out for its ball",
    "intrusion": "a background point lies in the ball of a cluster",
    "separation": "two clusters come within a radius of each other",
    "crowding": "background points are so dense that they look like a cluster",
    "size": "a cluster gets too few points to stand out",
    "loss": "a background point has a smaller loss than a cluster",
    "stop": "after the clusters a ball of background points follows",
    "candidates": "no candidate centre lies in some cluster",
}
_HELP = {
    "cover": "a larger sigma_max",
    "intrusion": "a smaller sigma_max, or fewer points",
    "separation": "a smaller sigma_max, or clusters farther apart",
    "crowding": "a smaller sigma_max",
    "stop": "a smaller sigma_max, or a larger min_cluster_size",
    "size": "more points, or a heavier cluster",
    "loss": "more points, or kind='sharp', which needs far fewer",
    "candidates": "more candidates",
}


@dataclass(frozen=True)
class Guarantee:
    """Lower bound on the probability of success, term by term.

    Attributes
    ----------
    kind : {"printed", "corrected", "sharp"}
    log_terms : dict
        Natural logarithm of the bound on each way to fail, by name (``MEANINGS``).
    t : int or None
        Sharp: background neighbours tolerated when losses are compared (None: all at once).
    form : str
        Sharp: whether pairs of points or balls around the means gave the geometry.
    violated : tuple of str
        Printed and corrected: assumptions of the theorem known not to hold.
    """

    kind: str
    log_terms: dict[str, float] = field(default_factory=dict)
    t: int | None = None
    form: str = ""
    violated: tuple[str, ...] = ()

    @property
    def terms(self) -> dict[str, float]:
        """Bound on the probability of each way to fail; may exceed 1."""
        return {name: exp(value) for name, value in self.log_terms.items()}

    @property
    def log_failure(self) -> float:
        """Natural logarithm of the sum of the terms."""
        return log_sum(list(self.log_terms.values()))

    @property
    def failure(self) -> float:
        """Bound on the probability of failure, at most 1."""
        return 1.0 if self._promises_nothing else min(1.0, exp(self.log_failure))

    @property
    def probability_raw(self) -> float:
        """1 less the sum of the terms, as the formula gives it; may be negative, even -inf."""
        return 1.0 - exp(self.log_failure)

    @property
    def probability(self) -> float:
        """Lower bound on the probability of success, between 0 and 1.

        0 also for a corrected bound of which an assumption is known not to hold.
        """
        return 0.0 if self._promises_nothing else max(0.0, self.probability_raw)

    @property
    def weakest(self) -> str:
        """Name of the largest term: the likeliest way to fail."""
        return max(self.log_terms, key=self.log_terms.__getitem__)

    @property
    def advice(self) -> str:
        """One sentence: what holds the probability down and what would help."""
        if self.violated:
            missing = " and ".join(self.violated)
            word = "condition" if self.violated == ("weight",) else "assumption"
            return f"The theorem does not apply: {word} {missing} does not hold."
        worst = self.weakest
        return f"Largest term: {worst} ({MEANINGS[worst]}). What helps: {_HELP[worst]}."

    @property
    def _promises_nothing(self) -> bool:
        return self.kind == "corrected" and bool(self.violated)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        return {
            "kind": self.kind,
            "probability": self.probability,
            "failure": self.failure,
            "log_terms": dict(self.log_terms),
            "weakest": self.weakest,
            "violated": list(self.violated),
            "advice": self.advice,
        }


def guarantee(
    n: float,
    d: float,
    weights: ArrayLike,
    sigmas: ArrayLike,
    sigma_max: float,
    D: float,
    G: float = 4.0,
    *,
    center_norms: ArrayLike | None = None,
    separations: ArrayLike | None = None,
    landmarks: int | None = None,
    kind: Kind = "sharp",
    stop: bool = False,
    min_cluster_size: int = 2,
) -> Guarantee:
    r"""Probability that the first k balls of CRLM are exactly the k clusters.

    Parameters
    ----------
    n, d : int
        Points and dimension.
    weights, sigmas : float or array-like of shape (k,)
        Shares and standard deviations of the clusters; a single number is for all of them.
    sigma_max, D : float
        Bandwidth, and radius of the background over ``sqrt(d)``.
    G : float, default=4.0
        Depth of the loss.
    center_norms : float or array-like of shape (k,), optional
        Distances of the means from the middle of the background. Without them the sharp bound
        takes the largest volume, and A1 is checked for a mean in the middle.
    separations : float or array-like of shape (k, k), optional
        Distances between the means, or the smallest. Sharp bounds for k > 1 need them.
    landmarks : int, optional
        Losses and centres from a uniform subset of that many points, balls over all (V1).
    kind : {"sharp", "corrected", "printed"}
        "printed": `thm:onecluster` and `thm:multclust` as they stand, under A1, A2, A3 and the
        weight condition; too optimistic for G > 2.62. "corrected": the same with the exact
        chi-square tail; assumes A2, A3 and W > 0. "sharp": Theorem X, which assumes none of them.
    stop : bool, default=False
        Sharp: also require that the round after the last cluster finds nothing (k-hat = k).
    min_cluster_size : int, default=2
        Sharp: clusters of fewer points count as failure.

    Returns
    -------
    Guarantee

    Examples
    --------
    1 % of 1,000 points is enough; the printed theorem would ask for 580,957:

    >>> g = guarantee(1000, 20, 0.01, 1.0, sigma_max=2.5, D=60.0)
    >>> round(g.probability, 5), g.weakest
    (0.99952, 'size')
    >>> guarantee(1000, 20, 0.01, 1.0, sigma_max=2.5, D=60.0, kind="printed").probability
    0.0
    """
    check_kind(kind, *KINDS)
    s = make_setting(n, d, weights, sigmas, sigma_max, D, G, center_norms, separations)
    if kind == "sharp":
        return sharp(s, landmarks=landmarks, stop=stop, min_size=min_cluster_size)
    if landmarks is not None or stop or min_cluster_size != 2:
        msg = (
            f"kind = {kind!r} says nothing about landmarks, stop or min_cluster_size; the paper "
            "has no such statement. Leave them out, or ask for kind='sharp'."
        )
        raise ParameterError(msg)
    corrected = kind == "corrected"
    return Guarantee(
        kind,
        printed_terms(s, sigma_max, check_depth(G), corrected=corrected),
        violated=violated(s, sigma_max, G, corrected=corrected),
    )


def sharp(
    s: Setting,
    *,
    landmarks: int | None = None,
    stop: bool = False,
    min_size: int = 2,
    hasty: bool = False,
) -> Guarantee:
    """Theorem X for a setting that has been checked.

    `hasty` saves the work of making terms smaller that are nothing beside the others.
    """
    require_separations(s)
    m = None if landmarks is None else min(check_count("landmarks", landmarks), s.n)
    geometry = log_geometry(s, m)
    enough = geometry.total - 40.0 if hasty else -math.inf
    loss = log_loss(s, m, min_size=min_size, enough=enough)
    terms = {
        "cover": geometry.cover,
        "intrusion": geometry.intrusion,
        "separation": geometry.separation,
        "crowding": loss.crowded,
        "size": loss.small,
    }
    if s.k == 1:
        del terms["separation"]
    if stop and not (loss.t == 0 and min_size == 2 and m is None):
        terms["stop"] = _log_late_ball(s, all_pairs(s.n, m), min_size)
    return Guarantee("sharp", terms, loss.t, geometry.form)


def _log_late_ball(s: Setting, pairs: Pairs, min_size: int) -> float:
    """Log of P(some background point has min_size - 1 background points around it)."""
    if min_size == 2:
        return float(safe_log(pairs.unordered) + 2.0 * safe_log(s.pi_bg) + log_q2(s.R, s.D, s.d))
    log_bg = float(safe_log(s.pi_bg))
    ball = log_binom_ge(min_size - 1.0, s.n - 1.0, log_bg + log_q(s.R, s.D, s.d))
    return math.log(pairs.ordered / max(s.n - 1.0, 1.0)) + log_bg + ball
