"""A plane to look at the data in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

F64 = NDArray[np.float64]

_FEW = 32  # columns up to which all directions cost nothing


def project(X: NDArray[np.floating], centers: F64) -> F64:
    """Coordinates along the two directions in which the centres, or else the data, vary most.

    Two columns stay as they are.

    In high dimension the two directions of largest variance of background-dominated data show
    only background; the plane of the cluster centres shows the clusters.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    centers : ndarray of shape (k, d)
        Means of the clusters; there may be none.

    Returns
    -------
    xy : ndarray of shape (n, 2)
    """
    if X.shape[1] == 2:
        return X.astype(np.float64)  # nobody wants them turned
    middle = X.mean(axis=0, dtype=np.float64)
    basis = _directions(centers - middle)
    if len(basis) < 2:
        basis = np.concatenate([basis, _principal(X, middle, basis)])[:2]
    xy = np.zeros((len(X), 2))
    xy[:, : len(basis)] = (X - middle) @ basis.T
    return xy


def _directions(rows: F64) -> F64:
    """Right singular vectors of at most the two largest values that are not zero."""
    if not len(rows):
        return np.zeros((0, rows.shape[1]))
    _, size, directions = np.linalg.svd(rows, full_matrices=False)
    return _signed(directions[:2][size[:2] > 1e-12 * max(float(size[0]), 1e-300)])


def _principal(X: NDArray[np.floating], middle: F64, without: F64) -> F64:
    """Two principal directions of the data at right angles to those in `without`."""
    rest = X - middle
    rest -= rest @ without.T @ without
    d = rest.shape[1]
    if d <= _FEW:
        return _signed(np.linalg.eigh(rest.T @ rest)[1][:, ::-1].T[:2])
    spread = LinearOperator((d, d), matvec=lambda v: rest.T @ (rest @ v), dtype=np.float64)
    start = np.random.default_rng(0).normal(size=d)  # the same picture every time
    return _signed(eigsh(spread, k=2, v0=start)[1][:, ::-1].T)


def _signed(directions: F64) -> F64:
    """The same directions, each turned so that its largest entry is positive."""
    at = np.abs(directions).argmax(axis=1)
    signs: F64 = np.sign(directions[np.arange(len(directions)), at])
    return directions * signs[:, None]
