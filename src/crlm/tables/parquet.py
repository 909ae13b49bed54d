"""Opens .parquet, .arrow and .feather files; what is in them is the business of `arrow`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from crlm.tables.arrow import Source, arrow_errors, import_pyarrow, table_of
from crlm.tables.common import Table, Wanted
from crlm.tables.limits import check_declared


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Matrix of a parquet file."""
    return table_of(open_parquet(path), wanted)


def read_feather(path: Path, wanted: Wanted) -> Table:
    """Matrix of a feather or Arrow file; it is mapped into memory unless it is packed."""
    return table_of(open_feather(path), wanted)


def open_parquet(path: Path) -> Source:
    """Columns of a parquet file."""
    pa = import_pyarrow("reading parquet")
    opened = partial(pa.parquet.ParquetFile, path, page_checksum_verification=True)
    with arrow_errors(path, "parquet"), opened() as file:
        schema, metadata = file.schema_arrow, file.metadata

    def read(names: list[str]) -> Any:
        _check_chunks(metadata, names, path)
        with opened() as file:
            table = file.read(columns=names)
        table.validate(full=True)
        return table

    def first(name: str) -> Any:
        with opened() as file:
            return next(file.iter_batches(64, columns=[name])).column(0)

    return Source(path, "parquet", schema, metadata.num_rows, read, first)


def _check_chunks(metadata: Any, names: list[str], path: Path) -> None:
    """Refuse pieces that claim more values than so many bytes can hold."""
    values = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        chunks = [group.column(j) for j in range(group.num_columns)]
        values += sum(c.num_values for c in chunks if c.path_in_schema.split(".")[0] in names)
    check_declared(8.0 * max(values, metadata.num_rows), path.stat().st_size, path.name)


def open_feather(path: Path) -> Source:
    """Columns of an Arrow file or stream, or of the first version of feather."""
    pa = import_pyarrow("reading feather")

    def read(names: list[str]) -> Any:
        table = _read_ipc(pa, path).select(names)
        table.validate(full=True)
        return table

    with arrow_errors(path, "feather"):
        whole = _read_ipc(pa, path)
        whole.validate()
    return Source(path, "feather", whole.schema, whole.num_rows, read, lambda c: read([c])[c][:64])


def _read_ipc(pa: Any, path: Path) -> Any:
    with path.open("rb") as file:
        magic = file.read(6)
    if magic[:4] == b"FEA1":
        return pa.feather.read_table(path)
    mapped = pa.memory_map(str(path))
    opened = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
    return opened(mapped).read_all()
