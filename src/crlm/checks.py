"""From what the user gave to what the numerics need, or a sentence that says what to do.

One function for each parameter; each returns the clean value.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, ParameterError
from crlm.loss import MAX_TOTAL
from crlm.search import Floats, Weights

# Squares of numbers beyond this, or of those below its inverse, leave the range of float64.
_MAX_VALUE = 1e150
_MAX_THREADS = 256
_FALLBACK_MEMORY = 4_000_000_000
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def check_sigma_max(value: object) -> float | Literal["auto", "histogram"]:
    """Bandwidth in the units of the data, or the name of a rule."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str) and value == "histogram":
        return "histogram"
    if not 1 / _MAX_VALUE <= _real(value) <= _MAX_VALUE:
        msg = (
            f"sigma_max must be a positive number (1e-150 to 1e150), 'auto' or 'histogram', got "
            f"{value!r}. It is a length in the units of X: take a little over twice the spread of "
            f"the widest cluster."
        )
        raise ParameterError(msg)
    return _real(value)


def check_sigmas(value: object) -> NDArray[np.float64]:
    """Bandwidths of a path, ascending."""
    sigmas = _numbers(value)
    if sigmas.ndim != 1 or not len(sigmas):
        msg = (
            f"sigmas must be a list of bandwidths, got {_describe(value)}. For example "
            f"np.geomspace(1, 10, 20), in the units of X."
        )
        raise ParameterError(msg)
    for sigma in sigmas.tolist():
        check_sigma_max(sigma)
    return np.sort(sigmas)


def check_G(value: object) -> float | Literal["auto"]:
    """Depth of the loss, greater than 1, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if not 1.0 < _real(value) <= 1e6:
        msg = (
            f"G must be a number greater than 1 (at most 1e6) or 'auto', got {value!r}. "
            f"The paper takes 4."
        )
        raise ParameterError(msg)
    return _real(value)


def check_alpha(value: object) -> float | None:
    """Chance of reporting a cluster where there is none, or None for no test."""
    if value is None:
        return None
    if not 0.0 < _real(value) < 1.0:
        msg = (
            f"alpha must be a number between 0 and 1, or None for no test, got {value!r}. It is "
            f"the chance of reporting any cluster where there is only background; 0.01 is usual."
        )
        raise ParameterError(msg)
    return _real(value)


def check_max_clusters(value: object) -> int | None:
    """Upper limit on the number of clusters, or None."""
    if value is None:
        return None
    return min(_whole("max_clusters", value, "None takes as many as there are"), sys.maxsize)


def check_min_cluster_size(value: object) -> int:
    """Fewest points that make a cluster."""
    return _whole("min_cluster_size", value, "2 is the paper's rule")


def check_metric(value: object) -> Literal["euclidean", "cosine"]:
    """Name of the metric."""
    if value == "euclidean":
        return "euclidean"
    if value == "cosine":
        return "cosine"
    msg = f"metric must be 'euclidean' or 'cosine', got {value!r}."
    raise ParameterError(msg)


def check_n_landmarks(value: object) -> int | Literal["auto"] | None:
    """Number of candidate centres, "auto", or None for every row."""
    if value is None:
        return None
    if isinstance(value, str) and value == "auto":
        return "auto"
    if not _is_whole(value) or value < 1:  # type: ignore[operator]
        msg = (
            f"n_landmarks must be a whole number of at least 1, 'auto' or None, got {value!r}. "
            f"None is exact; some 5 over the share of rows in the smallest cluster is enough to "
            f"find it."
        )
        raise ParameterError(msg)
    return int(value)  # type: ignore[call-overload,no-any-return]


def check_refine(value: object) -> bool:
    """True or False, and nothing that is only like it."""
    if not isinstance(value, bool | np.bool_):
        msg = f"refine must be True or False, got {value!r}."
        raise ParameterError(msg)
    return bool(value)


def check_min_weight(value: object) -> float:
    """Share of rows in the smallest cluster that landmarks must not miss."""
    meaning = "the share of all rows in the smallest cluster that must not be missed"
    return _share("min_weight", value, meaning)


def check_delta(value: object) -> float:
    """Chance of missing such a cluster."""
    return _share("delta", value, "the chance of missing a cluster")


def _share(name: str, value: object, meaning: str) -> float:
    """A number between 0 and 1."""
    if not 0.0 < _real(value) < 1.0:
        msg = f"{name} must be a number between 0 and 1, got {value!r}. It is {meaning}."
        raise ParameterError(msg)
    return _real(value)


def check_random_state(value: object) -> int:
    """Seed of the draw of landmarks; None is 0, so that equal data give equal labels."""
    if value is None:
        return 0
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31))
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**31))
    if not _is_whole(value) or value < 0:  # type: ignore[operator]
        msg = (
            f"random_state must be None, a whole number of at least 0, or a generator of NumPy, "
            f"got {value!r}. Only the draw of landmarks depends on it."
        )
        raise ParameterError(msg)
    return int(value)  # type: ignore[call-overload,no-any-return]


def check_n_jobs(value: object) -> int:
    """Number of threads; None and -1 mean every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if value is None or (_is_whole(value) and value == -1):
        return cores or 1
    return min(_whole("n_jobs", value, "None or -1 uses every core"), _MAX_THREADS)


