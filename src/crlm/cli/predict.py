"""``crlm predict``: new rows into clusters that were found before."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    STYLE,
    FilePath,
    aligned,
    check_outputs,
    drop_option,
    force_option,
    json_option,
    remark,
    say,
    say_json,
    table_options,
)
from crlm.cli.models import load_model, needs_direction
from crlm.cli.progress import progress_bar
from crlm.cli.reading import Rows, table_arguments, valid_rows
from crlm.cli.writing import STDOUT, Described
from crlm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM
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
def predict(
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
    tell(table, counts, model, files, as_json=as_json, to_stdout=STDOUT in output)
    return 0


def read_new(model: CRLM, data: Path, reading: dict[str, Any]) -> Table:
    """Read a file as that of the fit was, unless told otherwise, and compare their columns."""
    from crlm import record
    from crlm.tables import read_table

    found = record.source(model)
    if found is not None and found.path is not None and found.path.suffix == data.suffix:
        reading = {**found.reading, **reading}
    table = read_table(data, **reading)
    names = None if found is None else found.names
    if names is not None and table.columns is not None and table.columns != names:
        # Columns in another order, or beside others: those of the fit are taken by name.
        table = read_table(data, **{**reading, "columns": names})
    for note in table.notes:
        remark(f"note: {note}")
    if table.X.shape[1] != model.n_features_in_:
        msg = (
            f"{table.source} has {table.X.shape[1]:,} columns, but the model was fitted to "
            f"{model.n_features_in_:,}. Choose them with --columns."
        )
        raise InputError(msg)
    return table


def tell(
    table: Table,
    counts: NDArray[np.int64],
    model: Path,
    files: list[Path],
    *,
    as_json: bool,
    to_stdout: bool,
) -> None:
    """Say how many rows went where."""
    n, d = table.X.shape
    if as_json:
        say_json(
            {
                "schema": "crlm.predict/1",
                "model": str(model),
                "data": table.source,
                "n": n,
                "d": d,
                "counts": counts[1:].tolist(),
                "background": int(counts[0]),
                "files": [str(path) for path in files],
            }
        )
        return
    if not STYLE.quiet:
        say(f"{table.source}  {n:,} × {d:,} {table.X.dtype}", err=to_stdout)
        for line in count_lines(counts):
            say(f"  {line}", err=to_stdout)
    if files:
        remark(f"Wrote {', '.join(map(str, files))} (−1 = background)")
    elif not to_stdout:
        parts = ["crlm", "predict", str(model), table.source, "-o", "labels.csv"]
        remark(f"Next:  {shlex.join(parts)}")


def count_lines(counts: NDArray[np.int64]) -> list[str]:
    """Rows in each cluster, at most so many lines, and in the background."""
    n = int(counts.sum())
    rows = [(f"{j:,}", f"{size:,}") for j, size in enumerate(counts[1:].tolist())]
    more = len(rows) - MAX_LINES
    table = aligned([("#", "rows"), *rows[:MAX_LINES]]) if rows else ["the model has no cluster"]
    return [
        *table,
        *([f"... and {more:,} more (all of them: --json)"] if more > 0 else []),
        f"background  {counts[0]:,} rows ({100 * counts[0] / n:.1f} %)",
    ]
