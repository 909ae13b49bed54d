"""A folder of pictures as a table: one row for each that can be read."""

from __future__ import annotations

import warnings
from pathlib import Path

from crlm.errors import CRLMWarning, InputError
from crlm.tables.common import Table, Wanted, listed
from crlm.tables.kept import Kept
from crlm.tables.parquet import parquet_files, read_parquets


def read_folder(folder: Path, wanted: Wanted) -> Table:
    """Descriptors of the pictures in a folder, or if it has none, its parquet files together."""
    from crlm.images import SUFFIXES, list_images  # late: files of numbers do not need it

    paths = list_images(folder)
    tables = [] if paths else parquet_files(folder)
    if tables:
        return read_parquets(tables, wanted, f"{folder}")
    given = {"--columns": wanted.columns, "--vector": wanted.vector, "--key": wanted.key}
    for flag, value in given.items():
        if value is not None:
            msg = f"{flag} is about files of numbers, but {folder} is a folder of images."
            raise InputError(msg)
    if not paths:
        kinds = listed(sorted(SUFFIXES), 20)
        msg = (
            f"{folder} is a folder without images ({kinds}) or .parquet files. Give such a folder, "
            f"or one file."
        )
        raise InputError(msg)
    from crlm.describe import METHODS, describe_images

    descriptor = METHODS[wanted.descriptor or "hog"]()
    described = describe_images(paths, descriptor)
    warn_of_failures(described.failures, len(paths))
    names = [paths[i].as_posix() for i in described.rows]
    note = (
        f"{folder}: {len(names):,} images are described by {descriptor.words}. "
        "For that, take a network: crlm embed --help"
    )
    kept = Kept(["path"], lambda name: names)
    roles = {"id": "path", "image": "path"}
    made = descriptor.settings
    return Table(described.X, None, f"{folder}", notes=(note,), kept=kept, roles=roles, made=made)


def holds_parquet(folder: Path) -> bool:
    """Whether a folder stands for the parquet files in it."""
    from crlm.images import list_images

    return not list_images(folder) and bool(parquet_files(folder))


def warn_of_failures(failures: list[str], total: int) -> None:
    """Name the pictures that were left out, the first few with what is wrong with them."""
    if not failures:
        return
    more = len(failures) - 3
    said = " ".join(failures[:3]) + (f" And {more:,} more." if more > 0 else "")
    warnings.warn(
        f"{len(failures):,} of {total:,} images cannot be read and are left out: {said}",
        CRLMWarning,
        stacklevel=2,
    )
