r"""Sums of losses over whole blocks of pairs, where too many are near to look at one by one.

The loss of a pair, in quanta and before it is rounded,

.. math:: t = 2^{30} \bigl(|a - b|^2 / (d \sigma^2) - G\bigr),

comes for a block of pairs from one product in float64, with an error of at most E: the bound of
:mod:`crlm.search.filter` with the unit roundoff of float64, plus the rounding of the definition
itself. Rounding t gives the same whole number as rounding the measured loss unless t lies
within E of a half, and only those pairs are measured. E is about 1e-4, so they are few, and the
sums are the same to the bit as those of measured pairs. A pair is near if t is below 0; within E of
that it is measured too.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crlm.loss import QUANTUM, fixed_point, robust_loss, sq_cutoff
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import middle
from crlm.search.pairs import Charge, Counted, Part, Weights, weigh

TILE = (1024, 512)  # rows and columns of a block
_U = 2.0**-53


def dense_workspace(d: int, n_jobs: int) -> int:
    """Bytes that the blocks of all threads take."""
    return n_jobs * (TILE[0] * TILE[1] * 20 + (3 * TILE[0] + 2 * TILE[1]) * (d + 2) * 8) + (1 << 24)


class DenseLosses:
    """Losses between any rows of `X`, a block at a time."""

    def __init__(
        self, X: Floats, sigma_max: float, G: float, weights: Weights, counted: Counted
    ) -> None:
        self._X, self._sigma_max, self._G = X, sigma_max, G
        self._weights, self._counted = weights, counted
        self._sq_cutoff = sq_cutoff(sigma_max, X.shape[1], G)
        self._center = middle(X)
        # A sum over a block stays below 2**53, where float64 still counts by ones.
        self._plain = bool((weights == 1).all()) and G * TILE[1] / QUANTUM < 2.0**53

    def all_parts(self) -> list[Part]:
        """Losses of all rows from all others."""
        return self.parts_from(np.arange(len(self._X)))

    def parts_from(self, C: NDArray[np.intp]) -> list[Part]:
        """Losses of all rows from the rows `C`."""
        n = len(self._X)
        tiles = [np.arange(at, min(at + TILE[0], n)) for at in range(0, n, TILE[0])]
        return [partial(self._part, rows, C) for rows in tiles]

    def _part(self, rows: NDArray[np.intp], C: NDArray[np.intp]) -> list[Charge]:
        return [Charge(rows, *self.sums(rows, C))]

    def sums(
        self, rows: NDArray[np.intp], others: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Loss of each of `rows` from the `others` in its ball, without itself; and how many."""
        L, m = np.zeros((2, len(rows)), dtype=np.int64)
        right = self._right(rows)
        left = np.empty_like(right)
        np.multiply(right[:, :-2], -2.0 / QUANTUM, out=left[:, :-2])
        # The depth G is folded in here, the scale too, which is a power of two.
        with np.errstate(over="ignore"):
            left[:, -2], left[:, -1] = (right[:, -1] - self._G) / QUANTUM, 1.0 / QUANTUM
        longest = float(right[:, -1].max(initial=0.0))
        t, nearest = np.empty((2, len(rows) * TILE[1]))
        for start in range(0, len(others), TILE[1]):
            part = others[start : start + TILE[1]]
            panel = self._right(part)
            shape, size = (len(rows), len(part)), len(rows) * len(part)
            with np.errstate(over="ignore", invalid="ignore"):
                T = np.matmul(left, panel.T, out=t[:size].reshape(shape))
            Q = nearest[:size].reshape(shape)
            error = self._error(longest + float(panel[:, -1].max()))
            # Squares of far outliers may overflow; what is no number then is measured.
            with np.errstate(over="ignore", invalid="ignore"):
                near = self._round(T, Q, error, rows, part)
            if rows.min() <= part.max() and part.min() <= rows.max():
                itself = np.equal.outer(rows, part)
                Q[itself], near[itself] = 0.0, False
            L += self._total(Q, part)
            near &= self._counted[part]
            m += np.count_nonzero(near, axis=1)
        return L, m

    def _right(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Rows ``[b, 1, |b|**2]`` in units of ``sigma_max * sqrt(d)``."""
        d = self._X.shape[1]
        b = np.subtract(self._X.take(rows, axis=0), self._center, dtype=np.float64)
        b /= self._sigma_max * math.sqrt(d)
        out = np.empty((len(rows), d + 2))
        out[:, :d], out[:, d] = b, 1.0
        with np.errstate(over="ignore"):
            out[:, d + 1] = np.square(b, out=b).sum(axis=1)
        return out

    def _error(self, sq_norms: float) -> float:
        w = self._X.shape[1] + 2
        # The norms are sums of w squares, and the coordinates are centred and scaled.
        product = (3.0 * w * _U / (1.0 - w * _U) + 16.0 * _U) * (sq_norms + self._G)
        definition = (w + 10) * 2.0 * _U * self._G
        return float(product + definition) / QUANTUM

    def _round(
        self,
        T: NDArray[np.float64],
        Q: NDArray[np.float64],
        error: float,
        rows: NDArray[np.intp],
        part: NDArray[np.intp],
    ) -> NDArray[np.bool_]:
        """Put the rounded losses of a block in `Q`; which are near, measured if in doubt."""
        near, far = -error > T, error < T
        np.minimum(T, 0.0, out=T)
        np.rint(T, out=Q)
        np.subtract(T, Q, out=T)
        np.abs(T, out=T)
        in_no_doubt = 0.5 - error >= T
        in_no_doubt &= near
        in_no_doubt |= far
        at = np.flatnonzero(~in_no_doubt)
        if len(at):
            i, j = np.divmod(at, len(part))
            sq_dist = sq_distances_of_pairs(self._X, rows[i], self._X, part[j])
            d = self._X.shape[1]
            Q[i, j] = fixed_point(robust_loss(sq_dist, self._sigma_max, d, self._G))
            near[i, j] = sq_dist < self._sq_cutoff
        return near

    def _total(self, Q: NDArray[np.float64], part: NDArray[np.intp]) -> NDArray[np.int64]:
        total: NDArray[np.int64]
        if self._plain:
            total = Q.sum(axis=1).astype(np.int64)
        else:
            total = weigh(Q.astype(np.int64), self._weights[part]).sum(axis=1)
        return total
