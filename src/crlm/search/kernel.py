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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Places = NDArray[np.intp]

TILE, LANES = 16, 8  # as in kernel.h
MAX_ROWS = 2**31 - TILE  # places are numbered by int32
ROOM = 1 << 16  # pairs found at a time
_MAX_TILES = 4096  # looked at in one call, which an interrupt has to wait for

_NUMBER, _FLOAT, _ARRAY = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p


class Sums(NamedTuple):
    """What the filter adds up: ``-V / 2 = (-s_a / 2) + (-s_b / 2) + c_a c_b``."""

    tiles: F32 | NDArray[np.int32]  # (n_tiles, width, 16): c, two in one if whole, and -s / 2
    limit: float  # pairs with a sum above it pass
    unit: float  # of a sum


class Kernel:
    """The compiled functions, called with arrays. They do not hold Python's lock."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.filters = {
            np.dtype(kind): _declare(
                getattr(library, name),
                *(_ARRAY, _NUMBER, limit, _FLOAT, _ARRAY, _NUMBER, _NUMBER, _FLOAT, _NUMBER),
                *(_NUMBER, _NUMBER, _ARRAY, _NUMBER, _ARRAY, _NUMBER, _ARRAY, _ARRAY, _ARRAY),
            )
            for kind, name, limit in (
                ("float32", "crlm_filter_floats", _FLOAT),
                ("int32", "crlm_filter_wholes", ctypes.c_int32),
            )
            if hasattr(library, name)
        }
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
        sums: Sums,
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
        sums : Sums
            What to add up.
        boxes : ndarray of shape (n_axes, 2, n_boxes)
            Lowest and highest of each tile, and of eight more that are read but not used. Tiles
            whose boxes are `reach` apart, squared, have no near pair.
        cutoff : float
            Of the bound, for further looks.
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
        (_, width, _), (n_axes, _, n_boxes) = sums.tiles.shape, boxes.shape
        while next_.value < len(others):
            stop = min(next_.value + _MAX_TILES, len(others))
            n = self.filters[sums.tiles.dtype](
                *(sums.tiles.ctypes.data, width, sums.limit, -2.0 * sums.unit),
                *(boxes.ctypes.data, n_boxes, n_axes, reach),
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
IN_USE, WHOLES_IN_USE = True, True  # tests turn them off


def compiled() -> Kernel | None:
    """The compiled loops, if they are here and of use."""
    return load(LIBRARY) if IN_USE else None


def has_wholes() -> bool:
    """Whether the compiled filter may be given whole numbers."""
    kernel = compiled()
    return WHOLES_IN_USE and kernel is not None and np.dtype("int32") in kernel.filters


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
    names = ("filter.c", "kernel.h", "loop.h", "measure.c")
    return zlib.crc32(b"".join(Path(__file__).with_name(name).read_bytes() for name in names))


def _declare(function: Any, *arguments: Any, gives: Any = _NUMBER) -> Any:
    function.argtypes, function.restype = arguments, gives
    return function
