"""Numbers in .csv and .tsv files, with or without names, with or without holes."""

from __future__ import annotations

import csv
import math
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMWarning, InputError
from crlm.tables.common import (
    Table,
    is_row_number,
    listed,
    numbered,
    pick_columns,
    take_numeric,
    text_error,
    warn_of_row_numbers,
)

MISSING = {"", "na", "n/a", "null", "none"}  # cells that pandas, R and SQL write for "no value"
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+(,\d+)?([eE][-+]?\d+)?\s*")
ENCODING = "utf-8-sig"  # UTF-8; Excel's byte order mark is no part of the first cell


class Head(NamedTuple):
    """What the first line tells: names if it is a header, and the physical lines to skip."""

    names: list[str] | None
    first: list[str]
    skip: int
    delimiter: str

    @property
    def width(self) -> int:
        """Number of cells in a line."""
        return len(self.first)

    def labels(self) -> list[str]:
        """Names, or numbers where there are none."""
        return self.names or numbered(self.width)


def read_text(path: Path, columns: Sequence[str] | None, header: bool | None = None) -> Table:
    """Matrix of a text file and the names of its columns, if it has any.

    `header` says whether the first line holds names; None is to look and see.
    """
    try:
        head = _read_head(path, header)
        places = None if columns is None else pick_columns(columns, head.labels(), path.name)
        X = _read_numbers(path, head, places)
    except UnicodeDecodeError as error:
        msg = f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        raise InputError(msg) from error
    except csv.Error as error:
        msg = f"{path.name} is not a readable text table ({error})."
        raise InputError(msg) from error
    if len(X) == 0:
        msg = (
            f"{path.name} has no rows of numbers. Give one row a line, its cells separated by ','."
        )
        raise InputError(msg)
    if head.names is None:
        if header is None:
            _warn_of_counted_line(X, head, path.name)
        return Table(X, None, path.name)
    if places is not None:
        return Table(X, [head.names[j] for j in places], path.name)
    X, names = _without_row_numbers(X, head.names, path.name)
    warn_of_row_numbers(X, names, path.name)
    return Table(X, names, path.name)


