"""Tight groups: a few rows that keep wholly to themselves, wherever they lie.

Own balls (:mod:`crlm.bandwidth.extent`) are found among the references. Of more than two thousand
rows these are a sample, in which a dozen rows are a few or none; and where a crowd is a cluster, a
dozen copies of one of its rows, all but equal, are lost in it. Such groups show from near: all
rows of a ball have none but each other as nearest neighbours, and the ball is beyond doubt beside
the shell around it, by the severe test and for itself. They are clusters before all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.growth import CONTRAST, Growth
from crlm.background.significance import MIN_SIZE, Background
from crlm.bandwidth.near import Near, near_rows
from crlm.bandwidth.radii import ends
from crlm.search import Floats

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

WHOLLY = 0.95  # of the neighbours: one in twenty is chance. Fragments of a class lack more
# Rows beside the centre: of fewer the share of neighbours says little, and more are no small group.
_LEAST, _MOST = 5, 256
_LASTS = 0.5  # of the largest surprise, as elsewhere
_FREE = 2.0 / 3.0  # of the rows of a group: most of it


class Tight(NamedTuple):
    """A ball that may be a tight group."""

    row: int  # its centre
    log_radius: float
    members: Rows


def tight_groups(X: Floats, background: Background, alpha: float, free: Mask) -> Iterator[Tight]:
    """Yield balls of rows that keep wholly to themselves, the most surprising one first.

    Those around a free row, of which most rows are free. The caller marks there which it takes.
    """
    growth = background.growth
    near = None if growth is None else near_rows(X, background.references)
    if near is None or growth is None:
        return
    for group in _candidates(X, near, background, growth, alpha, free):
        n_free = np.count_nonzero(free[group.members])
        if free[group.row] and n_free >= max(_LEAST + 1, _FREE * len(group.members)):
            yield group


def _candidates(
    X: Floats, near: Near, background: Background, growth: Growth, alpha: float, free: Mask
) -> list[Tight]:
    """The most surprising one of the balls around each row that keep wholly to themselves."""
    references = background.references
    needed = math.log(references.n_points / alpha)
    some = near.surprising(near.growth, CONTRAST, needed)
    balls = [_whole(near, row) for row in some[free[near.rows[some]]].tolist()]
    balls = [one for one in balls if len(one.sizes)]
    rows = np.array([one.row for one in balls], dtype=np.intp)
    found: list[tuple[float, int, bytes, Tight]] = []
    for part, log_r in references.in_blocks(X, near.rows[rows]):
        n_balls = [len(one.sizes) for one in balls[part]]
        which = np.repeat(np.arange(len(log_r)), n_balls)
        m = np.concatenate([one.sizes for one in balls[part]])
        log_R = np.concatenate([one.ends for one in balls[part]]) + math.log(near.R0)
        surprise = growth.surprise(references.level(log_r), which, m, log_R, references.w)
        surprise /= background.inflation.simple
        each = np.split(surprise, np.cumsum(n_balls)[:-1])
        for one, of in zip(balls[part], each, strict=True):
            at = one.widest(of, needed)
            if of.max() >= needed and one.sizes[at] >= _LEAST:
                group = one.group(near, at)
                found.append((-float(of.max()), -len(group.members), one.mark, group))
    return [group for *_, group in sorted(found, key=lambda one: one[:3])]


class _Whole(NamedTuple):
    """Balls around a row that keep wholly to themselves."""

    row: int
    sizes: Rows  # without the row itself
    run: Rows  # the same for those between which no ball does not
    ends: F64  # log radii, over R0
    mark: bytes  # of what lies around, to tell equals apart in any order

    def widest(self, surprise: F64, needed: float) -> int:
        """Which ball reaches as far as they stay whole; beyond a gap is another group."""
        top = int(surprise.argmax())
        lasts = surprise >= max(_LASTS * surprise[top], needed)
        lasts[top] = True
        return int(np.flatnonzero(lasts & (self.run == self.run[top]))[-1])

    def group(self, near: Near, at: int) -> Tight:
        """One of the balls."""
        members = np.append(near.others[near.of(self.row, self.sizes[at])], self.row)
        log_radius = float(self.ends[at]) + math.log(near.R0)
        return Tight(int(near.rows[self.row]), log_radius, near.rows[members])


def _whole(near: Near, row: int) -> _Whole:
    """Balls around a row of which nearly all nearest neighbours are inside.

    A ball of m rows beside its centre asks each of them for its m nearest neighbours. It is closed
    to the share of these that are inside; a neighbour counts from that m on of which both rows are
    inside, and it is among the m nearest.
    """
    list_of_row = near.of(row)
    size = min(int(near.N[row]), _MOST)
    inside = np.append(row, near.others[list_of_row][:size])
    place = np.append(0, near.last[list_of_row][:size])  # from which m on each is inside
    entries = near.starts[inside][:, None] + np.arange(size)
    there = np.arange(size) < near.N[inside][:, None]
    entries = np.where(there, entries, 0)
    order = np.argsort(inside)
    at = np.minimum(np.searchsorted(inside, near.others[entries], sorter=order), size)
    at = order[at]
    there &= inside[at] == near.others[entries]
    since = np.maximum(np.maximum(place[at], place[:, None]), near.last[entries])[there]
    counts = np.bincount(since[since <= size], minlength=size + 1).cumsum()
    # Balls end between two distances; beyond the last neighbour there is none up to R0.
    log_r = np.append(near.log_r[list_of_row], 0.0)
    m = np.arange(MIN_SIZE - 1, size + 1)
    m = m[(-np.inf < log_r[m - 1]) & (log_r[m - 1] < log_r[m])]
    whole = counts[m] >= WHOLLY * m * (m + 1)
    run = np.cumsum(~whole, dtype=np.intp)
    if near.N[row] > size and len(m) and whole[-1]:  # nobody knows how far that goes on
        whole &= run < run[-1]
    run, m = run[whole], m[whole]
    return _Whole(row, m, run, ends(log_r[m - 1], log_r[m]), counts.tobytes())
