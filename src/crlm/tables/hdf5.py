"""Matrices in .h5 files, as h5py, pandas' HDFStore and MATLAB write them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMError, InputError, MissingExtraError
from crlm.tables.arrays import Header, described, only_matrix, problem_of
from crlm.tables.common import Table, Wanted, numbered, one_line, pick_columns, without_bool
from crlm.tables.kept import Kept
from crlm.tables.limits import check_declared

# In a damaged file the library can run in circles when it follows text of varying length, so
# such columns are read by a process that can be stopped.
READ_TEXT = """
import json, sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    values = file[sys.argv[2]].asstr(errors="replace")[...].tolist()
json.dump(values, sys.stdout)
"""
SECONDS = 60

H5_ERRORS = (
    *(OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, NotImplementedError),
)


def read_hdf5(path: Path, wanted: Wanted) -> Table:
    """Matrix of that name in an .h5 file, or its only one; lists as long as it are kept."""
    key = wanted.key if wanted.key is not None else wanted.vector
    with _open(path) as file:
        headers = _headers(file)
        key = only_matrix(headers, path.name) if key is None else key.strip("/")
        if key not in headers:
            msg = f"{path.name} has no array {key!r}. It holds: {described(headers) or 'nothing'}."
            raise InputError(msg)
        if problem := problem_of(headers[key]):
            msg = f"{path.name}[{key}] {problem}."
            raise InputError(msg)
        X = without_bool(_values(file[key], path, key))
    if wanted.columns is not None:
        X = X[:, pick_columns(wanted.columns, numbered(X.shape[1]), path.name)]
    lists = [name for name, header in headers.items() if header.shape == (len(X),) and name != key]
    kept = Kept(lists, partial(_read_list, path))
    return Table(X, None, path.name, kept=kept)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("reading .h5", package="h5py", extra="hdf5") from error
    try:
        with h5py.File(path, "r") as file:
            yield file
    except CRLMError:  # some are a ValueError too, but already in words
        raise
    except H5_ERRORS as error:
        msg = f"{path.name} is not a readable .h5 file ({one_line(error)}). Write it again."
        raise InputError(msg) from error


def _headers(file: Any) -> dict[str, Header]:
    """Every array in the file, whatever group it is in; links out of the file are not followed."""
    import h5py

    found: dict[str, Header] = {}

    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None:
            found[name] = Header(item.shape, item.dtype)

    file.visititems(look)
    return found


def _values(array: Any, path: Path, key: str) -> NDArray[Any]:
    """An array: mapped where it lies in the file, or read if it is in pieces."""
    what, dtype = f"{path.name}[{key}]", array.dtype
    if array.is_virtual or array.external:
        msg = f"{what} is kept in other files. Copy it into one: h5repack, or h5py's copy."
        raise InputError(msg)
    needed, size = array.size * dtype.itemsize, path.stat().st_size
    offset = array.id.get_offset()
    if offset is not None and array.chunks is None:
        if offset + needed > size:
            msg = f"{what} is cut short: {needed:,} bytes are promised. Copy or save it again."
            raise InputError(msg)
        return np.memmap(path, dtype, "r", offset, array.shape)
    check_declared(needed, min(array.id.get_storage_size(), size), what)
    return np.asarray(array[...])


def _read_list(path: Path, name: str) -> list[Any]:
    with _open(path) as file:
        array = file[name]
        if array.dtype.kind != "O":
            check_declared(array.size * array.dtype.itemsize, path.stat().st_size, path.name)
            values = array[...].tolist()
            return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    return _read_text(path, name)


def _read_text(path: Path, name: str) -> list[Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_TEXT, str(path.absolute()), name],
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        return list(json.loads(done.stdout))
    except (subprocess.SubprocessError, ValueError) as error:
        msg = f"{path.name}[{name}] is not readable text. Write it again."
        raise InputError(msg) from error
