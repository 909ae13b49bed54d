"""How far each cluster reaches: a bandwidth of its own.

Clusters are found with one radius for all. But real ones differ in width, and the radius that
suits all of them cuts some short. So each is then given a ball of its own around its centre, the
wider one of two:

* the widest that is still about as *surprising* as can be, with at least half of the surprise of
  the most surprising one. Beyond its edge a ball gains nothing but background, and its surprise
  falls. Once it has fallen below a quarter, a later rise is another cluster;
* the one that *keeps to itself* most: in which more of the nearest neighbours of its rows lie than
  in a ball of the background with as many rows (:mod:`crlm.closure`). Where the background is
  crowded too, a cluster is surprising in its core only, and this tells how much belongs to it.

A cluster of which too many of the rows' neighbours are elsewhere is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.closure import Closure
from crlm.greedy import Ball
from crlm.loss import sq_cutoff
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances_of_pairs
from crlm.significance import MIN_SIZE, Background

F64 = NDArray[np.float64]

# Radii differ by 2**(1/32), as where one is chosen for all (:mod:`crlm.sigma`): from the 16th
# below, 1 / sqrt(2) of that one, up to 16 octaves above; a ball of half of the points is none.
_STEPS = np.arange(-16, 16 * 32 + 1) / 32.0
_COMMON = 16  # place of that one radius
_LASTS, _LOST = 0.5, 0.25
_AS_GOOD = 0.95  # one in twenty is chance, as in the choice of the one radius
_OWN = 0.6  # of the neighbours of its rows must be its own


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
    """Yield the balls, each as far as its cluster reaches, in the order found.

    Rows belong to the first ball that reaches them. A ball whose centre another one took, that is
    too small or not significant without what others took, or whose rows have too many of their
    neighbours elsewhere, is left out.
    """
    if not balls:
        return
    references = background.references
    log_n = math.log(references.n_points)
    needed = log_n - math.log(alpha)
    bandwidths = sigma_max * np.exp2(_STEPS)
    cutoffs = np.array([sq_cutoff(own, X.shape[1], G) for own in bandwidths.tolist()])
    log_R = 0.5 * np.log(cutoffs)
    free = np.ones(len(X), dtype=bool)
    in_ball = np.full(len(X), -1)
    for number, ball in enumerate(balls):
        in_ball[ball.members] = number
    in_ball = in_ball[references.rows]
    closure = Closure(references, in_ball < 0)
    for number, ball in enumerate(balls):
        i = ball.center_index
        if not free[i]:
            continue
        sq_dist = _sq_distances_from(X, i)
        # Balls are open: a row at the very radius is in the next one.
        first = np.searchsorted(cutoffs, sq_dist, side="right")
        points = np.bincount(first[free & references.distinct], minlength=len(cutoffs) + 1)
        m = np.maximum(np.cumsum(points[:-1]) - 1, 0)
        surprise = log_n - background.log_p(references.around_of(X, i), m, log_R, math.log(alpha))
        if surprise.max() < needed:
            continue
        own = ((in_ball < 0) | (in_ball == number)) & free[references.rows]
        excess = closure.excess(references.log_distances_of(X, i), log_R, own)
        at = max(_widest(surprise, needed), _most_closed(excess))
        counts = free & (weights > 0)
        if not (counts & (first > min(at, _COMMON)) & (first <= max(at, _COMMON))).any():
            at = _COMMON  # nothing lies between the two
        if at < _COMMON and weights[free & (first <= at)].sum() < min_size:
            at = _COMMON  # as large as it was found
        inside = free & (first <= at)
        size = weights[inside].sum().item()
        seen = inside[references.rows]
        if size < min_size or (seen.sum() >= MIN_SIZE and closure.of(seen) < _OWN):
            continue
        free[inside] = False
        yield Extent(
            number, Ball(i, np.flatnonzero(inside), size, ball.loss), float(bandwidths[at])
        )


def _widest(surprise: F64, needed: float) -> int:
    """Place of the widest ball that belongs to the most surprising one."""
    top = int(surprise.argmax())
    lost = np.flatnonzero(surprise[top:] < max(_LOST * surprise[top], needed))
    end = top + int(lost[0]) if len(lost) else len(surprise)
    lasts = surprise[:end] >= max(_LASTS * surprise[top], needed)
    return int(np.flatnonzero(lasts)[-1])


def _most_closed(excess: F64) -> int:
    """Place of the narrowest ball that is as closed as any; 0 if none is more than usual."""
    most = excess.max()
    return int(np.flatnonzero(excess >= _AS_GOOD * most)[0]) if most > 0.0 else 0


def _sq_distances_from(X: Floats, i: int) -> F64:
    rows = np.arange(len(X))
    return sq_distances_of_pairs(X, rows, X, np.full(len(X), i))
