"""Vectors that are written out in one cell of a text file, as pandas and NumPy print them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError

BRACKETS = str.maketrans("[](),\n", "      ")


def stack_cells(cells: Sequence[str], what: str) -> NDArray[np.float64]:
    """Matrix whose rows are the vectors in the cells; an empty cell is a row of NaN.

    >>> stack_cells(["[1, 2.5]", "(3 4)", ""], "x.csv column 'v'").tolist()
    [[1.0, 2.5], [3.0, 4.0], [nan, nan]]
    """
    vectors = [_vector(cell, row, what) for row, cell in enumerate(cells)]
    lengths = {len(vector): row for row, vector in reversed(list(enumerate(vectors))) if vector}
    if not lengths:
        msg = f"{what} has no values."
        raise InputError(msg)
    if len(lengths) > 1:
        (first, _), (other, row) = sorted(lengths.items(), key=lambda item: item[1])[:2]
        msg = (
            f"{what} has vectors of different lengths: {first} at first, {other} in row {row}. "
            "All must have the same."
        )
        raise InputError(msg)
    (length,) = lengths
    return np.array([vector or [np.nan] * length for vector in vectors], dtype=np.float64)


def _vector(cell: str, row: int, what: str) -> list[float]:
    try:
        return [float(word) for word in cell.translate(BRACKETS).split()]
    except ValueError:
        msg = f"{what} row {row} is not a vector: {cell[:40]!r}. Write numbers such as [0.5, 1.25]."
        raise InputError(msg) from None
