"""Files and functions as sources of blocks, for fits with landmarks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from crlm.errors import InputError, ParameterError
from crlm.landmarks.source import Block, FileSource, Source, as_source
from crlm.tables import read_table
from crlm.tables.parquet import (
    check_same_columns,
    parquet_blocks,
    parquet_columns,
    parquet_files,
    parquet_rows,
)

_PARQUET_ROWS = 1 << 15


def stream(
    data: str | os.PathLike[str] | Callable[[], Iterable[Any]] | Iterable[Any],
    *,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
) -> Source:
    """Data that are read a block of rows at a time, as often as a fit needs them.

    Parameters
    ----------
    data : path-like, function or iterable
        A .npy file, a .parquet file, a folder of .parquet files (in the order of their names), a
        function that returns blocks of rows, or an object that yields them each time anew. A
        block is an array or a dataframe.
    columns : sequence of str or None
        Columns of a parquet file; one column may hold vectors.
    rows : int or None
        Rows of a block of a file; None takes some 32 MB. No result depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> from crlm import CRLM, stream
    >>> X = np.random.default_rng(0).normal(size=(3000, 20))
    >>> X[:100] = X[0] + X[:100] / 50
    >>> blocks = stream(lambda: np.array_split(X, 7))
    >>> CRLM(0.05, n_landmarks=500).fit(blocks).cluster_sizes_.tolist()
    [100]
    """
    if not isinstance(data, str | os.PathLike):
        source = as_source(data)
        if source is None:
            source = as_source(lambda: [data])
        assert source is not None
        return source
    path = Path(data)
    if path.is_dir() or path.suffix.lower() == ".parquet":
        return ParquetSource(_parquet_files(path), columns, rows)
    if path.suffix.lower() != ".npy" or columns is not None:
        msg = (
            f"{path.name} cannot be read in blocks{' by columns' if columns else ''}. Save it as "
            f".npy or .parquet, or pass a function that returns blocks."
        )
        raise ParameterError(msg)
    X = read_table(path).X
    if isinstance(X, np.memmap) and isinstance(as_source(X), FileSource):
        return FileSource(X, rows)
    source = as_source(lambda: [X])  # in Fortran's order, or of a type that had to be changed
    assert source is not None
    return source


class ParquetSource(Source):
    """The rows of one or more parquet files."""

    def __init__(
        self, paths: list[Path], columns: Sequence[str] | None, rows: int | None = None
    ) -> None:
        self._paths, self._columns, self._rows = paths, columns, rows or _PARQUET_ROWS
        self._counts = [parquet_rows(path) for path in paths]
        names = [parquet_columns(path, columns) for path in paths]
        check_same_columns(paths, names)
        self.n, self.names = sum(self._counts), names[0]
        # One type for all files, as if they were read together: it tells in a row's unit length.
        first = [X.dtype for path in paths for X in islice(parquet_blocks(path, columns, 1), 1)]
        self._dtype = np.result_type(*first) if first else np.dtype(np.float64)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of the rows from `start` on; files before it are not opened."""
        number = first = 0
        for path, count in zip(self._paths, self._counts, strict=True):
            at, first = first, first + count
            if first <= start:
                continue
            for X in parquet_blocks(path, self._columns, self._rows):
                skip = max(0, start - at)
                if skip < len(X):
                    yield Block(number, at + skip, X[skip:].astype(self._dtype, copy=False))
                number, at = number + 1, at + len(X)

    def mark(self) -> str:
        """Names, sizes and ages of the files."""
        about = [(path.name, path.stat()) for path in self._paths]
        files = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in about]
        return "; ".join([*files, f"columns {self._columns}"])


def _parquet_files(path: Path) -> list[Path]:
    if path.is_dir():
        files = parquet_files(path)
        if not files:
            msg = f"{path} is a folder without .parquet files. Give the folder that holds them."
            raise InputError(msg)
        return files
    if not path.is_file():
        msg = f"no such file: {path}."
        raise InputError(msg)
    return [path]
