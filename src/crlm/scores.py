"""How well found labels agree with true ones, and found means with true ones.

Labels are whole numbers and -1 is background. Which number a cluster has never matters: found
clusters are matched with true ones where the score asks for it. `f_measure` is the one to
trust when most rows are background; the others are near 1 as soon as the background is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse
from scipy.spatial import distance

from crlm.errors import InputError
from crlm.labels import BACKGROUND


def f_measure(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Average F-measure over the true clusters, each against its matched found cluster.

    A true cluster of n_j rows and a found one of m_l rows that share n_jl rows have
    ``F = 2 * n_jl / (n_j + m_l)``. Clusters are matched one to one so that the sum of F is
    largest; a true cluster left without a match counts 0. Background is not a cluster, but its
    rows count in n_j and m_l when one side calls them a cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)
        Labels, -1 for background.

    Returns
    -------
    f : float
        In [0, 1]. Without any true cluster: 1 if none was found, otherwise 0. Found clusters
        in excess are not punished otherwise.

    Examples
    --------
    The first cluster is found whole, the second with one of its two rows:

    >>> f_measure([0, 0, 1, 1, -1, -1], [5, 5, 2, -1, -1, -1])
    0.8333333333333333
    """
    labels_true, labels_pred, table = _contingency(y_true, y_pred)
    is_true, is_found = labels_true != BACKGROUND, labels_pred != BACKGROUND
    if not is_true.any():
        return float(not is_found.any())
    n_true, n_pred = _margins(table)
    overlap = table[is_true][:, is_found].toarray()
    F = 2.0 * overlap / (n_true[is_true, np.newaxis] + n_pred[is_found])
    return _best_total(F) / int(is_true.sum())


def matched_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows with the right label, after the best one-to-one matching of labels.

    Background is a label like any other. This is what the tables of the paper call Rand Index.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    accuracy : float
        In [0, 1]; 1 without any row.

    Examples
    --------
    >>> matched_accuracy([0, 0, 1, 1, -1], [7, 7, 7, 3, -1])
    0.8
    """
    _, _, table = _contingency(y_true, y_pred)
    n = int(table.sum())
    return _best_total(table.toarray()) / n if n else 1.0


def rand_index(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of pairs of rows that both labellings put together, or both put apart.

    Background is a label like any other. Not corrected for chance.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    rand : float
        In [0, 1]; 1 with fewer than two rows.

    Examples
    --------
    Of six pairs, (0, 1), (0, 3) and (1, 3) agree:

    >>> rand_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    _, _, table = _contingency(y_true, y_pred)
    n = int(table.sum())
    if n < 2:
        return 1.0
    # Ordered pairs, in whole numbers: sums of squares are at most n**2, and so fit in int64.
    n_true, n_pred = _margins(table)
    together = _sum_sq(table.data)
    apart = n**2 - _sum_sq(n_true) - _sum_sq(n_pred) + together
    return (together - n + apart) / (n * (n - 1))


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows whose true label is the most frequent one under their found label.

    Background is a label like any other. Splitting clusters never lowers it: with every row
    in a cluster of its own purity is 1.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    purity : float
        In [0, 1]; 1 without any row.

    Examples
    --------
    >>> purity([0, 0, 1, 1, -1], [0, 0, 0, -1, -1])
    0.6
    """
    _, _, table = _contingency(y_true, y_pred)
    n = int(table.sum())
    return int(table.max(axis=0).sum()) / n if n else 1.0


def mean_error(means: ArrayLike, means_hat: ArrayLike) -> float:
    """Average distance from the true means to the estimates, under the best matching.

    The criterion of the paper's convergence plots (`fig:loglog`).

    Parameters
    ----------
    means : array-like of shape (k, d)
        True means.
    means_hat : array-like of shape (m, d)
        Estimates in any order. With more than k of them, the best k count.

    Returns
    -------
    error : float
        Infinite with fewer than k estimates, since a missing mean has no finite error; 0 if
        there is no true mean.

    Examples
    --------
    >>> mean_error([[0.0, 0.0], [10.0, 0.0]], [[10.0, 1.0], [0.0, 0.0], [50.0, 50.0]])
    0.5
    """
    mu, mu_hat = _checked_means("means", means), _checked_means("means_hat", means_hat)
    if mu.shape[1] != mu_hat.shape[1]:
        msg = (
            f"means has {mu.shape[1]} columns and means_hat {mu_hat.shape[1]}; both must have "
            "one column per dimension. Give the means of the same features."
        )
        raise InputError(msg)
    if len(mu_hat) < len(mu):
        return float("inf")
    dist = distance.cdist(mu, mu_hat)
    return -_best_total(-dist) / len(mu) if len(mu) else 0.0


def _best_total(gain: NDArray[np.generic]) -> float:
    """Largest sum of entries with at most one from each row and each column.

    As many entries are taken as the shorter side has, also where they are 0 or negative.

    >>> _best_total(np.array([[3, 2], [2, 0], [0, 0]]))
    4.0
    """
    return float(gain[optimize.linear_sum_assignment(gain, maximize=True)].sum())


def _contingency(
    y_true: ArrayLike, y_pred: ArrayLike
) -> tuple[NDArray[np.integer], NDArray[np.integer], sparse.csr_array]:
    """Find the labels in use on either side, and how many rows have each pair of them."""
    true, pred = _checked_labels("y_true", y_true), _checked_labels("y_pred", y_pred)
    if len(true) != len(pred):
        msg = (
            f"y_true has {len(true)} labels and y_pred {len(pred)}; both must label the same "
            "rows. Check that the same rows were dropped from both."
        )
        raise InputError(msg)
    labels_true, i = np.unique(true, return_inverse=True)
    labels_pred, j = np.unique(pred, return_inverse=True)
    ones = np.ones(len(true), dtype=np.int64)
    table = sparse.coo_array((ones, (i, j)), shape=(len(labels_true), len(labels_pred)))
    return labels_true, labels_pred, table.tocsr()  # tocsr adds up the ones


def _margins(table: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.asarray(table.sum(axis=1)), np.asarray(table.sum(axis=0))


def _sum_sq(counts: NDArray[np.int64]) -> int:
    return int(np.square(counts).sum())


def _checked_labels(name: str, y: ArrayLike) -> NDArray[np.integer]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        msg = f"{name} has shape {labels.shape}; give one label per row, shape (n,)."
        raise InputError(msg)
    if labels.size == 0:
        return labels.astype(np.int64)  # an empty list has no dtype of its own
    if labels.dtype.kind not in "iu":
        msg = (
            f"{name} has dtype {labels.dtype}; labels must be whole numbers, -1 for background. "
            "Convert a mask by np.where(mask, 0, -1), whole floats by y.astype(int), names by "
            "np.unique(names, return_inverse=True)[1]."
        )
        raise InputError(msg)
    return labels


def _checked_means(name: str, means: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(means, dtype=np.float64)
    if array.ndim != 2:
        msg = (
            f"{name} has shape {array.shape}; give one row per mean, shape (k, d), also for a "
            "single mean: [[...]]."
        )
        raise InputError(msg)
    if not np.isfinite(array).all():
        msg = f"{name} contains NaN or infinity; a distance needs finite means. Drop such rows."
        raise InputError(msg)
    return array
