"""What a fit warns of, at the line of the code that called it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

from crlm.background.growth import MIN_POINTS
from crlm.background.significance import MIN_SIZE
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.errors import CRLMWarning, TooLargeWarning, TooSmallWarning, WeakEvidenceWarning
from crlm.scaling import dominating_column
from crlm.search import Floats

_LEAST = 2  # rows of a cluster, unless the caller asks for more


def warn(
    estimate: SigmaEstimate | None,
    rule: object,
    n_clusters: int,
    min_size: int,
    total: float,
    n_landmarks: int = 0,
    X: Floats | None = None,
    names: Sequence[object] | None = None,
    is_most: bool = False,
) -> None:
    """Warn of what is to be doubted in the bandwidth, or why there is nothing.

    `estimate` is None for a bandwidth that was given, `rule` what the caller asked for, and `total`
    the number of points, or their weight. If only some rows were tried as centres, `n_landmarks`
    were. `X` are the rows, if they are at hand, `names` those of its columns, if they have any.
    `is_most` says that the best ball holds most rows, and so is no cluster.
    """
    by_weight = not isinstance(total, int)
    unit = "points, by weight" if by_weight else "points"
    ways = ["a smaller min_cluster_size", *(["larger weights"] if by_weight else [])]
    if min_size > total and (by_weight or min_size > _LEAST):  # one row is no mistake
        _warn(
            f"min_cluster_size = {min_size:,} is more than all {total:,.10g} {unit}, so that there "
            f"can be no cluster. Pass {' or '.join(ways)}.",
            TooSmallWarning,
        )
    elif is_most:
        _warn(
            "the best ball holds more than half of the rows, and is no cluster: there is too "
            "little left to compare it with. Pass a smaller sigma_max; or if you expect one "
            "cluster of most rows, alpha=None and max_clusters=1.",
            TooLargeWarning,
        )
    elif estimate is None:
        return
    elif estimate.evidence == "weak":
        _warn_of_guess(estimate, rule, X, names)
    elif rule == "auto" and not n_clusters and (min_size > MIN_SIZE or not n_landmarks):
        around = f" around any of {n_landmarks:,} landmarks" if n_landmarks else ""
        ways += ["more n_landmarks"] if n_landmarks else []
        _warn(
            f"there are clusters that differ from background, but none of min_cluster_size = "
            f"{min_size:,} {unit}{around}. Pass {' or '.join(ways)} to see them.",
            TooSmallWarning,
        )


def differ_too_few(estimate: SigmaEstimate) -> bool:
    """Whether fewer rows differ than a cluster could be told from background among."""
    return bool(2.0 * estimate.counts.sum() < MIN_POINTS * (MIN_POINTS - 1))


def _warn_of_guess(
    estimate: SigmaEstimate, rule: object, X: Floats | None, names: Sequence[object] | None
) -> None:
    fix = (
        "If you know the spread of a cluster, pass sigma_max; a larger alpha reports less certain "
        "clusters"
    )
    if X is not None and (found := dominating_column(X)) is not None:
        column, share, _ = found
        name = f"{column} (from 0)" if names is None else repr(names[column])
        fix = (
            f"Column {name} makes {100 * share:.1f} % of the squared distances: if "
            f"units differ, scale the columns first, as StandardScaler does. {fix}"
        )
    if rule == "histogram":
        why = "there is no peak in the distances"
    elif differ_too_few(estimate):
        why = f"fewer than {MIN_POINTS} rows differ, too few to tell a cluster from background"
        fix = "With sigma_max and alpha=None every ball of two rows or more is reported"
    elif estimate.n_clusters.any():
        why = "what the distances of some rows show is no cluster among all rows"
    else:
        why = "at no bandwidth do the data differ from background alone"
        fix += ", and alpha=None a cluster of more than half of the rows"
    _warn(
        f"evidence for sigma_max is weak: {why}. Using the best guess, {estimate.suggested:.4g}. "
        f"{fix}.",
        WeakEvidenceWarning,
    )


def _warn(message: str, kind: type[CRLMWarning]) -> None:
    warnings.warn(message, kind, stacklevel=1 + _levels_to_caller())


def _levels_to_caller() -> int:
    """Number of calls between this package and the code that uses it."""
    frame, levels = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("crlm."):
        frame, levels = frame.f_back, levels + 1
    return levels - 1
