"""The rows of a file that can be used, for the commands that measure distances."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import Command, count, drop_option, number, remark, say, table_options
from crlm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm.scaling import Scaling
    from crlm.tables import Table

ROLES = ("id", "image", "text")
TABLE_FLAGS = ("key", "columns", "header", "vector", *ROLES, "meta", "descriptor")
ROW_FLAGS = ("drop_invalid", "standardize", "normalize", "sample", "seed")


def rows_options(command: Command) -> Command:
    """Add the options that say which rows to read and how to measure between them."""
    for option in reversed(_rows_options()):
        command = option(command)
    return command


def _rows_options() -> list[Any]:
    return [
        click.option(
            "--metric",
            type=click.Choice(["euclidean", "cosine"]),
            default="euclidean",
            show_default=True,
            help="cosine divides each row by its length first.",
        ),
        table_options,
        drop_option,
        click.option(
            "--standardize",
            is_flag=True,
            help="Bring every column to mean 0 and spread 1 first, for columns of different units.",
        ),
        click.option(
            "--normalize",
            is_flag=True,
            help="Divide each row by its length first, after --standardize if both are given.",
        ),
        click.option(
            "--sample",
            type=click.IntRange(1),
            metavar="N",
            help="Find the clusters among N rows drawn at random. Labels are still for all rows: "
            "the others get the label of the ball they are in.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Another seed, another --sample.",
        ),
    ]


@dataclass(frozen=True)
class Rows:
    """A table, which of its rows can be used, and what is done to them first.

    Attributes
    ----------
    valid : ndarray of bool or None
        Mask of the rows that can be used; None when all can.
    sampled : ndarray of int or None
        Numbers of the rows that were drawn, all of them valid; None when none were.
    scaling : Scaling or None
        What is done to the numbers.
    """

    table: Table
    valid: NDArray[np.bool_] | None = None
    sampled: NDArray[np.int64] | None = None
    scaling: Scaling | None = None

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """Numbers, in the file, of the rows in `X`; None when they are all rows."""
        if self.sampled is not None or self.valid is None:
            return self.sampled
        return self.valid.nonzero()[0]

    @property
    def X(self) -> NDArray[Any]:
        """The rows to find clusters among."""
        from crlm.tables import take_rows

        rows = self.numbers
        X = self.table.X if rows is None else take_rows(self.table.X, rows)
        return X if self.scaling is None else self.scaling.apply(X)

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """All rows of the file, prepared like `X`, block by block, each with its first number."""
        from crlm.tables import row_blocks

        for start, block in row_blocks(self.table.X):
            yield start, block if self.scaling is None else self.scaling.apply(block)

    @property
    def dropped(self) -> list[int]:
        """Numbers of the rows that cannot be used."""
        return [] if self.valid is None else [int(i) for i in (~self.valid).nonzero()[0]]

    @property
    def ids(self) -> list[Any] | None:
        """Names of all rows of the file, when a column holds them."""
        role = self.table.roles.get("id")
        return None if role is None else self.table.kept[role]

    @property
    def n(self) -> int:
        """Rows of the file."""
        return len(self.table.X)

    @property
    def head(self) -> str:
        """Name, shape and type, to begin with."""
        n, d = self.table.X.shape
        drawn = "" if self.sampled is None else f" · a sample of {len(self.sampled):,} rows"
        return f"{self.table.source}  {n:,} × {d:,} {self.table.X.dtype}{drawn}"

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
            "roles": dict(self.table.roles),
            "dropped": len(self.dropped),
            "dropped_rows": self.dropped,
            "sample": None if self.sampled is None else len(self.sampled),
            "standardize": self.scaling is not None and self.scaling.shift is not None,
            "normalize": self.scaling is not None and self.scaling.normalize,
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
            rows = self.numbers
            if rows is not None:
                message = re.sub(
                    r"\(row (\d+)\)", lambda match: f"(row {rows[int(match[1])]})", message
                )
            raise InputError(message) from error


def table_arguments(flags: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `read_table` that the flags of `table_options` stand for."""
    given = {name: flags[name] for name in TABLE_FLAGS if flags.get(name) is not None}
    roles = {role: given.pop(role) for role in ROLES if role in given}
    return {**given, **({"roles": roles} if roles else {})}


