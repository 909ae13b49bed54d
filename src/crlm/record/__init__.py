"""Models on disk: one file, readable by every later version.

::

    model --content--> arrays + document --archive--> NAME.crlm.npz      (and back)
    model --source---> the file of its rows, and which of them

``docs/model-file.md`` describes the format. Nothing that is read can run code, and nothing is
allocated that the file does not hold.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm import __version__
from crlm.data_checks import check_points
from crlm.errors import InputError, OutputError
from crlm.identity import merge_seals, row_marks, seal
from crlm.record.archive import (
    DamagedError,
    has_document,
    read_archive,
    read_document,
    unusable,
    write_archive,
)
from crlm.record.content import Model, parts, restore
from crlm.record.source import Source, restored_source, source_parts
from crlm.scaling import Scaling
from crlm.search import Floats
from crlm.tables import Table, check_writable, row_blocks, write_together

if TYPE_CHECKING:
    from crlm.estimator import CRLM

__all__ = [
    "SUFFIX",
    "Data",
    "Part",
    "Scaling",
    "Source",
    "describe",
    "difference",
    "fingerprint",
    "is_model",
    "load",
    "model_job",
    "open_data",
    "prepare",
    "save",
    "settings",
    "source",
    "with_source",
]

SUFFIX = ".crlm.npz"
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


class Data(NamedTuple):
    """The rows that a model was fitted to, read again.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        As they were fitted, row by row those of ``model.labels_``.
    rows : ndarray of shape (n,)
        Their row numbers in the file.
    table : Table
        The file, with all its rows and whatever else it holds.
    """

    X: NDArray[Any]
    rows: NDArray[np.int64]
    table: Table


# Models


def save(model: CRLM, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fitted model; the file appears whole or not at all."""
    path = Path(path)
    check_name(path)
    check_writable(path, force, formats=(".npz",))
    write_together([(path, model_job(model, path))])


def check_name(path: Path) -> None:
    """Refuse a name that does not say that the file is a model."""
    if not path.name.endswith(SUFFIX) or path.name == SUFFIX:
        msg = f"cannot write {path}: the name of a model ends in {SUFFIX}, such as faces{SUFFIX}."
        raise OutputError(msg)


def model_job(model: CRLM, path: Path) -> Any:
    """Function that writes the model to an open file that will be called `path`."""
    document, arrays = parts(model)
    record, more = source_parts(source(model), path)
    head = {
        "crlm": __version__,
        "libraries": _libraries(),
        "fingerprint": fingerprint(model),
        "settings": settings(model),
        "source": record,
    }
    return lambda file: write_archive(file, {**head, **document}, {**arrays, **more})


