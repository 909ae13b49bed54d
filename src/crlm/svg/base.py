"""Elements, scales and ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

# Words are in the colour of the page, which may be dark.
INK, MUTED, BAR, NEAR = "currentColor", "currentColor", "#b8bec6", "#0072b2"
ACCENT, GREEN, SKY = "#d55e00", "#009e73", "#56b4e9"
FONT = "system-ui, sans-serif"

_ROOM = 44.0  # for the number at a tick
_LEADS: tuple[tuple[float, ...], ...] = (
    (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


def tag(name: str, text: str | None = None, **attributes: Any) -> str:
    """An element; ``class_`` is class, and underscores in names are hyphens.

    >>> tag("text", "a < b", x=1.50, class_="tick", text_anchor="end")
    '<text x="1.5" class="tick" text-anchor="end">a &lt; b</text>'
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{words}/>" if text is None else f"<{name}{words}>{escape(text)}</{name}>"


def drawing(
    width: float, height: float, title: str, parts: Iterable[str], **attributes: Any
) -> str:
    """A whole drawing; `title` says in words what it shows."""
    head = tag(
        "svg",
        "",
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        role="img",
        aria_label=title,
        xmlns="http://www.w3.org/2000/svg",
        font_family=FONT,
        **attributes,
    )
    return head.removesuffix("</svg>") + "".join(parts) + "</svg>"


def _plain(value: Any) -> str:
    """A number in as few digits as a drawing needs."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


class LogScale(NamedTuple):
    """Places for numbers of equal ratio at equal distances."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """Place of a value; what is out of range goes to the nearer end."""
        share = math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    @property
    def ticks(self) -> list[float]:
        """Round numbers, as many as there is room for.

        >>> LogScale(0.8, 30.0, 0.0, 400.0).ticks
        [1.0, 2.0, 5.0, 10.0, 20.0]
        """
        return next((found for leads in _LEADS if (found := self._at(leads))), [])

    def _at(self, leads: tuple[float, ...]) -> list[float]:
        """Numbers that begin with these digits; none when they are too close to each other."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = [float(f"{lead}e{power}") for power in powers for lead in leads]
        inside = [value for value in every if self.low <= value <= self.high]
        close = any(self(b) - self(a) < _ROOM for a, b in pairwise(inside))
        return [] if close else inside


def words(text: str, size: float, **attributes: Any) -> str:
    """A line of text in which σ_max is written as on paper.

    >>> words("σ_max 2", 12)
    '<text font-size="12">σ<tspan dy="3" font-size="9">max</tspan><tspan dy="-3"> 2</tspan></text>'
    """
    line = tag("text", text, font_size=size, **attributes)
    low = tag("tspan", "max", dy=3, font_size=round(0.75 * size))
    before, found, after = line.removesuffix("</text>").partition("σ_max")
    if not found:
        return line
    rest = tag("tspan", "", dy=-3).replace("></tspan>", f">{after}</tspan>") if after else ""
    return f"{before}σ{low}{rest}</text>"


def x_axis(scale: LogScale, y: float, label: str) -> list[str]:
    """Line, ticks and what the numbers are."""
    line = tag("line", x1=scale.left, x2=scale.right, y1=y, y2=y, stroke=MUTED, class_="axis")
    look = {"fill": MUTED, "class_": "tick", "text_anchor": "middle"}
    ticks = [words(f"{value:g}", 11, x=scale(value), y=y + 15, **look) for value in scale.ticks]
    return [line, *ticks, words(label, 11, x=(scale.left + scale.right) / 2, y=y + 31, **look)]


def band(ends: tuple[float, float] | None, scale: LogScale, top: float, floor: float) -> list[str]:
    """Band over the bandwidths that are as good, if there are any."""
    if ends is None:
        return []
    left, right = (scale(end) for end in ends)
    look: dict[str, Any] = {"fill": GREEN, "fill_opacity": 0.12, "class_": "plateau"}
    width, height = max(2.0, right - left), floor - top + 6
    return [tag("rect", x=left, y=top - 6, width=width, height=height, **look)]


def marker(x: float, top: float, bottom: float, value: str, right: float) -> list[str]:
    """Line at sigma_max with its value on the side that has room."""
    turned = x > right - 110
    place = {"x": x - 6 if turned else x + 6, "y": top + 10}
    look = {"fill": ACCENT, "class_": "mark-text", "font_weight": 600}
    side = "end" if turned else "start"
    return [
        tag("line", x1=x, x2=x, y1=top, y2=bottom, stroke=ACCENT, stroke_width=2, class_="mark"),
        words(f"σ_max {value}", 12, **place, **look, text_anchor=side),
    ]
