"""Two coordinates for each row, to draw a map: a shadow of the data, always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.search import Floats

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

VIEWS = ("clusters", "pca")
_SAMPLE = 8192
_BLOCK = 4096


def project(X: Floats, view: str, members: Sequence[NDArray[Any]]) -> F32:
    """Coordinates of shape (2, n).

    "pca" are the two directions in which the rows spread most. In a background of many
    dimensions that says little about the clusters, so "clusters" first takes the directions in
    which their means lie apart, seen from the mean of a sample of all rows. Two columns
    stay as they are.
    """
    middle = X[_sample(len(X))].astype(np.float64).mean(axis=0)
    with threadpool_limits(limits=1, user_api="blas"):
        axes = np.eye(2) if X.shape[1] == 2 else np.zeros((0, X.shape[1]))
        if view == "clusters" and members and len(axes) < 2:
            means = np.array([X[rows].astype(np.float64).mean(axis=0) for rows in members[:256]])
            axes = _leading(means - middle, 2)
        if len(axes) < 2:
            axes = _completed(axes, _principal(X, middle))
        out = np.empty((2, len(X)), dtype=np.float32)
        for start in range(0, len(X), _BLOCK):
            part = slice(start, start + _BLOCK)
            out[:, part] = axes @ (X[part].astype(np.float64) - middle).T
    return out


def _sample(n: int) -> NDArray[np.intp]:
    return np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)


def _principal(X: Floats, middle: F64) -> F64:
    return _leading(X[_sample(len(X))].astype(np.float64) - middle, 3)


def _leading(rows: F64, count: int) -> F64:
    """Unit directions of largest spread, each with its largest entry positive."""
    scale = float(np.abs(rows).max(initial=0.0))
    if scale == 0.0:
        return np.zeros((0, rows.shape[1]))
    rows = rows / scale
    if len(rows) > rows.shape[1]:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        values, axes = values[::-1], vectors.T[::-1]
    else:
        axes, values = np.linalg.svd(rows, full_matrices=False)[2], np.ones(0)
        values = np.square(rows @ axes.T).sum(axis=0)
    keep = values[:count] > 1e-12 * values[0]
    axes = axes[:count][keep]
    largest = np.abs(axes).argmax(axis=1)
    return np.asarray(axes * np.sign(axes[np.arange(len(axes)), largest])[:, None])


def _completed(axes: F64, more: F64) -> F64:
    """Two directions: those given, then others made perpendicular to them."""
    d = more.shape[1]
    for axis in [*more, *np.eye(d)[:3]]:
        rest = axis - axes.T @ (axes @ axis)
        length = float(np.sqrt(np.square(rest).sum()))
        if len(axes) < 2 and length > 1e-6:
            axes = np.vstack([axes, rest / length])
    return np.vstack([axes, np.zeros((2 - len(axes), d))])
