"""A fitted model as lines for people and as records for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crlm.cli.common import aligned, count, number
from crlm.cli.estimates import evidence, listed
from crlm.summary import cut_at_half, p_value, points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM

MAX_LINES = 20
_HEAD = ("#", "size", "σ\u0302", "p", "loss", "nearest other centre (÷√2d)")


def summary(model: CRLM, dropped: Sequence[int] = (), *, err: bool = False) -> list[str]:
    """Lines for stdout or stderr that say what was found: bandwidth, clusters, background."""
    rows = [*cluster_table(model, err=err), *background(model, dropped)]
    return [bandwidth(model), "", *(f"  {row}" for row in rows)]


def bandwidth(model: CRLM) -> str:
    """Line that says which sigma_max was used, and why."""
    estimate = model.sigma_estimate_
    used = f"σ_max {number(model.sigma_max_)}"
    if estimate is None:
        return f"{used}  (as given)"
    guess = "a guess " if estimate.evidence == "weak" else ""
    source = "by the paper's histogram" if model.sigma_max == "histogram" else "from the data"
    sure = evidence(estimate, model.sigma_max_ / estimate.suggested)
    seen = f"; peaks at {listed(estimate.peaks)}" if estimate.peaks else ""
    if model._has_own_bandwidths:
        low, high = number(model.bandwidths_.min()), number(model.bandwidths_.max())
        seen += f"; each cluster has its own, {low}" + (f" to {high}" if high != low else "")
    return f"{used}  ({guess}{source}; evidence: {sure}{seen})"


def cluster_table(model: CRLM, limit: int = MAX_LINES, *, err: bool = False) -> list[str]:
    """One line per cluster, at most `limit`, under a header."""
    if model.n_clusters_ == 0:
        return ["no cluster"]
    near = separations(model.cluster_centers_[:limit], model.cluster_centers_)
    rows = [
        (
            f"{j:,}",
            points(model.cluster_sizes_[j]),
            number(model.sigmas_[j]),
            p_value(model.p_values_[j]),
            number(model.losses_[j]),
            number(near[j]),
        )
        for j in range(len(near))
    ]
    more = model.n_clusters_ - len(rows)
    return [
        *aligned([_HEAD, *rows], err=err),
        *([f"... and {more:,} more (all of them: --json)"] if more else []),
    ]


def separations(some: NDArray[np.float64], centers: NDArray[np.float64]) -> list[float]:
    """Distance from each of the first centres to its nearest other, divided by sqrt(2 d).

    That is the unit in which two points of a cluster of spread sigma are sigma apart. NaN when
    there is no other centre.
    """
    import numpy as np

    found = []
    for j, center in enumerate(some):
        others = np.delete(centers, j, axis=0)
        sq_dist = np.square(others - center).sum(axis=1)
        found.append(math.sqrt(sq_dist.min() / (2 * len(center))) if len(others) else math.nan)
    return found


def background(model: CRLM, dropped: Sequence[int] = ()) -> list[str]:
    """Lines about the rows in no cluster, and those whose numbers are `dropped`."""
    n = len(model.labels_)
    rows = n - int((model.labels_ >= 0).sum())
    expected = "  — expected: CRLM leaves noise unassigned" if rows and model.n_clusters_ else ""
    lines = [f"background  {count(rows, 'row')} ({100 * rows / n:.1f} %){expected}"]
    if model.n_duplicates_:
        once = "" if model.alpha is None else "; the test counts them once"
        are = "is an exact copy" if model.n_duplicates_ == 1 else "are exact copies"
        rows_in_words = count(model.n_duplicates_, "row")
        lines.append(f"copies      {rows_in_words} {are} of an earlier row{once}")
    if dropped:
        why = "NaN, inf or only zeros" if model.metric == "cosine" else "NaN or inf"
        which = ", ".join(map(str, dropped[:3])) + (", ..." if len(dropped) > 3 else "")
        lines.append(f"dropped     {count(len(dropped), 'row')} with {why} (label −1): row {which}")
    return lines


def doubts(model: CRLM) -> list[str]:
    """Warn of what a careful reader of the result should know."""
    n = len(model.labels_)
    if model.n_clusters_ == 0:
        return [f"no cluster found: every row is background. {why_nothing(model)}"]
    if model.sigma_estimate_ is not None and model.sigma_estimate_.evidence == "weak":
        seen = "no peak in the distances" if model.sigma_max == "histogram" else "no gap"
        return [
            f"evidence for --sigma-max is weak: {seen}. Using the best guess, "
            f"{number(model.sigma_max_)}; to insist on more, --strict."
        ]
    largest = int(model.cluster_sizes_.argmax())
    share = model.cluster_sizes_[largest] / n
    if cut := cut_at_half(model):
        from crlm.cli.failures import in_flags

        return [in_flags(cut)]
    if share <= 0.5:
        return []
    why = "σ_max is probably too large; background was absorbed."
    if model.sigma_max == "auto":
        why = "That leaves little background to compare it with."
    return [f"cluster {largest} holds {100 * share:.0f} % of rows. {why}"]


def why_nothing(model: CRLM) -> str:
    """Why there is no cluster, and what to try."""
    if cannot_be_met(model):
        return (
            f"The data have only {count(len(model.labels_), 'row')}, so that none can have "
            f"{model.min_cluster_size:,}. Try a smaller --min-cluster-size."
        )
    if cannot_be_told(model):
        return (
            "Too few rows differ to tell a cluster from background. With --sigma-max and --alpha "
            "none every ball of two rows or more is reported."
        )
    tried = some_landmarks(model)
    if tried and has_evidence(model):
        more = "a smaller --min-weight" if model.n_landmarks == "auto" else "--landmarks auto"
        return (
            f"The distances show some, but none of {tried} lies in one. Try more of them: {more}."
        )
    ways = ["more --landmarks"] if tried else []
    if model.alpha is None:
        ways += ["a larger --sigma-max", "a smaller --min-cluster-size"]
        return f"If you expect some, try {alternatives(ways)}."
    level = f"at alpha = {model.alpha:g}"
    if is_too_small(model):
        return (
            f"What differs from background alone {level} has fewer than "
            f"{count(model.min_cluster_size, 'row')}. Try a smaller --min-cluster-size."
        )
    where = f"around {tried} nothing" if tried else "nothing"
    if model.sigma_max == "auto":
        from crlm.cautions import advice
        from crlm.cli.failures import in_flags

        more = f" If you expect some, try {ways[0]}." if ways else ""
        advised = in_flags(advice(model.n_features_in_))
        return f"{where.capitalize()} differs from background alone {level}.{more} {advised}."
    ways += ["a larger --alpha for less certain clusters", "--alpha none to see every ball"]
    ways.insert(0, "another --sigma-max (auto looks at all)")
    return (
        f"With σ_max {number(model.sigma_max_)} {where} differs from background alone {level}. If "
        f"you expect some, try {alternatives(ways)}."
    )


def alternatives(ways: list[str]) -> str:
    """Things to try, in a row.

    >>> alternatives(["this", "that"]), alternatives(["a", "b", "c"])
    ('this or that', 'a, b, or c')
    """
    if len(ways) == 2:
        return " or ".join(ways)
    return ", ".join([*ways[:-1], f"or {ways[-1]}"])


def some_landmarks(model: CRLM) -> str:
    """How many rows were tried as centres, in words; nothing if all were."""
    if model.certificate_ is not None or len(model.landmark_indices_) == len(model.labels_):
        return ""
    return count(len(model.landmark_indices_), "landmark")


def has_evidence(model: CRLM) -> bool:
    """Whether some bandwidth shows significant clusters, and it was taken."""
    estimate = model.sigma_estimate_
    seen = estimate is not None and estimate.evidence != "weak"
    return seen and model.sigma_max == "auto"


def cannot_be_met(model: CRLM) -> bool:
    """Whether a cluster is asked for that is larger than the data; one row is no mistake."""
    return int(model.min_cluster_size) > max(2, len(model.labels_))


def cannot_be_told(model: CRLM) -> bool:
    """Whether there are too few rows that differ."""
    estimate = model.sigma_estimate_
    if estimate is None or model.sigma_max != "auto":
        return False
    from crlm.cautions import differ_too_few

    return differ_too_few(estimate)


def is_too_small(model: CRLM) -> bool:
    """Whether there are significant clusters, but none with as many rows as asked for."""
    return has_evidence(model) and model.min_cluster_size > 2


def holds_everything(model: CRLM) -> bool:
    """Whether a ball is as wide as the data, so that a wider one shows nothing new."""
    return bool(model.radius_ >= model._background[1])


def records(model: CRLM) -> list[dict[str, Any]]:
    """Every cluster as plain numbers, for JSON."""
    near = separations(model.cluster_centers_, model.cluster_centers_)
    return [
        {
            "label": j,
            "size": int(model.cluster_sizes_[j]),
            "sigma": float(model.sigmas_[j]),
            "bandwidth": float(model.bandwidths_[j]),
            "p_value": float(model.p_values_[j]),
            "loss": float(model.losses_[j]),
            "weight": float(model.weights_[j]),
            "separation": near[j],
        }
        for j in range(model.n_clusters_)
    ]
