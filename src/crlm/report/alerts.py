"""What the reader should know before believing the clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.spatial import distance

from crlm.bandwidth.sigma import SigmaEstimate
from crlm.labels import BACKGROUND
from crlm.look.shape import round_limit, top_direction
from crlm.search import Floats
from crlm.summary import cut_at_half
from crlm.svg.histogram import plateau
from crlm.words import count, number

if TYPE_CHECKING:
    from crlm.estimator import CRLM

_MOST = 0.5  # share of the rows from which on one cluster is suspicious
_EDGE = 1.05  # a bandwidth as near as that to the end of its plateau
_LONG = 2.0  # times as long as a round cluster of so many points
_FEW = 10  # points from which on a shape can be told
_NAMED = 5  # clusters named in a sentence
_MAX_CLUSTERS = 200  # looked at for their shape


class Alert(NamedTuple):
    """One thing to know: how grave, in a few words, and what to do."""

    level: Literal["warning", "note"]
    title: str
    text: str


def find_alerts(model: CRLM, points: Floats, estimate: SigmaEstimate) -> list[Alert]:
    """Everything that speaks against the answer, gravest first."""
    found = [
        *_evidence(model, estimate),
        *_nothing(model),
        *_absorbed(model),
        *_edge(model, estimate),
        *_elongated(model, points),
        *_close(model),
        *_copies(model),
        *_pairs(model),
    ]
    return sorted(found, key=lambda alert: alert.level != "warning")


def _evidence(model: CRLM, estimate: SigmaEstimate) -> list[Alert]:
    if estimate.evidence == "clear":
        return []
    if estimate.evidence == "weak":
        text = (
            "At no bandwidth do these rows differ from background alone. The σ_max used is a guess."
        )
        if model.n_clusters_:
            text += " Look at the members before you trust a cluster."
        return [Alert("warning", "Weak evidence for σ_max", text)]
    low, high = estimate.plateau
    where = (
        f": only between {number(low)} and {number(high)} it makes no difference"
        if low < high
        else ""
    )
    text = (
        f"There are clusters, but which rows they hold depends on the bandwidth{where}. Move σ_max "
        f"below and watch the members."
    )
    return [Alert("note", "The exact value of σ_max matters", text)]


def _nothing(model: CRLM) -> list[Alert]:
    if model.n_clusters_:
        return []
    text = (
        "Every row is background. A larger alpha reports less certain clusters; alpha=None "
        "(--alpha none) shows every ball, as the paper's rule does."
    )
    if model.sigma_max == "auto":
        from crlm.cautions import advice  # of no use where there are clusters

        text = f"Every row is background. {advice(model.n_features_in_)}."
    if model.certificate_ is None:
        tried = count(len(model.landmark_indices_), "row")
        text += f" Only {tried} could be centres: a cluster without a landmark is not seen."
    return [Alert("warning", "No cluster was found", text)]


def _absorbed(model: CRLM) -> list[Alert]:
    sizes, n = member_counts(model), len(model.labels_)
    if cut := cut_at_half(model):
        return [Alert("warning", "One cluster holds half of the rows", f"C{cut[1:]}")]
    if not len(sizes) or sizes.max() <= _MOST * n:
        return []
    j = int(sizes.argmax())
    text = f"Cluster {j} holds {sizes[j]:,} of {n:,} rows. "
    if model.sigma_max == "auto":
        text += "That leaves little background to compare it with: look at its members."
    else:
        text += "σ_max is probably too large, and background was absorbed; try a smaller one."
    return [Alert("warning", "One cluster holds most rows", text)]


def _edge(model: CRLM, estimate: SigmaEstimate) -> list[Alert]:
    low, high = plateau(model, estimate) or (math.nan, math.nan)
    if estimate.evidence != "clear" or not math.isfinite(low):
        return []
    if low * _EDGE <= model.sigma_max_ <= high / _EDGE:
        return []
    outside = not low <= model.sigma_max_ <= high
    text = (
        f"The clusters stay the same for σ_max from {number(low)} to {number(high)}; "
        f"{number(model.sigma_max_)} is {'outside' if outside else 'near the end of'} that range."
    )
    title = "σ_max is outside its stable range" if outside else "σ_max is near the edge"
    return [Alert("warning" if outside else "note", title, text)]


def _elongated(model: CRLM, points: Floats) -> list[Alert]:
    d = points.shape[1]
    long = []
    for j in range(min(model.n_clusters_, _MAX_CLUSTERS)):
        members = points[model.labels_ == j]
        if len(members) < _FEW or d < 2:
            continue
        if top_direction(members) > _LONG * round_limit(len(members), d):
            long.append(j)
    if not long:
        return []
    text = (
        f"{_clusters(long)} {'is' if len(long) == 1 else 'are'} longer in one direction than "
        f"chance allows, while the method assumes round clusters: part of a longer shape may have "
        f"been left in the background, or two groups may be one cluster."
    )
    return [Alert("note", "Elongated clusters", text)]


def _close(model: CRLM) -> list[Alert]:
    if model.n_clusters_ < 2:
        return []
    radii = model.radii_[:1000]
    apart = distance.squareform(distance.pdist(model.cluster_centers_[:1000]))
    near = apart < np.maximum.outer(radii, radii)
    pairs = np.argwhere(np.triu(near, 1))
    if not len(pairs):
        return []
    some = ", ".join(f"{i} and {j}" for i, j in pairs[:_NAMED].tolist())
    more = f" and {len(pairs) - _NAMED:,} more pairs" if len(pairs) > _NAMED else ""
    text = f"The means of {some}{more} are closer than a radius: they may be parts of one group."
    return [Alert("note", "Clusters close to each other", text)]


def _copies(model: CRLM) -> list[Alert]:
    copies = model.n_duplicates_
    if not copies:
        return []
    text = (
        f"{count(copies, 'row')} {'is an exact copy' if copies == 1 else 'are exact copies'} of "
        f"an earlier row. Copies are no evidence for a cluster, and count once in its p-value."
    )
    return [Alert("note", "Duplicate rows", text)]


def _pairs(model: CRLM) -> list[Alert]:
    small = np.flatnonzero(member_counts(model) <= 2).tolist()
    if not small:
        return []
    text = (
        f"{_clusters(small)} {'has' if len(small) == 1 else 'have'} two rows only, which chance "
        f"alone produces. min_cluster_size=3 leaves them out."
    )
    return [Alert("note", "Clusters of two rows", text)]


def member_counts(model: CRLM) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows in each cluster, whatever they weigh."""
    inside = model.labels_[model.labels_ != BACKGROUND]
    return np.bincount(inside, minlength=model.n_clusters_)


def _clusters(which: list[int]) -> str:
    if len(which) == 1:
        return f"Cluster {which[0]}"
    if len(which) > _NAMED:
        return f"{len(which):,} clusters"
    return f"Clusters {', '.join(map(str, which[:-1]))} and {which[-1]}"
