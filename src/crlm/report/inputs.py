"""What a report is given beside the model, checked and brought to one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crlm import record
from crlm.data_checks import check_points, check_table
from crlm.errors import InputError
from crlm.labels import BACKGROUND
from crlm.search import Floats
from crlm.tables import Table, image_paths
from crlm.tables.kept import Kept
from crlm.tables.meta import READERS
from crlm.tables.meta import read_meta as read_columns

if TYPE_CHECKING:
    from crlm.estimator import CRLM

MAX_COLUMNS = 8  # of words about each row
_NOTHING = {"", "-1", "background", "none", "nan"}  # names of the background among true labels


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows of the fit and what is known of them, row by row.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        As given.
    points : ndarray of shape (n, d)
        As distances were measured.
    rows : ndarray of shape (n,)
        Their numbers in the file that they came from.
    images : sequence or None
    meta : dict of str to list of str
        Columns of words.
    truth : ndarray of shape (n,) or None
        True labels, -1 for background.
    truth_names : list of str
        Name of each true cluster.
    name : str
        What the data are called.
    """

    X: NDArray[Any]
    points: Floats
    rows: NDArray[np.int64]
    images: Sequence[Any] | NDArray[Any] | None
    meta: dict[str, list[str]]
    truth: NDArray[np.int64] | None
    truth_names: list[str]
    name: str


def read_inputs(
    model: CRLM,
    X: Any,
    *,
    images: Any = None,
    meta: Any = None,
    y: Any = None,
    title: str | None = None,
) -> Inputs:
    """Check that everything belongs to the rows of the fit.

    What has a line for each row of the file, of which only some were fitted, is cut to those.
    """
    X, rows, n_file, table = _rows_of(model, X)
    if table is not None:
        images = _images_of(model, table) if images is None else images
        meta = _meta_of(table) if meta is None else meta
    images = images.to_list() if hasattr(images, "to_list") else images  # by place, not by index
    points = check_points(check_table(X), model._metric)
    _check_same(model, points)

    def aligned(name: str, given: Any) -> Any:
        if given is None or len(given) == len(rows):
            return given
        if len(given) == n_file:
            return [given[int(i)] for i in rows]
        msg = (
            f"{name} has {len(given):,} entries, the model was fitted on {len(rows):,} rows. Pass "
            f"one for each row, in the same order."
        )
        raise InputError(msg)

    columns = {key: aligned("meta", column) for key, column in words_of(meta).items()}
    truth, names = _truth(aligned("y", None if y is None else list(np.asarray(y).tolist())))
    source = record.source(model)
    return Inputs(
        np.asarray(X),
        points,
        rows,
        aligned("images", images),
        {key: list(column) for key, column in columns.items()},
        truth,
        names,
        title or ("data" if source is None else source.name),
    )


def _rows_of(model: CRLM, X: Any) -> tuple[Any, NDArray[np.int64], int, Table | None]:
    """Data, the number of each row in its file, how many rows that has, and the file."""
    source = record.source(model)
    if X is None:
        if source is None:
            msg = (
                "a model keeps no copy of its data. Pass them again: model.report(path, X=X). "
                "A model that crlm fit has made of a file finds them by itself."
            )
            raise InputError(msg)
        data = record.open_data(model)
        return data.X, data.rows, source.n_rows, data.table
    n = len(model.labels_)
    rows = np.arange(n) if source is None or source.rows is None else source.rows
    return X, rows, n if source is None else source.n_rows, None


def _images_of(model: CRLM, table: Table) -> list[Path] | None:
    """Pictures that the file names; their paths start at its folder."""
    source = record.source(model)
    if source is None or source.path is None:
        return None
    return image_paths(table, source.path if source.path.is_dir() else source.path.parent)


def _meta_of(table: Table) -> dict[str, list[str]]:
    """What the file says about each row: what it is called, its words, other columns."""
    first = [table.roles[role] for role in ("id", "text") if role in table.roles]
    hidden = {table.roles.get("image")} - set(first)
    names = dict.fromkeys([*first, *(name for name in table.kept if name not in hidden)])
    words = {name: _words(table.kept[name]) for name in list(names)[:MAX_COLUMNS]}
    if first[:1] == [table.roles.get("image")]:  # rows called after their pictures
        words[first[0]] = [PurePath(path).name for path in words[first[0]]]
    return words


def _check_same(model: CRLM, points: Floats) -> None:
    n, d = len(model.labels_), model.n_features_in_
    if points.shape != (n, d):
        given = f"{points.shape[0]:,} x {points.shape[1]:,}"
        fitted = f"{n:,} x {d:,}"
        msg = f"X is {given}, the model was fitted on {fitted}. Pass the data of fit."
        raise InputError(msg)
    every = record.Part(np.arange(n), np.ones(n, dtype=np.bool_), points)
    if differs := record.difference(model, [every]):
        msg = (
            f"X is not the data of fit: {differs}. Pass the rows as fit saw them, in that order "
            "(in a pipeline, as the steps before it left them)."
        )
        raise InputError(msg)


def words_of(meta: Any) -> dict[str, list[str]]:
    """Columns of words from a table, a mapping of columns, or one column.

    >>> words_of({"who": ["Ada", None], "age": [36, 2.5]})
    {'who': ['Ada', ''], 'age': ['36', '2.5']}
    >>> words_of(["a", "b"])
    {'': ['a', 'b']}
    """
    if meta is None:
        return {}
    if isinstance(meta, Mapping):
        return {str(key): _words(column) for key, column in meta.items()}
    if hasattr(meta, "columns") or hasattr(meta, "column_names"):
        import narwhals as nw

        table = nw.from_native(meta, eager_only=True)
        return {key: _words(table[key].to_list()) for key in table.columns}
    return {"": _words(meta)}


def _words(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column]


def read_meta(path: Path) -> Kept:
    """Columns of a file that has a line for each row: .csv, .tsv, .parquet, .arrow, .feather.

    Raises
    ------
    InputError
        The file is missing or cannot be read.
    """
    if not path.is_file():
        msg = f"no such file: {path}"
        raise InputError(msg)
    if path.suffix.lower() not in READERS:
        msg = f"{path} is no table of words; give one of {', '.join(READERS)}."
        raise InputError(msg)
    return read_columns(path)[0]


def _truth(y: list[Any] | None) -> tuple[NDArray[np.int64] | None, list[str]]:
    """True labels as numbers from 0 in the order of their names, -1 for background."""
    if y is None:
        return None, []
    words = ["" if value is None else str(value) for value in y]
    numbers = all(isinstance(value, int) for value in y)
    kept = {word for word in words if word.lower() not in _NOTHING}
    names = sorted(kept, key=int if numbers else str)
    code = {name: i for i, name in enumerate(names)}
    return np.array([code.get(word, BACKGROUND) for word in words], dtype=np.int64), names
