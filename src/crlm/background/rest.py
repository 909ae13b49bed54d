"""How the background grows, read off the rest: the points that belong to no cluster.

Around a background point a cluster comes all at once, which is no growth. So what looks like
clusters is left out, the most surprising balls first, until nothing does any more. Whether there is
anything at all is asked of both: with the growth of all points, among which clusters may hide, and
with that of the rest. Decoys are asked that question alike (:mod:`crlm.background.inflation`), so
that what is left out by chance is no evidence; and where some would have much left out, the rest is
not asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.background.growth import Growth, ball_sizes
from crlm.background.references import Around, References

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

# Each round halves the surprise of what is left: tens of thousands become a dozen in twelve.
_MAX_ROUNDS = 24
# Points of clusters are left out of the background, but never so many that nothing is left.
_MIN_LEFT = 20
_BLOCK = 128  # rows struck from at a time: 2 MB


class Learnt(NamedTuple):
    """How references grow."""

    growth: Growth  # that of the rest
    overall: Growth  # that of all of them
    # Surprise of the most surprising ball, asked severely, and log of its radius: at the growth of
    # all, and at either.
    best_overall: tuple[float, float]
    best: tuple[float, float]
    # Surprise of the ball of each size around each, asked simply at the growth of all, of the rest.
    simply: F64
    by_the_rest: F64


def learn_growth(references: References, needed: float, *, asked_from: float) -> Learnt:
    """Learn how references grow; a ball with a surprise of `needed` looks like a cluster.

    Below a surprise of `asked_from` that of the most surprising ball may be too small.
    """
    around = references.around
    overall = Growth.learn(around.log_r, references.fastest)
    simply = by_the_rest = overall.surprises(around)
    best = best_overall = overall.best(around, asked_from, simply)
    level = simply if around.sides is None else overall.surprises(Around(around.log_r))
    growth = _of_the_rest(references, overall, level, needed)
    if growth is not overall:
        by_the_rest = growth.surprises(around)
        best = max(best, growth.best(around, asked_from, by_the_rest))
    return Learnt(growth, overall, best_overall, best, simply, by_the_rest)


def asked_severely(
    growth: Growth, overall: Growth, around: Around, rows: Rows, m: Rows, log_R: ArrayLike, w: float
) -> tuple[F64, F64]:
    """Surprise of balls at the growth of all, and at the one that makes them more surprising."""
    balls = around, rows, m, log_R, w
    by_all = overall.surprise(*balls, severe=True)
    if growth is overall:
        return by_all, by_all
    return by_all, np.maximum(by_all, growth.surprise(*balls, severe=True))


def _of_the_rest(references: References, growth: Growth, surprise: F64, needed: float) -> Growth:
    """Growth of the points that look like no cluster, given that of all and their surprises."""
    log_r, log_D = references.log_r, references.log_distances
    n = len(log_r)
    left, room = np.arange(n), np.empty(0)
    for _ in range(_MAX_ROUNDS):
        if surprise.max() < needed:
            break
        taken = _disjoint(log_D, left, log_r, surprise, needed)
        if len(left) - taken.sum() < max(n // 4, _MIN_LEFT):
            break
        gone, left = left[taken], left[~taken]
        room = room if len(room) else np.empty(len(left) ** 2)
        log_r = _without(log_r, taken, log_D[np.ix_(left, gone)], room)
        growth = Growth.learn(log_r, references.fastest)
        surprise = growth.surprises(Around(log_r))
    return growth


def _disjoint(
    log_D: F64, left: NDArray[np.intp], log_r: F64, surprise: F64, needed: float
) -> NDArray[np.bool_]:
    """Points of the most surprising balls, each of which touches no more surprising one.

    Equally surprising ones are taken together, so that the order of the rows does not tell.
    """
    most = surprise.max(axis=1)
    radius = log_r[np.arange(len(left)), ball_sizes(len(left))[surprise.argmax(axis=1)]]
    least = max(needed, most.max() / 2.0)
    taken = np.zeros(len(left), dtype=bool)
    for value in np.unique(most[most >= least])[::-1]:
        rows = np.flatnonzero(most == value)
        balls = log_D[np.ix_(left[rows], left)] <= radius[rows, None]
        taken |= balls[~balls[:, taken].any(axis=1)].any(axis=0)
    return taken


def _without(log_r: F64, taken: NDArray[np.bool_], log_d: F64, room: F64) -> F64:
    """Sorted log distances without some points, `log_d` being those of the others to them.

    Few are taken at a time, and to strike them out is faster than to sort the rest again. They are
    put into `room`, of which the distances that are given may be a part, if they begin there too.
    """
    rows = np.flatnonzero(~taken)
    n, n_gone = len(taken), log_d.shape[1]
    out = room[: len(rows) * (n - n_gone)].reshape(len(rows), -1)
    each = np.arange(n_gone)
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        here, gone = log_r[rows[part]], np.sort(log_d[part], axis=1)
        at = np.array([row.searchsorted(some) for row, some in zip(here, gone, strict=True)])
        at = np.maximum.accumulate(at - each, axis=1) + each  # equal ones stand side by side
        stay = np.ones(here.shape, dtype=bool)
        np.put_along_axis(stay, at, False, axis=1)
        out[part] = here[stay].reshape(len(here), -1)
    return out
