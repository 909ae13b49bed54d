"""Columns of numbers, or one column of vectors, in .parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, MissingExtraError
from crlm.tables.common import (
    ROW_NUMBER_NAMES,
    Table,
    in_words,
    listed,
    pick_columns,
    take_numeric,
    text_error,
    warn_of_row_numbers,
    without_bool,
)


def import_pyarrow(purpose: str) -> Any:
    """Import the package, or say in a sentence how to get it."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, package="pyarrow", extra="parquet") from error
    return pyarrow


def read_parquet(path: Path, columns: Sequence[str] | None) -> Table:
    """Matrix of a parquet file and the names of its columns, unless they are one of vectors."""
    pa = import_pyarrow("reading parquet")
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            places = _places(schema, columns, path.name)
            names = [schema.names[j] for j in places]
            table = file.read(columns=list(dict.fromkeys(names)))
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        msg = f"{path.name} is not a readable parquet file ({reason}). Copy or write it again."
        raise InputError(msg) from error
    if table.num_rows == 0:
        msg = f"{path.name} has no rows."
        raise InputError(msg)
    if _is_one_vector(schema, places, path.name):
        column = _read_column(table, schema.names, places[0])
        X = _stack_vectors(column, f"{path.name} column {names[0]!r}")
        notes = _left_out(schema, places[0], path.name) if columns is None else ()
        return Table(X, None, path.name, vector=names[0], notes=notes)
    read = [_read_column(table, schema.names, j).to_numpy() for j in places]
    X = without_bool(np.column_stack(read))
    if columns is None:
        warn_of_row_numbers(X, names, path.name)
    return Table(X, names, path.name)


def parquet_rows(path: Path) -> int:
    """Number of rows, as the file's footer says."""
    pa = import_pyarrow("reading parquet")
    try:
        return int(pa.parquet.read_metadata(path).num_rows)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        msg = f"{path.name} is not a readable parquet file ({reason}). Copy or write it again."
        raise InputError(msg) from error


def parquet_blocks(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[NDArray[Any]]:
    """Matrices of up to `rows` rows, one after the other, of a file that need not fit in memory."""
    pa = import_pyarrow("reading parquet")
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            places = _places(schema, columns, path.name)
            names = [schema.names[j] for j in places]
            is_vector = _is_one_vector(schema, places, path.name)
            for batch in file.iter_batches(rows, columns=list(dict.fromkeys(names))):
                table = pa.Table.from_batches([batch])
                read = [_read_column(table, schema.names, j) for j in places]
                if is_vector:
                    yield _stack_vectors(read[0], f"{path.name} column {names[0]!r}")
                else:
                    yield without_bool(np.column_stack([column.to_numpy() for column in read]))
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        msg = f"{path.name} is not a readable parquet file ({reason}). Copy or write it again."
        raise InputError(msg) from error


def _read_column(table: Any, names: list[str], j: int) -> Any:
    """Column that was number j of the file; columns that share a name are read together."""
    same = [i for i, name in enumerate(table.column_names) if name == names[j]]
    return table.column(same[names[:j].count(names[j])])


def _places(schema: Any, columns: Sequence[str] | None, source: str) -> list[int]:
    """Columns to read: the ones asked for, else the ones of vectors, else all."""
    if columns is not None:
        return pick_columns(columns, schema.names, source)
    # pandas keeps a row index that is not 0, 1, 2, ... in columns of this name
    data = [j for j, name in enumerate(schema.names) if not name.startswith("__index_level_")]
    return [j for j in data if _is_vector(schema.types[j])] or data


def _is_one_vector(schema: Any, places: list[int], source: str) -> bool:
    """Whether there is one column of vectors, rather than nothing but columns of numbers."""
    vectors = [j for j in places if _is_vector(schema.types[j])]
    if vectors and len(places) > 1:
        candidates = listed(f"{schema.names[j]} ({schema.types[j]})" for j in vectors)
        said = in_words(schema.names, vectors[:1])
        fix = f" Use --columns {said}" if said else ""
        msg = f"{source} has no single vector column. Candidates: {candidates}.{fix}"
        raise InputError(msg)
    if not vectors:
        _refuse_other_types(schema, places, source)
    return bool(vectors)


def _refuse_other_types(schema: Any, places: list[int], source: str) -> None:
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


def _left_out(schema: Any, vector: int, source: str) -> tuple[str, ...]:
    """Say that other columns than the one of vectors were not used, if there are any."""
    others = [repr(name) for j, name in enumerate(schema.names) if j != vector]
    if not others:
        return ()
    name = schema.names[vector]
    return (f"{source}: the rows are the vectors of column {name!r}; left out {listed(others)}",)


def _is_vector(arrow_type: Any) -> bool:
    import pyarrow as pa

    lists = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
    return isinstance(arrow_type, lists) and _is_number(arrow_type.value_type)


def _is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


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
