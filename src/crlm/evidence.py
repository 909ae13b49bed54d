"""Theorem D's conditions from what a fit knows already, at a small part of its cost.

With a stored graph, pairs nearer than R are at hand: cover means that no pair of a cluster is
missing, separation that none leads out of it. Without one, the radii around the means decide, or
leave it open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm.labels import BACKGROUND
from crlm.loss import sq_cutoff
from crlm.search import Floats, Pairs
from crlm.theory.conditions import (
    Conditions,
    Partition,
    background_neighbours,
    c2_margin,
    cheap_margins,
    loss_margin,
)
from crlm.theory.margins import Margin, margin

Rows = tuple[int, ...]

_SAFE = 1e-9  # far beyond the rounding of the cheap forms
_DIRECT = 10**8  # multiplications for which cover is rather measured than left open


def cheap_conditions(
    X: Floats,
    labels: NDArray[np.int64],
    L: NDArray[np.int64],
    sigma_max: float,
    G: float,
    weights: NDArray[Any],
    pairs: Pairs | None,
) -> tuple[Conditions, Partition]:
    """Conditions of a partition, from its losses and, if there is one, its graph."""
    part = Partition(X, labels)
    sq_radius = sq_cutoff(sigma_max, X.shape[1], G)
    cheap = {"cover": 1.0 - 2.0 * float(part.radii.max(initial=0.0)) / math.sqrt(sq_radius)}
    # Distances to all means are few beside those of the fit, unless clusters are very many.
    if part.k <= max(8, len(X) // 100):
        cheap = cheap_margins(part, sq_radius)
    decide = _without_graph if pairs is None else _Graph(pairs).decide
    cover, c1, separation, worst = decide(part, sq_radius, cheap)
    loss, worst["loss"] = loss_margin(part, L, weights, G)
    c2, worst["C2"] = c2_margin(part, X.shape[1] * G)
    t0 = None if pairs is None else background_neighbours(labels, pairs)
    kappas = part.radii / math.sqrt(sq_radius)
    found = Conditions(c1, c2, cover, separation, loss, cheap, kappas, t0, part.sizes, worst)
    return found, part


class _Graph:
    """What the pairs of clustered rows say."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def decide(
        self, part: Partition, sq_radius: float, cheap: dict[str, float]
    ) -> tuple[Margin, Margin, Margin, dict[str, Rows]]:
        labels, pairs = part.labels, self._pairs
        complete = np.zeros(part.k, dtype=np.int64)
        widest: tuple[float, Rows] = (0.0, ())
        nearest: dict[str, tuple[float, Rows]] = {
            "C1": (math.inf, ()),
            "separation": (math.inf, ()),
        }
        for owner, other, sq in _of_clusters(labels, pairs):
            mine, theirs = labels[owner], labels[other]
            inside = mine == theirs
            complete += np.bincount(mine[inside], minlength=part.k)
            widest = _extreme(widest, sq, owner, other, inside, sign=-1.0)
            outside = {
                "C1": theirs == BACKGROUND,
                "separation": ~inside & (theirs != BACKGROUND),
            }
            for name, mask in outside.items():
                nearest[name] = _extreme(nearest[name], sq, owner, other, mask, sign=1.0)
        missing = np.flatnonzero(2 * complete < part.sizes * (part.sizes - 1))
        cover, at_cover = _cover(part, missing, widest, sq_radius)
        apart = {name: _apart(found, sq_radius, cheap) for name, found in nearest.items()}
        worst = {"cover": at_cover, **{name: rows for name, (_, rows) in nearest.items()}}
        return cover, apart["C1"], apart["separation"], worst


def _of_clusters(
    labels: NDArray[np.int64], pairs: Pairs
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Pairs of which at least one row is in a cluster; that row comes first."""
    clustered = labels != BACKGROUND
    for i, j, sq in pairs.in_parts():
        first, second = clustered[i], clustered[j]
        at = np.flatnonzero(first | second)
        swap = ~first[at]
        yield np.where(swap, j[at], i[at]), np.where(swap, i[at], j[at]), sq[at]


def _extreme(
    best: tuple[float, Rows],
    sq: NDArray[np.float64],
    owner: NDArray[np.intp],
    other: NDArray[np.integer],
    mask: NDArray[np.bool_],
    sign: float,
) -> tuple[float, Rows]:
    """Smallest (sign 1) or largest (-1) of some squared distances, and its two rows."""
    where = np.flatnonzero(mask)
    if not len(where):
        return best
    i = where[int((sign * sq[where]).argmin())]
    if sign * sq[i] < sign * best[0]:
        return float(sq[i]), (int(owner[i]), int(other[i]))
    return best


def _cover(
    part: Partition, missing: NDArray[np.intp], widest: tuple[float, Rows], sq_radius: float
) -> tuple[Margin, Rows]:
    if not len(missing):
        return Margin(1.0 - math.sqrt(widest[0] / sq_radius), "holds"), widest[1]
    # Some pair is farther than R. How far is told by the farthest row and the farthest from it.
    worst = 0.0
    rows: Rows = ()
    for j in missing.tolist():
        points = part.points(j)
        a = int(np.square(points - part.means[j]).sum(axis=1).argmax())
        sq = np.square(points - points[a]).sum(axis=1)
        if (far := float(sq.max())) > worst:
            worst, rows = far, (int(part.rows(j)[a]), int(part.rows(j)[int(sq.argmax())]))
    return Margin(min(0.0, 1.0 - math.sqrt(worst / sq_radius)), "fails", "at most"), rows


def _apart(found: tuple[float, Rows], sq_radius: float, cheap: dict[str, float]) -> Margin:
    if math.isfinite(found[0]):
        return Margin(math.sqrt(found[0] / sq_radius) - 1.0, "fails")
    return Margin(max(0.0, cheap.get("separation", 0.0)), "holds", "at least")


def _without_graph(
    part: Partition, sq_radius: float, cheap: dict[str, float]
) -> tuple[Margin, Margin, Margin, dict[str, Rows]]:
    if cheap["cover"] > _SAFE:
        cover = Margin(cheap["cover"], "holds", "at least")
    elif float(np.square(part.sizes).sum()) * part.X.shape[1] <= _DIRECT:
        widest = max(float(distance.pdist(part.points(j)).max(initial=0.0)) for j in range(part.k))
        value = 1.0 - widest / math.sqrt(sq_radius)
        cover = margin(value, _SAFE, strict=True)
    else:
        cover = Margin(cheap["cover"], "undecided", "at least")
    gap = cheap.get("separation", -1.0)
    apart = Margin(gap, "holds" if gap > _SAFE else "undecided", "at least")
    return cover, apart, apart, {"cover": (), "C1": (), "separation": ()}
