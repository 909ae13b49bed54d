"""Numbers in .csv and .tsv files, with or without names, with or without holes."""

from __future__ import annotations

import csv
import math
import warnings
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMWarning, InputError
from crlm.tables.cells import stack_cells
from crlm.tables.common import (
    Table,
    Wanted,
    is_row_number,
    listed,
    only_column,
    pick_columns,
    take_numeric,
    text_error,
    warn_of_row_numbers,
)
from crlm.tables.head import ENCODING, Head, number, read_head
from crlm.tables.kept import Kept
from crlm.words import count

_GZIP = b"\x1f\x8b"  # with which such a file begins


def read_text(path: Path, wanted: Wanted) -> Table:
    """Matrix of a text file, the names of its columns if it has any, and the columns left aside."""
    with text_errors(path):
        head = read_head(path, wanted.header, only_text=wanted.vector is not None)
        if wanted.vector is not None:
            return _vectors(path, head, wanted.vector)
        aside = [j for j, name in enumerate(head.labels()) if name in wanted.aside]
        places = _coordinates(head, wanted, aside, path.name)
        X = _read_numbers(path, head, places)
    if len(X) == 0:
        msg = (
            f"{path.name} has no rows of numbers. Give one row a line, its cells separated by ','."
        )
        raise InputError(msg)
    taken = range(head.width) if places is None else places
    kept = _kept(path, head, set(taken))
    if head.names is None:
        if wanted.header is None:
            _warn_of_counted_line(X, head, path.name)
        return Table(X, None, path.name, kept=kept)
    names = [head.names[j] for j in taken]
    if wanted.columns is None:
        X, names = _without_row_numbers(X, names, path.name)
        warn_of_row_numbers(X, names, path.name)
    return Table(X, names, path.name, kept=kept)


def _coordinates(head: Head, wanted: Wanted, aside: list[int], source: str) -> list[int] | None:
    """Columns to read as numbers; None for all of them."""
    if wanted.columns is not None:
        return pick_columns(wanted.columns, head.labels(), source)
    left = [j for j in range(head.width) if j not in aside]
    if not left:
        msg = f"{source} has no column left for coordinates, only {listed(wanted.aside)}."
        raise InputError(msg)
    return left if aside else None


def _kept(path: Path, head: Head, taken: set[int]) -> Kept:
    """Columns that are no coordinates, as text."""
    names = head.labels()
    places = {names[j]: j for j in reversed(range(head.width)) if j not in taken}
    order = [names[j] for j in range(head.width) if j not in taken]

    def load(name: str) -> list[Any]:
        with text_errors(path):
            return [row[places[name]] for row in _rows(path, head)]

    return Kept(order, load)


def _vectors(path: Path, head: Head, name: str) -> Table:
    """Matrix of the vectors that are written out in the cells of one column."""
    j = only_column(name, head.labels(), path.name)
    X = stack_cells([row[j] for row in _rows(path, head)], f"{path.name} column {name!r}")
    return Table(X, None, path.name, vector=head.labels()[j], kept=_kept(path, head, {j}))


def read_columns(path: Path, header: bool | None = None) -> tuple[Kept, int]:
    """Every column of a text file as text, and how many rows there are."""
    with text_errors(path):
        head = read_head(path, header, only_text=True)
        n = sum(1 for _ in _rows(path, head))
    return _kept(path, head, set()), n


def read_kinds(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Name of every column and what is in it, and how many rows there are."""
    with text_errors(path):
        head, n, n_text = read_head(path, None), 0, Counter[int]()
        for row in _rows(path, head):
            n += 1
            n_text.update(j for j, cell in enumerate(row) if number(cell) is None)
    return [(name, _kind(n_text[j], n)) for j, name in enumerate(head.labels())], n


def _kind(n_text: int, n: int) -> str:
    """What is in a column.

    >>> _kind(0, 9), _kind(9, 9), _kind(2, 9)
    ('numbers', 'text', 'numbers, and text in 2 rows')
    """
    if n_text in (0, n):
        return "text" if n_text else "numbers"
    return f"numbers, and text in {count(n_text, 'row')}"


@contextmanager
def text_errors(path: Path) -> Iterator[None]:
    """Say what makes a file unreadable as text."""
    try:
        yield
    except UnicodeDecodeError as error:
        msg = f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        if error.object.startswith(_GZIP):
            msg = f"{path.name} is compressed by gzip. Unpack it first: gunzip < {path} > table.csv"
        raise InputError(msg) from error
    except csv.Error as error:
        msg = f"{path.name} is not a readable text table ({error})."
        raise InputError(msg) from error


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


def _rows(path: Path, head: Head) -> Iterator[list[str]]:
    """Cells of every row under the header, each as many as the first line has.

    Blank lines are passed over; in a single column, between rows, one is an empty cell.
    """
    for _, row in _numbered_rows(path, head):
        yield row


def _numbered_rows(path: Path, head: Head) -> Iterator[tuple[int, list[str]]]:
    """The same with the number of the line on which a row ends."""
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=head.delimiter)
        blank, begun = 0, head.names is not None  # blank lines since the last row
        for row in reader:
            if reader.line_num <= head.skip:
                continue
            if not row:
                blank += 1
                continue
            if head.width == 1 and begun:
                yield from [(reader.line_num, [""])] * blank
            blank, begun = 0, True
            if len(row) != head.width:
                msg = (
                    f"{path.name} line {reader.line_num} has {len(row)} cells, but the first "
                    f"line has {head.width}. Mend that line."
                )
                raise InputError(msg)
            yield reader.line_num, row


def _read_cells(path: Path, head: Head, places: list[int] | None) -> NDArray[np.float64]:
    """Read slowly, accept empty cells as NaN, and say where the text is if there is any."""
    places = list(range(head.width)) if places is None else places
    values, n_text, first_text = array("d"), Counter[int](), ""
    for line, row in _numbered_rows(path, head):
        for j in places:
            value = number(row[j])
            if value is None:
                n_text[j] += 1
                first_text = first_text or f"line {line}: {row[j][:40]!r}"
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
