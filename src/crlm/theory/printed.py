r"""The paper's theorems as printed, and with the one repair that makes them true.

*Printed* is `thm:onecluster` / `thm:multclust` to the letter. *Corrected* replaces the tail of
`deltato0`, false for G > 2.62, by the exact one; what remains is a theorem under A2, A3 and
:math:`W_j > 0` (docs/theory.md).
"""

from __future__ import annotations

import math

import numpy as np

from crlm.theory.setting import Setting
from crlm.theory.special import Array, exp, log_sum, safe_log
from crlm.theory.tails import chi2_logsf

TERMS = ("loss", "intrusion", "cover")


def margins_W(s: Setting, sigma_max: float, G: float) -> Array:
    r""":math:`W_j` of `eq:w_j` (`eq:w` for one cluster): how far a cluster beats the background.

    :math:`W_j = \pi_j (G - (1+G)\rho_j^2) - \pi_0 q G / (d/2 + 1)`, with :math:`\rho_j =
    \sigma_j/\sigma_{\max}` and :math:`q = (\sigma_{\max}\sqrt G/D)^d`.
    """
    gain = s.weights * (G - (1.0 + G) * np.square(s.sigmas / sigma_max))
    background = exp(float(safe_log(s.pi_bg)) + _log_A(s.d, sigma_max, s.D, G))
    result: Array = gain - background
    return result


def _log_A(d: float, sigma_max: float, D: float, G: float) -> float:
    """Log of ``G q / (d/2 + 1)``, of one background point the mean gain of all."""
    return math.log(G) - math.log(0.5 * d + 1.0) + _log_q(d, sigma_max, D, G)


def _log_q(d: float, sigma_max: float, D: float, G: float) -> float:
    """Log of the share of the background that a ball inside it holds."""
    return d * (math.log(sigma_max) + 0.5 * math.log(G) - math.log(D))


def log_weight_min(s: Setting, sigma_max: float, G: float) -> Array:
    r"""Log of the least :math:`\pi_j` that `eq:wtcond1` allows; inf where none is enough.

    :math:`\pi_j > A / (b_j + A)`, :math:`A = G q/(d/2+1)`, :math:`b_j = G - (1+G)\rho_j^2`. For
    one cluster this is :math:`W > 0`; for several it is a little stronger.
    """
    b = G - (1.0 + G) * np.square(s.sigmas / sigma_max)
    log_A = _log_A(s.d, sigma_max, s.D, G)
    log_b = np.log(np.where(b > 0.0, b, 1.0))
    return np.where(b > 0.0, log_A - np.logaddexp(log_b, log_A), np.inf)


def log_terms(s: Setting, sigma_max: float, G: float, *, corrected: bool) -> dict[str, float]:
    r"""Logs of the three terms of `eq:probbnd1`; the theorem promises 1 less their sum.

    loss: :math:`2nk \exp(-n \min_j W_j^2 / 2G^2)`; intrusion (C1 fails): :math:`nk (2\sigma_{\max}
    \sqrt G / D)^d`; cover (C2 fails): :math:`2n e^{-d(G-1)^2/8}` as printed,
    :math:`n P(\chi^2_d \ge dG)` corrected.
    """
    log_n, log_k = math.log(s.n), math.log(s.k)
    W = float(margins_W(s, sigma_max, G).min())
    loss = math.log(2.0) + log_n + log_k - s.n * (W / G) ** 2 / 2.0 if W > 0.0 else math.inf
    ratio = math.log(2.0) + math.log(sigma_max) + 0.5 * math.log(G) - math.log(s.D)
    cover = log_n + float(chi2_logsf(G * s.d, s.d))
    if not corrected:
        cover = math.log(2.0) + log_n - s.d * (G - 1.0) ** 2 / 8.0
    return dict(zip(TERMS, (loss, log_n + log_k + s.d * ratio, cover), strict=True))


def log_bernstein(s: Setting, sigma_max: float, G: float) -> Array:
    r"""Log of a bound on the loss term of each cluster by Bernstein's inequality; 0 if W_j <= 0.

    :math:`n \pi_0 \exp(GW/(V+GW/3) - (n-1)W^2/2(V+GW/3))` with :math:`V = G^2(\pi_j + 2\pi_0 q /
    (d/2+1)(d/2+2))`: that a background point beats the first point of the cluster. It asks for n
    as :math:`\log n / \pi_j` where the printed one asks for :math:`1/\pi_j^2`. Theorem X is better
    still, so that nothing is computed from it; it shows where the square is lost.
    """
    W = margins_W(s, sigma_max, G)
    q, h = exp(_log_q(s.d, sigma_max, s.D, G)), 0.5 * s.d
    V = G**2 * (s.weights + s.pi_bg * q * 2.0 / ((h + 1.0) * (h + 2.0)))
    scale = V + G * W / 3.0
    log = math.log(s.n) + float(safe_log(s.pi_bg)) + (G * W - 0.5 * (s.n - 1.0) * W**2) / scale
    return np.where(W > 0.0, np.minimum(log, 0.0), 0.0)


def center_rate_terms(s: Setting, sigma_max: float, G: float) -> list[float]:
    r"""Logs of the five terms of `cor:convergencerate`, in the order printed.

    With 1 less their sum, as printed, :math:`\|\hat\mu_j - \mu_j\|^2 < 4 d \max_j\sigma_j^2 /
    (n \min_j\pi_j)` for every cluster. The second and the last use `deltato0` outside its range.
    """
    T = log_terms(s, sigma_max, G, corrected=False)
    top, least = float(s.sigmas.max()), float(s.weights.min())
    depth = 2.0 * s.weights * np.square(top / s.sigmas) / least
    spread = math.log(2.0) + log_sum(-s.d / 8.0 * np.square(depth - 1.0))
    few = log_sum(-0.5 * s.n * np.square(s.weights))
    return [T["loss"], spread, few, T["intrusion"], T["cover"]]


def violated(s: Setting, sigma_max: float, G: float, *, corrected: bool) -> tuple[str, ...]:
    """Assumptions of the theorem that are known not to hold; the corrected one needs no A1."""
    R, found = s.R, []
    norms = 0.0 if s.center_norms is None else float(s.center_norms.max())
    if not corrected and s.B - norms <= 2.0 * R:
        found.append("A1")
    if s.k > 1 and s.separations is not None:
        gaps = s.separations[np.triu_indices(s.k, 1)]
        if float(gaps.min()) <= 2.0 * R:
            found.append("A2")
    if sigma_max <= 2.0 * float(s.sigmas.max()):
        found.append("A3")
    if float(margins_W(s, sigma_max, G).min()) <= 0.0:
        found.append("weight")
    return tuple(found)
