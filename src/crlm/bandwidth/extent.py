"""Clusters with a ball of their own, where no one radius suits all of them.

Real clusters differ in width, lie close together, and their background is crowded too. So where the
evidence for one radius is not clear, every reference is asked how far a cluster around it would
reach, and of these balls those are taken that *keep to themselves* most.

* *Strength.* The closure of a ball (:mod:`crlm.background.closure`) over what is usual for balls of
  the background with as many rows, in standard errors.
* *Extent.* The narrowest ball around a row that is about as strong as any. Where the row's balls
  are significant (:mod:`crlm.background.significance`) also as far as they keep half of the largest
  surprise: beyond the edge of a cluster a ball gains nothing but background, and its surprise
  falls. Once it has fallen below a quarter, a later rise is another cluster.
* *Choice.* Strongest first. A ball is one of the clusters if it is not much weaker than the
  strongest; if it holds the centre of a significant ball, and such balls hold enough of its rows;
  and if most of its rows, and of their neighbours, are still its own. A ball gives way to smaller
  ones inside it that are together clearly stronger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.closure import Closure, strengths
from crlm.background.growth import LARGEST, Growth
from crlm.background.references import References, fingerprints
from crlm.background.significance import MIN_SIZE, Background
from crlm.bandwidth.radii import ends as ends_of_balls

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

_AS_GOOD = 0.95  # one in twenty is chance, as in the choice of the one radius
_LASTS, _LOST = 0.5, 0.25
_STRONG = 0.4  # as strong as the strongest
_CORE = 0.2  # of the rows of a ball are in significant ones
# Clearly more than half: of its rows are in no cluster yet; of the neighbours of these are among
# them; and parts of it have fewer rows.
_MOST = 2.0 / 3.0
_SHARED = 0.2  # of the rows of two parts: they are all but disjoint
_TOGETHER = 1.5  # as strong as the whole, in squares: half a cluster is nearly as strong as it
_LEAST = 20  # rows of the background, or else all are asked
_BLOCK = 128  # rows of which all balls are measured at a time: 1 MB for each measure


class OwnBall(NamedTuple):
    """A cluster: a ball around one of the references."""

    center: int  # which of them
    log_radius: float
    p_value: float  # of the most significant ball around one of its rows


def own_balls(
    background: Background, alpha: float, free: Mask, is_large: Callable[[OwnBall], bool]
) -> Iterator[OwnBall]:
    """Yield the clusters that the free references show, as far as they are large enough.

    They are in the order in which they take their rows: each has those that none before has.
    """
    references, growth = background.references, background.growth
    if growth is None:
        return
    log_n = math.log(len(references.rows))
    needed = log_n - math.log(alpha)
    surprise = _surprises(references, growth)
    surprise /= background.inflation.simple
    closure = Closure(references)
    balls = _Balls.drawn(references, closure, surprise, needed)

    def ball(i: int) -> OwnBall:
        p_value = math.exp(min(log_n - balls.surprise[i], 0.0))
        return OwnBall(i, float(balls.log_radius[i]), p_value)

    for i in _chosen(balls, closure, needed, free.copy(), lambda i: is_large(ball(i))):
        yield ball(i)


class _Balls(NamedTuple):
    """A ball around each of the references, as far as a cluster around it would reach."""

    inside: Mask  # (n, n) the references in each
    log_radius: F64
    strength: F64
    surprise: F64  # the largest of any ball around one of the references inside
    core: F64  # share of the references inside that significant balls hold
    marks: NDArray[np.uint64]  # of what lies around, to tell equals apart in any order and units

    @classmethod
    def drawn(
        cls, references: References, closure: Closure, surprise: F64, needed: float
    ) -> _Balls:
        """Draw them, given the surprise of all balls around each reference."""
        log_r, log_D = references.log_r, references.log_distances
        rows, m = np.arange(len(log_r)), _sizes(len(log_r))
        most = surprise.max(axis=1)
        closures = closure.profiles(m)
        alone = most < needed
        usual = closures[alone] if alone.sum() >= _LEAST else closures
        strength = strengths(closures, np.median(usual, axis=0), m + 1)
        # Balls end between two distances: of rows that are equally far, all are inside.
        ends = log_r[:, m] < log_r[:, m + 1]
        strength[~ends] = -np.inf
        at = _narrowest(strength)
        for i in np.flatnonzero(~alone):
            at[i] = max(at[i], _widest(surprise[i], needed))
        at = _next(ends, at)
        last = log_r[rows, m[at]]
        inside = log_D <= last[:, None]
        best = log_r[rows, m[surprise.argmax(axis=1)]]
        is_core = (log_D[~alone] <= best[~alone, None]).any(axis=0)
        return cls(
            inside,
            ends_of_balls(last, log_r[rows, m[at] + 1]),
            strength[rows, at],
            np.array([most[members].max() for members in inside]),
            np.array([is_core[members].mean() for members in inside]),
            fingerprints(closures),
        )


def _sizes(n: int) -> Rows:
    """Sizes of balls among `n` points, without the centre: the rest is enough to compare with."""
    return np.arange(MIN_SIZE - 1, max(MIN_SIZE, int(LARGEST * n) + 1))


def _surprises(references: References, growth: Growth) -> F64:
    """Surprise of the ball of each size around each reference, (n, n_sizes)."""
    log_r = references.log_r
    m = _sizes(len(log_r))
    parts = np.array_split(np.arange(len(log_r)), -(-len(log_r) // _BLOCK))
    return np.concatenate(
        [
            growth.surprise(references.around, rows[:, None], m, log_r[rows[:, None], m])
            for rows in parts
        ]
    )


def _narrowest(strength: F64) -> Rows:
    """Place of the narrowest ball around each row that is as strong as any."""
    top = strength.max(axis=1, keepdims=True)
    at: Rows = np.argmax(strength >= np.where(top > 0.0, _AS_GOOD * top, top), axis=1)
    return at


def _widest(surprise: F64, needed: float) -> int:
    """Place of the widest ball that belongs to the most surprising one."""
    top = int(surprise.argmax())
    lost = np.flatnonzero(surprise[top:] < max(_LOST * surprise[top], needed))
    end = top + int(lost[0]) if len(lost) else len(surprise)
    lasts = surprise[:end] >= max(_LASTS * surprise[top], needed)
    return int(np.flatnonzero(lasts)[-1])


def _next(ends: Mask, at: Rows) -> Rows:
    """First place from `at` on where a ball ends; the last place if there is none."""
    places = np.where(ends, np.arange(ends.shape[1]), ends.shape[1] - 1)
    ahead = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
    moved: Rows = np.take_along_axis(ahead, at[:, None], axis=1)[:, 0]
    return moved


def _chosen(
    balls: _Balls, closure: Closure, needed: float, free: Mask, is_large: Callable[[int], bool]
) -> Iterator[int]:
    """Balls that are clusters, the strongest first."""
    inside, strength = balls.inside, balls.strength
    may = (balls.surprise >= needed) & (balls.core >= _CORE) & (strength > 0.0)
    strong = strength >= _STRONG * strength[may].max(initial=0.0)
    rows = np.flatnonzero(may & strong)
    order = np.lexsort([balls.marks[rows], balls.log_radius[rows], -strength[rows]])
    candidates: list[int] = rows[order].tolist()
    size = inside.sum(axis=1)

    def is_cluster(i: int) -> bool:
        own = inside[i] & free
        enough = own.sum() >= max(MIN_SIZE, _MOST * size[i])
        return bool(free[i] and enough) and closure.of(own) >= _MOST and is_large(i)

    def are_apart(i: int, j: int) -> bool:
        return bool((inside[i] & inside[j]).sum() <= _SHARED * min(size[i], size[j]))

    def parts(i: int) -> list[int]:
        """Smaller clusters in one that are together clearly stronger."""
        found: list[int] = []
        for j in candidates:
            may_be = inside[i, j] and size[j] <= _MOST * size[i]
            if may_be and all(are_apart(j, other) for other in found) and is_cluster(j):
                found.append(j)
        stronger = np.square(strength[found]).sum() > _TOGETHER * strength[i] ** 2
        return found if len(found) > 1 and stronger else []

    for i in candidates:
        if not is_cluster(i):
            continue
        for j in parts(i) or [i]:
            if is_cluster(j):
                free &= ~inside[j]
                yield j
