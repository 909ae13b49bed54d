"""csv on the standard input: laid down in a file that is gone when nobody needs it any more."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from crlm.errors import InputError
from crlm.tables.common import Table, Wanted

STDIN = "-"


def spooled(read: Callable[[Path, Wanted], Table], wanted: Wanted) -> Table:
    """Table of what comes in; columns beside the coordinates can still be read from the copy."""
    if sys.stdin.isatty():
        msg = "- reads csv from a pipe, but nothing is piped in. Try: crlm ... - < rows.csv"
        raise InputError(msg)
    if wanted.key is not None or wanted.descriptor is not None:
        msg = "--key and --descriptor do not go with -, which is csv on the standard input."
        raise InputError(msg)
    folder = tempfile.TemporaryDirectory(prefix="crlm-")
    try:
        table = read(_copied(Path(folder.name, "stdin")), wanted)
    except BaseException:
        folder.cleanup()
        raise
    weakref.finalize(table.kept, folder.cleanup)
    return table


def _copied(copy: Path) -> Path:
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if copy.stat().st_size == 0:
        msg = "stdin is empty. Pipe csv into -, one row a line."
        raise InputError(msg)
    return copy
