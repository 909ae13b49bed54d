"""Dask arrays and dataframes as a list of partitions, each with all columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from crlm.errors import InputError, MissingExtraError

# Here first, so that who has not installed it is told how; the other modules come after.
try:
    import dask
    import dask.array as da
except ImportError as error:
    raise MissingExtraError("crlm.dask", package="dask", extra="dask") from error

Function = Callable[..., Any]

compute, delayed = dask.compute, dask.delayed


class Partitions(NamedTuple):
    """The parts of a collection, and how many rows each has."""

    collection: Any  # a dask array with all columns in one chunk, or a dask dataframe
    parts: list[Any]  # delayed
    starts: list[int]  # row number of the first row of each
    n: int
    d: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each part."""
        return tuple(np.diff([*self.starts, self.n]).tolist())

    def labels(self, function: Function, *args: Any) -> Any:
        """Dask array of what a function gives for the rows of each part, in its chunks."""
        meta = np.zeros(0, dtype=np.int64)
        if isinstance(self.collection, da.Array):
            return self.collection.map_blocks(
                function, *args, drop_axis=1, dtype=np.int64, meta=meta
            )
        delayed = [dask.delayed(function, pure=True)(part, *args) for part in self.parts]
        arrays = [
            da.from_delayed(part, (length,), meta=meta)
            for part, length in zip(delayed, self.lengths, strict=True)
        ]
        return da.concatenate(arrays)


def is_collection(X: Any) -> bool:
    """Whether this is a dask array or dataframe."""
    return isinstance(X, da.Array) or (dask.is_dask_collection(X) and hasattr(X, "npartitions"))


def partitions(X: Any) -> Partitions:
    """Parts of a collection; counts the rows of each where they are not known."""
    if getattr(X, "ndim", 2) != 2:
        msg = (
            f"X must be a table of numbers, rows by columns, got a dask collection with "
            f"{X.ndim} dimensions. One column of numbers: X.reshape(-1, 1)."
        )
        raise InputError(msg)
    if isinstance(X, da.Array):
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})  # a distance needs all columns of a row in one place
        parts, d = list(X.to_delayed().ravel()), int(X.shape[1])
        known = [float(length) for length in X.chunks[0]]
    else:
        parts, d = list(X.to_delayed()), len(X.columns)
        known = [math.nan] * len(parts)
    if any(math.isnan(length) for length in known):
        known = list(dask.compute(*(dask.delayed(len)(part) for part in parts)))
    ends = np.cumsum([0, *map(int, known)]).tolist()
    if not ends[-1]:
        raise InputError("X has no rows. Give at least one.")
    return Partitions(X, parts, ends[:-1], ends[-1], d)
