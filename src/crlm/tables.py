"""Files in, labels out.

The suffix says the format. Nothing that is read can run code (no pickle) and nothing is
allocated because a header says so; nothing that is written is ever half there.
"""

from __future__ import annotations

import csv
import difflib
import errno
import importlib.util
import math
import os
import secrets
import tokenize
import warnings
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from crlm.errors import (
    CRLMWarning,
    DiskFullError,
    InputError,
    MissingExtraError,
    OutputError,
)

MISSING = {"", "na", "n/a", "null", "none"}  # cells that pandas, R and SQL write for "no value"
BLOCK_BYTES = 2**24  # of a memory-mapped file looked at in one go


class Table(NamedTuple):
    """Rows of a file as a matrix.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers; a read-only memory map when the file allows it.
    columns : list of str or None
        Names of the d columns, when the file has names.
    source : str
        The file's name, for messages.
    """

    X: NDArray[Any]
    columns: list[str] | None
    source: str


def read_table(
    path: str | os.PathLike[str], *, key: str | None = None, columns: Sequence[str] | None = None
) -> Table:
    """Read the numeric matrix in a .npy, .npz, .csv, .tsv or .parquet file.

    Parameters
    ----------
    path : path-like
        The file.
    key : str or None
        Which array of a .npz file; needed when it has more than one matrix.
    columns : sequence of str or None
        Columns to take, by name, or by number from 0 where there are no names. ``"a:d"`` takes
        all from a to d. For parquet, also the name of one column of vectors.

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
        if key is not None and path.suffix.lower() != ".npz":
            msg = f"--key {key} chooses an array of a .npz file, but {path.name} is not one."
            raise InputError(msg)
        X, names = _READERS[path.suffix.lower()](path, key, columns)
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise InputError(msg) from error
    return Table(X, names, path.name)


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


def row_blocks(X: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Consecutive blocks of rows of about `BLOCK_BYTES`, each with its first row's number."""
    rows = max(1, BLOCK_BYTES // (X.shape[1] * X.itemsize))
    for start in range(0, len(X), rows):
        yield start, X[start : start + rows]


# The file itself


def _check_file(path: Path) -> None:
    if not path.exists():
        msg = f"no such file: {path}{_similar_name(path)}"
    elif path.is_dir():
        msg = f"{path} is a folder. Give one file: {_listed(_READERS)}."
    elif not path.is_file():
        msg = f"{path} is not a regular file. Save the data first: {_listed(_READERS)}."
    elif path.suffix.lower() not in _READERS:
        msg = f"{path.name}: cannot read '{path.suffix}' files. Supported: {_listed(_READERS)}."
    elif path.stat().st_size == 0:
        msg = f"{path.name} is empty (0 bytes)."
    else:
        return
    raise InputError(msg)


def _similar_name(path: Path) -> str:
    if not path.parent.is_dir():
        return f". There is no folder {path.parent}."
    names = [p.name for p in path.parent.iterdir() if p.suffix.lower() in _READERS]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f". Did you mean {path.with_name(close[0])}?" if close else "."


def _listed(items: Sequence[Any] | dict[str, Any], limit: int = 8) -> str:
    """Items joined by commas, cut after `limit`."""
    words = [str(item) for item in items]
    return ", ".join(words[:limit]) + (", ..." if len(words) > limit else "")


# What a matrix of numbers is


def _shape_problem(shape: tuple[int, ...]) -> str | None:
    if len(shape) == 1:
        return f"is 1-D with shape {shape}. For rows of one number save x.reshape(-1, 1)"
    if len(shape) != 2:
        return f"is {len(shape)}-D with shape {shape}. Flatten each row: x.reshape(len(x), -1)"
    if 0 in shape:
        return f"is empty: its shape is {shape}"
    return None


def _dtype_problem(dtype: np.dtype[Any]) -> str | None:
    if dtype.hasobject:
        return (
            "holds Python objects; refusing to unpickle. "
            "Save a float array: np.save(f, x.astype('float32'))"
        )
    return {
        "U": f"holds text ({dtype}). Save numbers: np.save(f, x.astype('float32'))",
        "S": f"holds text ({dtype}). Save numbers: np.save(f, x.astype('float32'))",
        "M": f"holds dates ({dtype}). Save numbers, e.g. x.astype('int64')",
        "m": f"holds durations ({dtype}). Save numbers, e.g. x.astype('int64')",
        "c": "holds complex numbers. Save real ones, e.g. np.hstack([x.real, x.imag])",
        "V": "has named fields. Save a plain matrix: numpy.lib.recfunctions."
        "structured_to_unstructured(x)",
    }.get(dtype.kind)


def _check_matrix(what: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    problem = _dtype_problem(dtype) or _shape_problem(shape)
    if problem:
        msg = f"{what} {problem}."
        raise InputError(msg)


def _pick_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> list[int]:
    """Positions of the wanted columns; an item ``a:d`` stands for all from a to d."""
    places: list[int] = []
    for item in wanted:
        first, colon, last = item.partition(":")
        if colon and item not in names:
            start, stop = _place(first, names, source), _place(last, names, source)
            places.extend(range(start, stop + 1))
        else:
            places.append(_place(item, names, source))
    return places


def _place(name: str, names: Sequence[str], source: str) -> int:
    if name in names:
        return names.index(name)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"It has: {_listed(names)}."
    msg = f"{source} has no column {name!r}. {hint}"
    raise InputError(msg)


def _numbered(n: int) -> list[str]:
    return [str(j) for j in range(n)]


# .npy and .npz


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


_HEADER_READERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[Any, ...]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def _npy_header(file: IO[bytes], size: int, what: str) -> _Header:
    """Shape and type that `file` declares, once its `size` bytes are known to hold them.

    NumPy allocates what the header says before it reads; a damaged or malicious header would
    ask for terabytes.
    """
    try:
        shape, _, dtype = _HEADER_READERS[npy.read_magic(file)](file)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError) as error:
        msg = f"{what} is not a readable .npy array (damaged, or another format renamed)."
        raise InputError(msg) from error
    if dtype.hasobject:  # pickled, so its size in bytes says nothing
        return _Header(shape, dtype)
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=1) < 0 or needed > there:
        msg = (
            f"{what} is cut short: its header promises {shape} {dtype} ({needed:,} bytes), "
            f"but {there:,} bytes follow. Copy or save it again."
        )
        raise InputError(msg)
    return _Header(shape, dtype)