def check_memory_limit(value: object) -> int:
    """Bytes that a fit may allocate; "auto" is half of what is free.

    >>> check_memory_limit("2GB"), check_memory_limit("1.5 MB"), check_memory_limit(10**6)
    (2000000000, 1500000, 1000000)
    """
    if isinstance(value, str) and value == "auto":
        return _free_memory() // 2
    if _is_whole(value) and value > 0:  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload,no-any-return]
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", value, re.IGNORECASE)
        if match and (n_bytes := int(float(match[1]) * _UNITS[match[2].upper()])) > 0:
            return n_bytes
    msg = f"memory_limit must be 'auto', a number of bytes or a size such as '2GB', got {value!r}."
    raise ParameterError(msg)


def check_progress(value: object) -> Callable[[int, int], object] | None:
    """None, or a function of (done, total)."""
    if value is None or callable(value):
        return value
    msg = f"progress must be None or a function called as progress(done, total), got {value!r}."
    raise ParameterError(msg)


def check_table(X: Any) -> Any:
    """Refuse a dataframe with columns that are not numbers, naming them; pass the rest on.

    Any dataframe that narwhals knows (pandas, polars, pyarrow, ...) is understood.
    """
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        n_masked = int(np.ma.getmaskarray(X).sum())
        msg = (
            f"X is a masked array with {n_masked:,} masked values, and crlm has no use for missing "
            f"ones. Drop their rows: X = np.ma.compress_rows(X)."
        )
        raise InputError(msg)
    if type(X) in (set, frozenset, dict):  # exactly: some sparse matrices are dicts
        msg = (
            f"X is a {type(X).__name__}, which has no first or second row. Pass an array, a list "
            f"of rows or a dataframe: pandas.DataFrame(X), if its items are columns."
        )
        raise InputError(msg)
    if getattr(getattr(X, "dtype", None), "names", None):
        msg = (
            f"X is a structured array with the fields {', '.join(map(repr, X.dtype.names[:5]))}. "
            f"Make a table of it: numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
        raise InputError(msg)
    if isinstance(X, np.ndarray):
        _check_array(X)
    if not nw.dependencies.is_into_dataframe(X):
        return X
    table = nw.from_native(X, eager_only=True)
    text = [name for name, dtype in table.schema.items() if not _is_numeric(dtype)]
    if text:
        names = ", ".join(map(repr, text[:5])) + (", ..." if len(text) > 5 else "")
        msg = (
            f"X has {len(text)} of {len(table.columns)} columns that are not numbers: {names}. "
            f"Drop them, or select the numeric columns."
        )
        raise InputError(msg)
    return table.to_native()


def _check_array(X: NDArray[Any]) -> None:
    """Refuse what is no table of numbers without printing all of it; the words are scikit-learn's.

    (Its own message holds the array.)
    """
    if X.ndim < 2:
        msg = (
            f"Expected 2D array, got {X.ndim}D: {_describe(X)}. Reshape your data: "
            f"X.reshape(-1, 1) if these are one column, X.reshape(1, -1) if they are one row."
        )
        raise InputError(msg)
    if X.dtype.kind == "c":
        msg = (
            f"Complex data not supported: X is {_describe(X)}. Take their parts for columns: "
            f"np.hstack([X.real, X.imag])."
        )
        raise InputError(msg)


def check_points(X: Any, metric: str = "euclidean") -> Floats:
    """Data as C-contiguous float32 or float64, finite, and for "cosine" of unit length.

    Small integers and float16 become float32, which holds them exactly. The caller's array is
    never written to, and not copied when it is already in the right form.
    """
    X = np.asarray(X)
    if X.ndim != 2 or not X.shape[1] or X.dtype.kind not in "biuf":
        msg = (
            f"X must be a table of numbers, rows by columns, got {_describe(X)}. One column of "
            f"numbers: X.reshape(-1, 1); one row: X.reshape(1, -1)."
        )
        raise InputError(msg)
    small = X.dtype.kind in "biuf" and X.dtype.itemsize <= (4 if X.dtype.kind == "f" else 2)
    points = _as(np.float32, X) if small else _as(np.float64, X)
    _check_finite(points)
    return _unit_rows(points) if metric == "cosine" else points


def check_weights(sample_weight: Any, n: int, G: float) -> Weights:
    """How many points each row stands for: int64 when they are whole numbers, else float64."""
    weights = np.ones(n) if sample_weight is None else _numbers(sample_weight)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        msg = (
            f"sample_weight must hold one finite number >= 0 for each of the {n} rows, got "
            f"{_describe(sample_weight)}. A weight is how many points a row stands for."
        )
        raise InputError(msg)
    if not weights.any():
        raise InputError("sample_weight is zero for every row, so there is nothing to fit.")
    if weights.sum() * G >= MAX_TOTAL:
        msg = (
            f"the rows count for {weights.sum():.3g} points; with G = {G:g} the losses fit in "
            f"64 bits only up to {MAX_TOTAL / G:.3g}. Use a smaller G, or divide sample_weight "
            f"by a constant."
        )
        raise InputError(msg)
    whole = weights.astype(np.int64)
    return whole if np.array_equal(whole, weights) else weights


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean or dtype == nw.Object)


