"""Matrices in .npy and .npz files, as NumPy writes them."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.tables.common import Table, listed, numbered, pick_columns, without_bool

HEADER_READERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[Any, ...]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}

# Everything that zipfile and what lies under it raise for damaged or locked archives
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)


class Header(NamedTuple):
    """What an array says about itself before its data."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def read_npy(path: Path, columns: Sequence[str] | None) -> Table:
    """Matrix of a .npy file as a read-only memory map."""
    with path.open("rb") as file:
        header = _read_header(file, path.stat().st_size, path.name)
    _check_matrix(path.name, header)
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    return Table(_taken(X, columns, path.name), None, path.name)


def read_npz(path: Path, columns: Sequence[str] | None, key: str | None = None) -> Table:
    """Matrix of that name in a .npz file, or its only one."""
    try:
        with zipfile.ZipFile(path) as archive:
            headers = _read_headers(archive, path.name)
            key = _only_matrix(headers, path.name) if key is None else key
            if key not in headers:
                msg = f"{path.name} has no array {key!r}. It holds: {_described(headers)}."
                raise InputError(msg)
            _check_matrix(f"{path.name}[{key}]", headers[key])
            with archive.open(f"{key}.npy") as member:
                X = npy.read_array(member, allow_pickle=False)
    except InputError:  # a ValueError too, but one that is already in words
        raise
    except ZIP_ERRORS as error:
        msg = f"{path.name} is not a readable .npz file ({error})."
        raise InputError(msg) from error
    return Table(_taken(X, columns, path.name), None, path.name)


def _taken(X: NDArray[Any], columns: Sequence[str] | None, source: str) -> NDArray[Any]:
    X = without_bool(X)
    if columns is None:
        return X
    return X[:, pick_columns(columns, numbered(X.shape[1]), source)]


# Headers


def _read_header(file: IO[bytes], size: int, what: str) -> Header:
    """Shape and type that `file` declares, once its `size` bytes are known to hold them.

    NumPy allocates what the header says before it reads; a damaged or malicious header would
    ask for terabytes.
    """
    try:
        shape, _, dtype = HEADER_READERS[npy.read_magic(file)](file)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError) as error:
        msg = f"{what} is not a readable .npy array (damaged, or another format renamed)."
        raise InputError(msg) from error
    if min(shape, default=1) < 0:
        msg = f"{what} is damaged: its header gives the impossible shape {shape}. Save it again."
        raise InputError(msg)
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    # Objects are pickled, so their size in bytes says nothing; they are refused later.
    if not dtype.hasobject and needed > there:
        msg = (
            f"{what} is cut short: its header promises {shape} {dtype} ({needed:,} bytes), "
            f"but {there:,} bytes follow. Copy or save it again."
        )
        raise InputError(msg)
    return Header(shape, dtype)


def _read_headers(archive: zipfile.ZipFile, source: str) -> dict[str, Header]:
    headers = {}
    for info in archive.infolist():
        if info.filename.endswith(".npy"):
            name = info.filename.removesuffix(".npy")
            with archive.open(info) as member:
                headers[name] = _read_header(member, info.file_size, f"{source}[{name}]")
    return headers


def _only_matrix(headers: dict[str, Header], source: str) -> str:
    matrices = {
        name: h for name, h in headers.items() if len(h.shape) == 2 and not _dtype_problem(h.dtype)
    }
    if len(matrices) == 1:
        return next(iter(matrices))
    if matrices:
        msg = (
            f"{source} has {len(matrices)} matrices. Candidates: {_described(matrices)}. "
            f"Use --key {next(iter(matrices))}"
        )
    else:
        msg = f"{source} has no 2-D array of numbers. It holds: {_described(headers) or 'nothing'}."
    raise InputError(msg)


def _described(headers: dict[str, Header]) -> str:
    return listed(f"{name} {h.shape}" for name, h in headers.items())


# What a matrix of numbers is


def _check_matrix(what: str, header: Header) -> None:
    problem = _dtype_problem(header.dtype) or _shape_problem(header.shape)
    if problem:
        msg = f"{what} {problem}."
        raise InputError(msg)


def _dtype_problem(dtype: np.dtype[Any]) -> str | None:
    as_float = "np.save(f, x.astype('float32'))"
    if dtype.hasobject:
        return f"holds Python objects; refusing to unpickle. Save a float array: {as_float}"
    match dtype.kind:
        case "U" | "S":
            return f"holds text ({dtype}). Save numbers: {as_float}"
        case "M":
            return f"holds dates ({dtype}). Save numbers, e.g. x.astype('int64')"
        case "m":
            return f"holds durations ({dtype}). Save numbers, e.g. x.astype('int64')"
        case "c":
            return "holds complex numbers. Save real ones, e.g. np.hstack([x.real, x.imag])"
        case "V":
            return (
                "has named fields. Save a plain matrix: numpy.lib.recfunctions."
                "structured_to_unstructured(x)"
            )
    return None


def _shape_problem(shape: tuple[int, ...]) -> str | None:
    if len(shape) == 0:
        return "is 0-D with shape (), a single number. Save a matrix with one row for each point"
    if len(shape) == 1:
        return f"is 1-D with shape {shape}. For rows of one number save x.reshape(-1, 1)"
    if len(shape) != 2:
        return f"is {len(shape)}-D with shape {shape}. Flatten each row: x.reshape(len(x), -1)"
    if 0 in shape:
        return f"is empty: its shape is {shape}. Save at least one row and one column"
    return None
