"""Which rows of a cluster to look at: its middle, its edge, and what is nearly in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.labels import BACKGROUND

if TYPE_CHECKING:
    from crlm.estimator import CRLM

Rows = NDArray[np.int64]


class Picks(NamedTuple):
    """Rows of one cluster and around it, and how far every row is.

    Attributes
    ----------
    middle : ndarray of int
        Members, nearest to the centre of the ball first.
    edge : ndarray of int
        Other members, farthest first; mistakes show here.
    nearly_in : ndarray of int
        Background, nearest first.
    reach : ndarray of shape (n,)
        Distance of every row from the centre of the ball, divided by its radius: less than 1 for
        members, and for rows that an earlier cluster took.
    """

    middle: Rows
    edge: Rows
    nearly_in: Rows
    reach: NDArray[np.float64]


def pick_rows(model: CRLM, X: Any, cluster: int = 0, limit: int = 24) -> Picks:
    """Rows of a fitted model to look at, at most `limit` of each kind.

    Parameters
    ----------
    model : CRLM
        Fitted on `X`.
    X : array-like of shape (n_samples, n_features)
    cluster : int, default=0
    limit : int, default=24

    Raises
    ------
    InputError
        There is no such cluster, or `X` has another number of rows.
    """
    points = np.asarray(X)
    if len(points) != len(model.labels_):
        msg = (
            f"X has {len(points):,} rows, the model was fitted on {len(model.labels_):,}. Pass "
            f"the data of fit."
        )
        raise InputError(msg)
    if not 0 <= cluster < model.n_clusters_:
        msg = f"there is no cluster {cluster}; the model has {model.n_clusters_}."
        raise InputError(msg)
    reach = _reach(model, points, cluster)
    members = _by(reach, np.flatnonzero(model.labels_ == cluster))
    outside = _by(reach, np.flatnonzero(model.labels_ == BACKGROUND))
    # A small cluster is not shown twice: what is in its middle is not its edge.
    edge = members[len(members) // 2 :][::-1] if len(members) < 2 * limit else members[::-1]
    middle = members[: len(members) - len(edge)] if len(members) < 2 * limit else members
    return Picks(middle[:limit], edge[:limit], outside[:limit], reach)


def _reach(model: CRLM, points: NDArray[Any], cluster: int) -> NDArray[np.float64]:
    """Distance of every row from the centre of a ball over the radius, block by block."""
    center = np.asarray(model.ball_centers_[cluster], dtype=np.float64)
    reach = np.empty(len(points))
    for start in range(0, len(points), 4096):
        block = points[start : start + 4096].astype(np.float64)
        if model.metric == "cosine":
            block /= np.linalg.norm(block, axis=1, keepdims=True)
        reach[start : start + len(block)] = np.linalg.norm(block - center, axis=1)
    return reach / float(model.radii_[cluster])


def _by(reach: NDArray[np.float64], rows: Rows) -> Rows:
    """Rows in the order of their distance, equal ones by number."""
    return rows[np.argsort(reach[rows], kind="stable")]
