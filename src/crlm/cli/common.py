"""What the commands share: talk, numbers in words, option types, exit codes."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import sys
import threading
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, TypeVar

import click

from crlm.errors import (
    CRLMError,
    CRLMWarning,
    DiskFullError,
    InputError,
    MemoryLimitError,
    MissingExtraError,
    OutputError,
    ParameterError,
)

UNEXPECTED, USAGE, BAD_INPUT, NO_CLUSTER, NO_ROOM = 1, 2, 3, 4, 5
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143

# First match counts: a full disk is an OutputError too.
_EXIT_CODES: tuple[tuple[type[CRLMError], int], ...] = (
    (DiskFullError, NO_ROOM),
    (MemoryLimitError, NO_ROOM),
    (ParameterError, USAGE),
    (OutputError, USAGE),
    (InputError, BAD_INPUT),
    (MissingExtraError, BAD_INPUT),
)

# Python's names in a message are of no use to who typed a flag.
_FLAGS = {
    r"memory_limit='(\w+)'": r"--memory \1",
    r"\bmemory_limit\b": "--memory",
    r"\bn_jobs\b": "--threads",
    r"\bn_landmarks\b": "--landmarks",
    r"\bmin_weight\b": "--min-weight",
    r"\brandom_state must be None, a": "--seed must be a",
    r"\bsigma_max\b": "--sigma-max",
    r"\bmax_clusters\b": "--max-clusters",
    r"\bmin_cluster_size\b": "--min-cluster-size",
    r"\balpha must be\b": "--alpha must be",
    r"\bNone for no test\b": "none for no test",
    r"\bNone takes\b": "Leave it out to take",
    r"\bNone or -1 uses\b": "Leave it out to use",
}

# For streams that know no Greek
_PLAIN = str.maketrans(
    {
        "σ": "sigma",
        "\u0302": "-hat",
        "√": "sqrt ",
        "÷": "/ ",
        "−": "-",
        "–": "-",
        "—": "-",
        "×": "x",
        **dict.fromkeys("▁▂▃", "."),
        **dict.fromkeys("▄▅▆▇", ":"),
        "█": "#",
        "▲": "^",
    }
)

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Session:
    """One call of the program: its arguments, and whether to show tracebacks."""

    argv: list[str]
    debug: bool = False


# Talk


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line: data to stdout, talk (`err`) to stderr."""
    try:
        click.echo(speakable(text, err=err), err=err)
    except OSError:
        if not err:
            raise
        _abandon(sys.stderr)  # nobody listens, and that is no reason to fail


def speakable(text: str, *, err: bool = False) -> str:
    """`text`, in plain letters when the stream knows no Greek."""
    stream = sys.stderr if err else sys.stdout
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode("ascii", "replace").decode()
    return text


def say_json(record: dict[str, Any]) -> None:
    """Print one JSON object; NaN and inf, which JSON has not, become null."""
    click.echo(json.dumps(_without_nan(record), indent=2))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float) -> str:
    """Three significant digits, as a person would write them.

    >>> number(0.99712), number(-478.3), number(0.01234), number(123456.0), number(2e9)
    ('0.997', '−478', '0.0123', '123,456', '2.00e+09')
    """
    if not math.isfinite(value):
        return "–"
    size = abs(float(f"{value:.3g}"))  # 9.996 is 10.0, not 10.00
    if size >= 1e7 or 0 < size < 1e-4:
        return f"{value:.2e}".replace("-", "−", 1) if value < 0 else f"{value:.2e}"
    decimals = 2 if size == 0 else max(0, 2 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}".replace("-", "−")


def count(n: int, noun: str) -> str:
    """Number of things, in words.

    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def free_name(name: str) -> str:
    """`name`, or one like it that no file has yet."""
    path, i = Path(name), 1
    while path.exists():
        i += 1
        path = Path(name).with_stem(f"{Path(name).stem}-{i}")
    return str(path)


def aligned(rows: Sequence[Sequence[str]], *, err: bool = False) -> list[str]:
    """Lines with the cells of each column set flush right, in letters the stream knows."""
    rows = [[speakable(cell, err=err) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            " " * (width - _width(cell)) + cell for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]


def _width(text: str) -> int:
    return sum(not unicodedata.combining(char) for char in text)


# Options


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
        msg = f"{value!r} is neither 'none' nor a number."
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


def debug_option(command: Command) -> Command:
    """Add --debug, which the error handler reads from the session."""

    def remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        session = ctx.find_object(Session)
        if value and session is not None:
            session.debug = True

    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Show the full traceback of an error.",
    )(command)


def table_options(command: Command) -> Command:
    """Add --key, --columns and --header, which say what of a file to read."""
    key = click.option("--key", metavar="NAME", help="Array to read from a .npz file.")
    columns = click.option(
        "--columns",
        type=comma_list,
        metavar="A,B,...",
        help="Columns to read, by name, or by number from 0 unless numbers are their names; A:D "
        "takes all from A to D. For parquet also one column of vectors.",
    )
    header = click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a .csv or .tsv names the columns.  [default: it does if it "
        "has a word, or counts 0,1,2,...]",
    )
    return key(columns(header(command)))


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


# Errors, warnings and signals


def report_error(error: Exception, session: Session) -> int:
    """Tell what went wrong in one sentence and return the exit code."""
    if session.debug:
        say("".join(traceback.format_exception(error)).rstrip(), err=True)
    code, message = _verdict(error)
    say(f"error: {message}", err=True)
    return code


def _verdict(error: Exception) -> tuple[int, str]:
    if isinstance(error, click.ClickException):
        return error.exit_code, _usage_message(error)
    if isinstance(error, CRLMError):
        code = next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), USAGE)
        return code, _in_flags(error)
    if isinstance(error, MemoryError):
        return NO_ROOM, f"out of memory. {error}".rstrip()
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        abandon_stdout()
        what = "file too large (ulimit -f)" if error.errno == errno.EFBIG else "disk full"
        return NO_ROOM, f"{what} while writing to the standard output."
    kind = type(error).__name__
    return UNEXPECTED, f"unexpected error: {kind}: {error}; run again with --debug and report it"


def _in_flags(error: CRLMError) -> str:
    message = str(error)
    if isinstance(error, ParameterError | MemoryLimitError):
        for name, flag in _FLAGS.items():
            message = re.sub(name, flag, message)
    return message


def _usage_message(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    hint = f" Try '{ctx.command_path} --help'." if ctx is not None else ""
    return error.format_message() + hint


def abandon_stdout() -> None:
    """Point stdout at nothing, or Python fails once more when it flushes at its end."""
    _abandon(sys.stdout)


def _abandon(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # a stream that is no file has no number
        os.dup2(null, stream.fileno())
    os.close(null)


def open_streams() -> None:
    """Open what the caller closed (``>&-``), or the next file would get its number.

    The lowest free number is taken, so the three are opened in their order.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it stays open
            setattr(sys, name, stream)


@contextmanager
def engine_log(wanted: bool) -> Iterator[None]:
    """Show on stderr how the engine explains its choices."""
    if not wanted:
        yield
        return
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage(), err=True)

    log, handler = logging.getLogger("crlm"), Lines()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


@contextmanager
def plain_warnings(session: Session) -> Iterator[None]:
    """Show our warnings as one line on stderr, and those of other libraries never."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CRLMWarning)
        warnings.showwarning = show
        yield


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that half-written files are removed."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