def _read_npy(
    path: Path, key: str | None, columns: Sequence[str] | None
) -> tuple[NDArray[Any], None]:
    with path.open("rb") as file:
        header = _npy_header(file, path.stat().st_size, path.name)
    _check_matrix(path.name, *header)
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    return _taken(X, columns, path.name), None


# Everything that zipfile and what lies under it raise for damaged or locked archives
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
)


def _read_npz(
    path: Path, key: str | None, columns: Sequence[str] | None
) -> tuple[NDArray[Any], None]:
    try:
        with zipfile.ZipFile(path) as archive:
            headers = _npz_headers(archive, path.name)
            key = _npz_key(headers, path.name) if key is None else key
            if key not in headers:
                msg = f"{path.name} has no array {key!r}. It holds: {_described(headers)}."
                raise InputError(msg)
            _check_matrix(f"{path.name}[{key}]", *headers[key])
            with archive.open(f"{key}.npy") as member:
                X = npy.read_array(member, allow_pickle=False)
    except InputError:
        raise
    except _ZIP_ERRORS as error:
        msg = f"{path.name} is not a readable .npz file ({error})."
        raise InputError(msg) from error
    return _taken(X, columns, path.name), None


def _npz_headers(archive: zipfile.ZipFile, source: str) -> dict[str, _Header]:
    headers = {}
    for info in archive.infolist():
        if info.filename.endswith(".npy"):
            name = info.filename.removesuffix(".npy")
            with archive.open(info) as member:
                headers[name] = _npy_header(member, info.file_size, f"{source}[{name}]")
    return headers


def _npz_key(headers: dict[str, _Header], source: str) -> str:
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


def _described(headers: dict[str, _Header]) -> str:
    return _listed([f"{name} {h.shape}" for name, h in headers.items()])


def _taken(X: NDArray[Any], columns: Sequence[str] | None, source: str) -> NDArray[Any]:
    if X.dtype.kind == "b":
        X = X.view(np.uint8)
    if columns is None:
        return X
    return X[:, _pick_columns(columns, _numbered(X.shape[1]), source)]


# .csv and .tsv


class _Head(NamedTuple):
    """What the first line tells: names if it is a header, and the physical lines to skip."""

    names: list[str] | None
    width: int
    skip: int

    def labels(self) -> list[str]:
        return self.names or _numbered(self.width)


