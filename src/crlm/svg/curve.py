"""Clusters against the bandwidth, as a drawing."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.svg.base import MUTED, NEAR, SKY, LogScale, band, drawing, marker, tag, x_axis
from crlm.words import count, number


class Sweep(NamedTuple):
    """Number of clusters and share of rows in them at some bandwidths."""

    sigmas: NDArray[np.float64]
    n_clusters: NDArray[np.intp]
    share: NDArray[np.float64]
    stable: tuple[float, float] | None
    sigma_max: float


LEFT, RIGHT = 40.0, 46.0


def draw_curve(s: Sweep, *, width: float = 760.0, height: float = 210.0) -> str:
    """Steps of k over the area of the share, with the widest stable range and sigma_max."""
    scale = LogScale(float(s.sigmas[0]), float(s.sigmas[-1]), LEFT, width - RIGHT)
    top, floor = 26.0, height - 38.0
    parts = band(s.stable, scale, top, floor)
    parts += _share(s, scale, top, floor) + _steps(s, scale, top, floor)
    parts += x_axis(scale, floor, "σ_max")
    parts += marker(scale(s.sigma_max), 4.0, floor, number(s.sigma_max), width - RIGHT)
    return drawing(width, height, _in_words(s), parts, class_="sweep")


def _heights(values: NDArray[np.float64], most: float, top: float, floor: float) -> list[float]:
    return [floor - (floor - top) * float(v) / most for v in values]


def _steps(s: Sweep, scale: LogScale, top: float, floor: float) -> list[str]:
    most = nice(float(max(1, s.n_clusters.max(initial=1))))
    ys = _heights(s.n_clusters.astype(np.float64), most, top, floor)
    xs = [scale(float(v)) for v in s.sigmas]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(xs)]
    path = f"M{xs[0]:.1f} {ys[0]:.1f}"
    path += "".join(f"H{m:.1f}V{y:.1f}" for m, y in zip(middles, ys[1:], strict=True))
    path += f"H{xs[-1]:.1f}"
    line = tag("path", d=path, fill="none", stroke=NEAR, stroke_width=2, class_="curve-k")
    return [line, *_labels(most, LEFT - 6, "end", "curve-k-text", NEAR, top, floor, "clusters")]


def _share(s: Sweep, scale: LogScale, top: float, floor: float) -> list[str]:
    most = nice(100.0 * float(s.share.max(initial=0.0)) or 1.0)
    ys = _heights(100.0 * s.share, most, top, floor)
    points = "".join(f"L{scale(float(v)):.1f} {y:.1f}" for v, y in zip(s.sigmas, ys, strict=True))
    area = f"M{scale.left:.1f} {floor:.1f}{points}L{scale.right:.1f} {floor:.1f}Z"
    shape = tag("path", d=area, fill=SKY, fill_opacity=0.3, class_="curve-share")
    names = _labels(
        most, scale.right + 6, "start", "curve-share-text", MUTED, top, floor, "% of rows"
    )
    return [shape, *names]


def _labels(
    most: float, x: float, anchor: str, name: str, color: str, top: float, floor: float, what: str
) -> list[str]:
    values = [0.0, most / 2, most] if most > 1 else [0.0, most]
    ys = _heights(np.array(values), most, top, floor)
    common = {"x": x, "fill": color, "class_": name, "font_size": 11, "text_anchor": anchor}
    parts = [tag("text", f"{v:g}", y=y + 4, **common) for v, y in zip(values, ys, strict=True)]
    edge = "start" if anchor == "end" else "end"
    where = {**common, "x": x - 34 if anchor == "end" else x + 40, "text_anchor": edge}
    return [*parts, tag("text", what, y=top - 14, **where)]


def nice(value: float) -> float:
    """Next number that halves well, for the end of an axis.

    >>> [nice(v) for v in (1, 3, 7, 12, 53, 100, 0.4)]
    [1, 4.0, 8.0, 20.0, 60.0, 100.0, 0.4]
    """
    if value <= 2:
        return value
    unit = 10.0 ** (len(str(int(value))) - 1)
    return next(step * unit for step in (1, 2, 4, 6, 8, 10) if step * unit >= value)


def _in_words(s: Sweep) -> str:
    at = int(np.abs(np.log(s.sigmas / s.sigma_max)).argmin())
    words = f"Clusters at {len(s.sigmas)} bandwidths: {count(int(s.n_clusters[at]), 'cluster')} "
    words += f"at sigma_max {number(s.sigma_max)}"
    if s.stable is None:
        return words + "; no range over which they stay the same."
    return words + f"; the same from {number(s.stable[0])} to {number(s.stable[1])}."
