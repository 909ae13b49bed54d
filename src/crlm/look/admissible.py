"""Bandwidths that the paper's assumptions allow, with the fitted numbers put in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crlm.certificate import Certificate


def admissible_interval(certificate: Certificate) -> tuple[float, float] | None:
    """Bandwidths above twice every sigma (A3) and small enough for A1 and A2; None if none are.

    An estimate: the sigmas, the means and the extent of the background are the fitted ones.
    """
    c = certificate
    if not c.k or not (c.sigmas > 0.0).all():
        return None
    low = 2.0 * float(c.sigmas.max())
    a1 = (c.D - float(c.center_norms.max()) / math.sqrt(c.d)) / (2.0 * math.sqrt(c.G))
    gaps = np.broadcast_to(c.gaps, (c.k, c.k))[np.triu_indices(c.k, 1)]
    a2 = float(gaps.min(initial=math.inf)) / (2.0 * math.sqrt(c.d * c.G))
    high = min(a1, a2)
    return (low, high) if low < high else None
