"""Runs a study: cells not yet done, then figures, table, page. Stopped work is taken up again."""

from __future__ import annotations

import csv
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from crlm import __version__
from crlm.errors import OutputError
from crlm.reproduce.drawing import save
from crlm.reproduce.pages import markdown
from crlm.reproduce.study import Page, Plan, Row, Study
from crlm.tables.output import replacing

Progress = Callable[[int, int], object]
PACKAGE = Path(__file__).parents[1]


def run(study: Study, plan: Plan, out: Path, progress: Progress | None = None) -> Page:
    """Do what is left of a study and write its files in the folder `out` / name."""
    folder = out / study.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the folder {folder}: {error.strerror}. Name another with --out."
        raise OutputError(msg) from error
    rows = [row for part in _rows(study, plan, folder, progress) for row in part]
    page = study.report(rows, plan)
    _write(study, plan, page, rows, folder)
    return page


def _rows(study: Study, plan: Plan, folder: Path, progress: Progress | None) -> Iterator[list[Row]]:
    """Rows of every cell in order, from the file of an earlier run or from work."""
    diary = folder / "cells.jsonl"
    done = _read_diary(diary, _heading(study, plan))
    cells = study.cells(plan)
    if not done:
        _start_diary(diary, _heading(study, plan))
    for i, cell in enumerate(cells):
        if progress is not None:
            progress(i, len(cells))
        key = json.dumps(cell, sort_keys=True)
        if key not in done:
            done[key] = [_plain(cell | row) for row in study.work(cell, plan)]
            _append(diary, {"cell": cell, "rows": done[key]})
        yield done[key]
    if progress is not None:
        progress(len(cells), len(cells))


def _heading(study: Study, plan: Plan) -> dict[str, Any]:
    """What must be equal for earlier cells to count: size, seed, data, and all code that counts.

    Any change of the package starts a study anew, though most do not concern it: to tell which
    do would be a guess, and a table half of old results looks like any other.
    """
    libraries = ("numpy", "scipy", "scikit-learn")
    return {
        "study": study.name,
        "full": plan.full,
        "seed": plan.seed,
        "version": __version__,
        "code": _code_mark(),
        "libraries": {name: metadata.version(name) for name in libraries},
        "data": _data_mark(study, plan),
    }


@cache
def _code_mark() -> int:
    """Number that differs when a line of this package does."""
    mark = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        mark = zlib.crc32(path.relative_to(PACKAGE).as_posix().encode(), mark)
        mark = zlib.crc32(path.read_bytes(), mark)
    return mark


def _data_mark(study: Study, plan: Plan) -> int:
    """Number that differs when a file of the study's data was replaced."""
    if not study.data or plan.data is None:
        return 0
    folder = plan.data if plan.data.is_dir() else plan.data.parent
    mark = 0
    for path in sorted({path for name in study.data for path in folder.glob(f"{name}*")}):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                mark = zlib.crc32(file.relative_to(folder).as_posix().encode(), mark)
                mark = zlib.crc32(file.read_bytes(), mark)
    return mark


def _read_diary(path: Path, heading: dict[str, Any]) -> dict[str, list[Row]]:
    """Cells done before under the same heading; a last line cut short does not count."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        entries = [json.loads(line) for line in lines]
    except json.JSONDecodeError:
        return {}
    if not entries or entries[0] != heading:
        return {}
    return {json.dumps(entry["cell"], sort_keys=True): entry["rows"] for entry in entries[1:]}


def _start_diary(path: Path, heading: dict[str, Any]) -> None:
    with replacing(path) as file:
        file.write((json.dumps(heading) + "\n").encode())


def _append(path: Path, entry: dict[str, Any]) -> None:
    """Add one line. A line that was cut short before is taken away first."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _plain(row: Row) -> Row:
    """Row that JSON can hold: NumPy numbers become Python's, what is not finite None."""
    return {key: _plain_value(value) for key, value in row.items()}


def _plain_value(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(study: Study, plan: Plan, page: Page, rows: list[Row], folder: Path) -> None:
    for name, figure in page.figures.items():
        for suffix in ("png", "svg"):
            with replacing(folder / f"{name}.{suffix}") as file:
                save(figure, file, suffix)
    record = _heading(study, plan) | {
        "schema": "crlm.reproduce/1",
        "claims": [claim._asdict() for claim in page.claims],
        "checks": [check._asdict() for check in page.checks],
        "rows": rows,
    }
    files = {
        f"{study.name}.csv": _as_csv(rows),
        f"{study.name}.json": json.dumps(record, indent=1),
        f"{study.name}.md": markdown(study, plan, page),
    }
    for name, text in files.items():
        with replacing(folder / name) as file:
            file.write(text.encode())


def _as_csv(rows: list[Row]) -> str:
    """Rows as text; columns in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
