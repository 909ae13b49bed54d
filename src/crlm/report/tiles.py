"""Rows as small pictures, curves or words."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
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
_WORDS = re.compile(r"[^\W\d_]\S*\s+[^\W\d_]")


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
        Drawing of its values, when there are no pictures and no text.
    text : str or None
        Its text, when there are no pictures and a column holds texts.
    name : str or None
        What it is called, if it has a name.
    more : list of tuple of str
        Name and value of what else is known of it.
    """

    row: int
    reach: str
    picture: str | None
    curve: str | None
    text: str | None
    name: str | None
    more: list[tuple[str, str]]

    @property
    def title(self) -> str:
        """What the row is called: its name, or its number."""
        return self.name or f"row {self.row}"


class Tiles:
    """Makes tiles, and counts the pictures that cannot be read."""

    def __init__(self, inputs: Inputs, size: int) -> None:
        self._inputs, self._size = inputs, size
        self._low, self._high = _range(inputs.points)
        self._text: str | None = None  # column of texts, to be shown in place of a picture
        if inputs.images is None:
            self._text = next(
                (name for name, column in inputs.meta.items() if is_text(column)), None
            )
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
        curve = text = None
        if self._text is not None:
            text = cut(inputs.meta[self._text][i])
        elif inputs.images is None:
            curve = draw_values(inputs.points[i], self._low, self._high)
        words = {name: cut(column[i]) for name, column in list(inputs.meta.items())[:4]}
        first = next(iter(words), None)
        # A number under a curve says nothing without the name of its column.
        is_name = first != self._text and not (curve and is_number(words.get(first or "", "")))
        name = words.pop(first) if first is not None and is_name else None
        more = [(key, value) for key, value in words.items() if value and key != self._text]
        there = f"{math.floor(100 * reach) / 100:.2f}"
        return Tile(int(inputs.rows[i]), there, picture, curve, text, name, more)

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


def is_text(column: Sequence[str]) -> bool:
    """Whether most of a column are words in a row, and neither numbers nor names.

    >>> is_text(["a red house", "two cats", ""]), is_text(["row-17", "3.5", "setosa"])
    (True, False)
    """
    some = [value for value in column[:: max(1, len(column) // 500)] if value]
    return 2 * sum(_WORDS.search(value) is not None for value in some) > len(some)


def is_number(value: str) -> bool:
    """Whether a cell is a number.

    >>> is_number("-1"), is_number("2.5e3"), is_number("Ada"), is_number("")
    (True, True, False, False)
    """
    try:
        float(value)
    except ValueError:
        return False
    return True


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
