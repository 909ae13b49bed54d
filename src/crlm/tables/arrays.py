"""Matrices in .npy and .npz files, as NumPy writes them."""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from crlm.errors import CRLMError, InputError
from crlm.tables.common import (
    Table,
    Wanted,
    listed,
    numbered,
    one_line,
    pick_columns,
    without_bool,
)
from crlm.tables.kept import Kept
from crlm.tables.limits import check_declared
from crlm.tables.made import parse_made

MAPPED_FROM = 2**24  # bytes of an array in an archive from which it is mapped, not read

HEADER_READERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[Any, ...]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}

# Everything that zipfile and what lies under it raise for damaged or locked archives
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, LookupError),
    *(NotImplementedError, struct.error, OverflowError, TypeError, SyntaxError),
    lzma.LZMAError,
)


class Header(NamedTuple):
    """What an array says about itself before its data."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def read_npy(path: Path, wanted: Wanted) -> Table:
    """Matrix of a .npy file as a read-only memory map."""
    if wanted.vector is not None:
        msg = (
            f"--vector {wanted.vector} names a column, but {path.name} is one array. Leave it out."
        )
        raise InputError(msg)
    with path.open("rb") as file:
        header = _read_header(file, path.stat().st_size, path.name)
    _check_matrix(path.name, header)
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    return Table(_taken(X, wanted.columns, path.name), None, path.name)


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Matrix of that name in a .npz file, or its only one; lists as long as it are kept."""
    key = wanted.key if wanted.key is not None else wanted.vector
    with _open_zip(path) as archive:
        headers = _read_headers(archive, path.name)
        key = only_matrix(headers, path.name) if key is None else key
        if key not in headers:
            msg = f"{path.name} has no array {key!r}. It holds: {described(headers)}."
            raise InputError(msg)
        _check_matrix(f"{path.name}[{key}]", headers[key])
        X = _read_member(archive, path, key)
        made = _made(archive, path, headers.get("info"))
    n = len(X)
    lists = [
        name
        for name, (shape, dtype) in headers.items()
        if shape == (n,) and name != key and dtype.kind in "USbiuf"
    ]
    kept = Kept(lists, partial(_read_list, path))
    return Table(_taken(X, wanted.columns, path.name), None, path.name, kept=kept, made=made)


def read_made(path: Path) -> dict[str, Any]:
    """How the vectors in a .npz file were made of pictures; nothing when it does not say."""
    with _open_zip(path) as archive:
        return _made(archive, path, _read_headers(archive, path.name).get("info"))


def read_array(path: Path, name: str) -> NDArray[Any]:
    """Array of a .npz file of any shape; an InputError when it is not there or damaged."""
    with _open_zip(path) as archive:
        if name not in _read_headers(archive, path.name):
            msg = f"{path.name} has no array {name!r}."
            raise InputError(msg)
        return _read_member(archive, path, name)


def _made(archive: zipfile.ZipFile, path: Path, header: Header | None) -> dict[str, Any]:
    if header is None or header.shape != () or header.dtype.kind != "U":
        return {}
    return parse_made(str(_read_member(archive, path, "info")))


def _taken(X: NDArray[Any], columns: Sequence[str] | None, source: str) -> NDArray[Any]:
    X = without_bool(X)
    if columns is None:
        return X
    return X[:, pick_columns(columns, numbered(X.shape[1]), source)]


# Members of an archive


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except CRLMError:  # some are a ValueError too, but already in words
        raise
    except ZIP_ERRORS as error:
        msg = f"{path.name} is not a readable .npz file ({one_line(error)})."
        raise InputError(msg) from error


def _read_member(archive: zipfile.ZipFile, path: Path, key: str) -> NDArray[Any]:
    """Array of that name: mapped where it lies in the file, or read if it is packed or small.

    Either way its checksum is compared, which a .npy file has not.
    """
    info = archive.getinfo(f"{key}.npy")
    packed = info.compress_type != zipfile.ZIP_STORED
    if packed or info.file_size < MAPPED_FROM:
        check_declared(info.file_size, info.compress_size, f"{path.name}[{key}]")
        with archive.open(info) as member:
            array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
            member.read()  # at its end the checksum is compared
        return array
    with archive.open(info) as member:
        while member.read(2**20):
            pass
    return _mapped(path, info)


def _mapped(path: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Array that is stored as it is, as a memory map of its part of the file."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(30)  # the local header: its last two numbers are lengths
        name, extra = struct.unpack("<HH", local[26:30])
        file.seek(info.header_offset + 30 + name + extra)
        shape, fortran, dtype = HEADER_READERS[npy.read_magic(file)](file)
        order: Literal["F", "C"] = "F" if fortran else "C"
        return np.memmap(path, dtype, "r", file.tell(), shape, order)


def _read_list(path: Path, name: str) -> list[Any]:
    with _open_zip(path) as archive:
        values = _read_member(archive, path, name)
    if values.dtype.kind == "S":
        return [value.decode("utf-8", "replace") for value in values.tolist()]
    return list(values.tolist())


# Headers


def _read_header(file: IO[bytes], size: int, what: str) -> Header:
    """Shape and type that `file` declares, once its `size` bytes are known to hold them.

    NumPy allocates what the header says before it reads; a damaged or malicious header would
    ask for terabytes.
    """
    try:
        capped = cast("IO[bytes]", _Capped(file, size))
        shape, _, dtype = HEADER_READERS[npy.read_magic(capped)](capped)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError) as error:
        msg = (
            f"{what} is not a readable .npy array (damaged, or another format renamed). Write it "
            "again with numpy.save, or give it the suffix of what it is."
        )
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


class _Capped:
    """A file of which no more is asked for than there is; Python allocates what it is asked for."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.size = file, size

    def read(self, n: int) -> bytes:
        return self.file.read(min(n, self.size))


def _read_headers(archive: zipfile.ZipFile, source: str) -> dict[str, Header]:
    headers = {}
    for info in archive.infolist():
        if info.filename.endswith(".npy"):
            name = info.filename.removesuffix(".npy")
            with archive.open(info) as member:
                headers[name] = _read_header(member, info.file_size, f"{source}[{name}]")
    return headers


def only_matrix(headers: dict[str, Header], source: str) -> str:
    """Name of the only 2-D array of numbers."""
    if {"labels", "center_indices", "ball_centers"} <= headers.keys():
        msg = (
            f"{source} is a model, not data. Give the file that it was made of; report, explore, "
            f"predict, check and export take a model."
        )
        raise InputError(msg)
    matrices = {
        name: h for name, h in headers.items() if len(h.shape) == 2 and not _dtype_problem(h.dtype)
    }
    if len(matrices) == 1:
        return next(iter(matrices))
    if matrices:
        msg = (
            f"{source} has {len(matrices)} matrices. Candidates: {described(matrices)}. "
            f"Use --key {next(iter(matrices))}"
        )
    else:
        msg = f"{source} has no 2-D array of numbers. It holds: {described(headers) or 'nothing'}."
    raise InputError(msg)


def described(headers: dict[str, Header]) -> str:
    """Names and shapes, for messages."""
    return listed(f"{name} {h.shape}" for name, h in headers.items())


# What a matrix of numbers is


def _check_matrix(what: str, header: Header) -> None:
    if problem := problem_of(header):
        msg = f"{what} {problem}."
        raise InputError(msg)


def problem_of(header: Header) -> str | None:
    """What keeps an array from being a matrix of numbers, in words that follow its name."""
    return _dtype_problem(header.dtype) or _shape_problem(header.shape)


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
