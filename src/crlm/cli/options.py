"""Options that commands share, and what may be typed for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from crlm.errors import CRLMError, OutputError

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Session:
    """One call of the program: its arguments, whether to show tracebacks, how it was stopped."""

    argv: list[str]
    debug: bool = False
    stopped: int | None = None  # the exit code of a signal


class FilePath(click.Path):
    """Name of a file; whether it can be used is for those to say who know what it is for."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Refuse an empty name, which would stand for the current folder."""
        if value == "":
            self.fail("the name of the file is empty.", param, ctx)
        return super().convert(value, param, ctx)


def auto_or_float(value: str | float) -> float | str:
    """Read the word auto or a number; whether it is in range is the estimator's question."""
    if value == "auto":
        return "auto"
    try:
        return float(value)
    except ValueError:
        msg = f"{value!r} is neither 'auto' nor a number."
        raise click.BadParameter(msg) from None


def bandwidth(value: str | float) -> float | str:
    """Read a number or the name of a rule that chooses one."""
    if value in ("auto", "histogram"):
        return str(value)
    try:
        return float(value)
    except ValueError:
        msg = f"{value!r} is not 'auto', 'histogram' or a number."
        raise click.BadParameter(msg) from None


def none_or_float(value: str | float | None) -> float | None:
    """Read the word none or a number.

    >>> none_or_float("none"), none_or_float("0.05")
    (None, 0.05)
    """
    if value is None or value == "none":
        return None
    try:
        return float(value)
    except ValueError:
        fix = " One percent is 0.01." if "%" in str(value) else ""
        msg = f"{value!r} is neither 'none' nor a number.{fix}"
        raise click.BadParameter(msg) from None


def comma_list(value: str | list[str]) -> list[str]:
    """Split at commas.

    >>> comma_list("x, y,z")
    ['x', 'y', 'z']
    """
    return [item.strip() for item in value.split(",")] if isinstance(value, str) else value


def comma_floats(value: str | list[float]) -> list[float]:
    """Numbers separated by commas."""
    if not isinstance(value, str):
        return value
    try:
        return [float(item) for item in value.split(",")]
    except ValueError:
        msg = f"{value!r} is not a list of numbers such as 1,2.5"
        raise click.BadParameter(msg) from None


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def force_option(command: Command) -> Command:
    """Add --force."""
    return click.option("--force", is_flag=True, help="Replace files that exist.")(command)


def drop_option(command: Command) -> Command:
    """Add --drop-invalid."""
    return click.option(
        "--drop-invalid",
        is_flag=True,
        help="Leave out rows with NaN or inf, and for cosine those of only zeros; their label is "
        "-1.",
    )(command)


def debug_option(command: Command) -> Command:
    """Add --debug, which the error handler reads from the session."""
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_remember_debug,
        help="Show the full traceback of an error.",
    )(command)


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    session = ctx.find_object(Session)
    if value and session is not None:
        session.debug = True


def table_options(command: Command) -> Command:
    """Add the options that say what of a file to read."""
    for option in reversed(_table_options()):
        command = option(command)
    return command


def _table_options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--key", metavar="NAME", help="Array to read from a .npz or .h5 file."),
        click.option(
            "--columns",
            type=comma_list,
            metavar="A,B,...",
            help="Coordinates, by name, or by number from 0 unless numbers are their names; A:D "
            "takes all from A to D. Other columns are kept beside them.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line of a .csv or .tsv names the columns.  [default: it does "
            "if it has a word, or counts 0,1,2,...]",
        ),
        click.option("--vector", metavar="COL", help="The one column whose vectors are the rows."),
        click.option("--id", metavar="COL", help="Column that names the rows."),
        click.option("--image", metavar="COL", help="Column with the path of each row's picture."),
        click.option("--text", metavar="COL", help="Column with words about each row."),
        click.option(
            "--meta",
            type=FilePath(),
            metavar="FILE",
            help="Table beside the data, row by row: .csv, .tsv, .parquet, .arrow or .feather.",
        ),
        click.option(
            "--descriptor",
            type=click.Choice(["hog", "pixels"]),
            help="How the pictures of a folder become numbers: outlines, or shades.  "
            "[default: hog]",
        ),
    ]


def alpha_option(command: Command) -> Command:
    """Add --alpha, the level of the test for clusters."""
    return click.option(
        "--alpha",
        type=none_or_float,
        metavar="FLOAT|none",
        default="0.01",
        show_default=True,
        help="Chance of reporting any cluster where there is only background. none is no test: "
        "every ball counts.",
    )(command)


def without_option(argv: Sequence[str], *names: str) -> list[str]:
    """Command line without this option, short or long, and its value.

    >>> without_option(["fit", "-s", "1", "x.npy", "--sigma-max=2", "-q"], "-s", "--sigma-max")
    ['fit', 'x.npy', '-q']
    """
    left, is_value = [], False
    for word in argv:
        joined = any(
            word.startswith(f"{name}=" if name.startswith("--") else name) for name in names
        )
        if not is_value and not joined and word not in names:
            left.append(word)
        is_value = not is_value and word in names
    return left


def check_outputs(
    paths: Sequence[Path],
    force: bool,
    *,
    source: Path | None = None,
    formats: Sequence[str] | None = None,
) -> None:
    """Refuse outputs that cannot be written, are named twice, or are the data themselves."""
    from crlm.tables import check_writable

    refuse_same_name(paths)
    for path in paths:
        try:
            if source is not None and path.exists() and source.exists() and path.samefile(source):
                msg = f"{path} is the data itself; labels would destroy it. Choose another name."
                raise OutputError(msg)
            check_writable(path, force, formats=formats)
        except CRLMError:
            raise
        except OSError as error:
            msg = f"cannot write {path}: {error.strerror or error}"
            raise OutputError(msg) from error


def refuse_same_name(paths: Sequence[Path]) -> None:
    """Refuse two outputs of which the second would replace the first."""
    if len({path.resolve() for path in paths}) < len(paths):
        msg = f"{paths[-1]} is named twice as output. Give each file its own name."
        raise OutputError(msg)
