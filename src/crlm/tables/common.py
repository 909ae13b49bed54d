"""Columns by name or number, and the complaints that name them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError


def listed(words: Iterable[str], limit: int = 8) -> str:
    """Words joined by commas, cut after `limit`."""
    words = list(words)
    return ", ".join(words[:limit]) + (", ..." if len(words) > limit else "")


def numbered(n: int) -> list[str]:
    """Names of n columns that have none.

    >>> numbered(3)
    ['0', '1', '2']
    """
    return [str(j) for j in range(n)]


def pick_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """Positions of the wanted columns; an item ``a:d`` stands for all from a to d.

    >>> pick_columns(["w", "x:z"], ["id", "x", "y", "z", "w"], "rows.csv")
    [4, 1, 2, 3]
    """
    places: list[int] = []
    for item in wanted:
        first, colon, last = item.partition(":")
        if colon and item not in names:
            start, stop = _place(first, names, source), _place(last, names, source)
            places.extend(range(start, stop + 1))
        else:
            places.append(_place(item, names, source))
    return places


def _place(name: str, names: Sequence[str], source: str) -> int:
    if name in names:
        return names.index(name)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"It has: {listed(names)}."
    msg = f"{source} has no column {name!r}. {hint}"
    raise InputError(msg)


def without_bool(X: NDArray[Any]) -> NDArray[Any]:
    """`X`, with truth values seen as 0 and 1."""
    return X.view(np.uint8) if X.dtype.kind == "b" else X


def text_error(
    source: str, names: Sequence[str], text: Sequence[int], numeric: Sequence[int], detail: str
) -> InputError:
    """Say which columns are `text` and how to take the `numeric` ones."""
    s = "s" if len(text) > 1 else ""
    where = listed(repr(names[j]) if names[j] else f"number {j}" for j in text)
    fix = (
        f"Take the numeric ones: --columns {_runs(names, numeric)}"
        if numeric
        else "No column holds numbers."
    )
    return InputError(f"{source} has text in column{s} {where} ({detail}). {fix}")


def _runs(names: Sequence[str], places: Sequence[int]) -> str:
    """Column names as `pick_columns` reads them, three and more neighbours joined.

    >>> _runs(["id", "x", "y", "z", "name", "w"], [1, 2, 3, 5])
    'x:z,w'
    """
    runs: list[list[str]] = []
    for i, j in enumerate(places):
        if i and places[i - 1] == j - 1:
            runs[-1].append(names[j])
        else:
            runs.append([names[j]])
    return ",".join(f"{run[0]}:{run[-1]}" if len(run) > 2 else ",".join(run) for run in runs)
