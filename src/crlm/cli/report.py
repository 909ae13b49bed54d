"""``crlm report``: a model in, one HTML file out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import STYLE, FilePath, check_outputs, remark, say
from crlm.cli.progress import progress_bar
from crlm.errors import InputError

if TYPE_CHECKING:
    from crlm import CRLM

EPILOG = """\b
Examples:
  crlm report faces.crlm.npz
  crlm report faces.crlm.npz --meta rows.csv --image file --truth person -o faces.html

\b
Exit codes:
  0 done   2 wrong usage   3 unusable model or data
"""
FORMATS = (".html", ".htm")
SUFFIX = ".crlm.npz"


@click.command(epilog=EPILOG)
@click.argument("model", type=FilePath())
@click.option(
    "--data", type=FilePath(), help="The rows of the fit, when they are not where they were."
)
@click.option(
    "--meta",
    type=FilePath(),
    metavar="FILE",
    help="Words about each row: .csv, .tsv, .parquet or .feather.  [default: those in the data]",
)
@click.option("--image", metavar="COLUMN", help="Column of --meta that names picture files.")
@click.option("--truth", metavar="COLUMN", help="Column of --meta with the true labels.")
@click.option("--title", help="What the data are called.  [default: the name of their file]")
@click.option(
    "-o",
    "--output",
    "out",
    type=FilePath(),
    help="Where to write the report.  [default: MODEL with .html for .crlm.npz]",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def report(
    model: Path,
    data: Path | None,
    meta: Path | None,
    image: str | None,
    truth: str | None,
    title: str | None,
    out: Path | None,
    force: bool,
) -> int:
    """Write the report of MODEL: one HTML file that needs nothing else.

    Verdict, alerts, the distances with a bandwidth that can be moved, clusters, their members, a
    map, and how to get the same again. At most 5 MB; no request to anywhere.
    """
    from crlm import CRLM

    target = out or default_name(model)
    found = CRLM.load(model)  # what is no model need not hear of its report
    check_outputs([target], force, source=model, formats=FORMATS)
    given = known_of_rows(meta, image, truth)
    with progress_bar(STYLE.progress and not STYLE.quiet, "Bandwidths") as found.progress:
        found.report(target, rows_at(found, data), title=title, force=force, **given)
    say(f"report  {target.absolute()}")
    remark(f"Next:  {shlex.join(['crlm', 'explore', str(model)])}")
    return 0


def default_name(model: Path) -> Path:
    """Name of the report of a model.

    >>> str(default_name(Path("faces.crlm.npz"))), str(default_name(Path("old.npz")))
    ('faces.html', 'old.html')
    """
    stem = model.name.removesuffix(SUFFIX) if model.name.endswith(SUFFIX) else model.stem
    return model.with_name(f"{stem}.html")


def rows_at(model: CRLM, data: Path | None) -> Any:
    """Rows of the fit when they are elsewhere; None when the model knows where they are.

    A model that knows its file is told the new place, so that it reads the file as before.
    """
    from crlm import record
    from crlm.tables import read_table

    if data is None:
        return None
    source = record.source(model)
    if source is None:
        return read_table(data).X
    record.with_source(model, source.at(data), record.settings(model))
    return None


def known_of_rows(meta: Path | None, image: str | None, truth: str | None) -> dict[str, Any]:
    """Words, pictures and truth from the columns of a file."""
    from crlm.report import read_meta

    if meta is None:
        if image or truth:
            flag = "--image" if image else "--truth"
            msg = f"{flag} names a column of --meta, which is not given."
            raise click.UsageError(msg)
        return {}
    columns = read_meta(meta)
    pictures = column(columns, image, meta)
    return {
        "meta": {name: words for name, words in columns.items() if name != image},
        "y": column(columns, truth, meta),
        "images": None if pictures is None else [meta.parent / str(name) for name in pictures],
    }


def column(columns: Mapping[str, list[Any]], name: str | None, path: Path) -> list[Any] | None:
    """Column of this name, or a sentence about those that there are."""
    if name is None:
        return None
    if name not in columns:
        msg = f"{path} has no column {name!r}. It has: {', '.join(columns)}"
        raise InputError(msg)
    return columns[name]
