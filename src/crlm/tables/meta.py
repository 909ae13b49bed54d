"""A table beside the data: every column of it is kept, none is a coordinate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from crlm.tables.arrow import Source, arrow_errors, kinds_of
from crlm.tables.kept import Kept
from crlm.tables.parquet import open_feather, open_parquet
from crlm.tables.text import read_columns
from crlm.tables.text import read_kinds as text_kinds


def read_meta(path: Path) -> tuple[Kept, int]:
    """Columns of a .csv, .tsv, .parquet, .arrow or .feather file, and how many rows it has."""
    return READERS[path.suffix.lower()](path)


def read_kinds(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Name of every column of such a file and what is in it, and how many rows it has."""
    reader = READERS[path.suffix.lower()]
    if reader is read_columns:
        return text_kinds(path)
    return kinds_of(open_parquet(path) if reader is _parquet else open_feather(path))


def _columns(source: Source) -> tuple[Kept, int]:
    def load(name: str) -> list[Any]:
        with arrow_errors(source.path, source.kind):
            return list(source.read([name]).column(0).to_pylist())

    return Kept(source.schema.names, load), source.n


def _parquet(path: Path) -> tuple[Kept, int]:
    return _columns(open_parquet(path))


def _feather(path: Path) -> tuple[Kept, int]:
    return _columns(open_feather(path))


READERS: dict[str, Callable[[Path], tuple[Kept, int]]] = {
    ".csv": read_columns,
    ".tsv": read_columns,
    ".parquet": _parquet,
    ".arrow": _feather,
    ".feather": _feather,
    ".ipc": _feather,
}
