"""The sections of the report, each as words, numbers and drawings; HTML is the template's."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm import scores
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.findings import MEANINGS, findings, trust
from crlm.gallery import Picks, pick_rows
from crlm.labels import BACKGROUND
from crlm.look.shape import round_limit, top_direction
from crlm.report.alerts import member_counts
from crlm.report.inputs import Inputs
from crlm.report.limits import Limits
from crlm.report.tiles import Tile, Tiles, cut
from crlm.summary import p_value
from crlm.words import count, number

if TYPE_CHECKING:
    from crlm.estimator import CRLM

_SCORES = {
    "F-measure": (
        scores.f_measure,
        "average over the true clusters, each against its match; the one to trust",
    ),
    "matched accuracy": (
        scores.matched_accuracy,
        "rows with the right label; what the paper's tables call Rand index",
    ),
    "Rand index": (scores.rand_index, "pairs of rows put together, or apart, by both"),
    "purity": (scores.purity, "rows in clusters where their truth is frequent"),
}
_STRIP = 5  # pictures in a line of the table
_MANY_VALUES = 0.5  # a column with more different values than this share names rows, not groups
_SHOWN = 3.0  # margins are drawn up to this


# 1 Verdict


def verdict_words(model: CRLM, estimate: SigmaEstimate) -> dict[str, Any]:
    """The answer in two sentences and four numbers."""
    n, k = len(model.labels_), model.n_clusters_
    inside = int((model.labels_ != BACKGROUND).sum())
    if k:
        holds = "holds" if k == 1 else "hold"
        found = f"{count(k, 'cluster')} {holds} {inside:,} of {n:,} rows; "
    else:
        found = f"No cluster among {n:,} rows; "
    found += f"{100 * (n - inside) / n:.1f}\u00a0% is background."
    return {
        "found": found,
        "evidence": estimate.evidence,
        "bandwidth": _bandwidth_words(model, estimate),
        "certificate": trust(model) if k else "",
        "numbers": [
            (f"{k:,}", "cluster" if k == 1 else "clusters"),
            (f"{100 * inside / n:.1f}\u00a0%", "of rows in clusters"),
            (number(model.sigma_max_), "σ_max"),
            (estimate.evidence, "evidence for σ_max"),
        ],
    }


def _bandwidth_words(model: CRLM, estimate: SigmaEstimate) -> str:
    scale = math.sqrt(4.0 / model.G_)
    if model.sigma_estimate_ is not None:
        return f"Evidence for σ_max: {estimate.evidence}."
    suggested = number(estimate.suggested * scale)
    guess = "would only guess" if estimate.evidence == "weak" else "suggest"
    return f"σ_max was given; the data {guess} {suggested} (evidence: {estimate.evidence})."


# 4 Clusters


class Line(NamedTuple):
    """One cluster in the table."""

    j: int
    size: int
    share: float
    sigma: float
    p: str
    p_number: float
    loss: float
    separation: float
    shape: float
    value: str
    strip: list[str]


def cluster_lines(model: CRLM, inputs: Inputs, tiles: Tiles, limits: Limits) -> list[Line]:
    """The table, with a strip of pictures for those that have a gallery."""
    sizes = member_counts(model)
    k = min(model.n_clusters_, limits.table)
    apart = _separations(model, k)
    values = _top_values(model, inputs, k)
    lines = []
    for j in range(k):
        members = np.flatnonzero(model.labels_ == j)
        strip = _strip(members, inputs, model, j, tiles) if j < limits.clusters else []
        lines.append(
            Line(
                j,
                int(sizes[j]),
                float(sizes[j]) / len(model.labels_),
                float(model.sigmas_[j]),
                p_value(float(model.p_values_[j])),
                float(model.p_values_[j]),
                float(model.losses_[j]),
                float(apart[j]),
                _length(inputs.points[members]),
                values[j],
                strip,
            )
        )
    return lines


def _length(points: NDArray[Any]) -> float:
    """How long a cluster is in its longest direction, over a round one of as many rows."""
    return top_direction(points) / round_limit(*points.shape)


def _strip(
    members: NDArray[np.intp], inputs: Inputs, model: CRLM, j: int, tiles: Tiles
) -> list[str]:
    if inputs.images is None:
        return []
    far = distance.cdist(inputs.points[members], model.ball_centers_[j : j + 1])[:, 0]
    nearest = members[np.argsort(far, kind="stable")[:_STRIP]]
    return [address for i in nearest if (address := tiles.small(int(i))) is not None]


def _separations(model: CRLM, k: int) -> NDArray[np.float64]:
    """Distance to the nearest other mean over sqrt(2 d); inf for one cluster."""
    means = model.cluster_centers_
    if len(means) < 2:
        return np.full(k, math.inf)
    far = distance.cdist(means[:k], means)
    far[np.arange(k), np.arange(k)] = math.inf
    return np.asarray(far.min(axis=1) / math.sqrt(2.0 * means.shape[1]))


def _top_values(model: CRLM, inputs: Inputs, k: int) -> list[str]:
    """Most frequent word of the first column that has groups, and how frequent it is."""
    for name, column in inputs.meta.items():
        if len(set(column)) > _MANY_VALUES * len(column):
            continue
        head = f"{name}: " if name else ""
        found = []
        for j in range(k):
            words = Counter(column[i] for i in np.flatnonzero(model.labels_ == j))
            word, times = words.most_common(1)[0]
            found.append(f"{head}{cut(word, 40)} ({times:,} of {words.total():,})")
        return found
    return [""] * k


class Margin(NamedTuple):
    """One condition of the certificate, as a bar."""

    name: str
    meaning: str
    verdict: str
    value: str
    length: float  # of the bar, -1 to 1
    is_estimate: bool


def margins(model: CRLM) -> list[Margin]:
    """Conditions of the certificate, worst first; none where there is none."""
    if not model.n_clusters_ or model.certificate_ is None:
        return []
    signs = {"exact": "", "at least": "≥ ", "at most": "≤ "}
    return [
        Margin(
            f.name,
            MEANINGS[f.name],
            f.verdict,
            signs[f.known] + _signed(f.margin),
            min(max(f.margin / _SHOWN, -1.0), 1.0),
            f.is_estimate,
        )
        for f in findings(model.certificate_)
    ]


def _signed(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return ("+" if value > 0.0 else "") + number(value)


# 5 Gallery


class Gallery(NamedTuple):
    """Rows of one cluster to look at."""

    j: int
    size: int
    middle: list[Tile]
    edge: list[Tile]
    nearly_in: list[Tile]

    @property
    def groups(self) -> list[tuple[str, str, list[Tile]]]:
        """The three kinds: name, explanation, tiles."""
        kinds = [
            ("Nearest the centre", "what the cluster is about", self.middle),
            ("At the edge", "its farthest members, where mistakes show", self.edge),
            (
                "Nearly in",
                "the nearest background, with its distance from the centre",
                self.nearly_in,
            ),
        ]
        return [kind for kind in kinds if kind[2]]


def galleries(model: CRLM, inputs: Inputs, tiles: Tiles, limits: Limits) -> list[Gallery]:
    """Middle, edge and nearly in of the first clusters."""
    sizes = member_counts(model)
    found = []
    for j in range(min(model.n_clusters_, limits.clusters)):
        picks: Picks = pick_rows(model, inputs.X, j, limits.tiles)
        groups = [tiles.of(rows, picks) for rows in picks[:3]]
        found.append(Gallery(j, int(sizes[j]), *groups))
    return found


# 7 Against truth


def against_truth(model: CRLM, inputs: Inputs, limits: Limits) -> dict[str, Any] | None:
    """Scores, and which rows of each true cluster went where."""
    truth, labels = inputs.truth, model.labels_
    if truth is None:
        return None
    values = [(name, score(truth, labels), words) for name, (score, words) in _SCORES.items()]
    names = [*inputs.truth_names, "background"]
    counts = np.zeros((len(names), model.n_clusters_ + 1), dtype=np.int64)
    np.add.at(counts, (truth, labels), 1)  # -1 is the last line and the last column
    lines = np.argsort(-counts[:-1].sum(axis=1), kind="stable")[: limits.confusion]
    columns = np.arange(min(model.n_clusters_, limits.confusion))
    shown_lines, shown = [*lines.tolist(), len(names) - 1], [*columns.tolist(), -1]
    return {
        "scores": [(name, f"{value:.3f}", words) for name, value, words in values],
        "columns": [*(f"{j}" for j in columns), "background"],
        "lines": [
            (cut(names[i], 40), [int(counts[i, j]) for j in shown], int(counts[i].sum()))
            for i in shown_lines
        ],
        "hidden_lines": len(names) - 1 - len(lines),
        "hidden_columns": model.n_clusters_ - len(columns),
    }