def _read_text(
    path: Path, key: str | None, columns: Sequence[str] | None
) -> tuple[NDArray[Any], list[str] | None]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        head = _read_head(path, delimiter)
        places = None if columns is None else _pick_columns(columns, head.labels(), path.name)
        X = _parse_text(path, delimiter, head, places)
    except UnicodeDecodeError as error:
        msg = f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        raise InputError(msg) from error
    except csv.Error as error:
        msg = f"{path.name} is not a readable text table ({error})."
        raise InputError(msg) from error
    if len(X) == 0:
        msg = f"{path.name} has no rows of numbers."
        raise InputError(msg)
    if head.names is None:
        return X, None
    if places is not None:
        return X, [head.names[j] for j in places]
    return _without_row_numbers(X, head.names, path.name)


def _read_head(path: Path, delimiter: str) -> _Head:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        first = next((row for row in reader if row), None)
    if first is None:
        msg = f"{path.name} is empty: it has no line with a value."
        raise InputError(msg)
    if len(first) == 1 and (other := next((c for c in ";\t|" if c in first[0]), None)):
        msg = (
            f"{path.name} seems to be separated by {other!r}. "
            "Save it with commas (.csv) or tabs (.tsv)."
        )
        raise InputError(msg)
    if _is_header(first):
        return _Head([cell.strip() for cell in first], len(first), reader.line_num)
    return _Head(None, len(first), 0)


def _is_header(cells: list[str]) -> bool:
    """Whether the first line names the columns rather than being the first row.

    >>> _is_header(["x", "2"]), _is_header(["1.5", ""]), _is_header(["", "0", "1"])
    (True, False, True)
    """
    # pandas names the columns of a bare array 0, 1, 2, ...; read as data, that line would
    # shift every label by one row. A true first row of exactly these numbers is unlikely.
    counted = cells[1:] if cells[0] == "" else cells
    if len(cells) >= 3 and counted == _numbered(len(counted)):
        return True
    return any(_number(cell) is None for cell in cells)


def _number(cell: str) -> float | None:
    """Value of a cell: NaN when it is left out, None when it is text."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return math.nan
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000 as a number
    except ValueError:
        return None


def _parse_text(
    path: Path, delimiter: str, head: _Head, places: list[int] | None
) -> NDArray[np.float64]:
    """Numbers by NumPy's fast reader; cell by cell when it meets something else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no data: the caller says it better
            X = np.loadtxt(
                path.absolute(),
                delimiter=delimiter,
                skiprows=head.skip,
                usecols=places,
                comments=None,
                quotechar='"',
                encoding="utf-8-sig",
                ndmin=2,
            )
    except ValueError:
        return _parse_cells(path, delimiter, head, places)
    if places is None and len(X) and X.shape[1] != head.width:
        return _parse_cells(path, delimiter, head, places)
    return X


def _parse_cells(
    path: Path, delimiter: str, head: _Head, places: list[int] | None
) -> NDArray[np.float64]:
    """Read slowly, accept empty cells as NaN, and say where the text is if there is any."""
    places = list(range(head.width)) if places is None else places
    values, n_text, first_text = array("d"), Counter[int](), ""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        for row in reader:
            if not row or reader.line_num <= head.skip:
                continue
            if len(row) != head.width:
                msg = (
                    f"{path.name} line {reader.line_num} has {len(row)} cells, but the first "
                    f"line has {head.width}. Mend that line."
                )
                raise InputError(msg)
            for j in places:
                value = _number(row[j])
                if value is None:
                    n_text[j] += 1
                    first_text = first_text or f"line {reader.line_num}: {row[j][:40]!r}"
                values.append(math.nan if value is None else value)
    n_rows = len(values) // len(places)
    if n_text:
        raise _text_error(path.name, head.labels(), places, n_text, n_rows, first_text)
    return np.frombuffer(values, dtype=np.float64).reshape(n_rows, len(places))


def _text_error(
    source: str,
    labels: list[str],
    places: list[int],
    n_text: Counter[int],
    n_rows: int,
    first_text: str,
) -> InputError:
    # A column that is mostly text is meant as text; a stray word is a mistake in its line.
    text = [j for j in places if 2 * n_text[j] > n_rows]
    if not text:
        where = _listed([labels[j] or f"number {j}" for j in n_text])
        return InputError(
            f"{source} {first_text} is not a number (column {where}). Mend the line or empty the "
            "cell; rows with empty cells can be dropped with --drop-invalid"
        )
    return _not_numeric(source, labels, text, [j for j in places if j not in n_text], first_text)


