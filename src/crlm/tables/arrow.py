"""Columns of numbers, or one column of vectors, in what Arrow reads: parquet and feather."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import CRLMError, InputError, MissingExtraError
from crlm.tables.common import (
    ROW_NUMBER_NAMES,
    Table,
    Wanted,
    in_words,
    listed,
    one_line,
    only_column,
    pick_columns,
    take_numeric,
    text_error,
    warn_of_row_numbers,
    without_bool,
)
from crlm.tables.kept import Kept


def import_pyarrow(purpose: str) -> Any:
    """Import the package, or say in a sentence how to get it."""
    try:
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, package="pyarrow", extra="parquet") from error
    return pyarrow


class Source(NamedTuple):
    """A file as Arrow sees it: what its columns are, and how to read some of them."""

    path: Path
    kind: str  # for messages: parquet, feather
    schema: Any
    n: int
    read: Callable[[list[str]], Any]
    first: Callable[[str], Any]  # the first few values of a column

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name


@contextmanager
def arrow_errors(path: Path, kind: str) -> Iterator[None]:
    """Say in one sentence that a file is damaged; Arrow has many ways to say so."""
    pa = import_pyarrow(f"reading {kind}")
    try:
        yield
    except CRLMError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno and error.strerror:
            raise  # the system's, not Arrow's
        msg = f"{path.name} is not a readable {kind} file ({one_line(error)}). Write it again."
        raise InputError(msg) from error


def table_of(source: Source, wanted: Wanted) -> Table:
    """Matrix of a file and the names of its columns, unless they are one of vectors."""
    places = _places(source, wanted)
    names = [source.schema.names[j] for j in places]
    if source.n == 0:
        msg = f"{source.name} has no rows."
        raise InputError(msg)
    one_vector = _is_one_vector(source, places)
    with arrow_errors(source.path, source.kind):
        table = source.read(list(dict.fromkeys(names)))
    kept = _kept(source, places)
    if one_vector:
        column = _read_column(table, source.schema.names, places[0])
        X = _stack_vectors(column, f"{source.name} column {names[0]!r}")
        chosen = wanted.columns is not None or wanted.vector is not None
        notes = () if chosen else _chosen(source, places[0])
        return Table(X, None, source.name, vector=names[0], notes=notes, kept=kept)
    with arrow_errors(source.path, source.kind):
        read = [_read_column(table, source.schema.names, j).to_numpy() for j in places]
    X = without_bool(np.column_stack(read))
    if X.dtype.kind == "f":  # in which whole numbers may be lost
        _check_whole(read, names, source.name)
    if wanted.columns is None:
        warn_of_row_numbers(X, names, source.name)
    return Table(X, names, source.name, kept=kept)


def _check_whole(read: list[NDArray[Any]], names: list[str], source: str) -> None:
    """Refuse large whole numbers that became equal beside columns of fractions."""
    if not any(column.dtype.kind in "iu" and column.dtype.itemsize == 8 for column in read):
        return
    from crlm.data_checks import check_whole  # few need it

    try:
        check_whole(read)
    except InputError as error:
        msg = str(error)
        for j, name in enumerate(names):
            msg = msg.replace(f"(column {j})", f"(column {name!r})")
        raise InputError(source + msg[1:]) from error


def only_needed(source: Source, wanted: Wanted) -> tuple[list[str], Wanted]:
    """Names of the columns to read, and a wish for exactly these."""
    places = _places(source, wanted)
    names = list(dict.fromkeys(source.schema.names[j] for j in places))
    if _is_one_vector(source, places):
        return names, Wanted(vector=names[0])
    return names, wanted if wanted.columns is not None else Wanted(columns=names)


def _kept(source: Source, places: list[int]) -> Kept:
    """Columns that are no coordinates."""
    names = [name for j, name in enumerate(source.schema.names) if j not in places]

    def load(name: str) -> list[Any]:
        with arrow_errors(source.path, source.kind):
            return list(source.read([name]).column(0).to_pylist())

    return Kept(names, load)


def _read_column(table: Any, names: list[str], j: int) -> Any:
    """Column that was number j of the file; columns that share a name are read together."""
    same = [i for i, name in enumerate(table.column_names) if name == names[j]]
    return table.column(same[names[:j].count(names[j])])


def _places(source: Source, wanted: Wanted) -> list[int]:
    """Columns to read: the ones asked for, else the ones of vectors, else all."""
    schema = source.schema
    if wanted.vector is not None:
        return [_vector_place(source, wanted.vector)]
    if wanted.columns is not None:
        return pick_columns(wanted.columns, schema.names, source.name)
    # pandas keeps a row index that is not 0, 1, 2, ... in columns of this name
    data = [
        j
        for j, name in enumerate(schema.names)
        if not name.startswith("__index_level_") and name not in wanted.aside
    ]
    vectors = [j for j in data if _is_vector(schema.types[j])]
    if not data:
        msg = f"{source.name} has no column left for coordinates."
        raise InputError(msg)
    return vectors or data


def _vector_place(source: Source, name: str) -> int:
    j = only_column(name, source.schema.names, source.name)
    if _is_vector(source.schema.types[j]):
        return j
    vectors = [i for i, kind in enumerate(source.schema.types) if _is_vector(kind)]
    others = f"Candidates: {_candidates(source, vectors)}." if vectors else "Use --columns"
    msg = f"{source.name} column {name!r} holds {source.schema.types[j]}, no vectors. {others}"
    raise InputError(msg)


def _is_one_vector(source: Source, places: list[int]) -> bool:
    """Whether there is one column of vectors, rather than nothing but columns of numbers."""
    schema = source.schema
    vectors = [j for j in places if _is_vector(schema.types[j])]
    if vectors and len(places) > 1:
        said = in_words(schema.names, vectors[:1])
        fix = f" Use --vector {said}" if said else ""
        msg = (
            f"{source.name} has no single vector column. Candidates: "
            f"{_candidates(source, vectors)}.{fix}"
        )
        raise InputError(msg)
    if not vectors:
        _refuse_other_types(schema, places, source.name)
    return bool(vectors)


def _candidates(source: Source, vectors: list[int]) -> str:
    """Columns of vectors, each with the length of its first one."""
    return listed(f"{source.schema.names[j]} ({_length(source, j)})" for j in vectors)


def _length(source: Source, j: int) -> str:
    size = getattr(source.schema.types[j], "list_size", None)
    if size is not None:
        return str(size)
    with arrow_errors(source.path, source.kind):
        first = source.first(source.schema.names[j]).drop_null()
        return str(len(first[0])) if len(first) else "no values"


def _refuse_other_types(schema: Any, places: Sequence[int], source: str) -> None:
    """Name the columns that are not numbers: text as text, anything else by its type."""
    other = [j for j in places if not _is_number(schema.types[j])]
    if not other:
        return
    numeric = [j for j in places if j not in other]
    row_numbers = [j for j in numeric if _may_number_rows(schema, j)]
    fix = take_numeric(schema.names, numeric, row_numbers)
    if all(_is_text(schema.types[j]) for j in other):
        raise text_error(source, schema.names, other, str(schema.types[other[0]]), fix)
    which = listed(f"{schema.names[j]!r} ({schema.types[j]})" for j in other)
    s = "s" if len(other) > 1 else ""
    msg = f"{source} has no numbers in column{s} {which}. {fix}"
    raise InputError(msg)


def _may_number_rows(schema: Any, j: int) -> bool:
    """Whether the values of a column, which have not been read, could be row numbers."""
    from pyarrow import types

    return schema.names[j].strip().lower() in ROW_NUMBER_NAMES and types.is_integer(schema.types[j])


def _chosen(source: Source, vector: int) -> tuple[str, ...]:
    """Say that other columns than the one of vectors are no coordinates, if there are any."""
    names = source.schema.names
    others = listed(repr(name) for j, name in enumerate(names) if j != vector)
    if not others:
        return ()
    return (
        f"{source.name}: the rows are the vectors of column {names[vector]!r}; left out {others}",
    )


def kinds_of(source: Source) -> tuple[list[tuple[str, str]], int]:
    """Name of every column and what is in it, and how many rows there are."""
    names, types = source.schema.names, source.schema.types
    return [(name, _kind(each)) for name, each in zip(names, types, strict=True)], source.n


def _kind(arrow_type: Any) -> str:
    known = {"numbers": _is_number, "text": _is_text, "vectors": _is_vector}
    return next((kind for kind, test in known.items() if test(arrow_type)), str(arrow_type))


def _is_vector(arrow_type: Any) -> bool:
    import pyarrow as pa

    lists = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
    return isinstance(arrow_type, lists) and _is_number(arrow_type.value_type)


def _is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(arrow_type) for test in tests)


def _is_number(arrow_type: Any) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_boolean)
    return any(test(arrow_type) for test in tests)


def _stack_vectors(column: Any, what: str) -> NDArray[Any]:
    """Matrix whose rows are the vectors of an Arrow list column; a null vector is all NaN."""
    import pyarrow.compute as pc

    valid, vectors = column.is_valid().to_numpy(), column.drop_null()
    lengths = pc.list_value_length(vectors).to_numpy()
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
    values = pc.list_flatten(vectors).to_numpy().reshape(len(lengths), -1)
    if valid.all():
        return without_bool(values)
    X = np.full((len(valid), values.shape[1]), np.nan, np.result_type(values, np.float32))
    X[valid] = values
    return X
