"""What a table is, columns by name or number, and the complaints that name them."""

from __future__ import annotations

import difflib
import shlex
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMWarning, InputError
from crlm.tables.kept import NOTHING, Kept

# What row numbers are called, in small letters; "Unnamed: 0" is pandas' own index read back.
ROW_NUMBER_NAMES = {
    "",
    "#",
    "_id",
    "id",
    "idx",
    "index",
    "no",
    "nr",
    "number",
    "row",
    "row_id",
    "row_number",
    "rowid",
    "rownumber",
    "unnamed: 0",
}


class Table(NamedTuple):
    """Rows of a file as a matrix.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers; a read-only memory map when the file allows it.
    columns : list of str or None
        Names of the d columns, when the file has names.
    source : str
        The file's name, for messages.
    vector : str or None
        Name of the column whose vectors are the rows, when they come from one.
    notes : tuple of str
        What was chosen for the user and is worth saying.
    kept : mapping of str to list
        Columns that are no coordinates, such as names and paths, one value a row; each is read
        when it is first asked for.
    roles : mapping of str to str
        Which column of `kept` is the "id", the "image" or the "text" of a row.
    made : mapping of str to anything
        How the vectors were made of pictures, when that is known.
    """

    X: NDArray[Any]
    columns: list[str] | None
    source: str
    vector: str | None = None
    notes: tuple[str, ...] = ()
    kept: Kept = NOTHING
    roles: Mapping[str, str] = {}
    made: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Wanted:
    """What to read of a file.

    Attributes
    ----------
    columns : sequence of str or None
        Coordinates, by name or number.
    key : str or None
        Array of a .npz or .h5 file.
    header : bool or None
        Whether the first line of a text file names its columns.
    vector : str or None
        The one column that holds vectors.
    roles : mapping of str to str
        Columns that are no coordinates: the "id", "image" and "text" of a row.
    descriptor : str or None
        How the pictures of a folder become vectors.
    """

    columns: Sequence[str] | None = None
    key: str | None = None
    header: bool | None = None
    vector: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    descriptor: str | None = None

    @property
    def aside(self) -> set[str]:
        """Names of columns that are no coordinates."""
        return set(self.roles.values())


def listed(words: Iterable[str], limit: int = 8) -> str:
    """Words joined by commas, cut after `limit`."""
    words = list(words)
    return ", ".join(words[:limit]) + (", ..." if len(words) > limit else "")


def one_line(error: BaseException) -> str:
    """First line of what a library says about a damaged file, not too long."""
    said = str(error).splitlines() or [type(error).__name__]
    return said[0][:160]


def numbered(n: int) -> list[str]:
    """Names of n columns that have none.

    >>> numbered(3)
    ['0', '1', '2']
    """
    return [str(j) for j in range(n)]


# Columns by name or number


def pick_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """Positions of the wanted columns; an item ``a:d`` stands for all from a to d.

    A number is a position, from 0, when no column has a number for its name.

    >>> pick_columns(["w", "x:z"], ["id", "x", "y", "z", "w"], "rows.csv")
    [4, 1, 2, 3]
    >>> pick_columns(["4", "1:3"], ["id", "x", "y", "z", "w"], "rows.csv")
    [4, 1, 2, 3]
    """
    places: list[int] = []
    for item in wanted:
        first, last = _ends(item, names)
        start, stop = _place(first, names, source), _place(last, names, source)
        if stop < start:
            msg = (
                f"{source}: the columns {item} run backwards; {first!r} comes after {last!r}. "
                f"Write {last}:{first}"
            )
            raise InputError(msg)
        places.extend(range(start, stop + 1))
    repeated = [j for j, times in Counter(places).items() if times > 1]
    if repeated:
        which = listed(f"{names[j]!r}" for j in repeated)
        msg = f"{source}: --columns {','.join(wanted)} takes {which} twice. Name each column once."
        raise InputError(msg)
    return places


def _ends(item: str, names: Sequence[str]) -> tuple[str, str]:
    """First and last column of an item, which are the same unless it is a range."""
    first, colon, last = item.partition(":")
    return (first, last) if colon and item not in names else (item, item)


def _find(name: str, names: Sequence[str]) -> int | None:
    """Position of the one column that is meant; None when there is none, or two."""
    if name in names:
        return names.index(name) if names.count(name) == 1 else None
    if _is_place(name) and int(name) < len(names) and not _numbers_are_names(names):
        return int(name)
    return None


def _place(name: str, names: Sequence[str], source: str) -> int:
    place = _find(name, names)
    if place is not None:
        return place
    if name in names:
        places = [j for j, other in enumerate(names) if other == name]
        # A name that is itself a number leaves no way to say the position.
        fix = (
            "Rename all but one of them."
            if _numbers_are_names(names)
            else f"Say which by number: --columns {' or --columns '.join(map(str, places))}"
        )
        msg = f"{source} has {len(places)} columns named {name!r}. {fix}"
        raise InputError(msg)
    close = difflib.get_close_matches(name, names, n=1)
    hint = _meant(close[0], names) if close else _held(names)
    msg = f"{source} has no column {name!r}. {hint}"
    raise InputError(msg)


