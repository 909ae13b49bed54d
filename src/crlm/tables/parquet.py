"""Opens .parquet, .arrow and .feather files; what is in them is the business of `arrow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.tables.arrow import Source, arrow_errors, import_pyarrow, only_needed, table_of
from crlm.tables.common import Table, Wanted
from crlm.tables.kept import Kept
from crlm.tables.limits import check_declared


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Matrix of a parquet file."""
    return table_of(open_parquet(path), wanted)


def parquet_files(folder: Path) -> list[Path]:
    """Parquet files of a folder and of those in it, in the order of their names."""
    return sorted(path for path in folder.rglob("*.parquet") if path.is_file())


def read_parquets(paths: list[Path], wanted: Wanted, source: str) -> Table:
    """Matrix of several parquet files, one after the other; what is kept beside it is in all."""
    tables = [read_parquet(path, wanted) for path in paths]
    first = tables[0]
    check_same_columns(paths, [(table.columns, table.X.shape[1]) for table in tables])
    names = [name for name in first.kept if all(name in table.kept for table in tables)]
    kept = Kept(names, lambda name: [value for table in tables for value in table.kept[name]])
    X = np.concatenate([table.X for table in tables])
    roles = {role: name for role, name in first.roles.items() if name in names}
    return first._replace(X=X, source=source, kept=kept, roles=roles)


def check_same_columns(paths: Sequence[Path], columns: Sequence[Any]) -> None:
    """Refuse files of which one has other columns than the first."""
    for path, own in zip(paths, columns, strict=True):
        if own != columns[0]:
            msg = (
                f"{path.name} has other columns than {paths[0].name}. All files of a folder must "
                f"have the same; choose them with --columns."
            )
            raise InputError(msg)


def read_feather(path: Path, wanted: Wanted) -> Table:
    """Matrix of a feather or Arrow file; it is mapped into memory unless it is packed."""
    return table_of(open_feather(path), wanted)


def open_parquet(path: Path) -> Source:
    """Columns of a parquet file."""
    pa = import_pyarrow("reading parquet")
    opened = partial(pa.parquet.ParquetFile, path, page_checksum_verification=True)
    with arrow_errors(path, "parquet"), opened() as file:
        schema, metadata = _named(file.schema_arrow), file.metadata

    def read(names: list[str]) -> Any:
        _check_rows(metadata, names, path)
        with opened() as file:
            table = file.read(columns=names)
        table.validate(full=True)
        return table

    def first(name: str) -> Any:
        with opened() as file:
            return next(file.iter_batches(64, columns=[name])).column(0)

    return Source(path, "parquet", schema, metadata.num_rows, read, first)


def parquet_rows(path: Path) -> int:
    """Number of rows, as the file's footer says."""
    return open_parquet(path).n


def parquet_columns(path: Path, columns: Sequence[str] | None) -> list[str] | None:
    """Names of the columns that are coordinates; None when one column holds vectors."""
    names, wanted = only_needed(open_parquet(path), Wanted(columns=columns))
    return None if wanted.vector is not None else names


def parquet_blocks(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[NDArray[Any]]:
    """Matrices of up to `rows` rows, one after the other, of a file that need not fit in memory."""
    pa = import_pyarrow("reading parquet")
    whole = open_parquet(path)
    names, wanted = only_needed(whole, Wanted(columns=columns))
    _check_rows(pa.parquet.read_metadata(path), names, path)
    with (
        arrow_errors(path, "parquet"),
        pa.parquet.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        for batch in file.iter_batches(rows, columns=names):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield table_of(whole._replace(n=len(batch), read=table.select), wanted).X


def _check_rows(metadata: Any, names: list[str], path: Path) -> None:
    """Refuse a file that claims more rows than so many bytes can hold.

    What it says of single columns is not asked for: in a damaged file pyarrow aborts on it.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(max(0, group.num_rows) for group in groups))
    check_declared(8.0 * rows * len(names), path.stat().st_size, path.name)


def open_feather(path: Path) -> Source:
    """Columns of an Arrow file or stream, which is what feather is since its second version."""
    pa = import_pyarrow("reading feather")

    def read(names: list[str]) -> Any:
        table = _read_ipc(pa, path).select(names)
        table.validate(full=True)
        return table

    with arrow_errors(path, "feather"):
        whole = _read_ipc(pa, path)
        whole.validate()
        schema = _named(whole.schema)
    return Source(path, "feather", schema, whole.num_rows, read, lambda c: read([c])[c][:64])


def _named(schema: Any) -> Any:
    """The same schema, after a look at its names, which in a damaged file are no text."""
    str(schema.names), str(schema.types)
    return schema


def _read_ipc(pa: Any, path: Path) -> Any:
    with path.open("rb") as file:
        magic = file.read(6)
    if magic[:4] == b"FEA1":  # on a damaged one pyarrow reads where it must not
        msg = f"{path.name} is in version 1 of feather, from 2016. Write it again as version 2."
        raise InputError(msg)
    mapped = pa.memory_map(str(path))
    opened = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
    return opened(mapped).read_all()
