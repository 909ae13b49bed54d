"""Files in, labels out.

::

    read_table --+-- .npy .npz          arrays          --+--> Table(X, columns, source, kept)
                 +-- .csv .tsv -        text            --+
                 +-- .parquet           parquet, arrow  --+
                 +-- .arrow .feather    parquet, arrow  --+
                 +-- .h5 .hdf5          hdf5            --+
                 +-- a folder           folder          --+
                 +-- --meta FILE        meta: columns beside the coordinates
    write_labels  .csv .npy .parquet    output

The suffix says the format. Nothing that is read can run code (no pickle) and nothing is
allocated because a header says so; nothing that is written is ever half there.
"""

from __future__ import annotations

import difflib
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.tables.arrays import read_made, read_npy, read_npz
from crlm.tables.common import Table, Wanted, listed
from crlm.tables.folder import holds_parquet, read_folder, warn_of_failures
from crlm.tables.hdf5 import read_hdf5
from crlm.tables.kept import Kept, find_roles
from crlm.tables.made import check_made_alike
from crlm.tables.meta import READERS as META_READERS
from crlm.tables.meta import read_kinds, read_meta
from crlm.tables.output import (
    LABEL_WRITERS,
    check_writable,
    label_writer,
    replacing,
    replacing_folder,
    steady_parts,
    sweep,
    write_labels,
    write_labels_csv,
    write_together,
)
from crlm.tables.parquet import read_feather, read_parquet
from crlm.tables.rows import ROW_WRITERS, Block, row_job, write_csv, write_parquet
from crlm.tables.stdin import STDIN, spooled
from crlm.tables.text import read_text

__all__ = [
    "LABEL_WRITERS",
    "ROW_WRITERS",
    "Block",
    "Kept",
    "Table",
    "check_made_alike",
    "check_writable",
    "holds_parquet",
    "image_paths",
    "invalid_rows",
    "label_writer",
    "made_of",
    "read_kinds_of",
    "read_table",
    "replacing",
    "replacing_folder",
    "row_blocks",
    "row_job",
    "steady_parts",
    "sweep",
    "take_rows",
    "warn_of_failures",
    "write_csv",
    "write_labels",
    "write_labels_csv",
    "write_parquet",
    "write_together",
    "zero_rows",
]

BLOCK_BYTES = 2**24  # of a memory-mapped file looked at in one go
_TAKE = 1024  # rows anywhere in one

READERS: dict[str, Callable[[Path, Wanted], Table]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_parquet,
    ".arrow": read_feather,
    ".feather": read_feather,
    ".ipc": read_feather,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
}


