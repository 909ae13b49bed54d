"""Files in, labels out.

::

    read_table --+-- .npy .npz   arrays    --+--> Table(X, columns, source)
                 +-- .csv .tsv   text      --+
                 +-- .parquet    parquet   --+
    write_labels  .csv .npy .parquet         output

The suffix says the format. Nothing that is read can run code (no pickle) and nothing is
allocated because a header says so; nothing that is written is ever half there.
"""

from __future__ import annotations

import difflib
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.tables.arrays import read_npy, read_npz
from crlm.tables.common import Table, listed
from crlm.tables.output import (
    LABEL_WRITERS,
    check_writable,
    label_writer,
    replacing,
    replacing_folder,
    sweep,
    write_labels,
    write_labels_csv,
    write_together,
)
from crlm.tables.parquet import read_parquet
from crlm.tables.rows import ROW_WRITERS, Block, row_job, write_csv, write_parquet
from crlm.tables.text import read_text

__all__ = [
    "LABEL_WRITERS",
    "ROW_WRITERS",
    "Block",
    "Table",
    "check_writable",
    "invalid_rows",
    "label_writer",
    "read_table",
    "replacing",
    "replacing_folder",
    "row_blocks",
    "row_job",
    "sweep",
    "write_csv",
    "write_labels",
    "write_labels_csv",
    "write_parquet",
    "write_together",
    "zero_rows",
]

BLOCK_BYTES = 2**24  # of a memory-mapped file looked at in one go

READERS: dict[str, Callable[..., Table]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_parquet,
}


def read_table(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
) -> Table:
    """Read the numeric matrix in a .npy, .npz, .csv, .tsv or .parquet file.

    Parameters
    ----------
    path : path-like
        The file.
    key : str or None
        Which array of a .npz file; needed when it has more than one matrix.
    columns : sequence of str or None
        Columns to take, by name, or by number from 0 where names are no numbers. ``"a:d"``
        takes all from a to d. For parquet, also the name of one column of vectors.
    header : bool or None
        Whether the first line of a text file names the columns; None looks at it.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        The file is missing, damaged, or does not hold one matrix of numbers.
    MissingExtraError
        The file is parquet and pyarrow is not installed.

    Notes
    -----
    The first line of a text file is a header when a cell of it is not a number, or when it
    counts 0, 1, 2, ... as pandas names the columns of a bare array. Empty cells are read as NaN.
    """
    path = Path(path)
    try:
        _check_file(path)
        read = READERS[path.suffix.lower()]
        if key is not None:
            if read is not read_npz:
                msg = f"--key {key} chooses an array of a .npz file, but {path.name} is not one."
                raise InputError(msg)
            read = partial(read_npz, key=key)
        if header is not None:
            if read is not read_text:
                flag = "--header" if header else "--no-header"
                msg = f"{flag} is about .csv and .tsv files, but {path.name} is not one."
                raise InputError(msg)
            read = partial(read_text, header=header)
        return read(path, columns)
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise InputError(msg) from error


def invalid_rows(X: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of the rows that hold NaN or inf, found block by block.

    >>> invalid_rows(np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, -np.inf]]))
    array([1, 2])
    """
    if X.dtype.kind != "f":
        return np.empty(0, dtype=np.int64)
    found = [
        start + np.flatnonzero(~np.isfinite(block).all(axis=1)) for start, block in row_blocks(X)
    ]
    return np.concatenate(found)


def zero_rows(X: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of the rows that hold nothing but zeros, found block by block.

    >>> zero_rows(np.array([[0.0, 1.0], [0.0, -0.0], [np.nan, 0.0]]))
    array([1])
    """
    found = [start + np.flatnonzero(~block.any(axis=1)) for start, block in row_blocks(X)]
    return np.concatenate(found)


def row_blocks(X: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Consecutive blocks of rows of about `BLOCK_BYTES`, each with its first row's number.

    Pages of a memory map are given back when a block is done with, or the whole file would be
    counted as memory in the end.
    """
    rows = max(1, BLOCK_BYTES // (X.shape[1] * X.itemsize))
    pages = getattr(X, "_mmap", None)
    for start in range(0, len(X), rows):
        yield start, X[start : start + rows]
        if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)


def _check_file(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        msg = f"{path} is a link to {path.readlink()}, which does not exist."
    elif not path.exists():
        msg = f"no such file: {path}{_similar_name(path)}"
    elif path.is_dir():
        msg = f"{path} is a folder. Give one file: {listed(READERS)}."
    elif not path.is_file():
        msg = f"{path} is not a regular file. Save the data first: {listed(READERS)}."
    elif path.suffix.lower() not in READERS:
        msg = f"{path.name}: cannot read '{path.suffix}' files. Supported: {listed(READERS)}."
    elif path.stat().st_size == 0:
        msg = f"{path.name} is empty (0 bytes). Copy or save it again."
    else:
        return
    raise InputError(msg)


def _similar_name(path: Path) -> str:
    if not path.parent.is_dir():
        return f". There is no folder {path.parent}."
    names = [p.name for p in path.parent.iterdir() if p.suffix.lower() in READERS]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f". Did you mean {path.with_name(close[0])}?" if close else "."