def _not_numeric(
    source: str, labels: list[str], text: list[int], numeric: list[int], detail: str
) -> InputError:
    s = "s" if len(text) > 1 else ""
    where = _listed([repr(labels[j]) if labels[j] else f"number {j}" for j in text])
    fix = (
        f"Take the numeric ones: --columns {_runs(labels, numeric)}"
        if numeric
        else "No column holds numbers."
    )
    return InputError(f"{source} has text in column{s} {where} ({detail}). {fix}")


def _runs(labels: Sequence[str], places: Sequence[int]) -> str:
    """Column names as `_pick_columns` reads them, neighbours joined.

    >>> _runs(["id", "x", "y", "z", "name", "w"], [1, 2, 3, 5])
    'x:z,w'
    """
    runs: list[list[int]] = []
    for j in places:
        if runs and runs[-1][-1] == j - 1:
            runs[-1].append(j)
        else:
            runs.append([j])
    return ",".join(
        f"{labels[run[0]]}:{labels[run[-1]]}" if len(run) > 2 else ",".join(labels[j] for j in run)
        for run in runs
    )


def _without_row_numbers(
    X: NDArray[np.float64], names: list[str], source: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Leave out an unnamed first column of distinct whole numbers: pandas' or R's row names.

    Taken as a coordinate it would dwarf all others, so it is left out, and that is said.
    """
    first = X[:, 0]
    whole = np.isfinite(first).all() and np.array_equal(first, np.rint(first))
    if names[0] or len(names) == 1 or not whole or np.unique(first).size < len(X):
        return X, names
    warnings.warn(
        f"{source}: left out the first column; it has no name and numbers the rows.",
        CRLMWarning,
        stacklevel=2,
    )
    return X[:, 1:], names[1:]


# .parquet


def _pyarrow(purpose: str) -> Any:
    """Import the package, or say in a sentence how to get it."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, package="pyarrow", extra="parquet") from error
    return pyarrow


def _read_parquet(
    path: Path, key: str | None, columns: Sequence[str] | None
) -> tuple[NDArray[Any], list[str] | None]:
    pa = _pyarrow("reading parquet")
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            places = _parquet_places(schema, columns, path.name)
            table = file.read(columns=[schema.names[j] for j in places])
    except pa.ArrowException as error:
        msg = f"{path.name} is not a readable parquet file ({str(error).splitlines()[0]})."
        raise InputError(msg) from error
    names = [schema.names[j] for j in places]
    if table.num_rows == 0:
        msg = f"{path.name} has no rows."
        raise InputError(msg)
    vectors = [j for j in places if _is_vector(schema.types[j])]
    _check_kinds(schema, places, vectors, path.name)
    if vectors:
        return _stack_vectors(table.column(0), f"{path.name} column {names[0]!r}"), None
    X = np.column_stack([column.to_numpy() for column in table.columns])
    return _taken(X, None, path.name), names


def _parquet_places(schema: Any, columns: Sequence[str] | None, source: str) -> list[int]:
    """Columns to read: the ones asked for, else the one of vectors, else all."""
    if columns is not None:
        return _pick_columns(columns, schema.names, source)
    # pandas keeps a row index that is not 0, 1, 2, ... in columns of this name
    data = [j for j, name in enumerate(schema.names) if not name.startswith("__index_level_")]
    vectors = [j for j in data if _is_vector(schema.types[j])]
    return vectors or data


def _is_vector(arrow_type: Any) -> bool:
    types = _pyarrow("reading parquet").types
    is_list = (
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
    )
    return is_list and _is_number(arrow_type.value_type)


def _is_number(arrow_type: Any) -> bool:
    types = _pyarrow("reading parquet").types
    return bool(
        types.is_floating(arrow_type)
        or types.is_integer(arrow_type)
        or types.is_boolean(arrow_type)
    )


def _check_kinds(schema: Any, places: list[int], vectors: list[int], source: str) -> None:
    """One column of vectors alone, or nothing but columns of numbers."""
    if vectors and len(places) > 1:
        candidates = _listed([f"{schema.names[j]} ({schema.types[j]})" for j in vectors])
        msg = (
            f"{source} has no single vector column. Candidates: {candidates}. "
            f"Use --columns {schema.names[vectors[0]]}"
        )
        raise InputError(msg)
    text = [j for j in places if not _is_number(schema.types[j])]
    if text and not vectors:
        numeric = [j for j in places if j not in text]
        raise _not_numeric(source, schema.names, text, numeric, str(schema.types[text[0]]))


def _stack_vectors(column: Any, what: str) -> NDArray[Any]:
    """Matrix whose rows are the vectors of an Arrow list column; a null vector is all NaN."""
    pa = _pyarrow("reading parquet")
    valid = column.is_valid().to_numpy()
    lengths = pa.compute.list_value_length(column.drop_null()).to_numpy()
    if len(lengths) == 0 or lengths.max() == 0:
        msg = f"{what} has no values."
        raise InputError(msg)
    odd = np.flatnonzero(lengths != lengths[0])
    if odd.size:
        row = np.flatnonzero(valid)[odd[0]]
        msg = (
            f"{what} has vectors of different lengths: {lengths[0]} at first, {lengths[odd[0]]} "
            f"in row {row}. All must have the same."
        )
        raise InputError(msg)
    values = pa.compute.list_flatten(column.drop_null()).to_numpy().reshape(len(lengths), -1)
    if valid.all():
        return _taken(values, None, what)
    X = np.full((len(valid), values.shape[1]), np.nan, np.result_type(values, np.float32))
    X[valid] = values
    return X


_READERS: dict[
    str,
    Callable[[Path, str | None, Sequence[str] | None], tuple[NDArray[Any], list[str] | None]],
] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".tsv": _read_text,
    ".parquet": _read_parquet,
}


