"""The first line of a text file: names or numbers, and what separates them."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import NamedTuple

from crlm.errors import InputError
from crlm.tables.common import numbered

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


def read_head(path: Path, header: bool | None, *, only_text: bool = False) -> Head:
    """Look at the first line: whether it is a header, and what separates its cells.

    `header` says whether it holds names; None is to look and see. With `only_text` the cells
    need not be numbers.
    """
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        first = next((row for row in reader if row), None)
        skip = reader.line_num
        second = next((row for row in reader if row), [])
    if first is None:
        msg = f"{path.name} is empty: it has no line with a value."
        raise InputError(msg)
    if not only_text:
        _refuse_other_separator([first, second] if second else [first], delimiter, path.name)
    if _is_header(first) if header is None else header:
        return Head([cell.strip() for cell in first], first, skip, delimiter)
    return Head(None, first, 0, delimiter)


def _refuse_other_separator(rows: list[list[str]], delimiter: str, source: str) -> None:
    """Recognise what spreadsheets and other programs write where no comma or tab separates."""
    if all(number(cell) is not None for cell in rows[-1]):
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
    return len(cells) > 1 and all(number(cell) is not None for cell in cells)


def _split(line: str, separator: str) -> list[str]:
    """Cells between single separators, or between any number of blanks."""
    cells = line.split(separator)
    return [cell for cell in cells if cell] if separator == " " else cells


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
    return any(number(cell) is None for cell in cells)


def number(cell: str) -> float | None:
    """Value of a cell: NaN when it is left out, None when it is text."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return math.nan
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000 as a number
    except ValueError:
        return None
