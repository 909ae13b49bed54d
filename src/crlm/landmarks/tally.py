"""The third pass: members of each cluster counted, their means and spreads.

Sums of deviations from the centre are kept in three whole numbers of 30 bits each, which holds a
float to its last bit, so that they are exact: blocks and shards add up to the same in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.labels import BACKGROUND
from crlm.landmarks.sieve import Sieve, near_pairs
from crlm.loss import QUANTUM, fixed_point
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances

I64 = NDArray[np.int64]

_BITS, _LANES = 30, 3
_ONE = 1 << (_BITS * _LANES)


class Tally(NamedTuple):
    """Sums over the members of k clusters."""

    rows: I64  # (k,) how many
    weights: I64  # (k,) points, in quanta
    sums: I64  # (k, 3, d) of deviations from the centre, in units of the radius
    squares: I64  # (k, 3) of their squares
    background: int  # points in no cluster, in quanta

    @classmethod
    def empty(cls, k: int, d: int) -> Tally:
        """Nothing counted yet."""
        counts, weights = np.zeros((2, k), dtype=np.int64)
        sums, squares = np.zeros((k, _LANES, d), np.int64), np.zeros((k, _LANES), np.int64)
        return cls(counts, weights, sums, squares, 0)


def label_rows(X: Floats, sieve: Sieve) -> I64:
    """Number of the first of the sieve's landmarks whose ball holds each row, or background."""
    labels = np.full(len(X), BACKGROUND, dtype=np.int64)
    near = near_pairs(X, sieve)
    rows, first = np.unique(near.i, return_index=True)
    labels[rows] = near.j[first]
    return labels


def tally(X: Floats, labels: I64, centers: Floats, unit: int, weights: Weights | None) -> Tally:
    """Count the rows of `X` into their clusters; lengths are in units of ``2**unit``."""
    out = Tally.empty(len(centers), X.shape[1])
    rows = np.flatnonzero(labels != BACKGROUND)
    w = np.ones(len(X), dtype=np.int64) if weights is None else weights
    for j in np.unique(labels[rows]).tolist():
        members = rows[labels[rows] == j]
        points = X[members].astype(np.float64)
        center = np.broadcast_to(centers[j].astype(np.float64), points.shape)
        deviation = np.ldexp(points - center, -unit)
        square = np.ldexp(sq_distances(points, center), -2 * unit)
        out.rows[j] = len(members)
        out.weights[j] = fixed_point(w[members]).sum()
        out.sums[j] = _lanes(deviation, w[members]).sum(axis=1)
        out.squares[j] = _lanes(square, w[members]).sum(axis=1)
    return out._replace(background=int(fixed_point(w[labels == BACKGROUND]).sum()))


def merge_tallies(parts: Sequence[Tally]) -> Tally:
    """Add up."""
    return Tally(
        np.sum([part.rows for part in parts], axis=0),
        np.sum([part.weights for part in parts], axis=0),
        np.sum([part.sums for part in parts], axis=0),
        np.sum([part.squares for part in parts], axis=0),
        sum(part.background for part in parts),
    )


class Moments(NamedTuple):
    """Points, mean and standard deviation per coordinate of each cluster."""

    sizes: NDArray[np.float64]
    means: NDArray[np.float64]
    sigmas: NDArray[np.float64]


def moments(total: Tally, centers: Floats, unit: int, sigma_max: float) -> Moments:
    """Means and sigmas from exact sums; a point alone says nothing of the spread: sigma_max."""
    k, d = centers.shape
    means, sigmas = centers.astype(np.float64), np.full(k, sigma_max)
    for j in range(k):
        n = Fraction(int(total.weights[j]), round(1 / QUANTUM))
        sums = [_joined(lanes) for lanes in total.sums[j].T.tolist()]
        whole = n * _ONE
        means[j] += [math.ldexp(float(s / whole), unit) for s in map(Fraction, sums)]
        if n > 1:
            sq_sum = sum(s * s for s in sums)
            spread = (_joined(total.squares[j].tolist()) - Fraction(sq_sum, _ONE) / n) / _ONE
            variance = max(float(spread / (d * (n - 1))), 0.0)
            sigmas[j] = math.ldexp(math.sqrt(variance), unit)
    sizes: NDArray[np.float64] = total.weights.astype(np.float64) * QUANTUM
    return Moments(sizes, means, sigmas)


def tally_of(found: Moments, rows: I64, centers: Floats, unit: int, background: float) -> Tally:
    """Sums that belong to these moments, to go on counting from."""
    out = Tally.empty(*centers.shape)
    d = centers.shape[1]
    out.weights[:] = fixed_point(found.sizes)
    out.rows[:] = rows
    for j, (n, mean, sigma) in enumerate(zip(*found, strict=True)):
        shift = np.ldexp(mean - centers[j].astype(np.float64), -unit)
        out.sums[j] = _lanes(n * shift, np.int64(1))
        spread = d * (n - 1) * math.ldexp(sigma, -unit) ** 2 if n > 1 else 0.0
        out.squares[j] = _lanes(np.array(spread + n * float(np.square(shift).sum())), np.int64(1))
    return out._replace(background=int(fixed_point(background)))


def unit_of(radius: float) -> int:
    """Exponent of the power of two above the radius: no deviation of a member is longer."""
    return math.frexp(radius)[1]


def _lanes(values: NDArray[np.float64], weights: Weights | np.int64) -> I64:
    """Values times weights as whole numbers of 30 bits: (3, ...)."""
    w = np.asarray(weights)
    w = w.reshape(w.shape + (1,) * (values.ndim - w.ndim))
    whole = np.issubdtype(w.dtype, np.integer)
    rest = values if whole else values * w
    lanes = []
    for _ in range(_LANES):
        rest = rest * 2.0**_BITS
        lane = np.rint(rest)
        rest = rest - lane
        lanes.append(lane.astype(np.int64))
    stacked = np.stack(lanes)
    return stacked * w.astype(np.int64) if whole else stacked


def _joined(lanes: list[int]) -> int:
    total = 0
    for lane in lanes:
        total = (total << _BITS) + lane
    return total
