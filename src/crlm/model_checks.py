"""What :class:`crlm.GMMUB` is given, as it needs it, or a sentence that says what to do.

Each function returns the clean value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.errors import InputError, ParameterError

# Weights such as three times 1/3 may add up to a little more than 1.
WEIGHT_ROUNDING = 1e-9

# Entries of the largest temporary array, 8 MB: the densities of n rows need no more than this
# beyond their result.
BLOCK_ENTRIES = 2**20

Seed = int | np.random.Generator


def check_means(means: ArrayLike) -> NDArray[np.float64]:
    """Read-only copy of the means, of shape (k, d)."""
    array = _numbers("means", means)
    if array.ndim != 2 or array.shape[1] == 0:
        msg = (
            f"means has shape {array.shape}, but must be (k, d) with d of at least 1: one row "
            "per cluster. A single mean is [[...]], no cluster is np.empty((0, d))."
        )
        raise ParameterError(msg)
    return _read_only(array)


def check_sigmas(sigmas: ArrayLike, k: int) -> NDArray[np.float64]:
    """One standard deviation per cluster."""
    array = _filled("sigmas", sigmas, k, "rows")
    if (array <= 0).any():
        msg = (
            f"sigmas contains {array.min():g}; a standard deviation must be greater than 0. "
            "Give the smallest spread that the measurement can resolve instead."
        )
        raise ParameterError(msg)
    return array


def check_weights(weights: ArrayLike, k: int) -> NDArray[np.float64]:
    """One share per cluster, together at most 1."""
    array = _filled("weights", weights, k, "rows")
    if (array < 0).any():
        msg = f"weights contains {array.min():g}; a share cannot be less than 0. Use 0 or more."
        raise ParameterError(msg)
    total = math.fsum(array)
    if total > 1.0 + WEIGHT_ROUNDING:
        msg = (
            f"weights add up to {total:.10g}, but the clusters together have at most 1; the "
            "rest is the background's. Divide them by their sum, or by more to leave a rest."
        )
        raise ParameterError(msg)
    return array


def check_center(center: ArrayLike, d: int) -> NDArray[np.float64]:
    """Centre of the background, of shape (d,)."""
    return _filled("center", center, d, "columns")


def check_above(name: str, value: float, *, bound: float) -> float:
    """Single number greater than `bound`."""
    number = _numbers(name, value)
    if number.ndim != 0 or number <= bound:
        msg = f"{name} = {value!r}, but it must be a single number greater than {bound:g}."
        raise ParameterError(msg)
    return float(number)


def check_whole(name: str, value: SupportsIndex, *, least: int) -> int:
    """Whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        msg = f"{name} = {value!r}, but it must be a whole number of at least {least}."
        raise ParameterError(msg)
    return number


def check_rng(rng: Seed | None) -> np.random.Generator:
    """Generator that the seed starts, or the one given."""
    if rng is None:
        msg = (
            "rng = None would give different points on every run. Give a seed such as rng=0, or "
            "a numpy.random.Generator, so that the result can be reproduced."
        )
        raise ParameterError(msg)
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = f"rng = {rng!r} is no seed. Give a whole number of at least 0, or a Generator."
        raise ParameterError(msg) from error


def check_points(X: ArrayLike, d: int) -> NDArray[np.generic]:
    """X as it is stored, once it is known to be n rows of d real numbers."""
    points = np.asarray(X)
    if points.ndim != 2 or points.shape[1] != d:
        msg = (
            f"X has shape {points.shape}, but the model has dimension d = {d}. Give one row per "
            f"point, shape (n, {d}); X.reshape(1, -1) turns a single point into a row."
        )
        raise InputError(msg)
    if points.dtype.kind not in "biuf":
        msg = f"X has dtype {points.dtype}; densities need real numbers. Try X.astype(float)."
        raise InputError(msg)
    return points


def finite_blocks(X: NDArray[np.generic], k: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Consecutive rows of X as float64, few enough at a time to bound the memory.

    Converting here, and not the whole of X at once, keeps a memory-mapped file on disk.
    """
    n_rows = max(1, BLOCK_ENTRIES // max(X.shape[1], k + 1))
    for start in range(0, len(X), n_rows):
        rows = slice(start, start + n_rows)
        block = X[rows].astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if bad.size:
            row = start + int(bad[0])
            msg = f"X contains NaN or infinity, first in row {row}. Drop or fill such rows."
            raise InputError(msg)
        yield rows, block


def _numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} cannot be read as numbers ({error}). Give numbers or an array of numbers."
        raise ParameterError(msg) from error
    if not np.isfinite(array).all():
        msg = f"{name} contains NaN or infinity; every entry must be finite. Replace or drop it."
        raise ParameterError(msg)
    return array


def _filled(name: str, value: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    """One number for each of `size` things; a single number is for all of them."""
    array = _numbers(name, value)
    if array.shape not in ((), (size,)):
        msg = (
            f"{name} has shape {array.shape}, but means has {size} {what}. "
            f"Give {size} numbers, or a single one for all {what}."
        )
        raise ParameterError(msg)
    return _read_only(np.broadcast_to(array, (size,)).copy())


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array
