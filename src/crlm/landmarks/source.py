"""Rows that come in blocks: an array, a file, or whatever a function yields.

The passes of a fit ask a source for its blocks, one after the other, and ask again for the next
pass. Which rows are in which block changes no result.
"""

from __future__ import annotations

import mmap
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.data_checks import check_points, check_table
from crlm.errors import InputError, ParameterError
from crlm.search import Floats

BLOCK_BYTES = 1 << 25


class Block(NamedTuple):
    """Consecutive rows."""

    number: int
    start: int  # row number of the first
    X: Any  # array or dataframe, as it came
    unit: str = "block"

    def points(self, metric: str, d: int | None = None) -> Floats:
        """The rows as the numerics take them; what is wrong with them names the block."""
        try:
            raw = np.asarray(check_table(self.X))
            if raw.ndim == 2 and len(raw) == 0:
                return np.zeros((0, raw.shape[1] if d is None else d), dtype=np.float32)
            X = check_points(raw, metric, whole=False)
        except InputError as error:
            msg = f"{self.name}: {error}"
            raise InputError(msg) from error
        if d is not None and X.shape[1] != d:
            msg = (
                f"{self.name} has {X.shape[1]:,} columns, those before it {d:,}. All rows must "
                f"have the same columns."
            )
            raise InputError(msg)
        return X

    @property
    def name(self) -> str:
        """What a message calls it."""
        return f"{self.unit} {self.number} of X (its first row is row {self.start:,} of all)"


class Source(ABC):
    """Rows in blocks, that can be read more than once.

    Attributes
    ----------
    n : int or None
        Number of rows; None when only reading them can tell.
    names : list of str or None
        Names of the columns, when they have some.
    """

    n: int | None = None
    names: list[str] | None = None

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of the rows from `start` on."""

    @abstractmethod
    def mark(self) -> str:
        """What must be the same for a fit to be resumed."""


class ArraySource(Source):
    """An array in memory, cut into blocks."""

    def __init__(self, X: NDArray[Any], rows: int | None = None) -> None:
        self.n = len(X)
        self._X = X
        self._rows = rows or rows_of(X.shape[1] * X.itemsize)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of the rows from `start` on."""
        for number, at in enumerate(range(start, len(self._X), self._rows)):
            yield Block(number, at, self._X[at : at + self._rows])

    def mark(self) -> str:
        """Shape, type and a checksum; an array has no name."""
        checksum = 0
        for block in self.blocks():
            checksum = zlib.crc32(np.ascontiguousarray(block.X).data, checksum)
        return f"array {self._X.shape} {self._X.dtype} {checksum}"


class FileSource(Source):
    """The rows of a .npy file, read a block at a time.

    Not through the memory map: pages that were looked at would count as memory of this process
    for as long as the map is there.
    """

    def __init__(self, X: np.memmap[Any, Any], rows: int | None = None) -> None:
        self.n = len(X)
        self._path, self._offset = Path(str(X.filename)), int(X.offset)
        self._dtype, self._d = X.dtype, X.shape[1]
        self._rows = rows or rows_of(self._d * X.itemsize)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of the rows from `start` on."""
        assert self.n is not None
        with self._path.open("rb") as file:
            for number, at in enumerate(range(start, self.n, self._rows)):
                stop = min(at + self._rows, self.n)
                file.seek(self._offset + at * self._d * self._dtype.itemsize)
                flat = np.fromfile(file, dtype=self._dtype, count=(stop - at) * self._d)
                if len(flat) < (stop - at) * self._d:
                    msg = f"{self._path.name} has become shorter while it was read. Start again."
                    raise InputError(msg)
                yield Block(number, at, flat.reshape(stop - at, self._d))

    def mark(self) -> str:
        """Name, size and age of the file, and its shape."""
        about = self._path.stat()
        shape = f"{self.n} x {self._d} {self._dtype}"
        return f"{self._path.name} {about.st_size} {about.st_mtime_ns} {shape}"


class IterableSource(Source):
    """Blocks from a function that can be called, or an object that can be gone through, again."""

    def __init__(self, blocks: Callable[[], Iterable[Any]] | Iterable[Any], name: str = "") -> None:
        self._make = blocks if callable(blocks) else lambda: blocks
        self._name = name

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of the rows from `start` on; those before it are read and dropped."""
        at = 0
        for number, X in enumerate(self._make()):
            stop = at + len(X)
            if stop > start or not len(X):
                yield Block(number, max(at, start), X[max(start - at, 0) :])
            at = stop

    def mark(self) -> str:
        """Its name, if it has one: what a function yields cannot be known."""
        return f"blocks {self._name}"


def rows_of(row_bytes: int) -> int:
    """Rows of a block."""
    return max(1, BLOCK_BYTES // max(1, row_bytes))


def as_source(X: Any, *, passes: int = 3) -> Source | None:
    """Source of what is given as data, or None for a plain table.

    A memory-mapped .npy is read in blocks, and so is what a function returns or an object yields.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, np.memmap):
        return FileSource(X) if _is_whole_file(X) else None
    if callable(X):
        return IterableSource(X)
    if isinstance(X, list | tuple) and len(X) and len(getattr(X[0], "shape", ())) == 2:
        return IterableSource(X)
    if not isinstance(X, list | tuple) and _is_only_iterable(X):
        if passes > 1 and iter(X) is X:
            msg = (
                "X is an iterator, which can be gone through once, and a fit makes three passes. "
                "Pass a function that returns a new one, such as lambda: read_blocks(path)."
            )
            raise ParameterError(msg)
        return IterableSource(X)
    return None


def _is_whole_file(X: np.memmap[Any, Any]) -> bool:
    """Whether the rows lie in a file one after the other, from an offset that is known."""
    base: Any = X.base  # of a part of a map it is the map, whose offset is not that of the part
    plain = X.ndim == 2 and X.flags.c_contiguous and isinstance(base, mmap.mmap)
    plain = plain and X.mode == "r"  # what was written to another may not be in the file
    return bool(plain and X.filename is not None and X.dtype.kind in "biuf" and X.size > 0)


def _is_only_iterable(X: Any) -> bool:
    """Whether this yields things, and is neither an array nor a table."""
    shapes = ("shape", "__array__", "__dataframe__", "columns", "__len__")
    return hasattr(X, "__iter__") and not any(hasattr(X, name) for name in shapes)
