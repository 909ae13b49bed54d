"""The inner loops of the search in C, for whom they were compiled.

A wheel that was built where there is a C compiler brings them along; where there is none, or the
processor lacks what they need, NumPy does the same work in more time. Results are the same to the
bit: the filter only discards, by the bound of :mod:`crlm.search.filter`, and what it keeps is
measured as :mod:`crlm.search.distance` says. Both are tested with and without.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Places = NDArray[np.intp]

TILE, LANES = 16, 8  # as in kernel.h
MAX_ROWS = 2**31 - TILE  # places are numbered by int32
ROOM = 1 << 16  # pairs found at a time
_MAX_TILES = 4096  # looked at in one call, which an interrupt has to wait for

_NUMBER, _FLOAT, _ARRAY = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p


class Kernel:
    """The compiled functions, called with arrays. They do not hold Python's lock."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._filter = _declare(
            library.crlm_filter,
            *(_ARRAY, _NUMBER, _ARRAY, _NUMBER, _FLOAT, _FLOAT, _NUMBER, _NUMBER, _NUMBER),
            *(_ARRAY, _NUMBER, _ARRAY, _NUMBER, _ARRAY, _ARRAY, _ARRAY),
        )
        self._look = _declare(
            library.crlm_look,
            *(_ARRAY, _NUMBER, _ARRAY, _FLOAT, _NUMBER, _ARRAY, _ARRAY, _ARRAY),
        )
        self._measure = {
            np.dtype(kind): _declare(
                getattr(library, f"crlm_measure_{kind}"),
                *(_ARRAY, _ARRAY, _NUMBER, _ARRAY, _ARRAY, _NUMBER, _ARRAY),
                gives=None,
            )
            for kind in ("float32", "float64")
        }

    def near_pairs(
        self,
        tiles: F32,
        boxes: F32,
        reach: float,
        cutoff: float,
        looks: list[tuple[F32, F32]],
        own: range,
        others: NDArray[np.int32],
        *,
        later: bool,
    ) -> Iterator[tuple[Places, Places]]:
        """Pairs of rows of some tiles with those of others that pass the filter and its looks.

        Parameters
        ----------
        tiles : ndarray of shape (n_tiles, width, 16)
            Columns ``c`` and ``-s / 2`` of the filter.
        boxes : ndarray of shape (n_tiles, n_axes, 2)
            Lowest and highest of each tile; tiles whose boxes are `reach` apart, squared, have
            no near pair.
        cutoff : float
            Of the bound.
        looks : list of (rows, rest)
            Further directions, in whole vectors, and the length of what was left before.
        own, others : range, ndarray
            Tiles.
        later : bool
            Whether to leave out tiles of `own` that come after the other one.
        """
        room = max(ROOM, TILE * TILE * len(own))
        i, j = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
        V = np.empty(room, dtype=np.float32)
        found = i.ctypes.data, j.ctypes.data, V.ctypes.data
        next_ = ctypes.c_int64(0)
        (_, width, _), n_axes = tiles.shape, boxes.shape[1]
        while next_.value < len(others):
            stop = min(next_.value + _MAX_TILES, len(others))
            n = self._filter(
                *(tiles.ctypes.data, width, boxes.ctypes.data, n_axes, reach, cutoff),
                *(own.start, own.stop, later, others.ctypes.data, stop),
                *(ctypes.addressof(next_), room, *found),
            )
            for rows, rest in looks:
                n = self._look(
                    *(rows.ctypes.data, rows.shape[1], rest.ctypes.data, cutoff, n, *found)
                )
            if n:
                yield i[:n].astype(np.intp), j[:n].astype(np.intp)

    def sq_distances(
        self, X: NDArray[Any], i: Places, Y: NDArray[Any], j: Places
    ) -> NDArray[np.float64]:
        """Squared distances between rows `i` of `X` and `j` of `Y`, contiguous and of one type."""
        i, j = (np.ascontiguousarray(rows, dtype=np.int64) for rows in (i, j))
        out = np.empty(len(i))
        self._measure[X.dtype](
            *(X.ctypes.data, Y.ctypes.data, X.shape[1], i.ctypes.data, j.ctypes.data, len(i)),
            out.ctypes.data,
        )
        return out

    def adds_like_numpy(self) -> bool:
        """Whether distances come out as NumPy's, which may change the order of its sums."""
        rng = np.random.default_rng(0)
        for d in (1, 7, 8, 9, 127, 128, 129, 137, 260, 1000):
            X = rng.normal(size=(9, d))
            here = self.sq_distances(X, np.arange(8), X, np.arange(1, 9))
            if not np.array_equal(here, np.square(X[:8] - X[1:]).sum(axis=-1)):
                return False
        return True


LIBRARY = Path(__file__).with_name("_kernel.so")
IN_USE = True  # tests turn it off


def compiled() -> Kernel | None:
    """The compiled loops, if they are here and of use."""
    return load(LIBRARY) if IN_USE else None


@cache
def load(path: Path) -> Kernel | None:
    """The compiled loops of a file; None if it is missing, of another system or of another time."""
    try:
        library = ctypes.CDLL(str(path))
        if _declare(library.crlm_kernel)() != sources():
            return None
        kernel = Kernel(library)
    except (OSError, AttributeError):
        return None
    return kernel if kernel.adds_like_numpy() else None


def sources() -> int:
    """A number that stands for the C files, so that a library of other ones is not called."""
    names = ("filter.c", "kernel.h", "measure.c")
    return zlib.crc32(b"".join(Path(__file__).with_name(name).read_bytes() for name in names))


def _declare(function: Any, *arguments: Any, gives: Any = _NUMBER) -> Any:
    function.argtypes, function.restype = arguments, gives
    return function
