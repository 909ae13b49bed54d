"""Columns brought to one spread, rows to unit length, and the same done again to other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_HUGE = 1e300
DOMINATES = 0.99  # of the squared distances from one column


@dataclass(frozen=True)
class Scaling:
    """What was done to the rows before their distances were measured.

    Attributes
    ----------
    shift, scale : ndarray of shape (d,) or None
        Taken from each column, and what it was divided by; None when columns were left alone.
    normalize : bool
        Whether each row was then divided by its length.
    """

    shift: Floats | None = None
    scale: Floats | None = None
    normalize: bool = False

    @property
    def names(self) -> list[str]:
        """Flags that ask for it, in the order in which it is done."""
        standardize = ["standardize"] if self.shift is not None else []
        return [*standardize, *(["normalize"] if self.normalize else [])]

    def apply(self, X: NDArray[Any]) -> NDArray[Any]:
        """Do it to rows; float32 stays float32."""
        if self.shift is not None and self.scale is not None:
            kind = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
            part = np.where(np.abs(self.shift) > _HUGE, 0.25, 1.0)  # or a difference may overflow
            X = (X * part - self.shift * part) / (self.scale * part)
            X = X.astype(kind, copy=False)
        return _unit_rows(X) if self.normalize else X


def standardizing(X: NDArray[Any], *, normalize: bool = False) -> Scaling:
    """Scaling that brings every column to mean 0 and standard deviation 1.

    A column that is the same in every row stays so, at 0.

    >>> standardizing(np.array([[1.0, 5.0], [3.0, 5.0]])).apply(np.array([[2.0, 6.0]]))
    array([[0., 1.]])
    """
    mean, deviation = _moments(X)
    return Scaling(mean, np.where(deviation > 0, deviation, 1.0), normalize)


def dominating_column(X: NDArray[Any]) -> tuple[int, float, Floats] | None:
    """The column that makes nearly all of the squared distances, its share, and all spans.

    Seen on at most some 10,000 rows, evenly spread. None when there is no such column.

    >>> dominating_column(np.array([[0.0, 0.0], [1.0, 9000.0], [0.0, 100.0]]))[0]
    1
    """
    some = np.asarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)
    with np.errstate(over="ignore"):
        spans = np.ptp(some, axis=0)
    if (spans > 0).sum() < 2 or not np.isfinite(spans.max()):
        return None
    variance = variances(some, spans)
    j = int(variance.argmax())
    share = float(variance[j] / variance.sum())
    return (j, share, spans) if share >= DOMINATES else None


def variances(X: Floats, spans: Floats) -> Floats:
    """Variance of each column over the square of the widest span, or it may overflow.

    From the first row: the mean of a column of one value is not always that value.
    """
    scaled = X / spans.max()
    variance: Floats = np.square((scaled - scaled[0]).std(axis=0))
    return variance


def _unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows divided by their length, those of zeros left alone; float32 stays float32."""
    rows = X.astype(np.float64, copy=False)
    rows = np.ldexp(rows, -_exponents(np.abs(rows).max(axis=1, keepdims=True, initial=0.0)))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1.0)
    return rows.astype(X.dtype if X.dtype.kind == "f" else np.float64, copy=False)


def _moments(X: NDArray[Any]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, block by block, in three passes."""
    n = len(X)
    blocks = [slice(start, start + 4096) for start in range(0, n, 4096)]
    largest = [np.abs(np.asarray(X[b], dtype=np.float64)).max(axis=0) for b in blocks]
    exponents = _exponents(np.max(largest, axis=0))

    def scaled(b: slice) -> Floats:
        return np.ldexp(np.asarray(X[b], dtype=np.float64), -exponents)

    mean = np.asarray(sum(scaled(b).sum(axis=0) for b in blocks) / n)
    squares = sum(np.square(scaled(b) - mean).sum(axis=0) for b in blocks)
    deviation = np.sqrt(np.asarray(squares / n))
    # What is left of a constant column is rounding, and would become noise of unit spread.
    deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)
    return np.ldexp(mean, exponents), np.ldexp(deviation, exponents)


def _exponents(largest: Floats) -> NDArray[np.int32]:
    """Powers of two that bring numbers to 1, which changes no bit; squares of 1e160 overflow."""
    return np.frexp(largest)[1]
