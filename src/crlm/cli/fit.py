"""``crlm fit``: a file in, clusters out."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from crlm.cli.clusters import (
    cannot_be_met,
    cannot_be_told,
    doubts,
    has_evidence,
    holds_everything,
    is_too_small,
    records,
    some_landmarks,
    summary,
)
from crlm.cli.common import (
    NO_CLUSTER,
    STYLE,
    FilePath,
    Session,
    alpha_option,
    auto_or_float,
    bandwidth,
    check_outputs,
    engine_log,
    force_option,
    free_name,
    json_option,
    remark,
    say,
    say_json,
    without_option,
)
from crlm.cli.estimates import estimate_record
from crlm.cli.models import check_model_path, model_path_beside, source_of
from crlm.cli.progress import progress_bar
from crlm.cli.reading import (
    ROW_FLAGS,
    TABLE_FLAGS,
    Rows,
    dominating,
    read_rows,
    rows_options,
    table_arguments,
)
from crlm.cli.settings import resolved
from crlm.cli.streaming import StreamedRows, checkpoint_of, landmark_options, open_blocks
from crlm.cli.writing import STDOUT, Described, LabelsOnly, refuse_unheard
from crlm.errors import TooSmallWarning, WeakEvidenceWarning

if TYPE_CHECKING:
    from crlm import CRLM

EPILOG = """\b
Examples:
  crlm fit embeddings.npy
  crlm fit embeddings.npy -o labels.csv
  crlm fit rows.csv --columns x,y,z --sigma-max 2.5 -m 10
  crlm fit crops.parquet --columns clip --metric cosine --json
  crlm fit embeddings.npy --sigma-max 2.5 --alpha none    (the paper's rule alone)
  crlm fit embeddings.npy -q -o - | cut -d, -f2 | sort -n | uniq -c

\b
Exit codes:
  0 done   2 wrong usage   3 unusable data
  4 no cluster (--fail-if-empty) or weak evidence (--strict)
  5 out of memory or disk   130 interrupted   143 terminated   1 a bug
"""


@dataclass(frozen=True)
class FitOptions:
    """The command line of ``crlm fit``: one field for each flag about the fit and its output."""

    data: Path
    sigma_max: float | Literal["auto", "histogram"]
    max_clusters: int | None
    min_cluster_size: int
    alpha: float | None
    G: float | Literal["auto"]
    metric: Literal["euclidean", "cosine"]
    reading: dict[str, Any]
    landmarks: int | Literal["auto"] | None
    min_weight: float
    refine: bool
    resume: bool
    memory: str
    threads: int | None
    model: Path | None
    no_model: bool
    output: tuple[Path, ...]
    force: bool
    fail_if_empty: bool
    strict: bool
    as_json: bool

    @property
    def files(self) -> list[Path]:
        """Outputs of labels that are files, not the standard output."""
        return [path for path in self.output if path != STDOUT]

    @property
    def labels_to_stdout(self) -> bool:
        """Whether stdout carries labels, so that all else must go to stderr."""
        return STDOUT in self.output

    @property
    def checkpoint(self) -> Path | None:
        """Where the fit notes what is done; None for nowhere."""
        return checkpoint_of(self.data, self.files) if self.resume else None

    @property
    def model_path(self) -> Path | None:
        """Where the model goes; None for nowhere."""
        if self.no_model:
            return None
        return self.model or model_path_beside(self.data)


@click.command(epilog=EPILOG)
@click.argument("data", type=FilePath())
@click.option(
    "-s",
    "--sigma-max",
    type=bandwidth,
    metavar="auto|histogram|FLOAT",
    default="auto",
    show_default=True,
    help="Bandwidth, in the units of the data: 0.8 times the spread per coordinate of the widest "
    "cluster just holds it, twice serves where nothing else is near. auto takes the one at which "
    "significant clusters hold most rows, or where that is only moderate evidence one for each "
    "cluster; histogram takes the paper's: a little over twice the largest peak of the shortest "
    "distances.",
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
    "--model",
    type=FilePath(),
    help="Write the model here, a name that ends in .crlm.npz.  [default: beside DATA]",
)
@click.option("--no-model", is_flag=True, help="Write no model.")
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    multiple=True,
    help="Write the labels, -1 for background: .csv, .npy or .parquet, or - for csv on stdout. "
    "Can be given more than once.",
)
@force_option
@click.option("--fail-if-empty", is_flag=True, help="Exit with 4 when no cluster is found.")
@click.option("--strict", is_flag=True, help="Exit with 4 when the evidence is weak.")
@json_option
@click.pass_context
def fit(ctx: click.Context, /, **flags: Any) -> int:
    """Find the clusters of DATA.

    DATA is a .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather or .h5 file, a folder of images
    or of .parquet files, or - for csv on the standard input.

    Each row is a point. Rows in no cluster are background, label -1; usually that is most of
    them. Equal data give equal labels: there is no random start.

    The model goes to a file beside DATA, which crlm info, predict, export and check read. A model
    that crlm made of the same DATA is replaced; any other file is only with --force.
    """
    if flags["model"] is not None and flags["no_model"]:
        if ctx.get_parameter_source("no_model") is ParameterSource.COMMANDLINE:
            msg = "--model and --no-model do not go together. Leave one of them out."
            raise click.UsageError(msg)
        flags["no_model"] = False  # a flag counts more than a variable or crlm.toml
    chosen = resolved(ctx)
    reading = {name: flags.pop(name) for name in (*TABLE_FLAGS, *ROW_FLAGS)}
    return run(FitOptions(**flags, reading=reading), chosen, ctx.ensure_object(Session))


def run(options: FitOptions, chosen: dict[str, Any], session: Session) -> int:
    """Read, fit, write, tell."""
    if options.as_json and options.labels_to_stdout:
        msg = "--json and -o - both want the standard output. Give the labels a file name."
        raise click.UsageError(msg)
    if options.landmarks is None and (options.resume or options.refine):
        name = "--resume" if options.resume else "--refine"
        msg = f"{name} is for fits with --landmarks. Give --landmarks auto."
        raise click.UsageError(msg)
    refuse_unheard(options.output)
    check_outputs(options.files, options.force, source=options.data)
    if options.model_path is not None and options.data.exists():
        check_model_path(options.model_path, options)

    rows = read_data(options)
    model = fit_model(rows, options)
    write_outputs(model, rows, options, chosen)
    tell(model, rows, options, session)
    empty = options.fail_if_empty and model.n_clusters_ == 0
    return NO_CLUSTER if empty or (options.strict and is_weak(model)) else 0


def read_data(options: FitOptions) -> Rows | StreamedRows:
    """Rows in memory, or in blocks when landmarks are enough."""
    if options.landmarks is not None:
        streamed = open_blocks(options.data, options.reading)
        if streamed is not None:
            return streamed
    return read_rows(options.data, metric=options.metric, **options.reading)


def fit_model(rows: Rows | StreamedRows, options: FitOptions) -> CRLM:
    """Fit the rows with the options' parameters and a progress bar."""
    from crlm import CRLM

    with progress_bar(STYLE.progress and not STYLE.quiet) as progress, engine_log(STYLE.verbose):
        model = CRLM(
            options.sigma_max,
            max_clusters=options.max_clusters,
            min_cluster_size=options.min_cluster_size,
            alpha=options.alpha,
            G=options.G,
            metric=options.metric,
            n_landmarks=options.landmarks,
            min_weight=options.min_weight,
            refine=options.refine,
            random_state=options.reading["seed"],
            memory_limit=options.memory,
            n_jobs=options.threads,
            progress=progress,
        )
        kept: dict[str, Any] = {}
        if options.resume:  # kept until the labels are where they should be
            kept = {"checkpoint": options.checkpoint, "keep_checkpoint": True}
        with rows.named_in_errors(), warnings.catch_warnings():
            # Said once, with all else that is to be doubted.
            warnings.simplefilter("ignore", WeakEvidenceWarning)
            warnings.simplefilter("ignore", TooSmallWarning)
            model.fit(rows.X, **kept)
    if isinstance(rows, StreamedRows):
        rows.learn_shape(model)
    return model


def is_weak(model: CRLM) -> bool:
    """Whether the bandwidth is a guess."""
    return model.sigma_estimate_ is not None and model.sigma_estimate_.evidence == "weak"


def write_outputs(
    model: CRLM, rows: Rows | StreamedRows, options: FitOptions, chosen: dict[str, Any]
) -> None:
    """Write the model and the labels wherever they were asked for; all of them or none."""
    from crlm import record
    from crlm.tables import steady_parts, write_together

    described = (
        LabelsOnly(model)
        if isinstance(rows, StreamedRows)
        else Described(model, rows.table, rows.scaling, rows.valid)
    )
    jobs = described.jobs(options.files)
    if options.model_path is not None:
        found = source_of(rows, options.data, table_arguments(options.reading))
        record.with_source(model, found, chosen)
        jobs.insert(0, (options.model_path, record.model_job(model, options.model_path)))
    with steady_parts(options.checkpoint):
        write_together(jobs)
    if options.labels_to_stdout:
        described.to_stdout()
    if options.checkpoint is not None:
        from crlm.landmarks.checkpoint import forget

        forget(options.checkpoint)


def tell(model: CRLM, rows: Rows | StreamedRows, options: FitOptions, session: Session) -> None:
    """Print the result: doubts always, the rest as the options want it."""
    for doubt in doubts(model):
        say(f"warning: {doubt}", err=True)
    if options.as_json:
        say_json(result(model, rows, options))
    elif not STYLE.quiet:
        err = options.labels_to_stdout
        for line in [rows.head, *summary(model, rows.dropped, err=err)]:
            say(line, err=err)
    say_next(model, rows, options, session)


def result(model: CRLM, rows: Rows | StreamedRows, options: FitOptions) -> dict[str, Any]:
    """Say the result to programs."""
    estimate = model.sigma_estimate_
    return {
        "schema": "crlm.fit/1",
        **rows.facts,
        "n_fitted": len(model.labels_),
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
        "model": None if options.model_path is None else str(options.model_path),
        "files": [str(path) for path in options.files],
    }


def say_next(model: CRLM, rows: Rows | StreamedRows, options: FitOptions, session: Session) -> None:
    """Say what was written, and what to do or try next."""
    path = options.model_path
    written = [*([] if path is None else [path]), *options.files]
    if written and not options.as_json:
        labels = " (−1 = background)" if options.files else ""
        remark(f"Wrote {', '.join(map(str, written))}{labels}")
    if options.as_json:
        return
    if model.n_clusters_ == 0:
        plain = rows if isinstance(rows, Rows) and options.metric == "euclidean" else None
        uneven = plain is not None and dominating(plain) is not None
        again = after_nothing(model, session.argv, path, uneven=uneven)
        if again[:1] not in ([], ["explore"]) and options.files and not options.force:
            again = [*again, "--force"]  # they have just been written
    elif path is None:
        again = [*session.argv, "-o", free_name("labels.csv")] if not options.output else []
    else:
        again = ["report", str(path)]
    if again:
        remark(f"Next:  {shlex.join(['crlm', *again])}")


def after_nothing(model: CRLM, argv: list[str], path: Path | None, *, uneven: bool) -> list[str]:
    """Command line to try when no cluster was found; if `uneven`, one column is all that tells.

    `path` is where the model was written.
    """
    estimate = model.sigma_estimate_
    if cannot_be_met(model):
        return without_option(argv, "-m", "--min-cluster-size")
    if cannot_be_told(model):
        return []
    if some_landmarks(model) and has_evidence(model):
        if model.n_landmarks == "auto":
            again = without_option(argv, "--min-weight")
            return [*again, "--min-weight", f"{model.min_weight / 10:g}"]
        return [*without_option(argv, "--landmarks"), "--landmarks", "auto"]
    if model.alpha is not None and estimate is not None and model.sigma_max == "auto":
        if is_too_small(model):
            return without_option(argv, "-m", "--min-cluster-size")
        if uneven:
            return [*argv, "--standardize"]
        # Every bandwidth was tried, so another is no better: have a look.
        if path is not None and model.certificate_ is not None:
            return ["explore", str(path)]
        return [*without_option(argv, "--alpha"), "--alpha", "none"]
    again = without_option(argv, "-s", "--sigma-max")
    if holds_everything(model) or model.alpha is not None:
        return [*again, "--sigma-max", "auto"]
    return [*again, "--sigma-max", f"{2 * model.sigma_max_:.3g}"]
