"""What a fit warns of, at the line of the code that called it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.background.growth import MIN_POINTS
from crlm.background.significance import MIN_SIZE
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.errors import CRLMWarning, TooLargeWarning, TooSmallWarning, WeakEvidenceWarning
from crlm.scaling import dominating_column, variances
from crlm.search import Floats

_NEARLY_ALL = 0.95  # of the squared distances from a few columns
_FEW_COLUMNS = 3
_FLAT = 3  # columns up to which people see chains and rings
_LEAST = 2  # rows of a cluster, unless the caller asks for more

# What to try where no bandwidth shows anything.
FAINT = "A larger alpha reports less certain clusters"
MOST = (
    "A cluster of more than half of the rows shows only without the test: pass sigma_max (0.8 "
    "times its spread), alpha=None and max_clusters=1"
)
CHAINS = "Chains and rings are for HDBSCAN"


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


def dominating_columns(X: NDArray[Any]) -> tuple[list[int], float, NDArray[np.float64]] | None:
    """The few columns that make nearly all of the squared distances, their share, and all spans.

    At most three, and at most a fifth of all. None when there are no such columns.

    >>> rows = np.eye(9)[:, :5] * [1, 2, 90, 3, 1]
    >>> dominating_columns(rows)[0], dominating_columns(rows[:, [0, 1, 3, 4]])
    ([2], None)
    """
    if (one := dominating_column(X)) is not None:
        return [one[0]], *one[1:]
    some = np.asarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)
    with np.errstate(over="ignore"):
        spans = np.ptp(some, axis=0)
    if not 0.0 < spans.max() < np.inf:
        return None
    variance = variances(some, spans)
    shares = variance / variance.sum()
    order = shares.argsort()[::-1]
    for m in range(1, 1 + min(_FEW_COLUMNS, int((spans > 0.0).sum()) // 5)):
        if (share := float(shares[order[:m]].sum())) >= _NEARLY_ALL:
            return sorted(order[:m].tolist()), share, spans
    return None


def in_words(names: Sequence[str]) -> str:
    """Names in a row.

    >>> in_words(["a"]), in_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def advice(d: int) -> str:
    """What to try where nothing in `d` columns differs from background at any bandwidth."""
    return ". ".join([FAINT, MOST, *([CHAINS] if 2 <= d <= _FLAT else [])])


def _warn_of_guess(
    estimate: SigmaEstimate, rule: object, X: Floats | None, names: Sequence[object] | None
) -> None:
    fix = f"If you know the spread of a cluster, pass 0.8 times that as sigma_max. {FAINT}"
    if rule != "histogram" and not estimate.n_clusters.any():
        fix = advice(0 if X is None else X.shape[1])
    if X is not None and (found := dominating_columns(X)) is not None:
        columns, share, _ = found
        which = in_words([f"{j}" if names is None else repr(names[j]) for j in columns])
        makes = "makes" if len(columns) == 1 else "make"
        fix = (
            f"Column{'s' * (len(columns) > 1)} {which}{' (from 0)' * (names is None)} {makes} "
            f"{100 * share:.1f} % of the squared distances: if units differ, scale the columns "
            f"first, as StandardScaler does. {fix}"
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
