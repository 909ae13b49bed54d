"""How far each cluster reaches: a bandwidth of its own.

Clusters are found with one radius for all. But real ones differ in width, and the radius that
suits all of them cuts some short. So each is then given the widest ball around its centre that is
still about as surprising as can be: with at least half of the surprise of the most surprising
one. Beyond its edge a ball gains nothing but background, and its surprise falls. Once it has fallen
below a quarter, a later rise is another cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.greedy import Ball
from crlm.loss import sq_cutoff
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances_of_pairs
from crlm.significance import Background

F64 = NDArray[np.float64]

# Radii differ by 2**(1/32), as where one is chosen for all (:mod:`crlm.sigma`): from the 16th
# below, 1 / sqrt(2) of that one, up to 16 octaves above; a ball of half of the points is none.
_STEPS = np.arange(-16, 16 * 32 + 1) / 32.0
_COMMON = 16  # place of that one radius
_LASTS, _LOST = 0.5, 0.25


class Extent(NamedTuple):
    """A cluster with a bandwidth of its own."""

    number: int  # which of the balls it was found as
    ball: Ball
    bandwidth: float


def own_extents(
    X: Floats,
    weights: Weights,
    background: Background,
    balls: Sequence[Ball],
    sigma_max: float,
    G: float,
    alpha: float,
    min_size: int,
) -> Iterator[Extent]:
    """Yield the balls, each as wide as it is surprising, in the order found.

    Rows belong to the first ball that reaches them. A ball whose centre another one took, or that
    is too small or not significant without what others took, is left out.
    """
    references = background.references
    log_n = math.log(references.n_points)
    needed = log_n - math.log(alpha)
    bandwidths = sigma_max * np.exp2(_STEPS)
    cutoffs = np.array([sq_cutoff(own, X.shape[1], G) for own in bandwidths.tolist()])
    log_R = 0.5 * np.log(cutoffs)
    free = np.ones(len(X), dtype=bool)
    for number, ball in enumerate(balls):
        i = ball.center_index
        if not free[i]:
            continue
        sq_dist = _sq_distances_from(X, i)
        # Balls are open: a row at the very radius is in the next one.
        first = np.searchsorted(cutoffs, sq_dist, side="right")
        points = np.bincount(first[free & references.distinct], minlength=len(cutoffs) + 1)
        m = np.maximum(np.cumsum(points[:-1]) - 1, 0)
        surprise = log_n - background.log_p(references.around_of(X, i), m, log_R)
        if surprise.max() < needed:
            continue
        at = _widest(surprise, needed)
        counts = free & (weights > 0)
        if not (counts & (first > min(at, _COMMON)) & (first <= max(at, _COMMON))).any():
            at = _COMMON  # nothing lies between the two
        if at < _COMMON and weights[free & (first <= at)].sum() < min_size:
            at = _COMMON  # as large as it was found
        members = np.flatnonzero(free & (first <= at))
        size = weights[members].sum().item()
        if size < min_size:
            continue
        free[members] = False
        yield Extent(number, Ball(i, members, size, ball.loss), float(bandwidths[at]))


def _widest(surprise: F64, needed: float) -> int:
    """Place of the widest ball that belongs to the most surprising one."""
    top = int(surprise.argmax())
    lost = np.flatnonzero(surprise[top:] < max(_LOST * surprise[top], needed))
    end = top + int(lost[0]) if len(lost) else len(surprise)
    lasts = surprise[:end] >= max(_LASTS * surprise[top], needed)
    return int(np.flatnonzero(lasts)[-1])


def _sq_distances_from(X: Floats, i: int) -> F64:
    rows = np.arange(len(X))
    return sq_distances_of_pairs(X, rows, X, np.full(len(X), i))
