r"""A cheap lower bound on squared distances, as one matrix product of few columns.

The filter may only *discard* pairs: whatever it keeps is measured again in float64 by
:mod:`crlm.search.distance`. It works on *coordinates*: rows are centred, divided by a power of
two near R and, where that tells most pairs apart, reduced to their components along m
orthonormal directions and the length of what is left,

.. math:: c(a) = (q_1 a, \dots, q_m a, \; |a - Q Q^T a|).

No distance grows by this: a projection shortens, and two lengths differ by no more than the
vectors do. And ``|c(a)| = |a|``. With ``s_a = (1 - gamma) * |a|**2``, one product of the rows
``[-2c, s, 1]`` and ``[c, 1, s]`` gives

.. math:: V = s_a + s_b - 2 c_a c_b = |c_a - c_b|^2 - \gamma(|a|^2 + |b|^2) + \text{rounding}.

Rounding, for w columns in all and unit roundoff u: the coordinates, u each, move ``2 c_a c_b``
by at most ``(2u + u^2)(|a|^2 + |b|^2)``; the norms by ``u`` times their sum; a sum of w products
in any order, fused or not, by ``gamma_w (2|a||b| + s_a + s_b)`` with
``gamma_w = w u / (1 - w u)`` (Higham, Accuracy and Stability, 3.1), so by at most
``2 gamma_w (|a|^2 + |b|^2)``; centring, scaling and adding up the norms in float64 by
``(d + 8) 2**-53`` of the same. The length of the rest comes from a difference of squares that is
right to ``eps |a|^2`` with ``eps = 4 (d + w) 2**-53``; it is off by at most ``sqrt(eps) |a|``,
and the squared distance with it by ``(4 sqrt(eps) + 2 eps)(|a|^2 + |b|^2)``. So
``gamma = 2 gamma_w + 8u + (d + 8) 2**-53 + 8 sqrt(eps)`` makes V a lower bound on the true
squared distance, and ``V >= cutoff`` proves that a pair is too far.

Where few directions leave many pairs, those pairs get *another look*, at some more directions
each: with r the length of the rest before and r' after it,
``V' = V + 2 (r_a r_b - c_a c_b - r'_a r'_b)``, over the new directions, is the bound along all
so far. Its rounding is that of the longer sum and of five more numbers no larger than
``3 (|a|^2 + |b|^2)``, so w counts all columns and sixteen more for every look.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.search.distance import Floats

_MAX_FLOAT32_NORM = 2.0**50  # in units of R; squares stay far below float32's 2**127
_MAX_FLOAT64_NORM = 2.0**500
_N_CENTRE_ROWS = 1001


class Frame(NamedTuple):
    """Origin, unit and directions of the filter, and how far its numbers can be trusted."""

    center: NDArray[np.float64]  # (d,)
    exponent: int  # rows are divided by 2**exponent, which is near R
    basis: NDArray[np.float64] | None  # (d, m), orthonormal columns; None keeps every column
    ends: tuple[int, ...]  # directions in the product, and after each further look
    dtype: type[np.float32] | type[np.float64]
    gamma: float
    cutoff: float  # pairs with V at or above it are too far
    norm: float  # no row is longer, in these units
    sq_cutoff: float  # in the units of the data

    @property
    def width(self) -> int:
        """Columns of the product."""
        return self.ends[0] + (2 if self.basis is None else 3)

    @property
    def widths(self) -> list[int]:
        """Columns of the product, and of each further look."""
        return [self.width, *(end - start + 1 for start, end in pairwise(self.ends))]

    def along(
        self, basis: NDArray[np.float64] | None, ends: tuple[int, ...] | None = None
    ) -> Frame:
        """The same origin and unit with other directions, all in the product without `ends`."""
        return _finish(self.center, self.exponent, self.norm, self.sq_cutoff, basis, ends)

    def empty(self, n: int) -> list[Floats]:
        """Room for `n` rows of the product, and of each further look."""
        if self.dtype is np.float32:
            return [np.empty((n, width), dtype=np.float32) for width in self.widths]
        return [np.empty((n, width), dtype=np.float64) for width in self.widths]

    def centred(self, X: Floats) -> NDArray[np.float64]:
        """Rows from the origin, in the unit of the frame."""
        a = np.subtract(X, self.center, dtype=np.float64)
        a *= math.ldexp(1.0, -self.exponent)
        return a

    def coordinates(self, X: Floats) -> NDArray[np.float64]:
        """Coordinates of the rows, (n, m + 1), or (n, d) without a basis."""
        a = self.centred(X)
        if self.basis is None:
            return a
        m = self.basis.shape[1]
        out = np.empty((len(X), m + 1))
        np.matmul(a, self.basis, out=out[:, :m])
        sq_rest = _sq_lengths(a) - _sq_lengths(out[:, :m])
        out[:, m] = np.sqrt(np.maximum(sq_rest, 0.0))
        return out

    def right(self, X: Floats) -> Floats:
        """Rows ``[c, 1, s]`` of the product."""
        return self.rows(X)[0]

    def rows(self, X: Floats) -> list[Floats]:
        """Rows ``[c, 1, s]`` of the product, and rows ``[c, r']`` for each further look."""
        c = self.coordinates(X)
        out = self.empty(len(X))
        right, m = out[0], self.ends[0]
        right[:, :m] = c[:, :m]
        for columns, (start, end) in zip(out[1:], pairwise(self.ends), strict=True):
            columns[:, :-1] = c[:, start:end]
        if self.basis is not None:
            right[:, m] = np.sqrt(_sq_lengths(c[:, m:]))
        right[:, -2] = 1.0
        right[:, -1] = (1.0 - self.gamma) * _sq_lengths(c)
        for columns, end in zip(out[1:], self.ends[1:], strict=True):
            columns[:, -1] = np.sqrt(_sq_lengths(c[:, end:]))
        return out

    def length(self, s: NDArray[np.float32] | float) -> NDArray[np.float64]:
        """At least the length of rows, from the last column of ``[c, 1, s]``."""
        sq_norm: NDArray[np.float64] = np.asarray(s, dtype=np.float64) / (1.0 - self.gamma)
        return np.sqrt(sq_norm) * (1.0 + 2.0**-20)

    def left(self, right: Floats) -> Floats:
        """Rows ``[-2c, s, 1]``, made from the rows ``[c, 1, s]``."""
        left = np.empty_like(right)
        np.multiply(right[:, :-2], -2.0, out=left[:, :-2])
        left[:, -2], left[:, -1] = right[:, -1], right[:, -2]
        return left


def frame(X: Floats, sq_cutoff: float, basis: NDArray[np.float64] | None = None) -> Frame:
    """Choose origin, unit and precision for filtering the rows of `X` at one cutoff."""
    return frame_in_box(middle(X), *column_range(X), sq_cutoff, basis)


def frame_in_box(
    center: NDArray[np.float64],
    low: Floats,
    high: Floats,
    sq_cutoff: float,
    basis: NDArray[np.float64] | None = None,
) -> Frame:
    """The same for rows of which only the smallest and largest numbers are known."""
    exponent = math.frexp(math.sqrt(sq_cutoff))[1]
    norm = _largest_norm(low, high, center, exponent)
    if norm > _MAX_FLOAT64_NORM:
        msg = (
            f"X holds values 1e{round(math.log10(norm))} times as large as the radius "
            f"{math.sqrt(sq_cutoff):.3g}, and their squares do not fit a float64. Drop the rows "
            f"with such values, or use a larger sigma_max."
        )
        raise InputError(msg)

    return _finish(center, exponent, norm, sq_cutoff, basis)


def _finish(
    center: NDArray[np.float64],
    exponent: int,
    norm: float,
    sq_cutoff: float,
    basis: NDArray[np.float64] | None,
    ends: tuple[int, ...] | None = None,
) -> Frame:
    d = len(center)
    if ends is None:
        ends = (d if basis is None else basis.shape[1],)
    assert basis is None or ends[-1] == basis.shape[1], "a look along directions that are not there"
    w = ends[-1] + 3 + 16 * (len(ends) - 1)
    single = norm < _MAX_FLOAT32_NORM and w * 2.0**-24 < 0.01
    u = 2.0**-24 if single else 2.0**-53
    gamma = 2.0 * w * u / (1.0 - w * u) + 8.0 * u + (d + 8) * 2.0**-53
    if basis is not None:
        gamma += 8.0 * math.sqrt(4.0 * (d + w) * 2.0**-53)

    # The measured distance is itself rounded, by less than (d + 2) * 2**-53, and products of
    # denormal numbers lose an absolute 2**-149; both are paid for here.
    cutoff = math.ldexp(sq_cutoff, -2 * exponent) * (1.0 + (d + 4) * 2.0**-52) + 2.0**-60
    if single:
        cutoff = float(np.nextafter(np.float32(cutoff), np.float32(np.inf)))
    dtype = np.float32 if single else np.float64
    return Frame(center, exponent, basis, ends, dtype, gamma, cutoff, norm, sq_cutoff)


def _sq_lengths(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared lengths of rows, faster than by a sum where these are short."""
    sq_lengths: NDArray[np.float64] = np.einsum("ij,ij->i", A, A)
    return sq_lengths


def middle(X: Floats) -> NDArray[np.float64]:
    """Coordinatewise median of up to a thousand rows: one huge outlier does not move it."""
    step = -(-len(X) // max(1, min(_N_CENTRE_ROWS, (1 << 21) // X.shape[1])))
    return np.median(np.asarray(X[::step], dtype=np.float64), axis=0)


def _largest_norm(low: Floats, high: Floats, center: NDArray[np.float64], exponent: int) -> float:
    """Half the diagonal of a cube around the data, which bounds every norm."""
    reach = max(np.abs(low - center).max(), np.abs(high - center).max())
    return math.ldexp(float(reach), -exponent) * math.sqrt(len(center))


def column_range(X: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest number of each column."""
    n, d = X.shape
    together = max(1, min(n, 256 // d))  # narrow rows side by side: NumPy is slow on short ones
    wide = X[: n // together * together].reshape(-1, together * d)
    rest = X[n // together * together :]
    low = np.vstack([wide.min(axis=0).reshape(together, d), rest]).min(axis=0)
    high = np.vstack([wide.max(axis=0).reshape(together, d), rest]).max(axis=0)
    return low, high
