"""Names and exclusions, kept in a small file beside the work.

A name belongs to a row: the cluster that holds this row has it, at whatever bandwidth.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from crlm.errors import InputError

SCHEMA = "crlm.notes/1"
_MAX_NAME = 80
_MAX_BYTES = 4_000_000


class Notes(NamedTuple):
    """What people added."""

    names: dict[int, str] = {}  # noqa: RUF012
    excluded: frozenset[int] = frozenset()
    sigma: float | None = None

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "schema": SCHEMA,
            "names": {str(row): name for row, name in sorted(self.names.items())},
            "excluded": sorted(self.excluded),
            "sigma": self.sigma,
        }


def parse(record: Any, n: int) -> Notes:
    """Notes from JSON.

    Raises
    ------
    InputError
        They are none, or about rows that are not there.
    """
    try:
        names = {_row(row, n): _name(name) for row, name in dict(record["names"]).items()}
        excluded = frozenset(_row(row, n) for row in list(record["excluded"]))
        sigma = None if record.get("sigma") is None else float(record["sigma"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        msg = f"notes are names and exclusions of rows 0 to {n - 1:,}, and these are not."
        raise InputError(msg) from error
    return Notes({row: name for row, name in names.items() if name}, excluded, sigma)


def read(path: Path, n: int) -> Notes:
    """Notes from a file, none when there is no file."""
    if not path.exists():
        return Notes()
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError
        return parse(json.loads(path.read_text(encoding="utf-8")), n)
    except (ValueError, OSError, RecursionError) as error:
        msg = f"{path.name} cannot be read as notes of these rows. Move it away to start anew."
        raise InputError(msg) from error


def write(path: Path, notes: Notes) -> None:
    """Replace the file as a whole."""
    from crlm.tables import replacing

    with replacing(path) as file:
        file.write(json.dumps(notes.record(), indent=1, ensure_ascii=False).encode())


def _row(value: Any, n: int) -> int:
    row = int(value)
    if isinstance(value, bool) or not 0 <= row < n:
        raise ValueError(value)
    return row


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    printable = "".join(char if char.isprintable() else " " for char in value)
    return printable.strip()[:_MAX_NAME]