def load(cls: type[Model], path: str | os.PathLike[str]) -> Model:
    """Model from a file that :func:`save` wrote.

    Raises
    ------
    InputError
        The file is missing, damaged, of a newer format, or no model.
    """
    path = Path(path)
    _check_file(path)
    document, arrays = read_archive(path)
    try:
        model = restore(cls, document, arrays)
        if document.get("fingerprint") != fingerprint(model):
            raise DamagedError("its fingerprint is not that of its rows")
        found = restored_source(document, arrays, path)
        model._origin = found, _restored_settings(document)
    except DamagedError as error:
        raise unusable(path, error) from error
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Document of a model: parameters, settings, versions, where the rows are; no arrays.

    Raises
    ------
    InputError
        As for :func:`load`.
    """
    path = Path(path)
    _check_file(path)
    return read_document(path)


def is_model(path: Path) -> bool:
    """Whether a file is a model, by its name or by what is in it."""
    return path.name.endswith(SUFFIX) or (
        path.suffix.lower() == ".npz" and path.is_file() and has_document(path)
    )


def fingerprint(model: CRLM) -> str:
    """Number that belongs to the rows a model was fitted to, and to no others."""
    found = model.certificate_
    head = f"{len(model.labels_)} {model.n_features_in_} ".encode()
    own = model._seal.to_bytes(8) if found is None else found.marks.astype("<u8").tobytes()
    return hashlib.sha256(head + own).hexdigest()


def _libraries() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def _check_file(path: Path) -> None:
    if not path.exists():
        msg = f"no such file: {path}. Give a model that crlm fit or save wrote."
        raise InputError(msg)
    if not path.is_file():
        msg = f"{path} is not a file. Give a model that crlm fit or save wrote."
        raise InputError(msg)


# Where the rows came from


def with_source(model: Model, found: Source | None, chosen: dict[str, Any] | None = None) -> Model:
    """Note in a model where its rows came from, and with which settings it was made.

    `chosen` has the tables "values" and "origins": what each setting was, and where it came from.
    """
    model._origin = found, chosen
    return model


def source(model: CRLM) -> Source | None:
    """Where the rows came from; None for a model fitted to an array in Python."""
    return None if model._origin is None else model._origin[0]


def settings(model: CRLM) -> dict[str, Any] | None:
    """Every setting of the command that made the model; None for one made in Python."""
    return None if model._origin is None else model._origin[1]


def prepare(model: CRLM, X: NDArray[Any]) -> NDArray[Any]:
    """Rows as they are in a file, made ready for `predict` as the fitted ones were."""
    found = source(model)
    return X if found is None else found.transform.apply(X)


def open_data(model: CRLM, path: str | os.PathLike[str] | None = None) -> Data:
    """Read the rows that a model was fitted to, and make sure that they are the same.

    Parameters
    ----------
    model : CRLM
    path : path-like or None
        Where the file is now; None looks where it was.

    Raises
    ------
    InputError
        The model has no file, or the file is gone or was changed.
    """
    found = source(model)
    if found is None:
        msg = (
            "this model was fitted in Python, to rows of no file. Fit a file with crlm fit, which "
            "notes where the rows are."
        )
        raise InputError(msg)
    if path is not None:
        found = found.at(path)
    elif found.path is not None and not found.path.exists():
        msg = (
            f"no such file: {found.path}, where the rows of this model were. Put them back, or say "
            "where they are: crlm report --data FILE, record.open_data(model, path) in Python."
        )
        raise InputError(msg)
    table = found.read()
    check_rows(model, table, found)
    return Data(found.points(table), found.row_numbers(), table)


def check_rows(model: CRLM, table: Table, found: Source) -> None:
    """Refuse a table whose rows are not those of the fit, naming the first; block by block."""
    if table.X.shape[1] != model.n_features_in_:
        msg = (
            f"{found.name} has {table.X.shape[1]:,} columns, but the model was fitted to "
            f"{model.n_features_in_:,}. Fit again, or give the file as it was."
        )
        raise InputError(msg)
    differs = difference(model, _fitted_parts(model, table, found))
    if differs:
        msg = (
            f"{found.name} was changed since the model was fitted: {differs}. Fit again, or give "
            f"the file as it was."
        )
        raise InputError(msg)


class Part(NamedTuple):
    """Some rows that should be those of a fit: their numbers, which are finite, and those."""

    numbers: NDArray[np.integer[Any]]
    finite: NDArray[np.bool_]
    points: Floats


def difference(model: CRLM, parts: Iterable[Part]) -> str:
    """How many rows differ from those of the fit, in words; nothing if none does."""
    n = f"{len(model.labels_):,}"
    found = model.certificate_
    if found is None:
        return "" if _seal_of(parts) == model._seal else f"some of {n} rows differ"
    changed = _changed_rows(found.marks, parts)
    return f"{len(changed):,} of {n} rows differ (first: {changed[0]})" if len(changed) else ""


def _changed_rows(marks: NDArray[np.uint64], parts: Iterable[Part]) -> NDArray[np.int64]:
    """Row numbers of what was fitted and is not the same now."""
    done, changed = 0, []
    for numbers, finite, points in parts:
        own = marks[done : done + len(numbers)]
        same = finite.copy()
        same[finite] = row_marks(points) == own[finite]
        changed.append(numbers[~same])
        done += len(numbers)
    return np.concatenate(changed)


def _seal_of(parts: Iterable[Part]) -> int | None:
    """Seal of rows; None when some are not finite, which those of a fit are."""
    done, seals = 0, []
    for numbers, finite, points in parts:
        if not finite.all():
            return None
        seals.append(seal(points, done))
        done += len(numbers)
    return merge_seals(seals)


def _fitted_parts(model: CRLM, table: Table, found: Source) -> Iterator[Part]:
    """What was fitted, as it is now."""
    for start, block in row_blocks(table.X):
        rows = np.arange(len(block)) if found.rows is None else _within(found.rows, start, block)
        finite = np.isfinite(block[rows]).all(axis=1)
        points = block[rows[finite]]
        if len(points):
            points = check_points(found.transform.apply(points), model._metric, whole=False)
        yield Part(start + rows, finite, points)


def _within(rows: NDArray[np.int64], start: int, block: NDArray[Any]) -> NDArray[np.int64]:
    """Those of some ascending row numbers that lie in a block, counted from its start."""
    first, last = np.searchsorted(rows, [start, start + len(block)])
    return rows[first:last] - start


def _restored_settings(document: dict[str, Any]) -> dict[str, Any] | None:
    """Settings of the command, once they and the versions are known to be what they should."""
    found = document.get("settings")
    tables = [document.get("libraries")]
    if found is not None:
        tables += [found.get("values"), found.get("origins")] if isinstance(found, dict) else [None]
    if not all(isinstance(table, dict) for table in tables) or "settings" not in document:
        raise DamagedError("its settings are no settings")
    if not isinstance(document.get("crlm"), str):
        raise DamagedError("it does not say which crlm made it")
    return found
