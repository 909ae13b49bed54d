"""``crlm sigma``: look at the distances before fitting."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    NO_CLUSTER,
    FilePath,
    Session,
    alpha_option,
    count,
    json_option,
    number,
    remark,
    say,
    say_json,
)
from crlm.cli.estimates import estimate_record, listed
from crlm.cli.reading import Rows, read_rows, rows_options
from crlm.summary import p_value

if TYPE_CHECKING:
    from crlm.bandwidth.sigma import SigmaEstimate

EPILOG = """\b
Examples:
  crlm sigma embeddings.npy
  crlm sigma rows.csv --columns x,y,z --alpha 0.05
  crlm sigma embeddings.npy --metric cosine --json

\b
Exit codes:
  0 done   2 wrong usage   3 unusable data   4 weak evidence (--strict)
"""
HEIGHT = 6
MARGIN = "  "
_NOTHING = 1e-6  # pairs; less is rounding
_EIGHTHS = " ▁▂▃▄▅▆▇█"


@click.command(epilog=EPILOG)
@click.argument("data", type=FilePath())
@alpha_option
@rows_options
@click.option("--strict", is_flag=True, help="Exit with 4 when the evidence is weak.")
@json_option
@click.pass_obj
def sigma(
    session: Session, /, data: Path, alpha: float | None, strict: bool, as_json: bool, **how: Any
) -> int:
    """Look at the distances between the rows of DATA and suggest sigma_max.

    Divided by sqrt(2 d), distances inside a cluster pile up at its spread. The suggestion is what
    crlm fit takes by itself; it is the bandwidth at which significant clusters hold most rows. If
    the evidence is moderate, the fit looks for clusters with one of their own each, which may be
    other ones. Nothing is written.
    """
    rows = read_rows(data, **how)
    estimate = suggest(rows, alpha, how["metric"])
    if as_json:
        say_json(record(estimate, rows, alpha, how["metric"]))
    else:
        import shutil

        width = shutil.get_terminal_size().columns
        for line in [rows.head, "", *picture(estimate, width), "", *verdict(estimate, alpha)]:
            say(line)
        remark(f"Next:  {shlex.join(['crlm', *next_line(estimate, session.argv)])}")
    return NO_CLUSTER if strict and estimate.evidence == "weak" else 0


def suggest(rows: Rows, alpha: float | None, metric: str) -> SigmaEstimate:
    """Suggest what a fit of the same rows takes."""
    from crlm.bandwidth.sigma import ALPHA, estimate_sigma
    from crlm.checks import check_alpha
    from crlm.data_checks import check_suggested

    level = check_alpha(alpha)
    with rows.named_in_errors():
        found = estimate_sigma(rows.X, ALPHA if level is None else level, metric=metric)
        check_suggested(found.suggested)
    return found


def record(estimate: SigmaEstimate, rows: Rows, alpha: float | None, metric: str) -> dict[str, Any]:
    """Say it to programs: the numbers, the histogram, and the curve behind the choice."""
    return {
        "schema": "crlm.sigma/1",
        **rows.facts,
        "metric": metric,
        "alpha": alpha,
        **estimate_record(estimate),
        "histogram": {"edges": estimate.edges.tolist(), "counts": estimate.counts.tolist()},
        "curve": {
            "sigma_max": estimate.sigmas.tolist(),
            "n_clusters": estimate.n_clusters.tolist(),
            "net": estimate.net.tolist(),
        },
    }


def picture(estimate: SigmaEstimate, width: int) -> list[str]:
    """Histogram of the distances in bars of log counts, with a mark at sigma_max."""
    pairs = int(estimate.counts.sum())
    if not pairs:
        return ["No two different rows, so there is no distance to look at."]
    low, high = limits(estimate)
    counts = columns(estimate, low, high, max(20, width - len(MARGIN) - 1))
    place = math.log(estimate.suggested / low) / math.log(high / low)
    axis = number(low) + number(high).rjust(len(counts) - len(number(low)))
    drawing = [*bars(counts), axis, mark(estimate, int(place * len(counts)), len(counts))]
    return [
        f"{count(pairs, 'pair')} by distance / √(2d), which is σ inside a cluster (log counts)",
        "",
        *(f"{MARGIN}{line}".rstrip() for line in drawing),
    ]


def limits(estimate: SigmaEstimate) -> tuple[float, float]:
    """Range to draw: all pairs, and sigma_max a little inside."""
    first, last = estimate.counts.nonzero()[0][[0, -1]]
    low = min(float(estimate.edges[first]), estimate.suggested / 1.1)
    return low, max(float(estimate.edges[last + 1]), estimate.suggested * 1.1)


def columns(estimate: SigmaEstimate, low: float, high: float, width: int) -> list[float]:
    """Pairs in columns of equal ratio; a bin across two columns is shared between them."""
    import numpy as np

    below = np.append(0.0, np.cumsum(estimate.counts))
    at = np.linspace(math.log(low), math.log(high), width + 1)
    counts: list[float] = np.diff(np.interp(at, np.log(estimate.edges), below)).tolist()
    return counts


def bars(counts: list[float], height: int = HEIGHT) -> list[str]:
    """Bars of log counts, the highest as high as the picture, any pair at least an eighth.

    >>> bars([0, 1, 10, 100], 2)
    ['   █', ' ▂██']
    """
    top = math.log1p(max(counts))
    eighths = [
        max(1, round(8 * height * math.log1p(pairs) / top)) if pairs > _NOTHING else 0
        for pairs in counts
    ]
    return [
        "".join(_EIGHTHS[min(max(0, full - 8 * row), 8)] for full in eighths)
        for row in reversed(range(height))
    ]


def mark(estimate: SigmaEstimate, at: int, width: int) -> str:
    """Arrow under the column of sigma_max, with its value on the side that has room."""
    words = f"σ_max {number(estimate.suggested)}"
    if at + 2 + len(words) <= width:
        return " " * at + f"▲ {words}"
    return f"{words} ▲".rjust(at + 1)


def verdict(estimate: SigmaEstimate, alpha: float | None) -> list[str]:
    """What the distances say, in words."""
    from crlm.bandwidth.sigma import ALPHA

    chance = p_value(10.0**-estimate.score)
    surest = f"p {chance}" if chance.startswith("<") else f"p = {chance}"
    if estimate.evidence == "weak":
        return [
            f"Nothing differs from background alone at alpha = {alpha or ALPHA:g}, at any σ_max.",
            f"The least likely ball has {surest}.",
            "",
            f"σ_max {number(estimate.suggested)} is a guess   evidence: weak",
        ]
    low, high = estimate.plateau
    exact = "its exact value is no matter" if estimate.evidence == "clear" else "its value matters"
    lines = [
        f"clusters      {len(estimate.peaks):,}, the surest with {surest}; "
        f"spread {listed(estimate.peaks)}",
        f"gap           {gap(estimate)}",
        f"plateau       as good for σ_max from {number(low)} to {number(high)}: {exact}",
    ]
    if estimate.alternatives:
        others = listed(estimate.alternatives)
        lines.append(f"alternatives  {others}: at least half as many rows in clusters")
    if estimate.rare:
        lines.append("rows          all were looked at: in a sample these clusters do not show")
    suggested = f"Suggested σ_max {number(estimate.suggested)}   evidence: {estimate.evidence}"
    if estimate.evidence == "clear":
        return [*lines, "", suggested]
    return [*lines, "", suggested, "A fit without σ_max may give each cluster one of its own."]


def gap(estimate: SigmaEstimate) -> str:
    """Room around the surest cluster."""
    if estimate.gap < 1.05:
        return "none: around the surest cluster the rows go on without a break"
    ratio = number(estimate.gap)
    return f"the next row is {ratio} times as far as the farthest of the surest cluster"


def next_line(estimate: SigmaEstimate, argv: list[str]) -> list[str]:
    """Fit of the same rows: it takes the suggestion by itself; where that is a guess, a look."""
    words = [word for word in argv if word not in ("--json", "--strict")]
    words[words.index("sigma")] = "explore" if estimate.evidence == "weak" else "fit"
    return words