def _real(value: object) -> float:
    """The number, or NaN, which lies in no range, for anything that is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _whole(name: str, value: object, hint: str) -> int:
    if not _is_whole(value) or value < 1:  # type: ignore[operator]
        msg = f"{name} must be a whole number of at least 1, got {value!r}. {hint}."
        raise ParameterError(msg)
    return int(value)  # type: ignore[call-overload,no-any-return]


def _numbers(value: Any) -> NDArray[np.float64]:
    """An array of real numbers, or one without shape for anything else."""
    try:
        array = np.asarray(value)
        real = array.dtype.kind in "biufO" and not np.ma.is_masked(value)
        return array.astype(np.float64) if real else np.empty(())
    except (TypeError, ValueError):
        return np.empty(())


def _describe(value: Any) -> str:
    try:
        array = np.asarray(value)
    except ValueError:
        return "rows of different lengths"
    return repr(value) if array.ndim == 0 else f"an array of shape {array.shape}, {array.dtype}"


def _check_finite(X: Floats) -> None:
    # Two reductions and no temporary; a NaN anywhere makes both of them NaN.
    largest = max(-float(X.min(initial=0.0)), float(X.max(initial=0.0)))
    if largest == 0.0 or 1 / _MAX_VALUE <= largest <= _MAX_VALUE:
        return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        first = ", ".join(map(str, bad[:3]))
        msg = (
            f"X has {len(bad)} {'row' if len(bad) == 1 else 'rows'} with NaN or inf (first: "
            f"{first}). Drop or fill them; with arrays, X = X[np.isfinite(X).all(axis=1)]."
        )
    elif largest < 1.0:
        msg = (
            f"X has no value larger than {largest:.3g}; squares of numbers below "
            f"{1 / _MAX_VALUE:g} do not fit a float64. Multiply X by a constant."
        )
    else:
        row = int(np.abs(X).max(axis=1).argmax())
        msg = (
            f"X has a value of {np.abs(X).max():.3g} (row {row}); squares of numbers beyond "
            f"{_MAX_VALUE:g} do not fit a float64. Divide X by a constant, or drop the row."
        )
    raise InputError(msg)


def _unit_rows(X: Floats) -> Floats:
    """Rows divided by their length; the length is taken in float64 and safe from overflow."""
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    zero = np.flatnonzero(largest == 0)
    if len(zero):
        msg = (
            f"metric='cosine' needs a direction, but {len(zero)} rows of X are all zeros "
            f"(first: {', '.join(map(str, zero[:3]))}). Drop them: X = X[X.any(axis=1)]."
        )
        raise InputError(msg)
    scaled = X / largest
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    unit = scaled / lengths
    return _as(np.float32, unit) if X.dtype == np.float32 else _as(np.float64, unit)


def _as(dtype: type[np.float32] | type[np.float64], X: NDArray[Any]) -> Floats:
    """`X` itself, or a C-contiguous copy of another type."""
    if dtype is np.float32:
        return np.ascontiguousarray(X, dtype=np.float32)
    return np.ascontiguousarray(X, dtype=np.float64)


def _free_memory() -> int:
    """Bytes that can be taken without swapping, as the system tells it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return _FALLBACK_MEMORY