def read_file(data: Path, flags: dict[str, Any]) -> Table:
    """Read what the flags of `table_options` ask for, and pass on what there is to note."""
    from crlm.tables import read_table

    table = read_table(data, **table_arguments(flags))
    for note in table.notes:
        remark(f"note: {note}")
    return table


def read_rows(
    data: Path,
    *,
    metric: str = "euclidean",
    drop_invalid: bool = False,
    standardize: bool = False,
    normalize: bool = False,
    sample: int | None = None,
    seed: int = 0,
    **flags: Any,
) -> Rows:
    """Read a file, find the rows that can be used, and prepare them as asked for."""
    table = read_file(data, flags)
    direction = None if standardize else direction_of(metric, normalize=normalize)
    valid = valid_rows(table, direction, drop_invalid)
    rows = Rows(table, valid, _sampled(table, valid, sample, seed))
    if not standardize and direction is None:
        _warn_of_spans(rows)
    return _scaled(rows, standardize, normalize)


def _scaled(rows: Rows, standardize: bool, normalize: bool) -> Rows:
    from dataclasses import replace

    from crlm.data_checks import check_whole
    from crlm.scaling import Scaling, standardizing

    if standardize or normalize:  # after which they are whole numbers no more
        with rows.named_in_errors():
            check_whole(list(rows.X.T))
    if standardize:
        return replace(rows, scaling=standardizing(rows.X, normalize=normalize))
    return replace(rows, scaling=Scaling(normalize=True)) if normalize else rows


def _sampled(
    table: Table, valid: NDArray[np.bool_] | None, size: int | None, seed: int
) -> NDArray[np.int64] | None:
    """Numbers of the rows to draw, in their order; None for all of them."""
    import numpy as np

    usable = len(table.X) if valid is None else int(valid.sum())
    if size is None or size >= usable:
        return None
    drawn = np.sort(np.random.default_rng(seed).choice(usable, size, replace=False))
    return drawn if valid is None else np.flatnonzero(valid)[drawn]


def dominating(rows: Rows) -> tuple[list[int], float, NDArray[np.float64]] | None:
    """Few columns that make nearly all of the distances, their share, and all spans."""
    from crlm.cautions import dominating_columns

    numbers, X = rows.numbers, rows.table.X
    if rows.scaling is not None:
        return None
    # A look at some of them; all of them, without those left out, would be a copy of the data.
    return dominating_columns(X if numbers is None else X[numbers[:: 1 + len(numbers) // 10_000]])


def _warn_of_spans(rows: Rows) -> None:
    """Say that a few columns make the distances, since that is rarely meant."""
    found = dominating(rows)
    if found is None:
        return
    from crlm.cautions import in_words

    some, share, spans = found
    names = rows.table.columns
    which = in_words([repr(names[j]) if names else f"{j}" for j in some])
    if not names:
        which = f"number {which}"
    makes = f"Column {which} makes" if len(some) == 1 else f"Columns {which} make"
    low, high = number(spans[spans > 0].min()), number(spans.max())
    say(
        f"warning: columns span {low}–{high}. {makes} {100 * share:.1f} % of the "
        "squared distances; if units differ, consider --standardize",
        err=True,
    )


def direction_of(metric: str, *, normalize: bool) -> str | None:
    """Flag for which a row of zeros is of no use, if there is one."""
    return "--normalize" if normalize else "--metric cosine" if metric == "cosine" else None


def valid_rows(table: Table, direction: str | None, drop_invalid: bool) -> NDArray[np.bool_] | None:
    """Mask of the rows that can be used, or None when all can."""
    import numpy as np

    from crlm.tables import invalid_rows, zero_rows

    bad = invalid_rows(table.X)
    zero = zero_rows(table.X) if direction else bad[:0]
    valid = np.ones(len(table.X), dtype=np.bool_)
    valid[bad] = valid[zero] = False
    if valid.all():
        return None
    if not drop_invalid:
        some, what = (bad, "with NaN or inf") if len(bad) else (zero, "of only zeros")
        first = ", ".join(map(str, some[:3]))
        why = "" if len(bad) else f" {direction} needs a direction, and zeros have none."
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
