"""The histogram of distances as a drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.look.gap import empty_gap
from crlm.svg.base import BAR, INK, MUTED, NEAR, SKY, LogScale, band, drawing, marker, tag, x_axis
from crlm.words import number

if TYPE_CHECKING:
    from crlm.bandwidth.sigma import SigmaEstimate
    from crlm.estimator import CRLM

F64 = NDArray[np.float64]
Interval = tuple[float, float]


class Distances(NamedTuple):
    """What the histogram shows.

    Attributes
    ----------
    edges, counts : ndarray
        Pairs in bins of distance / sqrt(2 d).
    sigma_max, G : float
        Of the fit; pairs closer than ``sigma_max * sqrt(G / 2)`` on this axis count.
    peaks : list of float
        Sigmas of clusters.
    plateau : tuple of float or None
        Bandwidths that serve as well.
    """

    edges: F64
    counts: F64
    sigma_max: float
    G: float
    peaks: list[float]
    plateau: Interval | None = None


def distances_of(model: CRLM, estimate: SigmaEstimate) -> Distances:
    """Read off a fitted model and what was seen in its distances."""
    return Distances(
        estimate.edges,
        estimate.counts,
        model.sigma_max_,
        model.G_,
        estimate.peaks,
        plateau(model, estimate),
    )


def plateau(model: CRLM, estimate: SigmaEstimate) -> Interval | None:
    """Bandwidths that serve as well as the suggested one, for the depth G of the model."""
    low, high = (end * math.sqrt(4.0 / model.G_) for end in estimate.plateau)
    return (low, high) if math.isfinite(low) else None


def draw_histogram(d: Distances, *, width: float = 760.0, height: float = 236.0) -> str:
    """Bars of log counts, with peaks, gap, plateau and sigma_max."""
    low, high = _limits(d)
    scale = LogScale(low, high, 10.0, width - 10.0)
    top, floor = 26.0, height - 38.0
    parts = [*band(d.plateau, scale, top, floor), *_gap(d, scale, floor)]
    parts += _bars(d, scale, top, floor)
    parts += x_axis(scale, floor, "pair distance / √(2d), which is σ inside a cluster")
    parts += [
        tag("circle", cx=scale(peak), cy=floor, r=3.5, fill=INK, class_="peak") for peak in d.peaks
    ]
    parts += marker(scale(d.sigma_max), 4.0, floor, number(d.sigma_max), width)
    return drawing(width, height, _in_words(d), parts, class_="histogram")


def _limits(d: Distances) -> Interval:
    used = np.flatnonzero(d.counts > 0)
    ends = [d.sigma_max, *d.peaks]
    if len(used):
        ends += [float(d.edges[used[0]]), float(d.edges[used[-1] + 1])]
    return min(ends) / 1.1, max(ends) * 1.05


def _bars(d: Distances, scale: LogScale, top: float, floor: float) -> list[str]:
    reach = d.sigma_max * math.sqrt(d.G / 2.0)
    most = math.log1p(max(float(d.counts.max(initial=0.0)), 1.0))
    parts = []
    for count, left, right in zip(d.counts, d.edges[:-1], d.edges[1:], strict=True):
        if count <= 0:
            continue
        size = max(2.0, (floor - top - 14.0) * math.log1p(float(count)) / most)
        near = left < reach
        x = scale(float(left))
        parts.append(
            tag(
                "rect",
                x=x,
                y=floor - size,
                width=max(0.8, scale(float(right)) - x - 0.6),
                height=size,
                fill=NEAR if near else BAR,
                class_="bar is-near" if near else "bar",
            )
        )
    return parts


def _gap(d: Distances, scale: LogScale, floor: float) -> list[str]:
    gap = empty_gap(d.edges, d.counts)
    if gap is None or scale(gap[1]) - scale(gap[0]) < 60.0:
        return []
    left, right = (scale(end) for end in gap)
    y = floor - 10.0
    return [
        tag(
            "path",
            d=f"M{left + 4:.1f} {y:.1f}H{right - 4:.1f}",
            stroke=SKY,
            class_="gap",
            stroke_dasharray="2 3",
        ),
        tag(
            "text",
            "no pair",
            x=(left + right) / 2,
            y=y - 5,
            fill=MUTED,
            class_="tick",
            font_size=11,
            text_anchor="middle",
        ),
    ]


def _in_words(d: Distances) -> str:
    peaks = ", ".join(number(peak) for peak in d.peaks[:8])
    found = f"peaks at {peaks}" if d.peaks else "no peak"
    return f"Histogram of pair distances: {found}; sigma_max {number(d.sigma_max)}."
