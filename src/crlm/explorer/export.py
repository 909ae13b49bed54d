"""Labels as files, in the folder where the explorer was started and nowhere else."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import OutputError
from crlm.explorer.engine import Answer
from crlm.explorer.notes import Notes
from crlm.explorer.subject import Subject
from crlm.labels import BACKGROUND
from crlm.tables import LABEL_WRITERS, check_writable, label_writer, write_together

_NAME = re.compile(r"[\w][\w. ()+-]{0,118}")


class ExistsError(OutputError):
    """There is a file of that name already."""


def target(folder: Path, name: Any, *, replace: bool) -> Path:
    """Path of the file to write.

    Raises
    ------
    OutputError
        The name is none of a file in this very folder.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name:
        msg = "give a plain file name, such as labels.csv; it goes to the folder of the explorer."
        raise OutputError(msg)
    path = folder / name
    if path.suffix.lower() not in LABEL_WRITERS:
        msg = f"{name}: the name must end in {', '.join(LABEL_WRITERS)}."
        raise OutputError(msg)
    if path.is_symlink() or path.resolve().parent != folder.resolve():
        msg = f"{name} leads out of the folder. Choose another name."
        raise OutputError(msg)
    if path.exists() and not replace:
        msg = f"{name} exists."
        raise ExistsError(msg)
    check_writable(path, force=replace)
    return path


def write(
    path: Path, subject: Subject, answer: Answer, notes: Notes, rows: Sequence[int] | None
) -> int:
    """Write labels of all rows, or of some; returns how many.

    ``.npy`` holds the labels as fitted. Tables also have the labels after hand-made exclusions,
    and the names.
    """
    fitted = answer.labels(subject.n)
    if path.suffix.lower() == ".npy":
        labels = whole_file(subject, fitted) if rows is None else fitted[list(rows)]
        write_together([(path, label_writer(path, labels, force=True))])
        return len(labels)
    table = columns(subject, fitted, answer, notes, rows)
    writer = _parquet if path.suffix.lower() == ".parquet" else _csv
    write_together([(path, lambda file: writer(file, table))])
    return len(table["row"])


def whole_file(subject: Subject, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """A label for each row of the file; those that cannot be used are background.

    Of a sample there are only labels for the sample.
    """
    if subject.is_sample:
        return labels
    out = np.full(subject.n_file, BACKGROUND, dtype=np.int64)
    out[subject.file_rows] = labels
    return out


def columns(
    subject: Subject,
    fitted: NDArray[np.int64],
    answer: Answer,
    notes: Notes,
    rows: Sequence[int] | None,
) -> dict[str, list[Any]]:
    """Columns row, (id,) label, edited, name."""
    edited = fitted.copy()
    edited[sorted(notes.excluded)] = BACKGROUND
    names = cluster_names(answer, notes)
    some = np.arange(subject.n) if rows is None else np.unique(np.array(rows, dtype=np.intp))
    table: dict[str, list[Any]] = {"row": subject.file_rows[some].tolist()}
    if subject.ids is not None:
        table["id"] = [str(subject.ids[row]) for row in some.tolist()]
    table["label"] = fitted[some].tolist()
    table["edited"] = edited[some].tolist()
    table["name"] = [names.get(label, "") for label in table["edited"]]
    return table if rows is not None else _with_left_out(table, subject)


def cluster_names(answer: Answer, notes: Notes) -> dict[int, str]:
    """Name of each cluster that holds a named row; the lowest row decides."""
    names: dict[int, str] = {}
    labels = {int(row): j for j, rows in enumerate(answer.members) for row in rows}
    for row, name in sorted(notes.names.items()):
        if row in labels:
            names.setdefault(labels[row], name)
    return names


def _with_left_out(table: dict[str, list[Any]], subject: Subject) -> dict[str, list[Any]]:
    if subject.n == subject.n_file or subject.is_sample:
        return table
    left = np.setdiff1d(np.arange(subject.n_file), subject.file_rows)
    blank = {"row": None, "label": BACKGROUND, "edited": BACKGROUND}
    whole = {
        name: [*values, *(left.tolist() if name == "row" else [blank.get(name, "")] * len(left))]
        for name, values in table.items()
    }
    by = np.argsort(whole["row"], kind="stable").tolist()
    return {name: [values[at] for at in by] for name, values in whole.items()}


def _csv(file: IO[bytes], table: dict[str, list[Any]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    text.detach()


def _parquet(file: IO[bytes], table: dict[str, list[Any]]) -> None:
    from crlm.tables.arrow import import_pyarrow

    pa = import_pyarrow("writing parquet")
    pa.parquet.write_table(pa.table(table), file)
