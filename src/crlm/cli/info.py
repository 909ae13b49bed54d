"""``crlm info``: what is in a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    FilePath,
    count,
    json_option,
    number,
    remark,
    say,
    say_json,
    table_options,
)
from crlm.cli.models import load_model, model_lines, model_record
from crlm.cli.reading import read_file, table_arguments
from crlm.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crlm.tables import Table

EPILOG = """\b
Examples:
  crlm info embeddings.npy
  crlm info rows.csv --columns x,y --json
  crlm info faces.crlm.npz
"""
MAX_NAMES = 12


@click.command(epilog=EPILOG)
@click.argument("file", type=FilePath())
@table_options
@json_option
def info(file: Path, as_json: bool, **reading: Any) -> int:
    """Say what FILE holds: data (shape, type, columns, range, rows with NaN or inf) or a model.

    A .npy file is read piece by piece, however large it is. Of a table whose columns are not all
    numbers it says which are. Of a model: clusters, settings,
    versions, and where its data are.
    """
    from crlm.record import is_model

    facts, words = of_model(file) if is_model(file) else of_data(file, reading)
    if as_json:
        say_json({"schema": "crlm.info/1", **facts})
    else:
        for line in words:
            say(line)
    return 0


def of_model(file: Path) -> tuple[dict[str, Any], list[str]]:
    """Facts about a model, and the same in words."""
    model = load_model(file)
    return model_record(model, file), model_lines(model, file)


def of_data(file: Path, reading: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Facts about data, and the same in words."""
    try:
        facts = describe(read_file(file, reading))
    except InputError as error:
        if table_arguments(reading):
            raise
        found = of_columns(file, error)
        if found is None:
            raise
        return found
    return facts, lines(facts)


def of_columns(file: Path, problem: InputError) -> tuple[dict[str, Any], list[str]] | None:
    """Facts about a table that is no matrix for this `problem`; None if its columns are not why."""
    from crlm.tables import read_kinds_of

    try:
        found = read_kinds_of(file)
    except InputError:
        return None
    if found is None or not found[1] or all(kind == "numbers" for _, kind in found[0]):
        return None
    columns, n = found
    remark(f"note: {problem}")
    facts = {"kind": "table", "data": file.name, "n": n, "columns": [name for name, _ in columns]}
    facts |= {"kinds": [kind for _, kind in columns], "problem": str(problem)}
    kinds = dict.fromkeys(kind for _, kind in columns)
    said = [f"{kind}: {_listed([name for name, own in columns if own == kind])}" for kind in kinds]
    return facts, [f"{file.name}  {count(n, 'row')}, {count(len(columns), 'column')}", *said]


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f", ... and {more:,} more" if more > 0 else "")


def describe(table: Table) -> dict[str, Any]:
    """Facts about a matrix, found in one pass over its values and one for NaN."""
    from crlm.tables import invalid_rows

    X = table.X
    low, high = value_range(X)
    bad = invalid_rows(X)
    return {
        "kind": "data",
        "data": table.source,
        "n": X.shape[0],
        "d": X.shape[1],
        "dtype": str(X.dtype),
        "bytes": X.nbytes,
        "columns": table.columns,
        "vector": table.vector,
        "kept": list(table.kept),
        "roles": dict(table.roles),
        "min": low,
        "max": high,
        "invalid_rows": len(bad),
        "first_invalid": bad[:3].tolist(),
    }


def value_range(X: NDArray[Any]) -> tuple[float, float]:
    """Smallest and largest finite value; NaN when there is none."""
    import numpy as np

    from crlm.tables import row_blocks

    low, high = math.inf, -math.inf
    for _, block in row_blocks(X):
        finite = block[np.isfinite(block)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high) if low <= high else (math.nan, math.nan)


def lines(facts: dict[str, Any]) -> list[str]:
    """Say the facts to people."""
    first = f"{facts['data']}  {facts['n']:,} × {facts['d']:,} {facts['dtype']}"
    found = [f"{first}  ({size_in_words(facts['bytes'])})"]
    if facts["columns"]:
        found.append(f"columns  {_listed(facts['columns'])}")
    if facts["vector"] is not None:
        found.append(f"vectors  of column {facts['vector']}")
    if facts["kept"]:
        roles = sorted(facts["roles"].items())
        said = [
            with_roles(name, [role for role, column in roles if column == name])
            for name in facts["kept"]
        ]
        found.append(f"beside   {_listed(said)}")
    found.append(f"range    {number(facts['min'])} to {number(facts['max'])}")
    if facts["invalid_rows"]:
        which = ", ".join(map(str, facts["first_invalid"]))
        rows = count(facts["invalid_rows"], "row")
        found.append(f"invalid  {rows} with NaN or inf (first: {which})")
    else:
        found.append("invalid  no row with NaN or inf")
    return found


def with_roles(name: str, roles: list[str]) -> str:
    """Name of a column and what it is to a row.

    >>> with_roles("path", ["id", "image"]), with_roles("size", [])
    ('path (id, image)', 'size')
    """
    return f"{name} ({', '.join(roles)})" if roles else name


def size_in_words(n_bytes: int) -> str:
    """Bytes as a person says them.

    >>> size_in_words(512), size_in_words(1_536_000), size_in_words(3 * 10**12)
    ('512 bytes', '1.5 MB', '3.0 TB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    power = min(4, int(math.log10(n_bytes) // 3))
    return f"{n_bytes / 1000**power:.1f} {'kMGT'[power - 1]}B"
