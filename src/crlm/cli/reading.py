"""The rows of a file that can be used, for the commands that measure distances."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import Command, count, say, table_options
from crlm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm.tables import Table


def rows_options(command: Command) -> Command:
    """Add the options that say which rows to read and how to measure between them."""
    metric = click.option(
        "--metric",
        type=click.Choice(["euclidean", "cosine"]),
        default="euclidean",
        show_default=True,
        help="cosine divides each row by its length first.",
    )
    drop = click.option(
        "--drop-invalid",
        is_flag=True,
        help="Leave out rows with NaN or inf, and for cosine those of only zeros; their label is "
        "-1.",
    )
    return metric(table_options(drop(command)))


@dataclass(frozen=True)
class Rows:
    """A table and which of its rows can be used.

    Attributes
    ----------
    valid : ndarray of bool or None
        Mask of those rows; None when all can.
    """

    table: Table
    valid: NDArray[np.bool_] | None

    @property
    def X(self) -> NDArray[Any]:
        """The rows that can be used."""
        return self.table.X if self.valid is None else self.table.X[self.valid]

    @property
    def n(self) -> int:
        """Rows of the file."""
        return len(self.table.X)

    @property
    def head(self) -> str:
        """Name, shape and type, to begin with."""
        n, d = self.table.X.shape
        return f"{self.table.source}  {n:,} × {d:,} {self.table.X.dtype}"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for programs."""
        n, d = self.table.X.shape
        return {
            "data": self.table.source,
            "n": n,
            "d": d,
            "columns": self.table.columns,
            "vector": self.table.vector,
            "dropped": 0 if self.valid is None else int((~self.valid).sum()),
        }

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Turn what the library says about its X into words about the file and its rows."""
        try:
            yield
        except InputError as error:
            message = str(error)
            if message.startswith("X "):
                message = self.table.source + message[1:]
            if self.valid is not None:
                rows = self.valid.nonzero()[0]
                message = re.sub(
                    r"\(row (\d+)\)", lambda match: f"(row {rows[int(match[1])]})", message
                )
            raise InputError(message) from error


def read_rows(
    data: Path,
    *,
    key: str | None,
    columns: list[str] | None,
    header: bool | None,
    metric: str,
    drop_invalid: bool,
    quiet: bool = False,
) -> Rows:
    """Read a file, pass on what its reader has to note, and find the rows that can be used."""
    from crlm.tables import read_table

    table = read_table(data, key=key, columns=columns, header=header)
    if not quiet:
        for note in table.notes:
            say(f"note: {note}", err=True)
    return Rows(table, _valid(table, metric, drop_invalid))


def _valid(table: Table, metric: str, drop_invalid: bool) -> NDArray[np.bool_] | None:
    """Mask of the rows that can be used, or None when all can."""
    import numpy as np

    from crlm.tables import invalid_rows, zero_rows

    bad = invalid_rows(table.X)
    zero = zero_rows(table.X) if metric == "cosine" else bad[:0]
    valid = np.ones(len(table.X), dtype=np.bool_)
    valid[bad] = valid[zero] = False
    if valid.all():
        return None
    if not drop_invalid:
        some, what = (bad, "with NaN or inf") if len(bad) else (zero, "of only zeros")
        first = ", ".join(map(str, some[:3]))
        why = "" if len(bad) else " --metric cosine needs a direction, and zeros have none."
        msg = (
            f"{table.source} has {count(len(some), 'row')} {what} (first: {first}).{why} "
            "Drop them with --drop-invalid"
        )
        raise InputError(msg)
    if not valid.any():
        what = "NaN, inf or only zeros" if len(zero) else "NaN or inf"
        msg = f"{table.source}: every one of the {len(valid):,} rows has {what}."
        raise InputError(msg)
    return valid
