"""From the parameters a user gave to what the numerics need, or a sentence that says what to do.

One function for each; each returns the clean value. Data are checked in :mod:`crlm.data_checks`.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crlm.data_checks import MAX_VALUE, describe, numbers
from crlm.errors import ParameterError

_MAX_THREADS = 256
_FALLBACK_MEMORY = 4_000_000_000
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def check_sigma_max(value: object) -> float | Literal["auto", "histogram"]:
    """Bandwidth in the units of the data, or the name of a rule."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str) and value == "histogram":
        return "histogram"
    if not 1 / MAX_VALUE <= _real(value) <= MAX_VALUE:
        msg = (
            f"sigma_max must be a positive number (1e-150 to 1e150), 'auto' or 'histogram', got "
            f"{value!r}. It is a length in the units of X: 0.8 times the spread of the widest "
            f"cluster just holds it; up to twice, if nothing else is near."
        )
        raise ParameterError(msg)
    return _real(value)


def check_sigmas(value: object) -> NDArray[np.float64]:
    """Bandwidths of a path, ascending."""
    sigmas = numbers(value)
    if sigmas.ndim != 1 or not len(sigmas):
        msg = (
            f"sigmas must be a list of bandwidths, got {describe(value)}. For example "
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


def check_random_state(value: object, *, draw: bool = True) -> int:
    """Seed of the draw of landmarks; None is 0, so that equal data give equal labels.

    Without a `draw` generators are left as they are.
    """
    if value is None or (
        not draw and isinstance(value, np.random.RandomState | np.random.Generator)
    ):
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


def _free_memory() -> int:
    """Bytes that can be taken without swapping, as the system tells it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return _FALLBACK_MEMORY
