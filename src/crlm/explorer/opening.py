"""From a model, a table or arrays to an exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crlm.errors import InputError
from crlm.explorer.engine import MAX_PAIRS, Engine
from crlm.explorer.session import Session
from crlm.explorer.subject import Subject

if TYPE_CHECKING:
    from crlm.estimator import CRLM
    from crlm.explorer.serve import Explorer
    from crlm.record import Data
    from crlm.tables import Table


def explore_rows(
    model: CRLM,
    X: Any,
    subject: Subject,
    folder: Path,
    *,
    sample_weight: Any = None,
    read_only: bool = False,
    max_pairs: int = MAX_PAIRS,
) -> Session:
    """Explore some rows with the settings of a model, fitted or not.

    A fitted model starts at the bandwidth it used, so that its own labels are seen first; unless it
    gave each cluster a bandwidth of its own, for here all have the same, and the page says so.
    """
    fitted = getattr(model, "sigma_max_", None)
    task = copy(model)._task(X, sample_weight, reset=True)
    given = model.sigma_max if fitted is None else float(fitted)
    own = fitted is not None and model._has_own_bandwidths
    engine = Engine(task, given, max_pairs)
    return Session(subject, engine, folder, read_only=read_only, own_bandwidths=own)


def explore_model(
    model: CRLM, X: Any, known: dict[str, Any], sample_weight: Any, *, browser: bool, **where: Any
) -> Explorer:
    """Explore a model of which the rows are given, or known from its file."""
    from crlm import record
    from crlm.explorer.serve import in_a_notebook, make, start_folder

    if X is None:
        data = record.open_data(model)
        path = record.source(model)
        subject = subject_of_model(data, None if path is None else path.path, (), **known)
        X, sample_weight = data.X, model._sample_weight
    else:
        subject = subject_of_rows("X", len(X), **known)
    session = explore_rows(model, X, subject, start_folder(), sample_weight=sample_weight)
    explorer = make(session, **where).start()
    if browser and not in_a_notebook():
        explorer.open()
    return explorer


def subject_of_rows(name: str, n: int, **known: Any) -> Subject:
    """Rows that come from an array."""
    return Subject(name, n, np.arange(n, dtype=np.int64), n, **checked(known, n))


def subject_of_table(
    table: Table,
    rows: Any,
    folder: Path,
    command: Sequence[str],
    *,
    is_sample: bool = False,
    **known: Any,
) -> Subject:
    """Rows of a file; what is given beside it comes before what is in it."""
    from crlm.tables import image_paths

    images = image_paths(table, folder)
    others = [name for name in table.kept if name not in table.roles.values()]
    own = {
        "ids": _taken(_role(table, "id"), rows),
        "texts": _taken(_role(table, "text"), rows),
        "images": _taken(images, rows),
        "meta": {name: _taken(table.kept[name], rows) for name in others},
    }
    given = {name: value for name, value in checked(known, len(rows)).items() if value is not None}
    return Subject(
        table.source,
        len(rows),
        np.asarray(rows),
        len(table.X),
        **{**own, **given},
        command=tuple(command),
        is_sample=is_sample,
    )


def subject_of_model(
    data: Data, path: Path | None, command: Sequence[str], **known: Any
) -> Subject:
    """Rows that a saved model was fitted to."""
    folder = Path() if path is None else path if path.is_dir() else path.parent
    return subject_of_table(data.table, data.rows, folder, command, **known)


def checked(known: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Pictures, names and columns as given in Python, made into what a subject takes."""
    out = dict(known)
    if out.get("meta") is not None:
        out["meta"] = columns_of(out["meta"], n)
    else:
        out.pop("meta", None)
    return out


def columns_of(meta: Any, n: int) -> dict[str, Sequence[Any]]:
    """Columns of a dataframe or a mapping, by name."""
    if isinstance(meta, Mapping):
        return {str(name): list(values) for name, values in meta.items()}
    import narwhals as nw

    try:
        frame = nw.from_native(meta, eager_only=True)
    except TypeError as error:
        msg = f"meta must be a dataframe or a dict of columns, not {type(meta).__name__}."
        raise InputError(msg) from error
    if len(frame) != n:
        msg = f"meta has {len(frame):,} rows, but there are {n:,}. Give one for each row."
        raise InputError(msg)
    return {name: frame[name].to_list() for name in frame.columns}


def _taken(values: Any, rows: Any) -> list[Any] | None:
    return None if values is None else [values[row] for row in rows.tolist()]


def _role(table: Table, role: str) -> Sequence[Any] | None:
    """The column that is the name or the words of a row."""
    return table.kept[table.roles[role]] if role in table.roles else None
