"""From the data a user gave to what the numerics need, or a sentence that says what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.loss import MAX_TOTAL
from crlm.search import Floats, Weights

# Squares of numbers beyond this, or of those below its inverse, leave the range of float64.
MAX_VALUE = 1e150
_TOO_CLOSE = (
    f"squares of differences below {1 / MAX_VALUE:g} do not fit a float64. Subtract what is "
    f"common and multiply by a constant: X = (X - X.min(axis=0)) * 1e100."
)
_EXACT = 2**53  # whole numbers up to here are told apart in float64


def check_table(X: Any) -> Any:
    """Return a dataframe of numbers as it is, and anything else as an array of rows and columns.

    Any dataframe that narwhals knows (pandas, polars, pyarrow, ...) is understood. Where
    scikit-learn has words for what is wrong, they are among ours.
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
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        msg = (
            f"X is a sparse matrix of shape {X.shape}, and distances need dense rows. Use "
            f"X.toarray(); if that is too large, reduce its columns first: "
            f"TruncatedSVD(100).fit_transform(X)."
        )
        raise InputError(msg)
    if nw.dependencies.is_into_dataframe(X):
        return _dataframe(X)
    return _array(X)


def _dataframe(X: Any) -> Any:
    try:
        table = nw.from_native(X, eager_only=True)
        # By place: in pandas a name may be any object, and a whole number would mean a row.
        columns = list(table.iter_columns())
    except nw.exceptions.DuplicateError as error:
        msg = "X is a dataframe with two columns of one name. Rename one of them, or drop it."
        raise InputError(msg) from error
    if not columns:
        raise InputError("X is a dataframe without columns. See whether a selection took all.")
    text = [column.name for column in columns if not _is_numeric(column.dtype)]
    if text:
        msg = (
            f"X has {len(text)} of {len(columns)} columns that are not numbers: {_listed(text)}. "
            f"Drop them, or select the numeric columns."
        )
        raise InputError(msg)
    long = [column.name for column in columns if column.dtype in (nw.Int128, nw.UInt128)]
    if long:
        msg = (
            f"X has whole numbers of 128 bits, which NumPy has not, in columns: {_listed(long)}. "
            f"Cast them to Int64 or Float64."
        )
        raise InputError(msg)
    for column in columns:
        if column.dtype == nw.Object:
            _check_objects(column.name, column.to_list())
    if any(column.dtype in (nw.Int64, nw.UInt64, nw.Object) for column in columns):
        check_whole([column.to_numpy() for column in columns])
    return table.to_native()


def _listed(names: list[Any]) -> str:
    """At most five names."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def _check_objects(name: Any, cells: list[Any]) -> None:
    """Refuse a column of a dataframe that has something in it that is no number."""
    for row, cell in enumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError, OverflowError) as error:
            if _is_missing(cell):
                continue
            msg = (
                f"X must be a table of numbers, but has {cell!r:.60} in row {row} of column "
                f"{name!r}. Drop or encode what is no number."
            )
            raise InputError(msg) from error


def _array(X: Any) -> NDArray[Any]:
    """Rows and columns of numbers."""
    try:
        array = _cells(X)
    except ValueError as error:
        msg = (
            "X has rows of different lengths. Pass a table with as many numbers in each row; "
            "`crlm embed` makes rows of as many out of pictures of any size."
        )
        raise InputError(msg) from error
    problem = _not_a_table(X, array)
    if problem is not None:
        raise InputError(problem)
    return _real_numbers(array)


def _cells(X: Any) -> NDArray[Any]:
    """What NumPy makes of a table; pandas' own types without a detour by objects."""
    plain = not nw.dependencies.is_pandas_like_dataframe(X) or all(
        isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in X.dtypes
    )
    if plain:
        return np.asarray(X)
    return np.column_stack([column.to_numpy() for column in nw.from_native(X).iter_columns()])


