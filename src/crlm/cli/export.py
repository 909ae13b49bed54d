"""``crlm export``: what a model says about its rows, for other programs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    STYLE,
    FilePath,
    check_outputs,
    count,
    force_option,
    json_option,
    refuse_same_name,
    remark,
    say_json,
)
from crlm.cli.folders import check_folder, is_folder, write_folder
from crlm.cli.models import load_model, needs_direction
from crlm.cli.progress import progress_bar
from crlm.cli.reading import valid_rows
from crlm.cli.writing import STDOUT, Described, Progress, refuse_unheard
from crlm.errors import InputError

if TYPE_CHECKING:
    from crlm import CRLM
    from crlm.record import Source
    from crlm.tables import Table

EPILOG = """\b
Examples:
  crlm export faces.crlm.npz --to labels.csv
  crlm export faces.crlm.npz --to labels.npy --to labels.parquet
  crlm export faces.crlm.npz --to atlas.parquet     (for Embedding Atlas)
  crlm export faces.crlm.npz --to by-cluster/       (pictures, a folder for each cluster)
"""


@click.command(epilog=EPILOG)
@click.argument("model", type=FilePath())
@click.option(
    "--to",
    type=click.Path(),
    multiple=True,
    required=True,
    help="Where to: labels as .csv, .npy or .parquet, or - for csv on stdout; a table for "
    "Embedding Atlas if the name ends in atlas.parquet; pictures by cluster if it ends in /. Can "
    "be given more than once.",
)
@click.option("--data", type=FilePath(), help="Where the data are now.  [default: where they were]")
@click.option("--link", is_flag=True, help="Pictures: link to them instead of copying.")
@click.option("--background", is_flag=True, help="Pictures: those of the background too.")
@force_option
@json_option
def export(
    model: Path,
    to: tuple[str, ...],
    data: Path | None,
    link: bool,
    background: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write what MODEL says about each row of its data.

    The data are read again, block by block, and must be what was fitted. Labels have the columns
    row, id (if the data have one), label (-1 for background), distance from the middle of the
    ball over R, p_value of the cluster, and posterior.
    """
    from crlm.tables import write_together

    folders = [Path(name) for name in to if is_folder(name)]
    paths = [Path(name) for name in to if not is_folder(name)]
    if as_json and STDOUT in paths:
        msg = "--json and --to - both want the standard output. Give the labels a file name."
        raise click.UsageError(msg)
    files = [path for path in paths if path != STDOUT]
    refuse_unheard([*paths, *folders])
    refuse_same_name([*files, *folders])
    check_outputs(files, force, source=data)
    for folder in folders:
        check_folder(folder, force)
    fitted = load_model(model)
    found, table = open_rows(fitted, data)
    check_outputs(files, force, source=found.path)
    with progress_bar(STYLE.progress and not STYLE.quiet, "Rows") as progress:
        described = describe(fitted, found, table, progress)
        from crlm.cli.atlas import atlas_job, is_atlas

        plain = [path for path in files if not is_atlas(path)]
        jobs = described.jobs(plain)
        jobs += [(path, atlas_job(described, table, found)) for path in files if is_atlas(path)]
        for folder in folders:
            n = write_folder(folder, described, table, found, link=link, background=background)
            remark(f"{folder}: {count(n, 'picture')} {'linked' if link else 'copied'}")
        write_together(jobs)
        if STDOUT in paths:
            described.to_stdout()
    tell(fitted, model, [*files, *folders], as_json=as_json)
    return 0


def open_rows(model: CRLM, data: Path | None) -> tuple[Source, Table]:
    """Data of a model, which must be what was fitted."""
    from crlm import record

    found = record.source(model)
    if found is None:
        msg = (
            "this model was fitted in Python, to rows of no file, so there is nothing to export. "
            "Take model.labels_ there, or fit the file with crlm fit."
        )
        raise InputError(msg)
    found = found if data is None else found.at(data)
    try:
        table = found.read()
    except InputError as error:
        hint = "" if data is not None else " If the data are elsewhere, say so: --data FILE"
        raise InputError(f"{error}{hint}") from error  # noqa: EM102
    record.check_rows(model, table, found)
    return found, table


def describe(model: CRLM, found: Source, table: Table, progress: Progress) -> Described:
    """Every row of the data; those that the fit left out are background."""
    valid = None
    if found.n_dropped:
        valid = valid_rows(table, needs_direction(model, found.transform), drop_invalid=True)
    return Described(model, table, found.transform, valid, progress=progress)


def tell(model: CRLM, path: Path, written: list[Path], *, as_json: bool) -> None:
    """Say what was written."""
    if as_json:
        record: dict[str, Any] = {
            "schema": "crlm.export/1",
            "model": str(path),
            "n_clusters": model.n_clusters_,
            "files": [str(name) for name in written],
        }
        say_json(record)
        return
    if written:
        remark(f"Wrote {', '.join(map(str, written))}")
    from crlm.cli.atlas import is_atlas

    for name in filter(is_atlas, written):
        remark(f"Next:  embedding-atlas {shlex.quote(str(name))} --x x --y y")
