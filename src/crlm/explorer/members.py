"""Which rows to look at: the middle of a cluster, its edge, those nearly in, some at random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.explorer.engine import Answer, Engine
from crlm.labels import BACKGROUND
from crlm.loss import sq_cutoff
from crlm.search import Floats

ORDERS = ("center", "edge", "near", "random")
_NEAR = 240  # rows that are called nearly in
_BLOCK = 8192

Listed = tuple[NDArray[np.intp], NDArray[np.float64]]


def listed(engine: Engine, answer: Answer, cluster: int, order: str) -> Listed:
    """Rows in an order, and their distances from the centre of the ball over its radius."""
    X, center = engine.task.X, answer.record["centers"][cluster]
    radius = math.sqrt(sq_cutoff(answer.settings.sigma, X.shape[1], engine.task.G))
    if order == "near":
        rows = np.flatnonzero(answer.labels(len(X)) == BACKGROUND)
        sq = sq_distances(X, rows, center)
        some = np.argpartition(sq, _NEAR)[:_NEAR] if len(rows) > _NEAR else np.arange(len(rows))
        rows, sq = rows[some], sq[some]
    else:
        rows = answer.members[cluster].astype(np.intp)
        sq = sq_distances(X, rows, center)
    if order == "random":
        by = np.random.default_rng(0).permutation(len(rows))
    else:
        by = np.argsort(-sq if order == "edge" else sq, kind="stable")
    return rows[by], np.sqrt(sq[by]) / radius


def sq_distances(X: Floats, rows: NDArray[np.intp], center: int) -> NDArray[np.float64]:
    """Squared distances of some rows from one."""
    origin = X[center].astype(np.float64)
    parts: list[Any] = [
        np.square(X[rows[at : at + _BLOCK]] - origin).sum(axis=1)
        for at in range(0, len(rows), _BLOCK)
    ]
    return np.concatenate([np.zeros(0), *parts])
