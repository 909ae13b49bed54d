"""Clusters with a ball of their own, among all rows.

Tight groups are found among all rows (:mod:`crlm.bandwidth.tight`); where the others are and how
far they reach the references show (:mod:`crlm.bandwidth.extent`). Here the balls of both are drawn
among all rows, with a bandwidth for each, and compared with clusters of one bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.closure import Closure
from crlm.background.references import References
from crlm.background.significance import MIN_SIZE, Background, Judge
from crlm.bandwidth.extent import OwnBall, own_balls
from crlm.bandwidth.tight import WHOLLY, tight_groups
from crlm.greedy import Ball
from crlm.loss import QUANTUM, fixed_point, robust_loss, sq_cutoff
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances_of_pairs
from crlm.search.pairs import weigh

Rows = NDArray[np.intp]

_PLACES = 2.0**20  # of an octave: finer than rows differ, coarser than distances are rounded
_CLEARLY = 0.15  # of the neighbours: beyond what real classes and their fragments differ by


class Own(NamedTuple):
    """A cluster with a bandwidth of its own."""

    ball: Ball
    p_value: float
    bandwidth: float


class Drawing:
    """Balls drawn among all rows, each with a bandwidth of its own and the rows that are free.

    Bandwidths are told from `sigma_max`, so that they have the units of the data to the bit.
    """

    def __init__(
        self, X: Floats, weights: Weights, sigma_max: float, G: float, taken: Sequence[Rows]
    ) -> None:
        self._X, self._weights, self._sigma_max, self._G = X, weights, sigma_max, G
        self._log_radius = 0.5 * math.log(sq_cutoff(sigma_max, X.shape[1], G))
        self.free = np.ones(len(X), dtype=bool)
        for rows in taken:
            self.free[rows] = False

    def bandwidth(self, log_radius: float) -> float:
        """Bandwidth of a ball."""
        octaves = (log_radius - self._log_radius) / math.log(2.0)
        return self._sigma_max * float(2.0 ** (round(octaves * _PLACES) / _PLACES))

    def ball(self, row: int, bandwidth: float) -> Ball:
        """What the ball around a row has of the rows that are free."""
        X, d = self._X, self._X.shape[1]
        sq_dist = sq_distances_of_pairs(X, np.arange(len(X)), X, np.full(len(X), row))
        members = np.flatnonzero(self.free & (sq_dist < sq_cutoff(bandwidth, d, self._G)))
        loss = fixed_point(robust_loss(sq_dist[members], bandwidth, d, self._G))
        loss, size = weigh(loss, self._weights[members]), self._weights[members].sum().item()
        return Ball(row, members, size, float(loss.sum() * QUANTUM))


def tight_clusters(
    X: Floats, background: Background, drawing: Drawing, alpha: float, min_size: int
) -> Iterator[Own]:
    """Yield tight groups that are large enough, each beyond doubt, among the rows that are free."""
    for group in tight_groups(X, background, alpha, drawing.free):
        bandwidth = drawing.bandwidth(group.log_radius)
        ball = drawing.ball(group.row, bandwidth)
        judge = Judge(X, background, math.exp(group.log_radius), alpha)
        if ball.size >= min_size and judge(ball) and judge.is_beyond_doubt(ball):
            drawing.free[ball.members] = False
            yield Own(ball, judge.p_value(ball), bandwidth)


def own_clusters(
    X: Floats, background: Background, drawing: Drawing, alpha: float, min_size: int, least: float
) -> Iterator[Own]:
    """Yield clusters that are large enough, in the order in which they take their rows.

    Those that the references show among the rows that are free. `least` is the weight that any of
    them has: whether it is `min_size` need not be looked at if that is no more.
    """
    rows = background.references.rows

    def drawn(own: OwnBall) -> Own:
        bandwidth = drawing.bandwidth(own.log_radius)
        return Own(drawing.ball(int(rows[own.center]), bandwidth), own.p_value, bandwidth)

    def is_large(own: OwnBall) -> bool:
        # Balls of less than three references are none anyway, and most callers ask for no more.
        return min_size <= least or drawn(own).ball.size >= min_size

    for found in own_balls(background, alpha, drawing.free[rows], is_large):
        own = drawn(found)
        if own.ball.size >= min_size:
            drawing.free[own.ball.members] = False
            yield own


def keep_more(references: References, some: Sequence[Rows], others: Sequence[Rows]) -> bool:
    """Whether some clusters, given by their rows, keep wholly to themselves, and others do not."""
    closure = Closure(references)
    one, other = (_mean_closure(closure, references, clusters) for clusters in (some, others))
    return one >= max(other + _CLEARLY, WHOLLY)


def _mean_closure(closure: Closure, references: References, clusters: Sequence[Rows]) -> float:
    """Mean closure of clusters; 0 if none has three references."""
    sets = (np.isin(references.rows, rows, assume_unique=True) for rows in clusters)
    closures = [closure.of(members) for members in sets if members.sum() >= MIN_SIZE]
    return sum(closures) / max(len(closures), 1)
