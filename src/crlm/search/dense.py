r"""Sums of losses over whole blocks of pairs, where too many are near to look at one by one.

The loss of a pair, in quanta and before it is rounded,

.. math:: t = 2^{30} \bigl(|a - b|^2 / (d \sigma^2) - G\bigr),

comes for a block of pairs from one product in float64, with an error of at most E: the bound of
:mod:`crlm.search.filter` with the unit roundoff of float64, plus the rounding of the definition
itself. Rounding t gives the same whole number as rounding the measured loss unless t lies
within E of a half, and only those pairs are measured. E is about 1e-4, so they are few, and the
sums are the same to the bit as those of measured pairs.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crlm.loss import QUANTUM, fixed_point, robust_loss
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.filter import middle
from crlm.search.pairs import Charge, Part, Weights, weigh

TILE = (1024, 512)  # rows and columns of a block
_U = 2.0**-53


def dense_workspace(d: int, n_jobs: int) -> int:
    """Bytes that the blocks of all threads take."""
    return n_jobs * (TILE[0] * TILE[1] * 18 + (3 * TILE[0] + 2 * TILE[1]) * (d + 2) * 8) + (1 << 24)


class DenseLosses:
    """Losses between any rows of `X`, a block at a time."""

    def __init__(self, X: Floats, sigma_max: float, G: float, weights: Weights) -> None:
        self._X, self._sigma_max, self._G, self._weights = X, sigma_max, G, weights
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
        return [(rows, self.sums(rows, C))]

    def sums(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.int64]:
        """Loss of each of `rows` from the `others` in its ball, itself not counted."""
        L = np.zeros(len(rows), dtype=np.int64)
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
                self._round(T, Q, error, rows, part)
            if rows.min() <= part.max() and part.min() <= rows.max():
                Q[np.equal.outer(rows, part)] = 0.0  # a row is not its own neighbour
            L += self._total(Q, part)
        return L

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
    ) -> None:
        """Put the rounded losses of a block in `Q`; measures where `T` cannot tell."""
        # With a small error a pair that is clipped to 0 is in no doubt; with a large one ask first.
        far = error < T if error > 0.1 else np.False_
        np.minimum(T, 0.0, out=T)
        np.rint(T, out=Q)
        np.subtract(T, Q, out=T)
        np.abs(T, out=T)
        in_no_doubt = 0.5 - error >= T
        at = np.flatnonzero(~(in_no_doubt | far))
        if len(at):
            i, j = np.divmod(at, len(part))
            sq_dist = sq_distances_of_pairs(self._X, rows[i], self._X, part[j])
            d = self._X.shape[1]
            Q[i, j] = fixed_point(robust_loss(sq_dist, self._sigma_max, d, self._G))

    def _total(self, Q: NDArray[np.float64], part: NDArray[np.intp]) -> NDArray[np.int64]:
        total: NDArray[np.int64]
        if self._plain:
            total = Q.sum(axis=1).astype(np.int64)
        else:
            total = weigh(Q.astype(np.int64), self._weights[part]).sum(axis=1)
        return total