# Writing


def write_labels(path: str | os.PathLike[str], labels: ArrayLike, *, force: bool = False) -> None:
    """Write one label per row as .csv or .parquet (columns row, label) or as .npy.

    The file appears whole or not at all; with `force` an old one is replaced.
    """
    path = Path(path)
    check_writable(path, force)
    with replacing(path) as file:
        LABEL_WRITERS[path.suffix.lower()](file, np.asarray(labels, dtype=np.int64))


def check_writable(
    path: str | os.PathLike[str], force: bool = False, *, formats: Sequence[str] | None = None
) -> None:
    """Find out before the work starts whether its result can be written.

    Raises
    ------
    OutputError
        The suffix is not one of `formats` (default: those of labels), the file exists and
        `force` is false, or the folder is missing or not writable.
    """
    path = Path(path)
    formats = tuple(LABEL_WRITERS) if formats is None else formats
    problem = _output_problem(path, force, formats)
    if problem:
        raise OutputError(problem)
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("writing parquet", package="pyarrow", extra="parquet")


def _output_problem(path: Path, force: bool, formats: Sequence[str]) -> str | None:
    folder = path.parent
    if path.suffix.lower() not in formats:
        return f"cannot write {path}: its suffix must be one of {_listed(formats)}."
    if folder.exists() and not folder.is_dir():
        return f"cannot write {path}: {folder} is a file, not a folder."
    if not folder.is_dir():
        return f"cannot write {path}: there is no folder {folder}. Make it: mkdir -p {folder}"
    if path.is_dir():
        return f"cannot write {path}: it is a folder."
    if path.exists() and not force:
        return f"{path} exists. Replace it with --force, or choose another name."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"cannot write {path}: no permission to write in {folder.absolute()}."
    return None


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` only when all of it has been written."""
    target = path.resolve()  # through a symbolic link, so that the link stays
    partial = target.with_name(f".crlm-{secrets.token_hex(6)}.part")
    try:
        # "x+" rather than "x": for a write-only file NumPy bypasses Python's write() and then
        # a full disk is an error without its number.
        with partial.open("x+b") as file:
            yield file
        partial.replace(target)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def write_error(path: str | Path, error: OSError) -> OutputError:
    """Say in a sentence why `path` could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"disk full while writing {path}. Nothing was changed; make room.")
    return OutputError(f"cannot write {path}: {error.strerror or error}")


def write_labels_csv(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    """Write lines ``row,label`` under a header."""
    rows = np.column_stack([np.arange(len(labels)), labels])
    np.savetxt(file, rows, fmt="%d", delimiter=",", header="row,label", comments="")


def _write_labels_npy(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    np.save(file, labels, allow_pickle=False)


def _write_labels_parquet(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    pa = _pyarrow("writing parquet")
    pa.parquet.write_table(pa.table({"row": np.arange(len(labels)), "label": labels}), file)


LABEL_WRITERS: dict[str, Callable[[IO[bytes], NDArray[np.int64]], None]] = {
    ".csv": write_labels_csv,
    ".npy": _write_labels_npy,
    ".parquet": _write_labels_parquet,
}
