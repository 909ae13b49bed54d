r"""A cheap lower bound on squared distances, as one matrix product.

The filter may only *discard* pairs: whatever it keeps is measured again in float64 by
:mod:`crlm.search.distance`. Its error is folded into the norms so that discarding is safe.

With rows centred and divided by a power of two near R, and
``s_a = (1 - gamma) * |a|**2``, one product of the rows ``[-2a, s_a, 1]`` and ``[b, 1, s_b]``
gives

.. math:: V = s_a + s_b - 2ab = |a - b|^2 - \gamma(|a|^2 + |b|^2) + \text{rounding}.

Rounding, for m columns and unit roundoff u: the coordinates, u each, move ``2ab`` by at most
``(2u + u^2)(|a|^2 + |b|^2)``; the two norms by ``u`` times their sum; and a sum of m products
in any order, fused or not, by ``gamma_m * (2|a||b| + s_a + s_b)`` with
``gamma_m = m u / (1 - m u)`` (Higham, Accuracy and Stability, 3.1), at most
``2 gamma_m (|a|^2 + |b|^2)``. So ``gamma = 2 gamma_m + 8u`` makes V a lower bound on the true
squared distance, and ``V >= cutoff`` proves that a pair is too far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.search.distance import Floats, chunks

_MAX_FLOAT32_NORM = 2.0**50  # in units of R; squares stay far below float32's 2**127
_MAX_FLOAT64_NORM = 2.0**500
_N_CENTRE_ROWS = 1001


class Frame(NamedTuple):
    """Where the filter puts the origin and the unit, and how far its numbers can be trusted."""

    center: NDArray[np.float64]  # (d,)
    exponent: int  # rows are divided by 2**exponent, which is near R
    dtype: type[np.float32] | type[np.float64]
    gamma: float
    cutoff: float  # pairs with V at or above it are too far

    def right(self, X: Floats, out: Floats | None = None) -> Floats:
        """Rows ``[b, 1, s_b]`` of the product, (n, d + 2)."""
        n, d = X.shape
        if out is None:
            out = np.empty((n, d + 2), dtype=self.dtype)
        for part in chunks(n, d):
            b = np.ldexp(np.subtract(X[part], self.center, dtype=np.float64), -self.exponent)
            out[part, :d] = b
            out[part, d] = 1.0
            out[part, d + 1] = (1.0 - self.gamma) * np.square(b, out=b).sum(axis=1)
        return out

    def left(self, right: Floats) -> Floats:
        """Rows ``[-2a, s_a, 1]``, made from the rows ``[a, 1, s_a]``."""
        left = np.empty_like(right)
        np.multiply(right[:, :-2], -2.0, out=left[:, :-2])
        left[:, -2], left[:, -1] = right[:, -1], right[:, -2]
        return left


def frame(X: Floats, sq_cutoff: float) -> Frame:
    """Choose origin, unit and precision for filtering the rows of `X` at one cutoff."""
    center = _middle(X)
    exponent = math.frexp(math.sqrt(sq_cutoff))[1]
    norm = _largest_norm(X, center, exponent)
    if norm > _MAX_FLOAT64_NORM:
        msg = (
            f"X holds values 1e{round(math.log10(norm))} times as large as the radius "
            f"{math.sqrt(sq_cutoff):.3g}, and their squares do not fit a float64. Drop the rows "
            f"with such values, or use a larger sigma_max."
        )
        raise InputError(msg)

    m = X.shape[1] + 2
    single = norm < _MAX_FLOAT32_NORM and m * 2.0**-24 < 0.01
    u = 2.0**-24 if single else 2.0**-53
    gamma = 2.0 * m * u / (1.0 - m * u) + 8.0 * u

    # The measured distance is itself rounded, by less than (d + 2) * 2**-53, and products of
    # denormal numbers lose an absolute 2**-149; both are paid for here.
    cutoff = math.ldexp(sq_cutoff, -2 * exponent) * (1.0 + (m + 2) * 2.0**-52) + 2.0**-60
    if single:
        cutoff = float(np.nextafter(np.float32(cutoff), np.float32(np.inf)))
    return Frame(center, exponent, np.float32 if single else np.float64, gamma, cutoff)


def _middle(X: Floats) -> NDArray[np.float64]:
    """Coordinatewise median of up to a thousand rows: one huge outlier does not move it."""
    step = -(-len(X) // _N_CENTRE_ROWS)
    return np.median(np.asarray(X[::step], dtype=np.float64), axis=0)


def _largest_norm(X: Floats, center: NDArray[np.float64], exponent: int) -> float:
    largest = 0.0
    for part in chunks(*X.shape):
        diff = np.ldexp(np.subtract(X[part], center, dtype=np.float64), -exponent)
        largest = max(largest, float(np.abs(diff).max(initial=0.0)))
    return largest * math.sqrt(X.shape[1])