def _is_place(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 10


def _numbers_are_names(names: Sequence[str]) -> bool:
    return any(map(_is_place, names))


def _meant(name: str, names: Sequence[str]) -> str:
    """Suggest the column `name` in words that can be typed."""
    said = in_words(names, [names.index(name)])
    if said is None:
        return _held(names)
    return f"Did you mean {name}?" if said == name else f"Did you mean {name!r}? --columns {said}"


def _held(names: Sequence[str]) -> str:
    held = f"It has: {listed(repr(name) if ',' in name else name for name in names)}."
    if not any("," in name for name in names) or _numbers_are_names(names):
        return held
    return f"{held} Take one with a comma in its name by number, from 0."


def in_words(names: Sequence[str], places: Sequence[int]) -> str | None:
    """What to type after ``--columns`` for these columns: names, else numbers, else None.

    A name with a comma in it, or one that two columns share, can only be taken by number.

    >>> in_words(["id", "x", "y", "z", "name", "w"], [1, 2, 3, 5])
    'x:z,w'
    >>> in_words(["id", "x,y", "z"], [1, 2])
    '1,2'
    """
    for words in (names, numbered(len(names))):
        text = _runs(words, places)
        if _understood(text, names) == list(places):
            return shlex.quote(text)
    return None


def _understood(text: str, names: Sequence[str]) -> list[int]:
    """Columns that a person who types this would get; none when something is not understood."""
    places: list[int] = []
    for item in text.split(","):
        start, stop = (_find(end, names) for end in _ends(item.strip(), names))
        if start is None or stop is None or stop < start:
            return []
        places.extend(range(start, stop + 1))
    return places


def _runs(names: Sequence[str], places: Sequence[int]) -> str:
    """Column names, three and more neighbours joined."""
    runs: list[list[str]] = []
    for i, j in enumerate(places):
        if i and places[i - 1] == j - 1:
            runs[-1].append(names[j])
        else:
            runs.append([names[j]])
    return ",".join(f"{run[0]}:{run[-1]}" if len(run) > 2 else ",".join(run) for run in runs)


def only_column(name: str, names: Sequence[str], source: str) -> int:
    """Position of the one column of this name or number.

    >>> only_column("y", ["x", "y"], "rows.csv")
    1
    """
    return _place(name, names, source)


# Columns that are not what they seem


def is_row_number(name: str, values: NDArray[Any]) -> bool:
    """Whether a column of this name numbers the rows: distinct whole numbers.

    >>> is_row_number("ID", np.array([3, 1, 2])), is_row_number("x", np.array([3, 1, 2]))
    (True, False)
    """
    if name.strip().lower() not in ROW_NUMBER_NAMES:
        return False
    whole = np.isfinite(values).all() and np.array_equal(values, np.rint(values))
    return bool(whole) and np.unique(values).size == len(values)


def warn_of_row_numbers(X: NDArray[Any], names: Sequence[str], source: str) -> None:
    """Say which columns number the rows, since as coordinates they would dwarf the others."""
    ids = [j for j, name in enumerate(names) if is_row_number(name, X[:, j])]
    rest = [j for j in range(len(names)) if j not in ids]
    if not ids or not rest:
        return
    said = in_words(names, rest)
    fix = f"Leave it out: --columns {said}" if said else "Leave it out with --columns."
    warnings.warn(
        f"{source}: column {listed(repr(names[j]) for j in ids)} seems to number the rows, but "
        f"is used as a coordinate. {fix}",
        CRLMWarning,
        stacklevel=3,
    )


def without_bool(X: NDArray[Any]) -> NDArray[Any]:
    """`X`, with truth values seen as 0 and 1."""
    return X.view(np.uint8) if X.dtype.kind == "b" else X


def text_error(
    source: str, names: Sequence[str], text: Sequence[int], detail: str, fix: str
) -> InputError:
    """Say which columns are `text`, and the `fix`."""
    s = "s" if len(text) > 1 else ""
    where = listed(repr(names[j]) if names[j] else f"number {j}" for j in text)
    return InputError(f"{source} has text in column{s} {where} ({detail}). {fix}")


def take_numeric(names: Sequence[str], numeric: Sequence[int], row_numbers: Sequence[int]) -> str:
    """How to take the columns of numbers, except those that number the rows."""
    if not numeric:
        return "No column holds numbers. Write them without units or signs: 12.5, not 12.5 m."
    places = [j for j in numeric if j not in row_numbers]
    if not places:
        which = listed(repr(names[j]) if names[j] else f"number {j}" for j in row_numbers)
        return f"The only numbers are in column {which}, which seems to number the rows."
    said = in_words(names, places)
    return f"Take the numeric ones: --columns {said}" if said else "Take only the numeric ones."
