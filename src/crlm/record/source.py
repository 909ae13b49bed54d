"""Where the rows of a model came from, so that they can be found and read again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.record.archive import Arrays, DamagedError
from crlm.record.content import whole
from crlm.scaling import Scaling
from crlm.tables import Table, read_table, row_blocks, take_rows


@dataclass(frozen=True, eq=False)
class Source:
    """A file, how it was read, and which of its rows were fitted.

    Attributes
    ----------
    path : Path or None
        The file, from where this program runs; None when the rows came from no file.
    n_rows : int
        Rows in the file.
    reading : dict
        Keyword arguments of :func:`crlm.tables.read_table`, plain words and numbers.
    rows : ndarray of shape (n,) or None
        Row numbers in the file of what was fitted, ascending; None for all of them.
    n_dropped : int
        Rows left out because they cannot be used.
    transform : Scaling
        What was done to the rows.
    names : list of str or None
        Names of the columns that were read, when the file has names.
    """

    path: Path | None
    n_rows: int
    reading: dict[str, Any] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = None
    n_dropped: int = 0
    transform: Scaling = field(default_factory=Scaling)
    names: list[str] | None = None

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return "the standard input" if self.path is None else self.path.name

    def at(self, path: str | os.PathLike[str]) -> Source:
        """The same in another place."""
        return replace(self, path=Path(path))

    def read(self) -> Table:
        """The whole file again, with all its rows, as they are in it.

        Raises
        ------
        InputError
            It is not there any more, or does not have as many rows as it had.
        """
        if self.path is None:
            msg = (
                "the rows of this model came from the standard input, and cannot be read again. "
                "Save them to a file and name it."
            )
            raise InputError(msg)
        table = _read_again(self.path, self.reading)
        if len(table.X) != self.n_rows:
            msg = (
                f"{self.name} has {len(table.X):,} rows, but had {self.n_rows:,} when the model "
                f"was fitted. Fit again, or give the file as it was."
            )
            raise InputError(msg)
        return table

    def row_numbers(self) -> NDArray[np.int64]:
        """Row of the file for each row that was fitted."""
        return np.arange(self.n_rows, dtype=np.int64) if self.rows is None else self.rows

    def points(self, table: Table) -> NDArray[Any]:
        """What was fitted."""
        return self.transform.apply(table.X if self.rows is None else take_rows(table.X, self.rows))

    def blocks(self, table: Table) -> Iterator[tuple[int, NDArray[Any]]]:
        """Every row of the file as the model wants it, in blocks, each with its first number."""
        for start, block in row_blocks(table.X):
            yield start, self.transform.apply(block)


def _read_again(path: Path, reading: dict[str, Any]) -> Table:
    unknown = set(reading) - set(inspect.signature(read_table).parameters)
    if unknown:
        which = repr(min(unknown))
        msg = f"{path.name} was read with {which}, which this crlm does not know. Update crlm."
        raise InputError(msg)
    try:
        return read_table(path, **reading)
    except TypeError as error:
        msg = f"the model does not say how {path.name} was read. Fit again."
        raise InputError(msg) from error


# In a file


def source_parts(found: Source | None, model_path: Path) -> tuple[dict[str, Any] | None, Arrays]:
    """Document and arrays of a source, for a model that will be called `model_path`."""
    if found is None:
        return None, {}
    record = {
        "path": None if found.path is None else _relative(found.path, model_path),
        "n_rows": found.n_rows,
        "reading": _moved(found.reading, lambda path: _relative(Path(path), model_path)),
        "n_dropped": found.n_dropped,
        "normalize": found.transform.normalize,
        "names": found.names,
    }
    arrays = {"rows": found.rows, "shift": found.transform.shift, "scale": found.transform.scale}
    return record, {f"source.{name}": a for name, a in arrays.items() if a is not None}


def _moved(reading: dict[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    """The same, with another way to the file beside the data."""
    meta = reading.get("meta")
    return reading if meta is None else {**reading, "meta": move(str(meta))}


def _relative(path: Path, model_path: Path) -> str:
    """Way from the folder of the model to the data, so that both can be moved together."""
    return Path(os.path.relpath(path.resolve(), model_path.resolve().parent)).as_posix()


def restored_source(document: dict[str, Any], arrays: Arrays, path: Path) -> Source | None:
    """Source from its parts; the way to the file starts at the folder of the model at `path`."""
    record = document.get("source")
    if record is None:
        return None
    try:
        n_rows, reading, where = whole(record, "n_rows"), record["reading"], record["path"]
        shift, scale = arrays.get("source.shift"), arrays.get("source.scale")
        rows = arrays.get("source.rows")
        good = (
            isinstance(reading, dict)
            and (where is None or (isinstance(where, str) and "\0" not in where))
            and isinstance(record["normalize"], bool)
            and _are_names(record["names"])
            and (shift is None) == (scale is None)
            and (scale is None or bool((scale > 0.0).all()))
            and _are_rows(rows, whole(document, "n"), n_rows)
        )
    except (KeyError, TypeError) as error:
        raise DamagedError("it does not say where its rows are") from error
    if not good:
        raise DamagedError("it does not say where its rows are")
    return Source(
        path=None if where is None else path.parent / where,
        n_rows=n_rows,
        reading=_moved(reading, lambda way: str(path.parent / way)),
        rows=rows,
        n_dropped=whole(record, "n_dropped"),
        transform=Scaling(shift, scale, record["normalize"]),
        names=record["names"],
    )


def _are_names(names: object) -> bool:
    return names is None or (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    )


def _are_rows(rows: NDArray[np.int64] | None, n: int, n_rows: int) -> bool:
    if rows is None:
        return n == n_rows
    return bool(rows[0] >= 0 and rows[-1] < n_rows and (np.diff(rows) > 0).all())
