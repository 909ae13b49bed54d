"""Clusters with a ball of their own, among all rows.

The references show where they are and how far they reach (:mod:`crlm.bandwidth.extent`). Here that
is carried over to all rows, with a bandwidth for each ball; and compared with clusters of one
bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.closure import Closure
from crlm.background.references import References
from crlm.background.significance import MIN_SIZE, Background, least_weight
from crlm.bandwidth.extent import OwnBall, own_balls
from crlm.greedy import Ball
from crlm.loss import QUANTUM, fixed_point, robust_loss, sq_cutoff
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances_of_pairs
from crlm.search.pairs import weigh

Rows = NDArray[np.intp]

_PLACES = 2.0**20  # of an octave: finer than rows differ, coarser than distances are rounded
# Of the neighbours: clearly more, beyond what real classes and their fragments differ by; and all
# but one in twenty, as in tight clusters of a few rows. Fragments of a class lack more.
_CLEARLY, _WHOLLY = 0.15, 0.95


class Own(NamedTuple):
    """A cluster with a bandwidth of its own."""

    ball: Ball
    p_value: float
    bandwidth: float


def own_clusters(
    X: Floats,
    weights: Weights,
    background: Background,
    sigma_max: float,
    G: float,
    alpha: float,
    min_size: int,
) -> Iterator[Own]:
    """Yield clusters that are large enough, in the order in which they take their rows.

    Bandwidths are told from `sigma_max`, so that they have the units of the data to the bit.
    """
    d = X.shape[1]
    rows = np.arange(len(X))
    log_radius = 0.5 * math.log(sq_cutoff(sigma_max, d, G))
    free = np.ones(len(X), dtype=bool)
    least = least_weight(weights)

    def drawn(own: OwnBall) -> Own:
        """What the ball has of the rows that are free."""
        i = int(background.references.rows[own.center])
        octaves = (own.log_radius - log_radius) / math.log(2.0)
        bandwidth = sigma_max * 2.0 ** (round(octaves * _PLACES) / _PLACES)
        sq_dist = sq_distances_of_pairs(X, rows, X, np.full(len(X), i))
        members = np.flatnonzero(free & (sq_dist < sq_cutoff(bandwidth, d, G)))
        loss = fixed_point(robust_loss(sq_dist[members], bandwidth, d, G))
        loss, size = weigh(loss, weights[members]), weights[members].sum().item()
        return Own(Ball(i, members, size, float(loss.sum() * QUANTUM)), own.p_value, bandwidth)

    def is_large(own: OwnBall) -> bool:
        # Balls of less than three references are none anyway, and most callers ask for no more.
        return min_size <= least or drawn(own).ball.size >= min_size

    for found in own_balls(background, alpha, is_large):
        own = drawn(found)
        if own.ball.size >= min_size:
            free[own.ball.members] = False
            yield own


def keep_more(references: References, some: Sequence[Rows], others: Sequence[Rows]) -> bool:
    """Whether some clusters, given by their rows, keep wholly to themselves, and others do not."""
    closure = Closure(references)
    one, other = (_mean_closure(closure, references, clusters) for clusters in (some, others))
    return one >= max(other + _CLEARLY, _WHOLLY)


def _mean_closure(closure: Closure, references: References, clusters: Sequence[Rows]) -> float:
    """Mean closure of clusters; 0 if none has three references."""
    sets = (np.isin(references.rows, rows, assume_unique=True) for rows in clusters)
    closures = [closure.of(members) for members in sets if members.sum() >= MIN_SIZE]
    return sum(closures) / max(len(closures), 1)
