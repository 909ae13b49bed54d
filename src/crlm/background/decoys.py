"""Decoys: data that are like the given ones in some way, and have no clusters.

* *Columns.* Each column is smoothed, so far that a cluster does not show in it, and put in an order
  of its own. What is found in the rows of such a decoy is how the columns look (skewed ones have
  arms, discrete ones are a lattice), and no cluster. If the columns of a background are independent
  and smooth, a decoy is as good as another draw of it.
* *Normal.* Normal draws with the covariance of the rows. What is found in them is how columns hang
  together: random walks vary along a few directions most and along others less and less, so that
  some places look crowded by chance.
* *Stretched.* The same, as far from the middle as the rows are. Where all columns of a row are
  large or small together, as with Student's t, the middle is crowded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import lapack

from crlm.background.references import fingerprints, nearest_first
from crlm.search.parallel import one_blas_thread

F64 = NDArray[np.float64]
Draw = Callable[[int], F64]  # the decoy of a number

# Between knots a column is nearly as a normal one would be. A standard deviation apart, a third of
# the rows lies between two in the middle, and a cluster that has less leaves no trace.
_KNOTS_APART = 1.0
# Share of a step over which a kink is rounded off. Less leaves edges, and more takes away the ends
# of columns that are densest there.
_ROUNDED = 0.25
# Share of the rows that have one value, which the column then has there: "none", "off the scale".
_ATOM = 0.1
_BLOCK = 128  # rows drawn at a time: 2 MB of numbers
_TINY = np.finfo(np.float64).tiny


def column_decoys(points: F64, step: int = 1, *, is_flat: bool = False) -> Draw:
    """Decoys with the columns of some points; as many, or a part of `step` of them.

    They are always the same ones, however the rows are ordered. Equal columns stay equal: they are
    one column that counts more. If the points are flat they span up to three dimensions.
    """
    columns = points.T.copy()
    marks = fingerprints(columns).tolist()
    n_equal = Counter(marks)
    columns.sort(axis=1)
    columns = columns[:, ::step].copy()
    _smooth(columns, round_off=is_flat)

    def draw(seed: int) -> F64:
        rng = np.random.default_rng(seed)
        kept: dict[int, NDArray[np.int64]] = {}
        decoy = np.empty_like(columns)
        for mark, column, out in zip(marks, columns, decoy, strict=True):
            order = kept[mark] if mark in kept else rng.permutation(len(column))
            if n_equal[mark] > 1:
                kept[mark] = order
            out[:] = column[order]
        return np.ascontiguousarray(decoy.T)

    return draw


def normal_decoys(points: F64, step: int = 1) -> Draw:
    """Decoys with the covariance of some points; as many, or a part of `step` of them.

    A sum of rows that have it, each times a normal number, has it too: of all points, or where
    there are far fewer columns, of as many rows as these. They too are always the same ones.
    """
    size, rows = -(-len(points) // step), _centred(points) / np.sqrt(len(points))
    distinct, which = _distinct_columns(rows)
    if 2 * distinct.shape[1] <= len(points):  # with more, their root takes longer than it saves
        rows = _root(distinct)[:, which]

    def draw(seed: int) -> F64:
        rng = np.random.default_rng(seed)
        decoy = np.empty((size, rows.shape[1]))
        for at in range(0, len(decoy), _BLOCK):
            part = decoy[at : at + _BLOCK]
            part[:] = rng.standard_normal((len(part), len(rows))) @ rows
        return decoy

    return draw


def stretched_decoys(points: F64) -> Draw:
    """Normal decoys, the nearest to the middle put as far from it as the nearest row, and so on.

    The distances are smoothed as columns are.
    """
    normal = normal_decoys(points)
    knots, x = _knots(len(points))
    far = np.sort(np.linalg.norm(_centred(points), axis=1))
    far = _straight(far[knots], x)

    def draw(seed: int) -> F64:
        decoy = normal(seed)
        length = np.linalg.norm(decoy, axis=1)
        order = np.argsort(length, kind="stable")
        decoy[order] *= (far / np.maximum(length[order], _TINY))[:, None]
        return decoy

    return draw


def _centred(points: F64) -> F64:
    """Points less their mean, in an order of their own: sums depend on it in the last bit."""
    sq = np.square(points).sum(axis=1)
    points = points[nearest_first(sq, points, np.arange(len(points)))]
    centred: F64 = points - points.mean(axis=0)
    return centred


def _distinct_columns(points: F64) -> tuple[F64, NDArray[np.intp]]:
    """The columns that are no copy of an earlier one, and which of them each is."""
    marks = fingerprints(np.ascontiguousarray(points.T))
    _, at, which = np.unique(marks, return_index=True, return_inverse=True)
    order = np.argsort(at)
    return points[:, at[order]], np.argsort(order)[which]


def _root(points: F64) -> F64:
    """As few rows as there are columns, or fewer, with the same sums of products.

    The columns that vary most come first (a pivoted Cholesky factor), wherever they stand.
    """
    with one_blas_thread():  # more may add up in another order
        factor, pivots, rank, _ = lapack.dpstrf(points.T @ points)
    root = np.empty((rank, points.shape[1]))
    root[:, pivots - 1] = np.triu(factor[:rank])
    return root


def _smooth(columns: F64, *, round_off: bool) -> None:
    """Leave columns (each a row here, ascending) as they are at a few quantiles only.

    Straight lines in normal scores join these. With a kink at each there is an edge, and a crowd
    where edges of two columns cross: that is seen in few dimensions, and so rounded off there.
    """
    join = _rounded_off if round_off else _straight
    for column in columns:
        common = _in_atoms(column)
        values = column[~common]
        if 0 < len(values) <= _ATOM * len(column):  # they may be those of a cluster
            column[~common] = _nearest(values, np.unique(column[common]))
        elif len(values) > 1:
            knots, x = _knots(len(values))
            smooth = join(values[knots], x)
            has_few_values = (values[1:] == values[:-1]).any()
            ends = values[0], values[-1]
            column[~common] = _nearest(smooth, values) if has_few_values else np.clip(smooth, *ends)


def _in_atoms(column: F64) -> NDArray[np.bool_]:
    """Which of some ascending values are shared by so many that they are no chance.

    Nothing is smoothed there: half of a column may be zeros, and with more or fewer of them it
    would be another column.
    """
    first = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    counts = np.diff(first, append=len(column))
    return np.repeat(counts > _ATOM * len(column), counts)


def _knots(n: int) -> tuple[NDArray[np.intp], F64]:
    """Which of `n` ascending values stay, and where all of them lie between these."""
    z = special.ndtri((np.arange(n) + 0.5) / n)
    n_knots = 2 * max(1, int(np.ceil(z[-1] / _KNOTS_APART))) + 1
    at = np.interp(np.linspace(z[0], z[-1], n_knots), z, np.arange(n))
    knots = np.unique(np.rint(at).astype(np.intp))
    return knots, np.interp(z, z[knots], np.arange(len(knots)))


def _straight(value: F64, x: F64) -> F64:
    """Values at places between some, joined by lines."""
    low = np.minimum(x.astype(np.intp), len(value) - 2)
    share = x - low
    straight: F64 = (1.0 - share) * value[low] + share * value[low + 1]
    return straight


def _rounded_off(value: F64, x: F64) -> F64:
    """The mean of these lines over a part of a step around each place."""
    ends = [2.0 * value[0] - value[1]], [2.0 * value[-1] - value[-2]]
    kinks = np.diff(np.concatenate([ends[0], value, ends[1]]), n=2)
    near = np.rint(x).astype(np.intp)
    off = np.maximum(_ROUNDED / 2.0 - np.abs(x - near), 0.0)
    mean: F64 = _straight(value, x) + kinks[near] * off**2 / (2.0 * _ROUNDED)
    return mean


def _nearest(x: F64, values: F64) -> F64:
    """Nearest one of some ascending values to each number."""
    above = np.searchsorted(values, x)
    lower, upper = values[np.maximum(above - 1, 0)], values[np.minimum(above, len(values) - 1)]
    nearest: F64 = np.where(x - lower <= upper - x, lower, upper)
    return nearest
