"""``crlm predict``: new rows into clusters that were found before."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    STYLE,
    FilePath,
    Session,
    aligned,
    check_outputs,
    drop_option,
    force_option,
    free_name,
    json_option,
    remark,
    say,
    say_json,
    table_options,
)
from crlm.cli.models import load_model, needs_direction
from crlm.cli.progress import progress_bar
from crlm.cli.reading import Rows, table_arguments, valid_rows
from crlm.cli.writing import STDOUT, Described, refuse_unheard
from crlm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM
    from crlm.record import Source
    from crlm.tables import Table

EPILOG = """\b
Examples:
  crlm predict faces.crlm.npz new.npy
  crlm predict faces.crlm.npz new.npy -o labels.csv
  crlm predict faces.crlm.npz new.npy -q -o - | cut -d, -f2 | sort -n | uniq -c
"""
MAX_LINES = 20


@click.command(epilog=EPILOG)
@click.argument("model", type=FilePath())
@click.argument("data", type=FilePath())
@table_options
@drop_option
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    multiple=True,
    help="Write the labels, -1 for background: .csv, .npy or .parquet, or - for csv on stdout. "
    "Can be given more than once.",
)
@force_option
@json_option
@click.pass_context
def predict(
    ctx: click.Context,
    /,
    model: Path,
    data: Path,
    drop_invalid: bool,
    output: tuple[Path, ...],
    force: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Assign the rows of DATA to the clusters of MODEL, or to the background.

    Rows are treated as those of the fit were (--metric, --standardize, --normalize). The file is
    read in blocks, so a .npy file may be larger than memory. What is said about each row: label,
    distance from the middle of its ball over R, p-value of the cluster, posterior.
    """
    from crlm import record
    from crlm.tables import write_together

    files = [path for path in output if path != STDOUT]
    if as_json and STDOUT in output:
        msg = "--json and -o - both want the standard output. Give the labels a file name."
        raise click.UsageError(msg)
    refuse_unheard(output)
    check_outputs(files, force, source=data)
    fitted = load_model(model)
    table = read_new(fitted, data, table_arguments(flags))
    found = record.source(fitted)
    scaling = None if found is None else found.transform
    valid = valid_rows(table, needs_direction(fitted, scaling), drop_invalid)
    with progress_bar(STYLE.progress and not STYLE.quiet, "Rows") as progress:
        described = Described(fitted, table, scaling, valid, progress=progress)
        with Rows(table, valid).named_in_errors():
            write_together(described.jobs(files))
            if STDOUT in output:
                described.to_stdout()
            counts = described.count()
    n_dropped = 0 if valid is None else int((~valid).sum())
    counts[0] -= n_dropped
    told = Told(table, counts, n_dropped, files, to_stdout=STDOUT in output)
    if as_json:
        say_json(told.record(model))
    else:
        told.say([*ctx.ensure_object(Session).argv, "-o", free_name("labels.csv")])
    return 0


def read_new(model: CRLM, data: Path, reading: dict[str, Any]) -> Table:
    """Read a file as that of the fit was, unless told otherwise, and compare their columns."""
    from crlm import record

    found = record.source(model)
    ways = [reading]
    if found is not None and found.path is not None and found.path.suffix == data.suffix:
        ways = as_then(found, reading)
    table = read_first(data, ways, None if found is None else found.names)
    for note in table.notes:
        remark(f"note: {note}")
    if found is not None and found.path is not None:
        refuse_other_vectors(table, data, found.path, found.reading.get("descriptor"))
    if table.X.shape[1] != model.n_features_in_:
        msg = (
            f"{table.source} has {table.X.shape[1]:,} columns, but the model was fitted to "
            f"{model.n_features_in_:,}. Choose them with --columns."
        )
        raise InputError(msg)
    return table


def as_then(found: Source, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Ways to read a file as that of the fit was, the first that works being the best.

    Just so; with the columns by their names, should they have been chosen by place; and without
    the ids, which a model does not need. What was given now is kept.
    """
    reading = {**found.reading, **given}
    ways = [reading]
    if found.names is not None and "columns" not in given:
        ways.append({**reading, "columns": found.names})
    if "roles" in reading and "roles" not in given:
        others = {role: name for role, name in reading["roles"].items() if role != "id"}
        ways += [{**way, "roles": others} for way in ways]
    return ways


def read_first(data: Path, ways: list[dict[str, Any]], names: list[str] | None) -> Table:
    """Read a file in the first way that works; if none does, the first error is the one to tell.

    Columns in another order, or beside others: those of the fit, if known, are taken by name.
    """
    from crlm.tables import read_table

    errors = []
    for way in ways:
        try:
            table = read_table(data, **way)
            if names is None or table.columns in (None, names):
                return table
            return read_table(data, **{**way, "columns": names})
        except InputError as error:
            errors.append(error)
    raise errors[0]


def refuse_other_vectors(table: Table, data: Path, old: Path, descriptor: str | None) -> None:
    """Refuse vectors of pictures that were made otherwise than those of the fit."""
    from crlm.tables import check_made_alike, made_of

    if not (old.exists() and data.exists() and old.samefile(data)):
        check_made_alike(table.made, made_of(old, descriptor), table.source, "the model")


@dataclass(frozen=True)
class Told:
    """How many rows went where."""

    table: Table
    counts: NDArray[np.int64]  # background first
    n_dropped: int
    files: list[Path]
    to_stdout: bool

    def record(self, model: Path) -> dict[str, Any]:
        """For programs."""
        n, d = self.table.X.shape
        return {
            "schema": "crlm.predict/1",
            "model": str(model),
            "data": self.table.source,
            "n": n,
            "d": d,
            "counts": self.counts[1:].tolist(),
            "background": int(self.counts[0]),
            "dropped": self.n_dropped,
            "files": [str(path) for path in self.files],
        }

    def say(self, again: list[str]) -> None:
        """For people, with what to do next unless something was written."""
        n, d = self.table.X.shape
        if not STYLE.quiet:
            say(f"{self.table.source}  {n:,} × {d:,} {self.table.X.dtype}", err=self.to_stdout)
            for line in [*count_lines(self.counts), *self._dropped_lines()]:
                say(f"  {line}", err=self.to_stdout)
        if self.files:
            remark(f"Wrote {', '.join(map(str, self.files))} (−1 = background)")
        elif not self.to_stdout:
            remark(f"Next:  {shlex.join(['crlm', *again])}")

    def _dropped_lines(self) -> list[str]:
        return [f"dropped     {self.n_dropped:,} rows (label −1)"] if self.n_dropped else []


def count_lines(counts: NDArray[np.int64]) -> list[str]:
    """Rows in each cluster, at most so many lines, and in the background."""
    n = max(1, int(counts.sum()))
    rows = [(f"{j:,}", f"{size:,}") for j, size in enumerate(counts[1:].tolist())]
    more = len(rows) - MAX_LINES
    table = aligned([("#", "rows"), *rows[:MAX_LINES]]) if rows else ["the model has no cluster"]
    return [
        *table,
        *([f"... and {more:,} more (all of them: --json)"] if more > 0 else []),
        f"background  {counts[0]:,} rows ({100 * counts[0] / n:.1f} %)",
    ]
