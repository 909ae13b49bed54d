"""The map of the clusters as a drawing."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray

from crlm.labels import BACKGROUND
from crlm.look.colors import PALETTE, color
from crlm.svg.base import INK, drawing, tag

F64 = NDArray[np.float64]

FEW = 3000  # points drawn one by one; more become a picture
DOT, MARGIN = 4.5, 16.0


def on_page(xy: F64, width: float, height: float) -> F64:
    """Positions on the page: y up, one scale for both axes, a margin all around."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.maximum(high - low, 1e-300)
    scale = float(((np.array([width, height]) - 2 * MARGIN) / span).min())
    placed = (xy - (low + high) / 2) * scale * [1.0, -1.0]
    placed += [width / 2, height / 2]
    return np.asarray(placed, dtype=np.float64)


def draw_map(
    xy: F64, labels: NDArray[np.int64], *, width: float = 760.0, height: float = 500.0
) -> str:
    """Every point faint, the clusters in colour above them, each with its number."""
    at = on_page(xy, width, height)
    k = int(labels.max(initial=BACKGROUND)) + 1
    noise = at[labels == BACKGROUND]
    parts = [
        _dots(noise, "dots", "#999999", 2.5, 0.45)
        if len(noise) <= FEW
        else _picture(noise, width, height)
    ]
    for j in reversed(range(k)):
        name = f"dots c{j % len(PALETTE)}"
        parts.append(_dots(_thinned(at[labels == j]), name, color(j), DOT, 1.0))
    parts += [_number(j, at[labels == j], width) for j in range(k)]
    words = f"Map of {len(xy):,} rows: {k} clusters in colour, the background in grey."
    return drawing(width, height, words, parts, class_="map")


def _dots(at: F64, name: str, stroke: str, size: float, opacity: float) -> str:
    """Points as one path of strokes without length, which is short and quickly drawn."""
    path = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in np.rint(at).tolist())
    return tag(
        "path",
        d=path,
        class_=name,
        stroke=stroke,
        stroke_width=size,
        fill="none",
        stroke_linecap="round",
        stroke_opacity=opacity,
    )


def _thinned(at: F64) -> F64:
    """Points at different places; what lies on top of another is not seen."""
    return np.unique(np.rint(at), axis=0)


def _number(j: int, at: F64, width: float) -> str:
    x, y = np.median(at, axis=0).tolist()
    x, y = (x - 10 if x > width - 40 else x + 10), max(y - 8, 12.0)
    return tag(
        "text",
        str(j),
        x=x,
        y=y,
        class_="map-number",
        fill=INK,
        font_size=14,
        font_weight=700,
        text_anchor="end" if x > width - 40 else "start",
        paint_order="stroke",
        stroke="#ffffff",
        stroke_width=3,
        stroke_linejoin="round",
    )


def _picture(at: F64, width: float, height: float) -> str:
    """Points as a picture of grey dots, twice as fine as the page; overlap darkens."""
    from PIL import Image

    across, down = int(2 * width), int(2 * height)
    col, row = np.rint(2 * at).astype(np.intp).T
    flat = np.zeros(across * down)
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        place = np.clip(row + dy, 0, down - 1) * across + np.clip(col + dx, 0, across - 1)
        flat += np.bincount(place, minlength=across * down)
    # So that a hundred thousand points are a cloud with a shape, not a blot.
    typical = max(1.0, float(np.quantile(flat[flat > 0], 0.9)))
    alpha = 255.0 * (1.0 - np.exp(-flat * (0.9 / typical))) * 0.75
    alpha = np.where(flat > 0, np.maximum(alpha, 40.0), 0.0)
    image = np.zeros((down, across, 2), dtype=np.uint8)
    image[..., 0], image[..., 1] = 0x88, (np.rint(alpha / 8) * 8).clip(0, 255).reshape(down, across)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode()
    return tag("image", href=f"data:image/png;base64,{data}", x=0, y=0, width=width, height=height)
