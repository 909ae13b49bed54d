"""Theorem D's conditions from what a fit knows already, at a small part of its cost.

With a stored graph, pairs nearer than R are at hand: cover means that no pair of a cluster is
missing, separation that none leads out of it. Without one, the radii around the means decide, or
leave it open.
"""

from __future__ import annotations

import math
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
Extreme = tuple[float, Rows]  # a squared distance, and of which rows

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
    if pairs is None:
        cover, c1, separation, worst = _without_graph(part, sq_radius, cheap)
    else:
        cover, c1, separation, worst = _from_graph(part, sq_radius, cheap, pairs)
    loss, worst["loss"] = loss_margin(part, L, weights, G)
    c2, worst["C2"] = c2_margin(part, X.shape[1] * G)
    t0 = None if pairs is None else background_neighbours(labels, pairs)
    kappas = part.radii / math.sqrt(sq_radius)
    found = Conditions(c1, c2, cover, separation, loss, cheap, kappas, t0, part.sizes, worst)
    return found, part


def _from_graph(
    part: Partition, sq_radius: float, cheap: dict[str, float], pairs: Pairs
) -> tuple[Margin, Margin, Margin, dict[str, Rows]]:
    """What the pairs of clustered rows say."""
    labels = part.labels
    complete = np.zeros(part.k, dtype=np.int64)
    widest: Extreme = (0.0, ())
    c1: Extreme = (math.inf, ())
    separation: Extreme = (math.inf, ())
    for i, j, sq in pairs.in_parts():
        mine, theirs = labels[i], labels[j]
        same = mine == theirs
        inside = np.flatnonzero(same & (mine != BACKGROUND))
        complete += np.bincount(mine[inside], minlength=part.k)
        widest = _extreme(widest, sq, i, j, inside, sign=-1.0)
        across = np.flatnonzero(~same)
        out = np.minimum(mine[across], theirs[across]) == BACKGROUND
        c1 = _extreme(c1, sq, i, j, across[out], sign=1.0)
        separation = _extreme(separation, sq, i, j, across[~out], sign=1.0)
    missing = np.flatnonzero(2 * complete < part.sizes * (part.sizes - 1))
    cover, at_cover = _cover(part, missing, widest, sq_radius)
    at_c1 = tuple(sorted(c1[1], key=lambda row: bool(labels[row] == BACKGROUND)))  # its own first
    worst = {"cover": at_cover, "C1": at_c1, "separation": separation[1]}
    return cover, _apart(c1, sq_radius, cheap), _apart(separation, sq_radius, cheap), worst


def _extreme(
    best: Extreme,
    sq: NDArray[np.float64],
    i: NDArray[np.intp],
    j: NDArray[np.intp],
    where: NDArray[np.intp],
    sign: float,
) -> Extreme:
    """Smallest (sign 1) or largest (-1) of some squared distances, and its two rows."""
    if not len(where):
        return best
    at = where[int((sign * sq[where]).argmin())]
    if sign * sq[at] < sign * best[0]:
        return float(sq[at]), (int(i[at]), int(j[at]))
    return best


def _cover(
    part: Partition, missing: NDArray[np.intp], widest: Extreme, sq_radius: float
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


def _apart(found: Extreme, sq_radius: float, cheap: dict[str, float]) -> Margin:
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
