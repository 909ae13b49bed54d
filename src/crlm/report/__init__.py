"""One HTML file that says what was found, shows it, and can be sent by mail.

It asks for nothing from outside and can be read without JavaScript, on paper, by ear, in dark
and in light. With JavaScript the bandwidth can be moved: the page then shows the clusters that a
fit with that bandwidth gives, exactly (:mod:`crlm.preview`).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crlm import __version__, record
from crlm.bandwidth.sigma import ALPHA, SigmaEstimate, estimate_sigma
from crlm.look.admissible import admissible_interval
from crlm.look.projection import project
from crlm.page import bundle, style
from crlm.report.alerts import find_alerts
from crlm.report.inputs import Inputs, read_inputs, read_meta
from crlm.report.limits import LEVELS, MAX_BYTES, Limits
from crlm.report.live import Stops, find_stops, live_record, page_data, sweep, with_saved
from crlm.report.reproduce import reproduce
from crlm.report.sections import (
    against_truth,
    cluster_lines,
    galleries,
    margins,
    verdict_words,
)
from crlm.report.tiles import Tiles
from crlm.svg.curve import draw_curve
from crlm.svg.histogram import distances_of, draw_histogram, plateau
from crlm.svg.points import draw_map
from crlm.tables import check_writable, replacing
from crlm.words import count, number

if TYPE_CHECKING:
    from crlm.estimator import CRLM

__all__ = ["read_meta", "render", "write_report"]

FORMATS = (".html", ".htm")


def write_report(
    model: CRLM,
    path: str | os.PathLike[str],
    X: Any = None,
    *,
    images: Any = None,
    meta: Any = None,
    y: Any = None,
    title: str | None = None,
    force: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Write the report of a fitted model; the parameters are those of :meth:`crlm.CRLM.report`."""
    path = Path(path)
    check_writable(path, force, formats=FORMATS)
    text = render(model, X, images=images, meta=meta, y=y, title=title, max_bytes=max_bytes)
    with replacing(path) as file:
        file.write(text.encode())
    return path


def render(
    model: CRLM,
    X: Any = None,
    *,
    images: Any = None,
    meta: Any = None,
    y: Any = None,
    title: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> str:
    """Give the report as text: as much as fits into so many bytes."""
    inputs = read_inputs(model, X, images=images, meta=meta, y=y, title=title)
    estimate = model.sigma_estimate_ or estimate_sigma(inputs.points, model.alpha or ALPHA)
    text, cached = "", _Once(model, inputs, estimate)
    for limits in LEVELS:
        text = _template().render(**_context(model, inputs, estimate, limits, cached))
        if len(text.encode()) <= max_bytes:
            break
    return text


class _Once:
    """What takes long and is the same for every size."""

    def __init__(self, model: CRLM, inputs: Inputs, estimate: SigmaEstimate) -> None:
        self._model, self._inputs, self._estimate = model, inputs, estimate
        self.xy = project(inputs.points, model.cluster_centers_)
        self.map = draw_map(self.xy, model.labels_)
        self.alerts = find_alerts(model, inputs.points, estimate)

    @cached_property
    def _stops(self) -> Stops | None:
        return find_stops(self._model, self._inputs, self._estimate)

    def stops(self, limits: Limits) -> dict[str, Any] | None:
        """The moving bandwidth, as far as there is room for it."""
        if not limits.pairs or self._stops is None:
            return None
        found = live_record(self._stops, self._model.sigma_max_, limits.pairs)
        return None if found is None else with_saved(found, self._model)


def _context(
    model: CRLM, inputs: Inputs, estimate: SigmaEstimate, limits: Limits, once: _Once
) -> dict[str, Any]:
    """What the template is given."""
    tiles = Tiles(inputs, limits.thumb)
    found = once.stops(limits)
    shown = galleries(model, inputs, tiles, limits)
    lines = cluster_lines(model, inputs, tiles, limits)
    again = reproduce(model, inputs, limits)
    data = page_data(model, inputs, estimate, found, once.xy, limits)
    certificate = model.certificate_
    return {
        "name": inputs.name,
        "date": datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "version": __version__,
        "hash": record.fingerprint(model)[:16],
        "shape": f"{len(model.labels_):,} rows × {model.n_features_in_:,} columns",
        "verdict": verdict_words(model, estimate),
        "alerts": once.alerts,
        "histogram": draw_histogram(distances_of(model, estimate)),
        "curve": None if found is None else draw_curve(sweep(model, found, estimate)),
        "plateau": plateau(model, estimate),
        "admissible": None if certificate is None else admissible_interval(certificate),
        "estimate": estimate,
        "sigma_max": model.sigma_max_,
        "own_bandwidths": model._has_own_bandwidths,
        "stops": None if found is None else (found["sigmas"][0], found["sigmas"][-1]),
        "n_stops": 0 if found is None else len(found["sigmas"]),
        "lines": lines,
        "with_values": any(line.value for line in lines),
        "with_strips": any(line.strip for line in lines),
        "margins": margins(model),
        "galleries": shown,
        "map": once.map,
        "two_columns": model.n_features_in_ == 2,
        "truth": against_truth(model, inputs, limits),
        "reproduce": again,
        "left_out": left_out(model, inputs, limits, tiles, found is None),
        "limits": limits,
        "data": {**data, "command": again["command_at"], "saved_command": again["command"]},
        "style": _style(),
        "script": _script(),
    }


def left_out(
    model: CRLM, inputs: Inputs, limits: Limits, tiles: Tiles, without_stops: bool
) -> dict[str, str]:
    """What is not in the report and why, by section."""
    k, n = model.n_clusters_, len(model.labels_)
    said = dict.fromkeys(("sigma", "clusters", "gallery", "pictures", "map", "labels"), "")
    if without_stops:
        why = (
            "the model has landmarks, and a fit at another bandwidth reads all rows again."
            if model.certificate_ is None
            else "more pairs of rows are within reach than there is room for."
        )
        said["sigma"] = (
            f"The bandwidth cannot be moved in this file, and there is no stability curve: {why}"
        )
    if k > limits.table:
        said["clusters"] = f"The first {limits.table:,} of {k:,} clusters are listed."
    if k > limits.clusters:
        said["gallery"] = f"The first {limits.clusters:,} of {k:,} clusters are shown."
    if tiles.unreadable:
        some = "; ".join(tiles.unreadable[:3])
        said["pictures"] = f"{count(len(tiles.unreadable), 'picture')} cannot be shown: {some}"
    if n > limits.points:
        said["map"] = (
            f"When the map is moved, {limits.points:,} of its {n:,} points are drawn: clusters "
            "first, and of the background every so many-th."
        )
    if n > limits.labels:
        said["labels"] = (
            f"The labels of {n:,} rows are not in this file; crlm export writes them from the "
            "model."
        )
    return said


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("crlm", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = number
    environment.filters["sigma"] = _sigma
    return environment.get_template("report.html")


def _sigma(text: str) -> Any:
    """Words in which σ_max is written as on paper."""
    from markupsafe import Markup, escape

    return escape(text).replace("σ_max", Markup("σ<sub>max</sub>"))


def _style() -> str:
    return style() + _text("report.css")


def _script() -> str:
    modules = bundle("codec", "greedy", "colours", "dom", "histogram", "map")
    return modules + _text("report.js")


def _text(name: str) -> str:
    return (files("crlm.report") / name).read_text(encoding="utf-8")
