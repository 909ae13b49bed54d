"""The paper's assumptions A1, A2, A3 and its weight condition, for a known model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import distance

from crlm.model import GMMUB
from crlm.theory.printed import log_weight_min, margins_W
from crlm.theory.setting import Setting, check_depth, check_positive
from crlm.theory.special import Array


@dataclass(frozen=True, eq=False)
class Assumptions:
    r"""How far each assumption holds; above 0 it does. In units of :math:`R` or as a ratio.

    Attributes
    ----------
    a1 : ndarray of shape (k,)
        :math:`(D\sqrt d - \|\mu_j\| - 2R) / R`: the ball around a mean lies in the background.
    a1_first : float
        :math:`D / (2\sigma_{\max}\sqrt G) - 1`, the first half of A1, which `a1` implies.
    a2 : float
        :math:`\min_{j<l} \|\mu_j - \mu_l\| / 2R - 1`: means are far apart; inf for one cluster.
    a3 : float
        :math:`\sigma_{\max} / (2 \max_j \sigma_j) - 1`: the bandwidth is wide enough.
    weight : ndarray of shape (k,)
        :math:`\pi_j` less the share that `eq:wtcond1` asks for.
    W : ndarray of shape (k,)
        :math:`W_j` of `eq:w_j`; for one cluster positive exactly when `weight` is.
    """

    a1: Array
    a1_first: float
    a2: float
    a3: float
    weight: Array
    W: Array

    @property
    def slacks(self) -> dict[str, float]:
        """Least slack of each assumption, by name."""
        return {
            "A1": float(self.a1.min(initial=math.inf)),
            "A2": self.a2,
            "A3": self.a3,
            "weight": float(self.weight.min(initial=math.inf)),
        }

    @property
    def hold(self) -> bool:
        """Whether all of them hold."""
        return all(slack > 0.0 for slack in self.slacks.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "A1": self.a1.tolist(),
            "A2": self.a2,
            "A3": self.a3,
            "weight": self.weight.tolist(),
            "W": self.W.tolist(),
        }


def assumptions(model: GMMUB, sigma_max: float, G: float = 4.0) -> Assumptions:
    """Slack of A1, A2, A3 and of the weight condition `eq:wtcond1` for a model.

    >>> model = GMMUB(means=[[0.0] * 20], sigmas=1.0, weights=0.1, D=60.0)
    >>> found = assumptions(model, sigma_max=2.5)
    >>> found.hold, round(found.a3, 3), round(float(found.W[0]), 3)
    (True, 0.25, 0.32)
    """
    sigma_max, G = check_positive("sigma_max", sigma_max), check_depth(G)
    R = sigma_max * math.sqrt(model.d * G)
    norms = np.linalg.norm(model.means - model.center, axis=1)
    gaps = distance.squareform(distance.pdist(model.means)) if model.k else np.empty((0, 0))
    return slacks(
        Setting(1.0, model.d, model.weights, model.sigmas, R, model.D, norms, gaps), sigma_max, G
    )


def slacks(s: Setting, sigma_max: float, G: float) -> Assumptions:
    """The same from sizes alone; a norm or separation that is not given does not limit."""
    R = s.R
    norms = np.zeros(s.k) if s.center_norms is None else s.center_norms
    gaps = np.empty(0) if s.separations is None else s.separations[np.triu_indices(s.k, 1)]
    least = np.exp(np.minimum(log_weight_min(s, sigma_max, G), 0.0))
    widest = float(s.sigmas.max(initial=0.0))  # 0 for coincident rows, which any bandwidth covers
    return Assumptions(
        a1=(s.B - norms - 2.0 * R) / R,
        a1_first=s.D / (2.0 * sigma_max * math.sqrt(G)) - 1.0,
        a2=float(gaps.min(initial=math.inf)) / (2.0 * R) - 1.0,
        a3=sigma_max / (2.0 * widest) - 1.0 if widest else math.inf,
        weight=s.weights - least,
        W=margins_W(s, sigma_max, G),
    )
