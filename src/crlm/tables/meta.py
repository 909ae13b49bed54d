"""A table beside the data: every column of it is kept, none is a coordinate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from crlm.tables.arrow import Source, arrow_errors
from crlm.tables.kept import Kept
from crlm.tables.parquet import open_feather, open_parquet
from crlm.tables.text import read_columns


def read_meta(path: Path) -> tuple[Kept, int]:
    """Columns of a .csv, .tsv, .parquet, .arrow or .feather file, and how many rows it has."""
    return READERS[path.suffix.lower()](path)


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
