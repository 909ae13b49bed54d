"""What a page asks for, checked: numbers in range, rows that are there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from crlm.errors import InputError
from crlm.explorer.engine import Settings

_MAX_ROWS = 200  # that one question may name


def settings_of(given: Mapping[str, Any], start: Settings) -> Settings:
    """Settings from JSON or from an address; what is left out is as at the start.

    Raises
    ------
    InputError
        One of them is out of range.
    """
    return Settings(
        sigma=_positive(given, "sigma", start.sigma),
        min_size=whole(given, "minSize", start.min_size, least=2),
        max_clusters=_whole_or_none(given, "maxClusters", start.max_clusters),
        alpha=_level(given, start.alpha),
    )


def whole(
    given: Mapping[str, Any], name: str, default: int, *, least: int = 0, most: int = 2**31
) -> int:
    """Whole number in a range."""
    value = given.get(name, default)
    try:
        number = int(value)
        if isinstance(value, bool | float) and number != value:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise _bad(name, value) from None
    if not least <= number <= most:
        raise _bad(name, value)
    return number


def rows_of(text: str, n: int) -> list[int]:
    """Row numbers separated by commas."""
    words = text.split(",")
    if len(words) > _MAX_ROWS:
        msg = f"at most {_MAX_ROWS} rows can be asked for at a time, not {len(words):,}."
        raise InputError(msg)
    return [row_of(word, n) for word in words]


def row_of(word: Any, n: int) -> int:
    """Number of a row that is there."""
    return whole({"row": word}, "row", 0, most=n - 1)


def _positive(given: Mapping[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise _bad(name, value) from None
    if isinstance(value, bool) or not math.isfinite(number) or not 0.0 < number < 1e150:
        raise _bad(name, value)
    return number


def _whole_or_none(given: Mapping[str, Any], name: str, default: int | None) -> int | None:
    if name not in given:
        return default
    return None if given[name] in (None, "", "none") else whole(given, name, 1, least=1)


def _level(given: Mapping[str, Any], default: float | None) -> float | None:
    if "alpha" not in given:
        return default
    if given["alpha"] in (None, "", "none"):
        return None
    level = _positive(given, "alpha", 0.01)
    if level >= 1.0:
        raise _bad("alpha", given["alpha"])
    return level


def _bad(name: str, value: Any) -> InputError:
    return InputError(f"{name} cannot be {str(value)[:40]!r}.")
