"""What the page needs to move the bandwidth and the map by itself."""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from crlm.errors import MemoryLimitError
from crlm.labels import BACKGROUND
from crlm.page import encode
from crlm.preview import preview
from crlm.report.inputs import Inputs
from crlm.report.limits import Limits
from crlm.report.tiles import cut
from crlm.sigma import SigmaEstimate
from crlm.svg.curve import Sweep
from crlm.svg.histogram import plateau

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crlm.estimator import CRLM


def stops(
    model: CRLM, inputs: Inputs, estimate: SigmaEstimate, limits: Limits
) -> dict[str, Any] | None:
    """Clusters at every stop of the slider; None when the pairs are too many for a page.

    The bandwidth of the model is always one of the stops.
    """
    if not limits.pairs:
        return None
    task = copy(model)._task(inputs.X, model.certificate_.weights, reset=True)
    try:
        found = preview(task, estimate, model.sigma_max_, limits.pairs)
    except MemoryLimitError:
        return None
    if found is None or model.sigma_max_ not in found["sigmas"]:
        return None
    return found


def sweep(model: CRLM, live: dict[str, Any], estimate: SigmaEstimate) -> Sweep:
    """Number of clusters and share of the rows in them at every stop."""
    weights = model.certificate_.weights
    total = float(live["n"] if weights is None else weights.sum())
    return Sweep(
        np.array(live["sigmas"]),
        np.array([len(step["centers"]) for step in live["steps"]], dtype=np.intp),
        np.array([sum(step["sizes"]) / total for step in live["steps"]]),
        plateau(model, estimate),
        model.sigma_max_,
    )


def page_data(
    model: CRLM,
    inputs: Inputs,
    estimate: SigmaEstimate,
    live: dict[str, Any] | None,
    xy: NDArray[np.float64],
    limits: Limits,
) -> dict[str, Any]:
    """Everything for the script of the page, as JSON."""
    shown = shown_points(model.labels_, limits.points)
    places = np.ascontiguousarray(xy[shown], dtype=np.float32)
    scale = math.sqrt(4.0 / model.G_)
    return {
        "n": len(model.labels_),
        "sigma": model.sigma_max_,
        "suggested": estimate.suggested * scale,
        "plateau": plateau(model, estimate),
        "peaks": estimate.peaks,
        "edges": estimate.edges.tolist(),
        "counts": estimate.counts.tolist(),
        "G": model.G_,
        "labels": encode(model.labels_.astype(np.int32)),
        "centers": model.center_indices_.tolist(),
        "rows": encode(inputs.rows[shown].astype(np.int32)),
        "shown": encode(shown.astype(np.int32)),
        "x": encode(places[:, 0].copy()),
        "y": encode(places[:, 1].copy()),
        "titles": titles(inputs, shown, limits),
        "live": live,
    }


def shown_points(labels: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """Rows for the map: all, or clusters first and of the rest every so many-th.

    >>> shown_points(np.array([-1, 0, -1, 0, -1, -1]), 4).tolist()
    [0, 1, 3, 5]
    """
    if len(labels) <= limit:
        return np.arange(len(labels))
    inside = _thinned(np.flatnonzero(labels != BACKGROUND), limit)
    outside = _thinned(np.flatnonzero(labels == BACKGROUND), limit - len(inside))
    return np.sort(np.concatenate([inside, outside]))


def _thinned(rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    if len(rows) <= limit:
        return rows
    return rows[np.linspace(0, len(rows) - 1, limit).astype(np.intp)]


def titles(inputs: Inputs, shown: NDArray[np.intp], limits: Limits) -> list[str] | None:
    """What the points of the map are called, if there is room to say it."""
    if not inputs.meta:
        return None
    column = next(iter(inputs.meta.values()))
    words = [cut(column[int(i)], 60) for i in shown]
    return words if sum(map(len, words)) <= limits.captions else None
