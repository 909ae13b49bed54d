"""``crlm fit``: a file in, clusters out."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from crlm.cli.clusters import doubts, records, summary
from crlm.cli.common import (
    NO_CLUSTER,
    FilePath,
    Session,
    auto_or_float,
    check_outputs,
    count,
    debug_option,
    engine_log,
    free_name,
    say,
    say_json,
    table_options,
)
from crlm.cli.progress import progress_bar
from crlm.errors import InputError
from crlm.labels import BACKGROUND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM
    from crlm.tables import Table

STDOUT = Path("-")

EPILOG = """\b
Examples:
  crlm fit embeddings.npy
  crlm fit embeddings.npy -o labels.csv
  crlm fit rows.csv --columns x,y,z --sigma-max 2.5 -m 10
  crlm fit crops.parquet --columns clip --metric cosine --json
  crlm fit embeddings.npy -q -o - | cut -d, -f2 | sort -n | uniq -c

\b
Exit codes:
  0 done   2 wrong usage   3 unusable data   4 no cluster (--fail-if-empty)
  5 out of memory or disk   130 interrupted   143 terminated   1 a bug
"""


@dataclass(frozen=True)
class FitOptions:
    """The command line of ``crlm fit``, one field for each flag."""

    data: Path
    sigma_max: float | Literal["auto"]
    max_clusters: int | None
    min_cluster_size: int
    G: float | Literal["auto"]
    metric: Literal["euclidean", "cosine"]
    key: str | None
    columns: list[str] | None
    header: bool | None
    drop_invalid: bool
    memory: str
    threads: int | None
    output: tuple[Path, ...]
    force: bool
    fail_if_empty: bool
    as_json: bool
    quiet: bool
    verbose: bool
    progress: bool

    @property
    def files(self) -> list[Path]:
        """Outputs that are files, not the standard output."""
        return [path for path in self.output if path != STDOUT]

    @property
    def labels_to_stdout(self) -> bool:
        """Whether stdout carries labels, so that all else must go to stderr."""
        return STDOUT in self.output


@click.command(epilog=EPILOG)
@click.argument("data", type=FilePath())
@click.option(
    "-s",
    "--sigma-max",
    type=auto_or_float,
    metavar="auto|FLOAT",
    default="auto",
    show_default=True,
    help="Bandwidth, in the units of the data: a little over twice the spread per coordinate of "
    "the widest cluster. auto reads it from the distances.",
)
@click.option(
    "-k", "--max-clusters", type=int, help="Stop after this many clusters.  [default: no limit]"
)
@click.option(
    "-m",
    "--min-cluster-size",
    type=int,
    default=2,
    show_default=True,
    help="Fewest rows that make a cluster.",
)
@click.option(
    "-G",
    "--G",
    "G",
    type=auto_or_float,
    metavar="auto|FLOAT",
    default=4.0,
    show_default=True,
    help="Depth of the loss, above 1; a ball has radius sigma_max * sqrt(d * G).",
)
@click.option(
    "--metric",
    type=click.Choice(["euclidean", "cosine"]),
    default="euclidean",
    show_default=True,
    help="cosine divides each row by its length first.",
)
@table_options
@click.option(
    "--drop-invalid",
    is_flag=True,
    help="Leave out rows with NaN or inf, and for cosine those of only zeros; their label is -1.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default="auto",
    show_default=True,
    help="Most memory to use, such as 2GB; auto is half of what is free.",
)
@click.option("--threads", type=int, help="Threads to use.  [default: every core]")
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    multiple=True,
    help="Write the labels, -1 for background: .csv, .npy or .parquet, or - for csv on stdout. "
    "Can be given more than once.",
)
@click.option("--force", is_flag=True, help="Replace output files that exist.")
@click.option("--fail-if-empty", is_flag=True, help="Exit with 4 when no cluster is found.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say on stderr how the engine does it.")
@click.option("--progress/--no-progress", default=True, help="Draw a bar if stderr is a terminal.")
@debug_option
@click.pass_obj
def fit(session: Session, /, **flags: Any) -> int:
    """Find the clusters of DATA (.npy, .npz, .csv, .tsv or .parquet).

    Each row is a point. Rows in no cluster are background, label -1; usually that is most of
    them. Equal data give equal labels: there is no random start.
    """
    return run(FitOptions(**flags), session)


def run(options: FitOptions, session: Session) -> int:
    """Read, fit, write, tell."""
    if options.as_json and options.labels_to_stdout:
        msg = "--json and -o - both want the standard output. Give the labels a file name."
        raise click.UsageError(msg)
    check_outputs(options.files, options.force, source=options.data)

    from crlm.tables import read_table

    table = read_table(
        options.data, key=options.key, columns=options.columns, header=options.header
    )
    if not options.quiet:
        for note in table.notes:
            say(f"note: {note}", err=True)
    valid = valid_rows(table, options)
    model = fit_model(table, valid, options)
    write_outputs(full_labels(model, valid), options)
    tell(model, table, options, session)
    return NO_CLUSTER if options.fail_if_empty and model.n_clusters_ == 0 else 0


def valid_rows(table: Table, options: FitOptions) -> NDArray[np.bool_] | None:
    """Mask of the rows that can be used, or None when all can."""
    import numpy as np

    from crlm.tables import invalid_rows, zero_rows

    bad = invalid_rows(table.X)
    zero = zero_rows(table.X) if options.metric == "cosine" else bad[:0]
    valid = np.ones(len(table.X), dtype=np.bool_)
    valid[bad] = valid[zero] = False
    if valid.all():
        return None
    if not options.drop_invalid:
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


def fit_model(table: Table, valid: NDArray[np.bool_] | None, options: FitOptions) -> CRLM:
    """Fit the valid rows with the options' parameters and a progress bar."""
    from crlm import CRLM

    bar = progress_bar(options.progress and not options.quiet)
    with bar as progress, engine_log(options.verbose):
        model = CRLM(
            options.sigma_max,
            max_clusters=options.max_clusters,
            min_cluster_size=options.min_cluster_size,
            G=options.G,
            metric=options.metric,
            memory_limit=options.memory,
            n_jobs=options.threads,
            progress=progress,
        )
        try:
            return model.fit(table.X if valid is None else table.X[valid])
        except InputError as error:
            raise InputError(_about_file(str(error), table.source, valid)) from error


