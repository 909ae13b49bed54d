"""Columns of numbers, or one column of vectors, in .parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, MissingExtraError
from crlm.tables.common import listed, pick_columns, text_error, without_bool


def import_pyarrow(purpose: str) -> Any:
    """Import the package, or say in a sentence how to get it."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, package="pyarrow", extra="parquet") from error
    return pyarrow


def read_parquet(
    path: Path, columns: Sequence[str] | None
) -> tuple[NDArray[Any], list[str] | None]:
    """Matrix of a parquet file and the names of its columns, unless they are one of vectors."""
    pa = import_pyarrow("reading parquet")
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            places = _places(schema, columns, path.name)
            names = [schema.names[j] for j in places]
            table = file.read(columns=names)
    except pa.ArrowException as error:
        msg = f"{path.name} is not a readable parquet file ({str(error).splitlines()[0]})."
        raise InputError(msg) from error
    if table.num_rows == 0:
        msg = f"{path.name} has no rows."
        raise InputError(msg)
    if _is_one_vector(schema, places, path.name):
        return _stack_vectors(table.column(0), f"{path.name} column {names[0]!r}"), None
    return without_bool(np.column_stack([column.to_numpy() for column in table.columns])), names


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
        msg = (
            f"{source} has no single vector column. Candidates: {candidates}. "
            f"Use --columns {schema.names[vectors[0]]}"
        )
        raise InputError(msg)
    text = [j for j in places if not vectors and not _is_number(schema.types[j])]
    if text:
        numeric = [j for j in places if j not in text]
        raise text_error(source, schema.names, text, numeric, str(schema.types[text[0]]))
    return bool(vectors)


def _is_vector(arrow_type: Any) -> bool:
    import pyarrow as pa

    lists = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
    return isinstance(arrow_type, lists) and _is_number(arrow_type.value_type)


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
