"""Rows as small pictures, curves or words."""

from __future__ import annotations

import base64
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.gallery import Picks
from crlm.images import thumbnail
from crlm.report.inputs import Inputs
from crlm.svg.base import drawing, tag

_SMALL = 40  # pixels up to which a picture is kept as it is, without loss
_CURVE = 64  # values of a curve; more are averaged
_LETTERS = 120


class Tile(NamedTuple):
    """One row in a gallery.

    Attributes
    ----------
    row : int
        Its number in the file.
    reach : str
        Distance from the middle of the ball, over the radius.
    picture : str or None
        Address that holds the picture itself.
    curve : str or None
        Drawing of its values, when there are no pictures.
    words : list of tuple of str
        Name and value of what is known of it.
    """

    row: int
    reach: str
    picture: str | None
    curve: str | None
    words: list[tuple[str, str]]

    @property
    def title(self) -> str:
        """What the row is called: the first thing known of it, or its number."""
        return self.words[0][1] if self.words and self.words[0][1] else f"row {self.row}"

    @property
    def more(self) -> list[tuple[str, str]]:
        """What else is known of it."""
        return [(name, value) for name, value in self.words[1:] if value]


class Tiles:
    """Makes tiles, and counts the pictures that cannot be read."""

    def __init__(self, inputs: Inputs, size: int) -> None:
        self._inputs, self._size = inputs, size
        self._low, self._high = _range(inputs.points)
        self.unreadable: list[str] = []

    def of(self, rows: NDArray[Any], picks: Picks) -> list[Tile]:
        """Tiles of some rows."""
        return [self._tile(int(i), float(picks.reach[i])) for i in rows]

    def small(self, row: int) -> str | None:
        """A very small picture, for the table."""
        return None if self._inputs.images is None else self._picture(row, 40)

    def _tile(self, i: int, reach: float) -> Tile:
        inputs = self._inputs
        picture = None if inputs.images is None else self._picture(i, self._size)
        curve = None
        if inputs.images is None and not inputs.meta:
            curve = draw_values(inputs.points[i], self._low, self._high)
        words = [(name, cut(column[i])) for name, column in list(inputs.meta.items())[:4]]
        return Tile(
            int(inputs.rows[i]), f"{math.floor(100 * reach) / 100:.2f}", picture, curve, words
        )

    def _picture(self, i: int, size: int) -> str | None:
        assert self._inputs.images is not None
        given = self._inputs.images[i]
        if hasattr(given, "convert"):  # a picture of Pillow's
            given = np.asarray(given.convert("RGB"))
        is_small = isinstance(given, np.ndarray) and max(given.shape[:2], default=0) <= _SMALL
        kind = "PNG" if is_small else "JPEG"
        try:
            data = thumbnail(given, size, format=kind)  # type: ignore[arg-type]
        except InputError as error:
            if str(error) not in self.unreadable:
                self.unreadable.append(str(error))
            return None
        return f"data:image/{kind.lower()};base64,{base64.b64encode(data).decode()}"


def cut(text: str, letters: int = _LETTERS) -> str:
    """As much of a text as there is room for.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= letters else text[: letters - 1] + "…"


def draw_values(values: NDArray[Any], low: float, high: float) -> str:
    """A row as a curve; hidden from screen readers, which hear its number."""
    parts = np.array_split(np.asarray(values, dtype=np.float64), min(len(values), _CURVE))
    ys = 33.0 - 30.0 * (np.array([p.mean() for p in parts]) - low) / max(high - low, 1e-300)
    xs = np.linspace(3.0, 57.0, len(ys)) if len(ys) > 1 else np.array([30.0])
    path = "".join(
        f"{'L' if i else 'M'}{x:.0f} {y:.0f}" for i, (x, y) in enumerate(zip(xs, ys, strict=True))
    )
    line = tag("path", d=path, class_="values", fill="none", stroke="#555555")
    return drawing(60, 36, "values", [line], aria_hidden="true").replace(' role="img"', "")


def _range(points: NDArray[Any]) -> tuple[float, float]:
    """From nearly the smallest to nearly the largest value, of some rows."""
    some = points[:: max(1, len(points) // 500)]
    low, high = np.quantile(some, [0.002, 0.998])
    return float(low), float(high)
