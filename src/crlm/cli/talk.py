"""Words and numbers on the two streams: data to stdout, talk to stderr."""

from __future__ import annotations

import math
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from crlm.words import count as count
from crlm.words import number as number


@dataclass
class Style:
    """How this call of the program talks: what the options that all commands have say."""

    quiet: bool = False
    verbose: bool = False
    color: bool | None = None  # None: on a terminal
    progress: bool = True
    threads: int | None = None

    def reset(self) -> None:
        """Back to the defaults, for another call in the same process."""
        vars(self).update(vars(Style()))


STYLE = Style()
_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}

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


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line: data to stdout, talk (`err`) to stderr."""
    text = speakable(text, err=err)
    try:
        click.echo(_colored(text) if err else text, err=err, color=err and is_colored())
    except OSError:
        if not err:
            raise
        _abandon(sys.stderr)  # nobody listens, and that is no reason to fail


def remark(text: str) -> None:
    """Say on stderr what is no warning, unless it is to be quiet."""
    if not STYLE.quiet:
        say(text, err=True)


def is_colored() -> bool:
    """Whether stderr gets colour: as asked, else on a terminal without NO_COLOR."""
    if STYLE.color is not None:
        return STYLE.color
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _colored(text: str) -> str:
    """First word in its colour, when it says what kind of line this is."""
    word, colon, rest = text.partition(":")
    if not colon or word not in _COLORS or not is_colored():
        return text
    return click.style(f"{word}:", fg=_COLORS[word], bold=True) + rest


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
    import json

    click.echo(json.dumps(_without_nan(record), indent=2))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def is_stdout_closed() -> bool:
    """Whether the caller closed it, so that what is printed goes nowhere."""
    return getattr(sys.stdout, "name", None) == os.devnull


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