def read_table(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    vector: str | None = None,
    roles: Mapping[str, str] | None = None,
    meta: str | os.PathLike[str] | None = None,
    descriptor: str | None = None,
) -> Table:
    """Read the numeric matrix in a file, and keep the columns beside it.

    Parameters
    ----------
    path : path-like
        A .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather or .h5 file, a folder of images, or
        ``-`` for csv on the standard input.
    key : str or None
        Which array of a .npz or .h5 file; needed when it has more than one matrix.
    columns : sequence of str or None
        Coordinates, by name, or by number from 0 where names are no numbers. ``"a:d"`` takes all
        from a to d. For parquet and feather, also the name of one column of vectors.
    header : bool or None
        Whether the first line of a text file names the columns; None looks at it.
    vector : str or None
        The column whose vectors are the rows; in a text file such as ``[0.5, 1.25]``.
    roles : mapping of str to str or None
        Which column is the "id", the "image" (its path) or the "text" of a row. These are no
        coordinates.
    meta : path-like or None
        Another table, row by row, whose columns are kept too.
    descriptor : {"hog", "pixels"} or None
        How the images of a folder become vectors; None is "hog".

    Returns
    -------
    Table

    Raises
    ------
    InputError
        The file is missing, damaged, or does not hold one matrix of numbers.
    MissingExtraError
        The file is parquet, feather or h5, and what reads it is not installed.

    Notes
    -----
    The first line of a text file is a header when a cell of it is not a number, or when it
    counts 0, 1, 2, ... as pandas names the columns of a bare array. Empty cells are read as NaN.
    """
    path = Path(path)
    wanted = Wanted(columns, key, header, vector, dict(roles or {}), descriptor)
    with _named(path):
        table = _read(path, wanted)
    kept = table.kept
    if meta is not None:
        with _named(Path(meta)):
            kept = kept.joined(_read_meta(Path(meta), table))
    with _named(path):  # from which a column may be read now
        roles = {**table.roles, **find_roles(wanted.roles, kept, table.source)}
    return table._replace(kept=kept, roles=roles)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say in one sentence which file the system refuses."""
    try:
        yield
    except OSError as error:
        if isinstance(error, InputError):
            raise
        msg = f"cannot read {path}: {error.strerror or error}"
        raise InputError(msg) from error


def _read(path: Path, wanted: Wanted) -> Table:
    if str(path) == STDIN:
        return spooled(read_text, wanted)
    _check_file(path)
    read = read_folder if path.is_dir() else READERS[path.suffix.lower()]
    _refuse_flags_of_others(path, read, wanted)
    return read(path, wanted)


def _refuse_flags_of_others(path: Path, read: Callable[..., Table], wanted: Wanted) -> None:
    """Refuse what makes no sense for this kind of file, rather than pass over it in silence."""
    flag = None
    if wanted.key is not None and read not in (read_npz, read_hdf5):
        flag = f"--key {wanted.key} chooses an array of a .npz or .h5 file"
    elif wanted.header is not None and read is not read_text:
        flag = f"{'--header' if wanted.header else '--no-header'} is about .csv and .tsv files"
    elif wanted.descriptor is not None and read is not read_folder:
        flag = f"--descriptor {wanted.descriptor} is about a folder of images"
    if flag is not None:
        msg = f"{flag}, but {path.name or path} is not one."
        raise InputError(msg)


def _read_meta(path: Path, table: Table) -> Kept:
    """Columns of the file beside the data, once it has as many rows."""
    _check_file(path, tuple(META_READERS))
    kept, n = read_meta(path)
    if n != len(table.X):
        msg = (
            f"{path.name} has {n:,} rows, {table.source} has {len(table.X):,}. "
            "--meta must align row by row"
        )
        raise InputError(msg)
    return kept


def read_kinds_of(path: Path) -> tuple[list[tuple[str, str]], int] | None:
    """Name of every column and what is in it, and the number of rows; None for what is no table."""
    if not path.is_file() or path.suffix.lower() not in META_READERS:
        return None
    with _named(path):
        return read_kinds(path)


def image_paths(table: Table, folder: Path) -> list[Path] | None:
    """Pictures of the rows, or None when no column names them.

    A path is taken from `folder`, where the data is, or else as it stands.
    """
    if "image" not in table.roles:
        return None
    names = table.kept[table.roles["image"]]
    return [
        folder / str(name) if (folder / str(name)).exists() else Path(str(name)) for name in names
    ]


def made_of(path: Path, descriptor: str | None = None) -> Mapping[str, Any]:
    """How the vectors of a file or folder are made of pictures, without making them again.

    Nothing when it does not say, or is not there any more.
    """
    if path.is_dir() and holds_parquet(path):
        return {}
    if path.is_dir():
        from crlm.describe import METHODS  # late: files of numbers do not need it

        return METHODS[descriptor or "hog"]().settings
    try:
        return read_made(path) if path.suffix.lower() == ".npz" else {}
    except (InputError, OSError):
        return {}


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
    for start in range(0, len(X), rows):
        yield start, X[start : start + rows]
        _give_back(X)


def take_rows(X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Some rows, copied; for a memory map a few at a time, since each brings its neighbours."""
    taken = np.empty((len(rows), X.shape[1]), dtype=X.dtype)
    for start in range(0, len(rows), _TAKE):
        part = slice(start, start + _TAKE)
        taken[part] = X[rows[part]]
        _give_back(X)
    return taken


def _give_back(X: NDArray[Any]) -> None:
    pages = getattr(X, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def _check_file(path: Path, suffixes: Sequence[str] = tuple(READERS)) -> None:
    if path.is_symlink() and not path.exists():
        msg = f"{path} is a link to {path.readlink()}, which does not exist."
    elif not path.exists():
        msg = f"no such file: {path}{_similar_name(path)}"
    elif path.is_dir() and suffixes == tuple(READERS):
        return
    elif path.is_dir():
        msg = f"{path} is a folder. Give one file: {listed(suffixes, 12)}."
    elif not path.is_file():
        msg = f"{path} is not a regular file. Save the data first: {listed(suffixes, 12)}."
    elif path.suffix.lower() not in suffixes:
        msg = f"{path.name}: cannot read '{path.suffix}' files. Supported: {listed(suffixes, 12)}."
    elif path.stat().st_size == 0:
        msg = f"{path.name} is empty (0 bytes). Copy or save it again."
    else:
        return
    raise InputError(msg)


def _similar_name(path: Path) -> str:
    if not path.parent.is_dir():
        return f". There is no folder {path.parent}."
    names = [p.name for p in path.parent.iterdir() if p.is_dir() or p.suffix.lower() in READERS]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f". Did you mean {path.with_name(close[0])}?" if close else "."
