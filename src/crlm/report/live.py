"""What the page needs to move the bandwidth and the map by itself."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.bandwidth.sigma import SigmaEstimate
from crlm.errors import MemoryLimitError
from crlm.labels import BACKGROUND
from crlm.loss import sq_cutoff
from crlm.page import encode
from crlm.path import clusters_at
from crlm.preview import step_record, stored_pairs
from crlm.preview import stops as slider_stops
from crlm.report.inputs import Inputs
from crlm.report.limits import Limits
from crlm.report.tiles import cut
from crlm.search.ranked import RankedPairs
from crlm.svg.curve import Sweep
from crlm.svg.histogram import plateau
from crlm.task import Judged, Task

if TYPE_CHECKING:
    from crlm.estimator import CRLM

F64 = NDArray[np.float64]

MAX_SEARCHED = 2_000_000  # pairs, which take some 200 MB for a while


class Stops(NamedTuple):
    """Clusters at every stop of the slider, and the pairs up to the last of them."""

    task: Task
    sigmas: F64
    steps: list[list[Judged]]
    ranked: RankedPairs


def find_stops(model: CRLM, inputs: Inputs, estimate: SigmaEstimate) -> Stops | None:
    """Look from far too small to far too large, or as far as pairs are not too many.

    The bandwidth of the model is one of the stops; None when the pairs do not reach that far, and
    for landmarks, whose clusters need not be those of all rows.
    """
    if model.certificate_ is None:
        return None
    task = copy(model)._task(inputs.X, model._sample_weight, reset=True)
    try:
        quiet = replace(task, progress=None)  # the bandwidths take longer, and are counted below
        pairs, high = stored_pairs(quiet, estimate, model.sigma_max_, MAX_SEARCHED)
    except MemoryLimitError:
        return None
    if high < model.sigma_max_:
        return None
    sigmas = slider_stops(pairs, task, high, model.sigma_max_)
    if task.alpha is not None:
        task = task.remembering()
    ranked = RankedPairs.of(pairs)
    steps = []
    for done, at in enumerate(sigmas.tolist(), start=1):
        steps.append(clusters_at(task, ranked, at))
        if task.progress is not None:
            task.progress(done, len(sigmas))
    return Stops(task, sigmas, steps, ranked)


def live_record(stops: Stops, home: float, max_pairs: int) -> dict[str, Any] | None:
    """As many stops as `max_pairs` allow, as JSON; None when that leaves out the saved one.

    A page needs the neighbours of centres alone: members are the rows near a centre that no
    earlier cluster took. So it carries far fewer pairs than were searched.
    """
    sigmas, n = stops.sigmas, len(stops.task.X)
    first = int(np.searchsorted(sigmas, home)) + 1
    records = [step_record(step) for step in stops.steps]
    for end in range(len(sigmas), first - 1, -max(1, len(sigmas) // 20)):
        kept = _pairs_of_centers(stops, records[:end])
        if len(kept.indices) <= max_pairs:
            break
    else:
        return None
    small = n <= 2**16
    return {
        "n": n,
        "sigmas": sigmas[:end].tolist(),
        "steps": [{key: step[key] for key in ("centers", "sizes")} for step in records[:end]],
        "owners": encode(kept.owners.astype(np.int32)),
        "degrees": encode(kept.degrees.astype(np.int32)),
        "indices": encode(kept.indices.astype(np.uint16 if small else np.int32)),
        "reach": encode(kept.reach.astype(np.uint8)),
    }


def with_saved(live: dict[str, Any], model: CRLM) -> dict[str, Any]:
    """Put the saved clusters in the place of those with one bandwidth for all."""
    if not model._has_own_bandwidths:
        return live
    rows = np.flatnonzero(model.labels_ >= 0)
    weights = None if model._sample_weight is None else model._sample_weight[rows]
    sizes = np.bincount(model.labels_[rows], weights, minlength=model.n_clusters_)
    saved = {"centers": model.center_indices_.tolist(), "sizes": sizes.tolist()}
    at = live["sigmas"].index(model.sigma_max_)
    return {**live, "steps": [*live["steps"][:at], saved, *live["steps"][at + 1 :]]}


class _Kept(NamedTuple):
    """Each pair once, at a centre: the centres, how many neighbours, who, from which stop on."""

    owners: NDArray[np.integer]
    degrees: NDArray[np.integer]
    indices: NDArray[np.integer]
    reach: NDArray[np.integer]


def _pairs_of_centers(stops: Stops, records: list[dict[str, list[Any]]]) -> _Kept:
    """Pairs of a row and a centre that are near at some stop at which it is one."""
    task, ranked = stops.task, stops.ranked
    d, sigmas = task.X.shape[1], stops.sigmas[: len(records)].tolist()
    last = np.full(len(task.X), -1)  # stop at which a row is a centre for the last time
    for stop, step in enumerate(records):
        last[step["centers"]] = stop
    cutoffs = np.array([sq_cutoff(at, d, task.G) for at in sigmas])
    reach = np.searchsorted(cutoffs, ranked.sq_dist, side="right")  # near is strictly less
    needed = np.maximum(last[ranked.i], last[ranked.j]) >= reach
    i, j, reach = ranked.i[needed], ranked.j[needed], reach[needed]
    turned = last[j] > last[i]
    center, other = np.where(turned, j, i), np.where(turned, i, j)
    by = np.argsort(center, kind="stable")
    owners, degrees = np.unique(center, return_counts=True)
    return _Kept(owners, degrees, other[by], reach[by])


def sweep(model: CRLM, live: dict[str, Any], estimate: SigmaEstimate) -> Sweep:
    """Number of clusters and share of the rows in them at every stop."""
    weights = model._sample_weight
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
    is_all = len(shown) == len(model.labels_)
    x, y = on_grid(xy[shown])
    scale = math.sqrt(4.0 / model.G_)
    needs_labels = live is None or model._has_own_bandwidths
    return {
        "n": len(model.labels_),
        "sigma": model.sigma_max_,
        "suggested": estimate.suggested * scale,
        "plateau": plateau(model, estimate),
        "peaks": estimate.peaks,
        "edges": estimate.edges.tolist(),
        "counts": estimate.counts.tolist(),
        "G": model.G_,
        "labels": encode(model.labels_.astype(np.int32)) if needs_labels else None,
        "centers": model.center_indices_.tolist(),
        "rows": None if _is_count(inputs.rows) else encode(inputs.rows[shown].astype(np.int32)),
        "shown": None if is_all else encode(shown.astype(np.int32)),
        "x": encode(x),
        "y": encode(y),
        "titles": titles(inputs, shown, limits),
        "live": live,
    }


def on_grid(xy: F64) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Positions as whole numbers up to 65,535, one scale for both."""
    low = xy.min(axis=0)
    span = max(float((xy.max(axis=0) - low).max()), 1e-300)
    x, y = np.rint((xy - low) * (65535.0 / span)).astype(np.uint16).T.copy()
    return x, y


def _is_count(rows: NDArray[np.int64]) -> bool:
    return bool(np.array_equal(rows, np.arange(len(rows))))


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
