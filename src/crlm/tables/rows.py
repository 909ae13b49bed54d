"""Columns written block by block, so that a file may be larger than memory."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from crlm.tables.arrow import import_pyarrow

# Name of each column and its values in this block; lists of texts, or arrays of numbers.
Block = dict[str, Any]
Write = Callable[[IO[bytes], Iterable[Block], int], None]


def write_csv(file: IO[bytes], blocks: Iterable[Block], n_rows: int) -> None:
    """Write lines of text under a header; what is not a number is left empty."""
    header = True
    for block in blocks:
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        if header:
            lines.writerow(block)
            header = False
        lines.writerows(zip(*map(_texts, block.values()), strict=True))
        file.write(text.getvalue().encode())


def _texts(values: Any) -> list[Any]:
    """Values as they are to be read: six digits of a float, nothing for NaN."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return ["" if math.isnan(value) else f"{value:.6g}" for value in values.tolist()]
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def write_npy(file: IO[bytes], blocks: Iterable[Block], n_rows: int) -> None:
    """Write the labels alone, as one array."""
    header = {"descr": "<i8", "fortran_order": False, "shape": (n_rows,)}
    npy.write_array_header_1_0(file, header)
    for block in blocks:
        file.write(np.ascontiguousarray(block["label"], dtype="<i8").tobytes())


def write_parquet(file: IO[bytes], blocks: Iterable[Block], n_rows: int) -> None:
    """Write the columns as they are; vectors as lists of a fixed size, NaN as null."""
    pa = import_pyarrow("writing parquet")
    writer = None
    for block in blocks:
        table = pa.table({name: _arrow(pa, values) for name, values in block.items()})
        writer = writer or pa.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _arrow(pa: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return pa.array(values, from_pandas=True)
    if isinstance(values, np.ndarray):
        return pa.array(values)
    return pa.array([None if value is None else str(value) for value in values], pa.string())


ROW_WRITERS: dict[str, Write] = {".csv": write_csv, ".npy": write_npy, ".parquet": write_parquet}


def row_job(path: Path, blocks: Callable[[], Iterable[Block]], n_rows: int) -> Any:
    """Function that writes the blocks to an open file, in the format of `path`."""
    write = ROW_WRITERS[path.suffix.lower()]
    return lambda file: write(file, blocks(), n_rows)
