"""Numbers in .csv and .tsv files, with or without names, with or without holes."""

from __future__ import annotations

import csv
import math
import warnings
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMWarning, InputError
from crlm.tables.common import listed, numbered, pick_columns, text_error

MISSING = {"", "na", "n/a", "null", "none"}  # cells that pandas, R and SQL write for "no value"
ENCODING = "utf-8-sig"  # UTF-8; Excel's byte order mark is no part of the first cell


class Head(NamedTuple):
    """What the first line tells: names if it is a header, and the physical lines to skip."""

    names: list[str] | None
    width: int
    skip: int
    delimiter: str

    def labels(self) -> list[str]:
        """Names, or numbers where there are none."""
        return self.names or numbered(self.width)


def read_text(
    path: Path, columns: Sequence[str] | None
) -> tuple[NDArray[np.float64], list[str] | None]:
    """Matrix of a text file and the names of its columns, if it has any."""
    try:
        head = _read_head(path)
        places = None if columns is None else pick_columns(columns, head.labels(), path.name)
        X = _read_numbers(path, head, places)
    except UnicodeDecodeError as error:
        msg = f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        raise InputError(msg) from error
    except csv.Error as error:
        msg = f"{path.name} is not a readable text table ({error})."
        raise InputError(msg) from error
    if len(X) == 0:
        msg = f"{path.name} has no rows of numbers."
        raise InputError(msg)
    if head.names is None:
        return X, None
    if places is not None:
        return X, [head.names[j] for j in places]
    return _without_row_numbers(X, head.names, path.name)


def _without_row_numbers(
    X: NDArray[np.float64], names: list[str], source: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Leave out an unnamed first column of distinct whole numbers: pandas' or R's row names.

    Taken as a coordinate it would dwarf all others, so it is left out, and that is said.
    """
    first = X[:, 0]
    whole = np.isfinite(first).all() and np.array_equal(first, np.rint(first))
    if names[0] or len(names) == 1 or not whole or np.unique(first).size < len(X):
        return X, names
    warnings.warn(
        f"{source}: left out the first column; it has no name and numbers the rows.",
        CRLMWarning,
        stacklevel=2,
    )
    return X[:, 1:], names[1:]


# The first line


def _read_head(path: Path) -> Head:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        first = next((row for row in reader if row), None)
    if first is None:
        msg = f"{path.name} is empty: it has no line with a value."
        raise InputError(msg)
    if len(first) == 1 and (other := next((c for c in ";\t|" if c in first[0]), None)):
        msg = (
            f"{path.name} seems to be separated by {other!r}. "
            "Save it with commas (.csv) or tabs (.tsv)."
        )
        raise InputError(msg)
    if _is_header(first):
        return Head([cell.strip() for cell in first], len(first), reader.line_num, delimiter)
    return Head(None, len(first), 0, delimiter)


def _is_header(cells: list[str]) -> bool:
    """Whether the first line names the columns rather than being the first row.

    >>> _is_header(["x", "2"]), _is_header(["1.5", ""]), _is_header(["", "0", "1"])
    (True, False, True)
    """
    # pandas names the columns of a bare array 0, 1, 2, ...; read as data, that line would
    # shift every label by one row. A true first row of exactly these numbers is unlikely.
    counted = cells[1:] if cells[0] == "" else cells
    if len(cells) >= 3 and counted == numbered(len(counted)):
        return True
    return any(_number(cell) is None for cell in cells)


def _number(cell: str) -> float | None:
    """Value of a cell: NaN when it is left out, None when it is text."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return math.nan
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000 as a number
    except ValueError:
        return None


# The other lines


def _read_numbers(path: Path, head: Head, places: list[int] | None) -> NDArray[np.float64]:
    """Numbers by NumPy's fast reader; cell by cell when it meets something else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no data: the caller says it better
            X = np.loadtxt(
                path.absolute(),
                delimiter=head.delimiter,
                skiprows=head.skip,
                usecols=places,
                comments=None,
                quotechar='"',
                encoding=ENCODING,
                ndmin=2,
            )
    except ValueError:
        return _read_cells(path, head, places)
    if places is None and len(X) and X.shape[1] != head.width:
        return _read_cells(path, head, places)
    return X


def _read_cells(path: Path, head: Head, places: list[int] | None) -> NDArray[np.float64]:
    """Read slowly, accept empty cells as NaN, and say where the text is if there is any."""
    places = list(range(head.width)) if places is None else places
    values, n_text, first_text = array("d"), Counter[int](), ""
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=head.delimiter)
        for row in reader:
            if not row or reader.line_num <= head.skip:
                continue
            if len(row) != head.width:
                msg = (
                    f"{path.name} line {reader.line_num} has {len(row)} cells, but the first "
                    f"line has {head.width}. Mend that line."
                )
                raise InputError(msg)
            for j in places:
                value = _number(row[j])
                if value is None:
                    n_text[j] += 1
                    first_text = first_text or f"line {reader.line_num}: {row[j][:40]!r}"
                values.append(math.nan if value is None else value)
    n_rows = len(values) // len(places)
    if not n_text:
        return np.frombuffer(values, dtype=np.float64).reshape(n_rows, len(places))
    # A column that is mostly text is meant as text; a stray word is a mistake in its line.
    if text := [j for j in places if 2 * n_text[j] > n_rows]:
        numeric = [j for j in places if j not in n_text]
        raise text_error(path.name, head.labels(), text, numeric, first_text)
    where = listed(head.labels()[j] or f"number {j}" for j in n_text)
    msg = (
        f"{path.name} {first_text} is not a number (column {where}). Mend the line or empty the "
        "cell; rows with empty cells can be dropped with --drop-invalid"
    )
    raise InputError(msg)