def _not_a_table(X: Any, array: NDArray[Any]) -> str | None:
    """What keeps an array from being rows and columns, and how to mend it."""
    if isinstance(X, str | os.PathLike):
        return f"X is the name {str(X)!r:.80}, not data. Read the file first, as np.load does."
    if array.dtype.names:
        fields = ", ".join(map(repr, array.dtype.names[:5]))
        return (
            f"X is a structured array with the fields {fields}. Make a table of it: "
            f"numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    if array.ndim == 0:
        fix = "np.array(list(X))" if hasattr(X, "__iter__") else "an array"
        return f"X must be a table of numbers, rows by columns, got {describe(X)}. Pass {fix}."
    if array.ndim == 1 and not array.size:
        return "X has no rows. See whether a filter took all of them."
    if array.ndim == 1 and isinstance(array[0], dict):
        return f"X is a list of {len(array):,} dicts. Make a table of it: pandas.DataFrame(X)."
    if array.ndim == 1:
        return (
            f"Expected 2D array, got 1D: {describe(X)}. Reshape your data: "
            f"X.reshape(-1, 1) if these are one column, X.reshape(1, -1) if they are one row."
        )
    if array.ndim > 2:
        return (
            f"Expected 2D array, got {array.ndim}D: {describe(X)}. If each of the {len(array):,} "
            f"is a row (a picture, say), X.reshape(len(X), -1) makes one of it."
        )
    if not array.shape[1]:
        return (
            f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is "
            f"required: X has no columns. See whether a selection took all of them."
        )
    return None


def has_mixed_names(table: Any) -> bool:
    """Whether some names of columns are words and some are not, which scikit-learn refuses."""
    if not nw.dependencies.is_pandas_like_dataframe(table):
        return False
    return len({isinstance(name, str) for name in table.columns}) > 1


def check_has_rows(table: Any) -> None:
    """Refuse what :func:`check_table` returned, if it has no rows; a block may have none."""
    if not len(table):
        msg = (
            f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
            f"required: X has no rows. See whether a filter took all of them."
        )
        raise InputError(msg)


def _real_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers that are told from text, dates and complex ones; objects are read one by one."""
    kind = array.dtype.kind
    if kind == "c":
        msg = (
            f"Complex data not supported: X is {describe(array)}. Take their parts for columns: "
            f"np.hstack([X.real, X.imag])."
        )
        raise InputError(msg)
    if kind in "biuf":
        return array
    if kind != "O":
        fix = {
            "M": "Turn dates into numbers first: (X - X.min()) / np.timedelta64(1, 'D')",
            "m": "Turn times into numbers first: X / np.timedelta64(1, 's')",
        }.get(
            kind,
            "Convert your data to numeric values: X.astype(float), if they are numbers in text",
        )
        msg = f"X must be a table of numbers, got {describe(array)}. {fix}."
        raise InputError(msg)
    try:
        numbers = _as_floats(array)
    except (ValueError, OverflowError) as error:
        raise InputError(_no_number(array, error)) from error
    except TypeError as error:
        raise TypeError(_no_number(array, error)) from error
    check_whole(list(array.T))
    return numbers


def _is_missing(cell: Any) -> bool:
    """Whether this stands for no value: None, or what pandas has for it."""
    pandas = nw.dependencies.get_pandas()  # None unless somebody imported it
    return cell is None or (pandas is not None and cell is pandas.NA)


def _no_number(array: NDArray[Any], error: Exception) -> str:
    """Name the first cell of an array of objects that is no number."""
    for row, cells in enumerate(array.tolist()):
        for column, cell in enumerate(cells):
            try:
                float(cell)
            except (TypeError, ValueError, OverflowError):
                if _is_missing(cell):
                    continue
                return (
                    f"X must be a table of numbers, but has {cell!r:.60} in row {row}, column "
                    f"{column} ({error}). Drop or encode what is no number."
                )
    return f"X must be a table of numbers: {error}."


def check_points(X: Any, metric: str = "euclidean", *, whole: bool = True) -> Floats:
    """Data as C-contiguous float32 or float64, finite, and for "cosine" of unit length.

    Small integers and float16 become float32, which holds them exactly. The caller's array is
    never written to, and not copied when it is already in the right form. `whole` says that these
    are all rows of the data: a few of them may well be next to zero.
    """
    X = _array(X)
    small = X.dtype.itemsize <= (4 if X.dtype.kind == "f" else 2)
    points = _as(np.float32, X) if small else _as(np.float64, X)
    _check_finite(points, whole=whole)
    if X.dtype.kind in "iu":
        check_whole(list(X.T))
    if metric == "cosine":
        points = _unit_rows(points)
    if whole:
        _check_spread(points)
    return points


def check_suggested(sigma_max: float) -> float:
    """Return a bandwidth that was read from data, or say that these lie too close together."""
    if sigma_max < 1 / MAX_VALUE:
        msg = f"X has clusters so narrow that sigma_max would be {sigma_max:.3g}; {_TOO_CLOSE}"
        raise InputError(msg)
    return sigma_max


def check_weights(sample_weight: Any, n: int, G: float) -> Weights:
    """How many points each row stands for: int64 when they are whole numbers, else float64."""
    if np.ma.is_masked(sample_weight):
        msg = "sample_weight must hold one finite number >= 0 for each row, but some are masked. "
        raise InputError(msg + "Fill them: sample_weight.filled(0) leaves these rows out.")
    weights = np.ones(n) if sample_weight is None else numbers(sample_weight)
    if weights.shape != (n,):
        msg = (
            f"sample_weight must hold one finite number >= 0 for each of the {n} rows, got "
            f"{describe(sample_weight)}. A weight is how many points a row stands for."
        )
        raise InputError(msg)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        msg = (
            f"sample_weight must hold one finite number >= 0 for each of the {n} rows, but "
            f"{len(bad):,} of them {'is' if len(bad) == 1 else 'are'} not (first: row {bad[0]} has "
            f"{weights[bad[0]]:g}). A weight is how many points a row stands for; 0 leaves it out."
        )
        raise InputError(msg)
    if not weights.any():
        msg = (
            "sample_weight is zero for every row, so there is nothing to fit. A weight is how many "
            "points a row stands for; leave sample_weight out to count each once."
        )
        raise InputError(msg)
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


def numbers(value: Any) -> NDArray[np.float64]:
    """An array of real numbers, or one without shape for anything else."""
    try:
        array = np.asarray(value)
        real = array.dtype.kind in "biufO" and not np.ma.is_masked(value)
        return array.astype(np.float64) if real else np.empty(())
    except (TypeError, ValueError, OverflowError):
        return np.empty(())


def describe(value: Any) -> str:
    """What a value is, in a few words."""
    try:
        array = np.asarray(value)
    except ValueError:
        return "rows of different lengths"
    return (
        f"{value!r:.80}" if array.ndim == 0 else f"an array of shape {array.shape}, {array.dtype}"
    )


def _check_finite(X: Floats, *, whole: bool) -> None:
    # Two reductions and no temporary; a NaN anywhere makes both of them NaN.
    largest = max(-float(X.min(initial=0.0)), float(X.max(initial=0.0)))
    least = 1 / MAX_VALUE if whole else 0.0
    if largest == 0.0 or least <= largest <= MAX_VALUE:
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
            f"{1 / MAX_VALUE:g} do not fit a float64. Multiply X by a constant."
        )
    else:
        row = int(np.abs(X).max(axis=1).argmax())
        msg = (
            f"X has a value of {np.abs(X).max():.3g} (row {row}); squares of numbers beyond "
            f"{MAX_VALUE:g} do not fit a float64. Divide X by a constant, or drop the row."
        )
    raise InputError(msg)


def _check_spread(X: Floats) -> None:
    """Refuse rows that differ by so little that their distances are all zero."""
    spread = 0.0
    for rows in (X[:100], X):  # the first few tell nearly always
        with np.errstate(over="ignore"):
            spread = float(np.ptp(rows, axis=0).max(initial=0.0)) if len(rows) else 0.0
        if spread >= 1 / MAX_VALUE:
            return
    if spread:
        msg = f"X has no two rows that differ by more than {spread:.3g} in any column; {_TOO_CLOSE}"
        raise InputError(msg)


def check_whole(columns: Sequence[NDArray[Any]]) -> None:
    """Refuse whole numbers so large that rows which differ would be copies of each other."""
    wholes = {j: whole for j, column in enumerate(columns) if (whole := _large(column)) is not None}
    if not wholes:
        return
    rough = np.column_stack([_as_floats(column) for column in columns])
    halves = [
        half.astype(np.float64)
        for whole in wholes.values()
        for half in (whole // 2**32, whole % 2**32)
    ]
    exact = np.column_stack([rough, *halves])
    if len(np.unique(exact, axis=0)) > len(np.unique(rough, axis=0)):
        msg = (
            f"X has whole numbers beyond 2**53 (column {min(wholes)}), which float64 cannot tell "
            f"apart, so that rows which differ would be equal. Subtract a constant: "
            f"X - X.min(axis=0); or leave the column out, if it is an id."
        )
        raise InputError(msg)


def _large(column: NDArray[Any]) -> NDArray[Any] | None:
    """Whole numbers of a column, some of them beyond float64; None if there are none such.

    In a column of objects, what is no whole number is 0.
    """
    if column.dtype.kind == "O":
        column = np.array([_whole(cell) for cell in column.tolist()], dtype=object)
    elif column.dtype.kind not in "iu" or column.dtype.itemsize < 8:
        return None
    return column if len(column) and max(-int(column.min()), int(column.max())) > _EXACT else None


def _whole(cell: Any) -> int:
    exact = isinstance(cell, Integral) or (isinstance(cell, float) and cell.is_integer())
    return int(cell) if exact else 0


def _as_floats(array: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as float64; what is missing among objects is NaN."""
    if array.dtype.kind == "O":
        missing = np.frompyfunc(_is_missing, 1, 1)(array).astype(np.bool_)
        array = np.where(missing, np.nan, array)
    return array.astype(np.float64)


def _unit_rows(X: Floats) -> Floats:
    """Rows divided by their length; the length is taken in float64 and safe from overflow."""
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0).astype(np.float64)
    zero = np.flatnonzero(largest == 0)
    if len(zero):
        msg = (
            f"metric='cosine' needs a direction, but {len(zero)} "
            f"{'row of X is' if len(zero) == 1 else 'rows of X are'} all zeros "
            f"(first: {', '.join(map(str, zero[:3]))}). Drop them: X = X[X.any(axis=1)]."
        )
        raise InputError(msg)
    scaled = X / largest
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    unit = scaled / lengths
    return _as(np.float32, unit) if X.dtype == np.float32 else _as(np.float64, unit)


def _as(dtype: type[np.float32] | type[np.float64], X: NDArray[Any]) -> Floats:
    """`X` itself, or a C-contiguous copy of another type."""
    with np.errstate(over="ignore"):  # what becomes infinite is told of
        if dtype is np.float32:
            return np.ascontiguousarray(X, dtype=np.float32)
        return np.ascontiguousarray(X, dtype=np.float64)
