"""A fitted model in words and as a small table, in text and in HTML without script."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crlm.estimator import CRLM

_MAX_ROWS = 10
_COLUMNS = ("#", "size", "sigma", "p", "loss")
_LEAST_P = 1e-16
_AT_LIMIT = 0.48, 0.51  # share of the points in a ball that may be cut: a test allows about half


def text(settings: str, model: CRLM) -> str:
    """One line that says what was found, then a line for each cluster."""
    lines = [f"{settings}: {headline(model)}"]
    if model.n_clusters_:
        table = [_COLUMNS, *_rows(model)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += [
            "  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
            for row in table
        ]
    return "\n".join(lines + _more(model))


def html(settings: str, model: CRLM) -> str:
    """Give the same as :func:`text`, with the histogram, for any notebook viewer: no script."""
    head = "".join(f"<th>{cell}</th>" for cell in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(model)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    more = "".join(f"<p>{escape(line.strip())}</p>" for line in _more(model))
    return (
        f"<div><p><code>{escape(settings)}</code><br>{escape(headline(model))}</p>"
        f"{_picture(model)}{table}{more}</div>"
    )


def _picture(model: CRLM) -> str:
    """The histogram behind sigma_max, drawn without script; nothing when it was given."""
    estimate = model.sigma_estimate_
    if estimate is None:
        return ""
    from crlm.svg.histogram import distances_of, draw_histogram

    drawing = draw_histogram(distances_of(model, estimate), width=640.0, height=190.0)
    return drawing.replace("<svg ", '<svg width="640" height="190" ', 1)


def headline(model: CRLM) -> str:
    """What was found, in half a sentence.

    For example: 3 clusters, 270 of 6,000 rows (4.5 %), sigma_max 10.5, evidence clear.
    """
    n = len(model.labels_)
    clustered = int((model.labels_ >= 0).sum())
    found = {0: "no cluster", 1: "1 cluster"}.get(
        model.n_clusters_, f"{model.n_clusters_} clusters"
    )
    words = [
        found,
        f"{clustered:,} of {n:,} rows ({100 * clustered / n:.1f} %)",
        f"sigma_max {model.sigma_max_:.4g}",
    ]
    if model._has_own_bandwidths:
        low, high = (f"{at:.4g}" for at in (model.bandwidths_.min(), model.bandwidths_.max()))
        words.append(f"each cluster its own, {low}" + (f" to {high}" if high != low else ""))
    if model.sigma_estimate_ is not None:
        words.append(f"evidence {model.sigma_estimate_.evidence}")
    return ", ".join(words)


def cut_at_half(model: CRLM) -> str:
    """What to say of a cluster that may have been cut at half of the rows; nothing if none is."""
    if model.alpha is None or not model.n_clusters_:
        return ""
    largest = int(model.weights_.argmax())
    low, high = _AT_LIMIT
    if not low <= model.weights_[largest] <= high:
        return ""
    return (
        f"cluster {largest} holds about half of the rows, the most that can be tested, and may be "
        f"cut there. sigma_max (0.8 times its spread), alpha=None and max_clusters=1 show more."
    )


def p_value(p: float) -> str:
    """Chance in as few digits as matter; a dash when there was no test.

    >>> p_value(0.0), p_value(3.21e-9), p_value(0.00204), p_value(float("nan"))
    ('<1e-16', '3e-09', '0.002', '-')
    """
    if math.isnan(p):
        return "-"
    if p < _LEAST_P:
        return f"<{_LEAST_P:.0e}"
    return f"{p:.0e}" if p < 1e-4 else f"{p:.2g}"


def points(size: float) -> str:
    """Points of a cluster; parts of one only where weights are no whole numbers.

    >>> points(1200), points(26.03102793340308)
    ('1,200', '26.0')
    """
    return f"{size:,.1f}" if isinstance(size, float) else f"{size:,}"


def _rows(model: CRLM) -> list[tuple[str, ...]]:
    columns = zip(model.cluster_sizes_, model.sigmas_, model.p_values_, model.losses_, strict=True)
    rows: list[tuple[str, ...]] = [
        (str(j), points(size), f"{sigma:.4g}", p_value(p), f"{loss:,.4g}")
        for j, (size, sigma, p, loss) in enumerate(columns)
    ]
    return rows[:_MAX_ROWS]


def _more(model: CRLM) -> list[str]:
    left = model.n_clusters_ - _MAX_ROWS
    lines = [f"  ... and {left} more"] if left > 0 else []
    cut = cut_at_half(model)
    return [*lines, *([f"  {cut}"] if cut else [])]
