"""Algorithms 1 and 2: take the ball of least loss, remove it, go on.

The loop asks three questions of a :class:`~crlm.search.Neighbourhood` (the losses, one ball,
removal), so it is the same for pairs that are stored, streamed or far away.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.loss import QUANTUM
from crlm.search import Floats, Neighbourhood, Weights


class Ball(NamedTuple):
    """The points alive around one of them."""

    center_index: int  # i, the row of least loss
    members: NDArray[np.intp]  # C as row numbers, ascending
    size: float  # |C|: the number of points, or the sum of their weights
    loss: float  # L(x_i, sigma_max) at the moment of choice


class Cluster(NamedTuple):
    """One cluster ``(C_j, mu_hat_j, sigma_hat_j)``, in the order found."""

    ball: Ball
    mu_hat: NDArray[np.float64]  # (d,)
    sigma_hat: float


def find_clusters(
    X: Floats,
    near: Neighbourhood,
    sigma_max: float,
    weights: Weights,
    accept: Callable[[Ball], bool],
    candidates: NDArray[np.intp] | None = None,
    may: Callable[[int], bool] | None = None,
) -> Iterator[Cluster]:
    """Yield the clusters of Algorithm 2 (`alg:multclust`), best first.

    The caller decides when there are enough. A ball that `accept` refuses is passed over, not
    removed: its points may still belong to a later ball. (In d = 1 with sigma_max = 1 a
    coincident pair, of loss -8, comes before the triple {-1.9, 0, 1.9}, of loss -4.78. Whoever
    wants at least three points must not stop at the pair.)

    `candidates` are the rows that may be centres, ascending; None for all. Who knows that
    `accept` will refuse the others spares looking at them. `may` says the same of one row, and
    is asked when its turn comes.
    """
    for ball in accepted_balls(near, weights, accept, candidates, may):
        yield Cluster(ball, *mean_shift_step(X, ball, sigma_max, weights))


def accepted_balls(
    near: Neighbourhood,
    weights: Weights,
    accept: Callable[[Ball], bool],
    candidates: NDArray[np.intp] | None = None,
    may: Callable[[int], bool] | None = None,
) -> Iterator[Ball]:
    """Yield the balls of the clusters, each removed from the data before the next is sought."""
    whole = np.issubdtype(weights.dtype, np.integer)
    for ball in balls_by_loss(near, weights, candidates, may):
        if whole and ball.size == 1:
            return  # "if |C_j| = 1 break": what is left has no loss beyond its own -G
        if len(ball.members) == 1 and ball.size <= 1:
            continue  # less than a point alone is no cluster either
        if accept(ball):
            near.remove(ball.members)
            yield ball


def balls_by_loss(
    near: Neighbourhood,
    weights: Weights,
    candidates: NDArray[np.intp] | None = None,
    may: Callable[[int], bool] | None = None,
) -> Iterator[Ball]:
    """Yield the ball of least loss, again and again; each row is a centre at most once.

    The caller may remove points between two balls. Removal only ever raises a loss, so an
    entry of the queue that is out of date stands too early, never too late: it is noticed
    when it comes up, and put back where it belongs.
    """
    # Two queues, merged: the losses as they were at first, and those that have changed since.
    rows = np.arange(len(near.L)) if candidates is None else candidates
    order = iter(rows[np.argsort(near.L[rows], kind="stable")].tolist())  # lowest row among equals
    first = near.L.copy()
    changed: list[tuple[int, int]] = []
    row = next(order, None)
    while row is not None or changed:
        if row is not None and (not changed or (first[row], row) < changed[0]):
            queued, i = int(first[row]), row
            row = next(order, None)
        else:
            queued, i = heapq.heappop(changed)
        if not near.alive[i] or not weights[i]:
            continue  # a row of weight zero is as good as absent, and cannot be a centre
        if (now := int(near.L[i])) != queued:
            heapq.heappush(changed, (now, i))
            continue
        if may is not None and not may(i):
            continue
        C = near.ball(i)
        yield Ball(i, C, weights[C].sum().item(), now * QUANTUM)


def mean_shift_step(
    X: Floats, ball: Ball, sigma_max: float, weights: Weights
) -> tuple[NDArray[np.float64], float]:
    """Mean and standard deviation per coordinate of a ball (`alg:closs`).

    One point alone has its own place as mean and says nothing of the spread: sigma_max.
    """
    if len(ball.members) == 1 and ball.size <= 1:
        return X[ball.center_index].astype(np.float64), sigma_max
    w = weights[ball.members][:, None]
    points = X[ball.members].astype(np.float64)
    # From the centre, so that a large common offset costs no digits.
    mu_hat = points[0] + (w * (points - points[0])).sum(axis=0) / ball.size
    sq_dev = float((w * np.square(points - mu_hat)).sum())
    if ball.size <= 1:
        return mu_hat, sigma_max
    return mu_hat, math.sqrt(sq_dev / (X.shape[1] * (ball.size - 1)))
