"""What a fit warns of, at the line of the code that called it."""

from __future__ import annotations

import inspect
import warnings

from crlm.errors import CRLMWarning, TooSmallWarning, WeakEvidenceWarning
from crlm.growth import MIN_POINTS
from crlm.sigma import SigmaEstimate
from crlm.significance import MIN_SIZE


def warn_if_weak(estimate: SigmaEstimate, rule: object) -> None:
    """Warn that the bandwidth is a guess."""
    if estimate.evidence != "weak":
        return
    fix = (
        "If you know the spread of a cluster, pass sigma_max; a larger alpha reports less certain "
        "clusters"
    )
    if rule == "histogram":
        why = "there is no peak in the distances"
    elif 2.0 * estimate.counts.sum() < MIN_POINTS * (MIN_POINTS - 1):
        why = f"fewer than {MIN_POINTS} rows differ, too few to tell a cluster from background"
        fix = "With sigma_max and alpha=None every ball of two rows or more is reported"
    elif estimate.n_clusters.any():
        why = "what the distances of some rows show is no cluster among all rows"
    else:
        why = "at no bandwidth do the data differ from background alone"
    _warn(
        f"evidence for sigma_max is weak: {why}. Using the best guess, {estimate.suggested:.4g}. "
        f"{fix}.",
        WeakEvidenceWarning,
    )


def warn_if_too_small(estimate: SigmaEstimate, n_clusters: int, min_size: int) -> None:
    """Warn that "auto" sees something, but nothing as large as was asked for."""
    if n_clusters or estimate.evidence == "weak" or min_size <= MIN_SIZE:
        return
    _warn(
        f"there are clusters that differ from background, but none of min_cluster_size = "
        f"{min_size:,} points. Pass a smaller min_cluster_size to see them.",
        TooSmallWarning,
    )


def _warn(message: str, kind: type[CRLMWarning]) -> None:
    warnings.warn(message, kind, stacklevel=1 + _levels_to_caller())


def _levels_to_caller() -> int:
    """Number of calls between this package and the code that uses it."""
    frame, levels = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("crlm."):
        frame, levels = frame.f_back, levels + 1
    return levels - 1
