"""Model files for the commands: where they go, and what they hold in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from crlm.cli.clusters import background, bandwidth, cluster_table, records
from crlm.cli.common import check_outputs, count
from crlm.cli.estimates import estimate_record
from crlm.cli.reading import Rows, direction_of
from crlm.cli.streaming import StreamedRows
from crlm.errors import InputError, OutputError

if TYPE_CHECKING:
    from crlm import CRLM
    from crlm.record import Scaling, Source

SUFFIX = ".crlm.npz"
MAX_SETTINGS = 12


def model_path_beside(data: Path) -> Path | None:
    """Name of a model beside its data; None for what comes from the standard input.

    >>> str(model_path_beside(Path("a/faces.npy")))
    'a/faces.crlm.npz'
    """
    if str(data) == "-":
        return None
    named = data.resolve() if data.name in ("", "..") else data
    stem = named.name if data.is_dir() else named.stem
    return named.with_name(f"{stem}{SUFFIX}")


def check_model_path(path: Path, options: Any) -> None:
    """Refuse a model that cannot be written, or that would replace what is not ours to replace."""
    from crlm.record import check_name

    check_name(path)
    ours = options.model is None and is_model_of(path, options.data)
    try:
        check_outputs([path], options.force or ours, source=options.data, formats=(".npz",))
    except OutputError as error:
        hint = "" if "force=True" not in str(error) else " Or write none: --no-model"
        if options.model is None and not hint:
            hint = " Name another place with --model, or write none with --no-model."
        raise OutputError(f"{error}{hint}") from error  # noqa: EM102


def is_model_of(path: Path, data: Path) -> bool:
    """Whether a file is a model that crlm made of this data file."""
    from crlm import record

    if not path.is_file():
        return False
    try:
        source = record.describe(path).get("source")
        where = source["path"] if isinstance(source, dict) else None
    except (InputError, KeyError):
        return False
    return isinstance(where, str) and (path.parent / where).resolve() == data.resolve()


def source_of(rows: Rows | StreamedRows, data: Path, reading: dict[str, Any]) -> Source:
    """Where the rows are, for the model to keep."""
    from crlm.record import Scaling, Source
    from crlm.tables.stdin import STDIN

    plain = {name: str(v) if isinstance(v, Path) else v for name, v in reading.items()}
    if isinstance(rows, StreamedRows):
        return Source(data, rows.n, plain, names=rows.source.names)
    return Source(
        None if str(data) == STDIN else data,
        len(rows.table.X),
        plain,
        rows.numbers,
        len(rows.dropped),
        rows.scaling or Scaling(),
        rows.table.columns,
    )


def needs_direction(model: CRLM, scaling: Scaling | None) -> str | None:
    """Flag of the fit for which a row of zeros is of no use, if there is one."""
    if scaling is not None and scaling.shift is not None:
        return None
    return direction_of(model.metric, normalize=scaling is not None and scaling.normalize)


def load_model(path: Path) -> CRLM:
    """Model from a file."""
    from crlm import CRLM

    return CRLM.load(path)


# In words


def model_lines(model: CRLM, path: Path) -> list[str]:
    """What a model file holds, for people."""
    from crlm import record

    document = record.describe(path)
    libraries = ", ".join(f"{name} {version}" for name, version in document["libraries"].items())
    chosen = settings_in_words(record.settings(model))
    return [
        f"{path.name}  model, format {document['version']}, made by crlm {document['crlm']}",
        *data_lines(model),
        bandwidth(model),
        "",
        *(f"  {line}" for line in [*cluster_table(model), *background(model)]),
        "",
        *([f"settings  {chosen}"] if chosen else []),
        f"with      {libraries}",
    ]


def data_lines(model: CRLM) -> list[str]:
    """Where the rows are, and which of them were fitted."""
    from crlm import record

    n, d = len(model.labels_), model.n_features_in_
    found = record.source(model)
    if found is None:
        return [f"data      {n:,} × {d:,}, fitted in Python"]
    there = "" if found.path is None or found.path.exists() else "  (not there now)"
    lines = [f"data      {found.name}  {found.n_rows:,} × {d:,}{there}"]
    if n < found.n_rows:
        lines.append(f"fitted    {n:,} of them; {count(found.n_dropped, 'row')} dropped")
    if found.transform.names:
        lines.append(f"changed   {', then '.join(found.transform.names)}")
    return lines


def settings_in_words(settings: dict[str, Any] | None) -> str:
    """What was set otherwise than by default, and how.

    >>> settings_in_words({"values": {"alpha": 0.05, "G": 4.0}, "origins": {"alpha": "flag"}})
    'alpha 0.05 (flag)'
    """
    if settings is None:
        return ""
    values, origins = settings.get("values", {}), settings.get("origins", {})
    given = [f"{name} {values.get(name)} ({origin})" for name, origin in origins.items()]
    return ", ".join(given[:MAX_SETTINGS])


def model_record(model: CRLM, path: Path) -> dict[str, Any]:
    """The same for programs."""
    from crlm import record

    document, found = record.describe(path), record.source(model)
    estimate = model.sigma_estimate_
    return {
        "kind": "model",
        "model": str(path),
        "format": document["version"],
        "crlm": document["crlm"],
        "libraries": document["libraries"],
        "parameters": document["parameters"],
        "settings": document["settings"],
        "fingerprint": document["fingerprint"],
        "data": None if found is None or found.path is None else str(found.path),
        "data_exists": found is not None and found.path is not None and found.path.exists(),
        "n": len(model.labels_),
        "d": model.n_features_in_,
        "n_rows": None if found is None else found.n_rows,
        "dropped": None if found is None else found.n_dropped,
        "transform": [] if found is None else found.transform.names,
        "metric": model.metric,
        "sigma_max": float(model.sigma_max_),
        "sigma_estimate": None if estimate is None else estimate_record(estimate),
        "radius": float(model.radius_),
        "G": float(model.G_),
        "n_clusters": model.n_clusters_,
        "clusters": records(model),
        "background": int((model.labels_ < 0).sum()),
    }