def _about_file(message: str, source: str, valid: NDArray[np.bool_] | None) -> str:
    """Message of the estimator about its X as one about the file and the rows of the file."""
    if message.startswith("X "):
        message = source + message[1:]
    if valid is None:
        return message
    rows = valid.nonzero()[0]
    return re.sub(r"\(row (\d+)\)", lambda match: f"(row {rows[int(match[1])]})", message)


def full_labels(model: CRLM, valid: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """One label per row of the file; a row that was left out is background."""
    import numpy as np

    if valid is None:
        return model.labels_
    labels = np.full(len(valid), BACKGROUND, dtype=np.int64)
    labels[valid] = model.labels_
    return labels


def write_outputs(labels: NDArray[np.int64], options: FitOptions) -> None:
    """Write the labels wherever they were asked for."""
    from crlm.tables import label_writer, write_labels_csv, write_together

    force = options.force
    write_together([(path, label_writer(path, labels, force=force)) for path in options.files])
    if options.labels_to_stdout:
        sys.stdout.flush()
        stdout = sys.stdout.buffer
        write_labels_csv(stdout, labels)
        stdout.flush()


def tell(model: CRLM, table: Table, options: FitOptions, session: Session) -> None:
    """Print the result: doubts always, the rest as the options want it."""
    for doubt in doubts(model):
        say(f"warning: {doubt}", err=True)
    if options.as_json:
        say_json(record(model, table, options))
    elif not options.quiet:
        err = options.labels_to_stdout
        for line in lines(model, table, err=err):
            say(line, err=err)
        say_next(model, options, session)


def lines(model: CRLM, table: Table, *, err: bool = False) -> list[str]:
    """Say the result to people."""
    n, d = table.X.shape
    head = f"{table.source}  {n:,} × {d:,} {table.X.dtype}"
    return [head, *summary(model, n_dropped=n - len(model.labels_), err=err)]


def record(model: CRLM, table: Table, options: FitOptions) -> dict[str, Any]:
    """Say the result to programs."""
    n, d = table.X.shape
    estimate = model.sigma_estimate_
    return {
        "schema": "crlm.fit/1",
        "data": table.source,
        "n": n,
        "d": d,
        "columns": table.columns,
        "vector": table.vector,
        "dropped": n - len(model.labels_),
        "metric": options.metric,
        "sigma_max": float(model.sigma_max_),
        "evidence": None if estimate is None else estimate.evidence,
        "peaks": None if estimate is None else [float(peak) for peak in estimate.peaks],
        "radius": float(model.radius_),
        "G": float(model.G_),
        "n_clusters": int(model.n_clusters_),
        "clusters": records(model),
        "background": int((model.labels_ < 0).sum()),
        "background_weight": float(model.background_weight_),
        "files": [str(path) for path in options.files],
    }


def say_next(model: CRLM, options: FitOptions, session: Session) -> None:
    """Say what was written, or what to try."""
    if options.files:
        say(f"Wrote {', '.join(map(str, options.files))} (−1 = background)", err=True)
    elif not options.output:
        argv = session.argv
        if model.n_clusters_ == 0:
            wider = f"{2 * model.sigma_max_:.3g}"
            again = [*without_option(argv, "-s", "--sigma-max"), "--sigma-max", wider]
        else:
            again = [*argv, "-o", free_name("labels.csv")]
        say(f"Next:  {shlex.join(['crlm', *again])}", err=True)


def without_option(argv: list[str], short: str, long: str) -> list[str]:
    """Command line without this option and its value.

    >>> without_option(["fit", "-s", "1", "x.npy", "--sigma-max=2", "-q"], "-s", "--sigma-max")
    ['fit', 'x.npy', '-q']
    """
    left, is_value = [], False
    for word in argv:
        joined = word.startswith(f"{long}=") or (word.startswith(short) and word != short)
        if not is_value and not joined and word not in (short, long):
            left.append(word)
        is_value = not is_value and word in (short, long)
    return left
