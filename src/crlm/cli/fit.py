"""``crlm fit``: a file in, clusters out."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from crlm.cli.clusters import doubts, holds_everything, is_too_small, records, summary
from crlm.cli.common import (
    NO_CLUSTER,
    FilePath,
    Session,
    alpha_option,
    auto_or_float,
    bandwidth,
    check_outputs,
    debug_option,
    engine_log,
    free_name,
    say,
    say_json,
    without_option,
)
from crlm.cli.estimates import estimate_record
from crlm.cli.progress import progress_bar
from crlm.cli.reading import Rows, read_rows, rows_options
from crlm.cli.streaming import StreamedRows, checkpoint_of, landmark_options, open_blocks
from crlm.labels import BACKGROUND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM

STDOUT = Path("-")

EPILOG = """\b
Examples:
  crlm fit embeddings.npy
  crlm fit embeddings.npy -o labels.csv
  crlm fit rows.csv --columns x,y,z --sigma-max 2.5 -m 10
  crlm fit crops.parquet --columns clip --metric cosine --json
  crlm fit embeddings.npy --sigma-max 2.5 --alpha none    (the paper's rule alone)
  crlm fit huge.npy --landmarks auto --resume -o labels.npy
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
    sigma_max: float | Literal["auto", "histogram"]
    max_clusters: int | None
    min_cluster_size: int
    alpha: float | None
    G: float | Literal["auto"]
    metric: Literal["euclidean", "cosine"]
    key: str | None
    columns: list[str] | None
    header: bool | None
    drop_invalid: bool
    landmarks: int | Literal["auto"] | None
    min_weight: float
    seed: int
    resume: bool
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
    type=bandwidth,
    metavar="auto|histogram|FLOAT",
    default="auto",
    show_default=True,
    help="Bandwidth, in the units of the data: a little over twice the spread per coordinate of "
    "the widest cluster. auto takes the one at which significant clusters hold most rows, "
    "histogram the paper's: a little over twice the largest peak of the shortest distances.",
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
@alpha_option
@rows_options
@landmark_options
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
    if options.resume and options.landmarks is None:
        raise click.UsageError("--resume is for fits with --landmarks. Give --landmarks auto.")
    check_outputs(options.files, options.force, source=options.data)

    rows = read_data(options)
    model = fit_model(rows, options)
    write_outputs(full_labels(model, rows.valid), options)
    tell(model, rows, options, session)
    return NO_CLUSTER if options.fail_if_empty and model.n_clusters_ == 0 else 0


def read_data(options: FitOptions) -> Rows | StreamedRows:
    """Rows in memory, or in blocks when landmarks are enough."""
    if options.landmarks is not None and not options.drop_invalid:
        streamed = open_blocks(options.data, options.columns)
        if streamed is not None:
            return streamed
    return read_rows(
        options.data,
        key=options.key,
        columns=options.columns,
        header=options.header,
        metric=options.metric,
        drop_invalid=options.drop_invalid,
        quiet=options.quiet,
    )


def fit_model(rows: Rows | StreamedRows, options: FitOptions) -> CRLM:
    """Fit the valid rows with the options' parameters and a progress bar."""
    from crlm import CRLM

    bar = progress_bar(options.progress and not options.quiet)
    with bar as progress, engine_log(options.verbose):
        model = CRLM(
            options.sigma_max,
            max_clusters=options.max_clusters,
            min_cluster_size=options.min_cluster_size,
            alpha=options.alpha,
            G=options.G,
            metric=options.metric,
            n_landmarks=options.landmarks,
            min_weight=options.min_weight,
            random_state=options.seed,
            memory_limit=options.memory,
            n_jobs=options.threads,
            progress=progress,
        )
        kept = {"checkpoint": checkpoint_of(options.data, options.files)} if options.resume else {}
        with rows.named_in_errors():
            model.fit(rows.X, **kept)
    if isinstance(rows, StreamedRows):
        rows.learn_shape(model)
    return model


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


def tell(model: CRLM, rows: Rows | StreamedRows, options: FitOptions, session: Session) -> None:
    """Print the result: doubts always, the rest as the options want it."""
    for doubt in doubts(model):
        say(f"warning: {doubt}", err=True)
    if options.as_json:
        say_json(record(model, rows, options))
    elif not options.quiet:
        err = options.labels_to_stdout
        n_dropped = rows.n - len(model.labels_)
        for line in [rows.head, *summary(model, n_dropped, err=err)]:
            say(line, err=err)
        say_next(model, options, session)


def record(model: CRLM, rows: Rows | StreamedRows, options: FitOptions) -> dict[str, Any]:
    """Say the result to programs."""
    estimate = model.sigma_estimate_
    return {
        "schema": "crlm.fit/1",
        **rows.facts,
        "n_duplicates": model.n_duplicates_,
        "metric": options.metric,
        "n_landmarks": None if options.landmarks is None else len(model.landmark_indices_),
        "alpha": options.alpha,
        "sigma_max": float(model.sigma_max_),
        "evidence": None if estimate is None else estimate.evidence,
        "peaks": None if estimate is None else [float(peak) for peak in estimate.peaks],
        "sigma_estimate": None if estimate is None else estimate_record(estimate),
        "radius": float(model.radius_),
        "G": float(model.G_),
        "n_clusters": int(model.n_clusters_),
        "clusters": records(model),
        "p_values": model.p_values_.tolist(),
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
            again = after_nothing(model, argv)
        else:
            again = [*argv, "-o", free_name("labels.csv")]
        say(f"Next:  {shlex.join(['crlm', *again])}", err=True)


def after_nothing(model: CRLM, argv: list[str]) -> list[str]:
    """Command line to try when no cluster was found."""
    estimate = model.sigma_estimate_
    if model.alpha is not None and estimate is not None and model.sigma_max == "auto":
        if is_too_small(model):
            return without_option(argv, "-m", "--min-cluster-size")
        # Every bandwidth was tried, so another is no better: see what the test left out.
        return [*without_option(argv, "--alpha"), "--alpha", "none"]
    again = without_option(argv, "-s", "--sigma-max")
    if holds_everything(model) or (model.alpha is not None and estimate is not None):
        return [*again, "--sigma-max", "auto"]
    return [*again, "--sigma-max", f"{2 * model.sigma_max_:.3g}"]