def _without_row_numbers(
    X: NDArray[np.float64], names: list[str], source: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Leave out an unnamed first column of distinct whole numbers: pandas' or R's row names.

    Taken as a coordinate it would dwarf all others, so it is left out, and that is said.
    """
    if names[0] or len(names) == 1 or not is_row_number("", X[:, 0]):
        return X, names
    warnings.warn(
        f"{source}: left out the first column; it has no name and numbers the rows.",
        CRLMWarning,
        stacklevel=2,
    )
    return X[:, 1:], names[1:]


# The first line


def _read_head(path: Path, header: bool | None) -> Head:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        first = next((row for row in reader if row), None)
        skip = reader.line_num
        second = next((row for row in reader if row), [])
    if first is None:
        msg = f"{path.name} is empty: it has no line with a value."
        raise InputError(msg)
    _refuse_other_separator([first, second] if second else [first], delimiter, path.name)
    if _is_header(first) if header is None else header:
        return Head([cell.strip() for cell in first], first, skip, delimiter)
    return Head(None, first, 0, delimiter)


def _refuse_other_separator(rows: list[list[str]], delimiter: str, source: str) -> None:
    """Recognise what spreadsheets and other programs write where no comma or tab separates."""
    if all(_number(cell) is not None for cell in rows[-1]):
        return  # the data at least are as they should be
    lines = [delimiter.join(row) for row in rows]
    others = [c for c in ";\t| " if c != delimiter]
    comma = next((c for c in others if _has_decimal_commas(lines, c)), None)
    other = comma or next((c for c in others if len(rows[0]) == 1 and _separates(c, lines)), None)
    seems = f"seems to be separated by {'spaces' if other == ' ' else repr(other)}"
    if comma:
        example = next(cell for cell in _split(lines[-1], comma) if "," in cell).strip()
        msg = (
            f"{source} {seems} and to have decimal commas (such as {example}). "
            "Save it with decimal points, and commas (.csv) or tabs (.tsv) between them."
        )
    elif other:
        msg = f"{source} {seems}. Save it with commas (.csv) or tabs (.tsv)."
    elif any("," in cell for cell in rows[-1]) and all(map(DECIMAL_COMMA.fullmatch, rows[-1])):
        example = next(cell for cell in rows[-1] if "," in cell).strip()
        msg = f"{source} has decimal commas (such as {example}). Save it with decimal points."
    else:
        return
    raise InputError(msg)


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    """Whether the last line is numbers such as 1,5 and the first one has as many cells."""
    widths = {len(_split(line, separator)) for line in lines}
    cells = _split(lines[-1], separator)
    numbers = all(map(DECIMAL_COMMA.fullmatch, cells))
    return len(widths) == 1 and len(cells) > 1 and numbers and "," in lines[-1]


def _separates(separator: str, lines: list[str]) -> bool:
    """Whether `separator` is in the first line; blanks are in names too, so ask for numbers."""
    if separator != " ":
        return separator in lines[0]
    cells = _split(lines[-1], " ")
    return len(cells) > 1 and all(_number(cell) is not None for cell in cells)


def _split(line: str, separator: str) -> list[str]:
    """Cells between single separators, or between any number of blanks."""
    cells = line.split(separator)
    return [cell for cell in cells if cell] if separator == " " else cells


def _warn_of_counted_line(X: NDArray[np.float64], head: Head, source: str) -> None:
    """Say that a first line such as 2020,2021,2022 was taken for data, when no other is like it."""
    whole = all(cell.strip().isdecimal() for cell in head.first)
    if head.width < 2 or len(X) < 2 or not whole or not _counts(np.array([head.first], float))[0]:
        return
    if not _counts(X[1:]).any():
        warnings.warn(
            f"{source}: the first line ({listed(head.first, 3)}) was read as data. If it names "
            "the columns, say --header; if not, --no-header",
            CRLMWarning,
            stacklevel=3,
        )


def _counts(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows are increasing whole numbers."""
    whole: NDArray[np.bool_] = (np.rint(X) == X).all(axis=1)
    return whole & (X[:, 1:] > X[:, :-1]).all(axis=1)


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
    if head.width == 1 and _has_blank_line(path):
        return _read_cells(path, head, places)
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


def _has_blank_line(path: Path) -> bool:
    with path.open(encoding=ENCODING) as file:
        return any(line == "\n" for line in file)


def _read_cells(path: Path, head: Head, places: list[int] | None) -> NDArray[np.float64]:
    """Read slowly, accept empty cells as NaN, and say where the text is if there is any."""
    places = list(range(head.width)) if places is None else places
    values, n_text, first_text = array("d"), Counter[int](), ""
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=head.delimiter)
        blank = 0  # lines since the last row
        for row in reader:
            if reader.line_num <= head.skip:
                continue
            if not row:
                blank += 1
                continue
            # In a single column an empty line is an empty cell, unless it is before or after all.
            if head.width == 1 and (values or head.names):
                values.extend([math.nan] * blank)
            blank = 0
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
        names, numeric = head.labels(), [j for j in places if j not in n_text]
        X = np.frombuffer(values, dtype=np.float64).reshape(n_rows, len(places))
        row_numbers = [j for j in numeric if is_row_number(names[j], X[:, places.index(j)])]
        fix = take_numeric(names, numeric, row_numbers)
        raise text_error(path.name, names, text, first_text, fix)
    where = listed(head.labels()[j] or f"number {j}" for j in n_text)
    msg = (
        f"{path.name} {first_text} is not a number (column {where}). Mend the line or empty the "
        "cell; rows with empty cells can be dropped with --drop-invalid"
    )
    raise InputError(msg)
