"""What ends a command early: errors in a sentence with their exit code, warnings, signals."""

from __future__ import annotations

import errno
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from crlm.cli.options import Session
from crlm.cli.settings import origin_of
from crlm.cli.talk import abandon_stdout, say
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
    r"\bforce=True\b": "--force",
    r"\bn_jobs\b": "--threads",
    r"\bn_landmarks\b": "--landmarks",
    r"\bmin_weight\b": "--min-weight",
    r"\brandom_state must be None, a": "--seed must be a",
    r"\bsigma_max\b": "--sigma-max",
    r"\bmax_clusters\b": "--max-clusters",
    r"\bmin_cluster_size\b": "--min-cluster-size",
    r"\balpha=None\b": "--alpha none",
    r"\bscale the columns first, as StandardScaler does\b": "pass --standardize",
    r"\bA larger alpha\b": "A larger --alpha",
    r"\balpha must be\b": "--alpha must be",
    r"\bNone for no test\b": "none for no test",
    r"at least 1, 'auto' or None, got": "at least 1, or 'auto', got",
    r"\bNone is exact\b": "Leave it out for an exact fit",
    r"\bNone takes\b": "Leave it out to take",
    r"\bNone or -1 uses\b": "Leave it out to use",
}


def report_error(error: Exception, session: Session) -> int:
    """Tell what went wrong in one sentence and return the exit code."""
    if session.debug:
        import traceback

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
    if isinstance(error, PermissionError):
        where = f" for {error.filename}" if error.filename else ""
        return BAD_INPUT, f"no permission{where}. Look at its rights, and at those of its folder."
    kind = type(error).__name__
    return UNEXPECTED, f"unexpected error: {kind}: {error}; run again with --debug and report it"


def _in_flags(error: CRLMError | CRLMWarning) -> str:
    said = isinstance(error, ParameterError | MemoryLimitError | OutputError | CRLMWarning)
    return in_flags(str(error)) if said else str(error)


def in_flags(message: str) -> str:
    """Say it with the flags of the command line in place of Python's names.

    >>> in_flags("Pass sigma_max and alpha=None.")
    'Pass --sigma-max and --alpha none.'
    """
    for name, flag in _FLAGS.items():
        message = re.sub(name, flag, message)
    return message


def _usage_message(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    hint = f" Try '{ctx.command_path} --help'." if ctx is not None else ""
    where = origin_of(error) if isinstance(error, click.BadParameter) else ""
    message = " ".join(error.format_message().split()) + where  # choices are on lines of their own
    dot = "" if message.endswith((".", "?", ")")) or not hint else "."
    return message + dot + hint


@contextmanager
def plain_warnings(session: Session) -> Iterator[None]:
    """Show our warnings as one line on stderr, and those of other libraries never."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        words = _in_flags(message) if isinstance(message, CRLMWarning) else message
        say(f"warning: {words}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CRLMWarning)
        warnings.showwarning = show
        yield


@contextmanager
def terminable(session: Session) -> Iterator[None]:
    """Let SIGINT and SIGTERM unwind the stack, so that half-written files are removed.

    Once only: a second signal must not interrupt the clearing up. Code that swallows the
    exception (there is some in libraries) cannot hide it, because the session remembers.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        session.stopped = TERMINATED if signum == signal.SIGTERM else INTERRUPTED
        if signum == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(TERMINATED)

    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():  # no other may set a handler
        for signum in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(signum) is not signal.SIG_IGN:  # as under nohup
                before[signum] = signal.signal(signum, stop)
    try:
        yield
    finally:
        _sweep()
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _sweep() -> None:
    """Remove what a signal at the worst moment has left, if anything was written at all."""
    output = sys.modules.get("crlm.tables.output")
    if output is not None:
        output.sweep()
