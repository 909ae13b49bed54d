"""What a fitted model says about rows: cluster, how deep inside, how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.data_checks import check_points
from crlm.labels import BACKGROUND
from crlm.search import Floats

if TYPE_CHECKING:
    from crlm.estimator import CRLM

F64 = NDArray[np.float64]

_CELLS = 2**21  # of rows by clusters looked at in one go: 16 MB


class Assigned(NamedTuple):
    """One entry for each row.

    Attributes
    ----------
    label : ndarray of int64
        Number of the cluster, -1 for background.
    distance : ndarray of float64
        Distance from the middle of its ball over its radius, below 1; for background that of the
        ball where it is least, from 1 on. NaN without any cluster.
    p_value : ndarray of float64
        That of the cluster; NaN for background.
    posterior : ndarray of float64
        Probability of the label under the fitted mixture.
    """

    label: NDArray[np.int64]
    distance: F64
    p_value: F64
    posterior: F64


def assign(model: CRLM, X: NDArray[Any]) -> Assigned:
    """Describe every row of `X`, in blocks that take little memory."""
    step = max(1, _CELLS // (model.n_clusters_ + 1))
    found = [_assign_block(model, X[start : start + step]) for start in range(0, len(X), step)]
    if not found:
        nothing = np.empty(0)
        return Assigned(np.empty(0, dtype=np.int64), nothing, nothing, nothing)
    return Assigned(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _assign_block(model: CRLM, X: NDArray[Any]) -> Assigned:
    label = model.predict(X)
    points = check_points(X, model._metric, whole=False)
    inside = label != BACKGROUND
    at = np.where(inside, label, nearest(points, model.ball_centers_, model.radii_))
    p_value = np.full(len(X), np.nan)
    p_value[inside] = model.p_values_[label[inside]]
    # The last column is the background's, which is what -1 takes.
    posterior = model.predict_proba(X)[np.arange(len(X)), label]
    return Assigned(label, _distances(points, model, at), p_value, posterior)


def nearest(points: Floats, centers: Floats, radii: F64) -> NDArray[np.int64]:
    """Number of the nearest of some centres, each measured by its radius; 0 when there is none."""
    if not len(centers):
        return np.zeros(len(points), dtype=np.int64)
    middle = centers.mean(axis=0, dtype=np.float64)
    p, c = points - middle, centers - middle
    sq = np.square(p).sum(axis=1)[:, None] + np.square(c).sum(axis=1) - 2.0 * (p @ c.T)
    return np.asarray((sq / np.square(radii)).argmin(axis=1))


def _distances(points: Floats, model: CRLM, at: NDArray[np.int64]) -> F64:
    if not model.n_clusters_:
        return np.full(len(points), np.nan)
    difference = points.astype(np.float64) - model.ball_centers_[at]
    distances: F64 = np.sqrt(np.square(difference).sum(axis=1)) / model.radii_[at]
    return distances
