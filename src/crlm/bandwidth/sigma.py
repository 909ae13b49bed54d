"""The bandwidth from the data: the radius at which significant clusters hold most points.

For each radius of a fine grid, take the clusters of Algorithm 2 that are more than chance
(:mod:`crlm.background.significance`) and count their points less twice the background expected
among them:

    net(R) = sum over clusters of (points - 2 * background expected).

A shell is worth taking while more than half of it belongs to the cluster, so `net` rises while
the ball grows into its cluster and falls when it grows into the background. The middle one of
the radii whose `net` is as high as any is taken; where clusters are well apart these are many,
a plateau.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.background.growth import few_points
from crlm.background.significance import Background
from crlm.checks import check_alpha, check_metric, check_n_jobs
from crlm.data_checks import check_has_rows, check_points, check_suggested, check_table
from crlm.search import Floats

if TYPE_CHECKING:
    from crlm.bandwidth.radii import Found

Evidence = Literal["clear", "moderate", "weak"]
F64 = NDArray[np.float64]

ALPHA = 0.01

# Two points or one in twenty more or less are chance.
_FEW, _SHARE = 2.0, 0.05
# Distances of clusters with a clear gap around them leave a range of radii without any; where
# the radius may change by half without a change in the answer, its exact value is no matter.
_CLEAR = 1.5
_BINS_PER_OCTAVE = 24
_PART = 0.5  # of the rows in clusters; a few near copies beside larger clusters are less
_APART = 8  # radii between alternatives: a fifth larger or smaller


class Path(Protocol):
    """Significant clusters at each of some radii."""

    @property
    def n(self) -> int:
        """Points among which they were sought."""

    @property
    def radii(self) -> F64:
        """Ascending."""

    def clusters(self) -> list[list[Found]]:
        """Clusters at each radius."""

    def net(self, found: list[list[Found]]) -> F64:
        """Points of the clusters at each radius, less twice the background among them."""

    def sigma(self, ball: Found) -> float:
        """Standard deviation per coordinate of the members of a ball."""

    def gap(self, ball: Found) -> float:
        """Distance of the nearest point outside a ball over that of the farthest inside."""


class SigmaEstimate(NamedTuple):
    """What the distances say about sigma_max.

    Attributes
    ----------
    suggested : float
        The bandwidth to use; with weak evidence a guess.
    evidence : {"clear", "moderate", "weak"}
        "clear": significant clusters that stay the same over a range of bandwidths of at least
        1.5 to 1. "moderate": significant clusters, but the bandwidth matters. "weak": nothing
        significant at any bandwidth.
    peaks : list of float
        Estimated sigmas of the clusters, ascending.
    edges : ndarray of shape (n_bins + 1,)
        Edges of the histogram of distance / sqrt(2 d), of equal ratio.
    counts : ndarray of shape (n_bins,)
        Pairs in each bin.
    plateau : tuple of float
        Range of bandwidths that serve as well as the suggested one.
    score : float
        -log10 of the p-value of the most significant ball.
    gap : float
        Distance of the nearest point outside over that of the farthest inside, for the most
        significant cluster; 1 is no gap.
    alternatives : list of float
        Other bandwidths, at least a fifth apart, with at least half of the largest `net`.
    sigmas, n_clusters, net : ndarray of shape (n_radii,)
        The curve behind the choice.
    rare : bool
        Whether the clusters have so few of the rows that they do not show in a sample of 2,048,
        so that all this but the histogram was read from all rows, at small distances.
    """

    suggested: float
    evidence: Evidence
    peaks: list[float]
    edges: F64
    counts: F64
    plateau: tuple[float, float] = (math.nan, math.nan)
    score: float = 0.0
    gap: float = 1.0
    alternatives: list[float] = []  # noqa: RUF012
    sigmas: F64 = np.zeros(0)
    n_clusters: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    net: F64 = np.zeros(0)
    rare: bool = False

    def __repr__(self) -> str:
        """Give what is read first; the histogram and the curve are long."""
        low, high = self.plateau
        return (
            f"SigmaEstimate(suggested={self.suggested:.4g}, evidence={self.evidence!r}, "
            f"peaks=[{', '.join(f'{peak:.4g}' for peak in self.peaks)}], "
            f"plateau=({low:.4g}, {high:.4g}), score={self.score:.4g}, gap={self.gap:.4g}, "
            f"alternatives=[{', '.join(f'{other:.4g}' for other in self.alternatives)}], ...)"
        )


def estimate_sigma(
    X: ArrayLike, alpha: float = ALPHA, *, metric: str = "euclidean"
) -> SigmaEstimate:
    """Suggest a bandwidth for data `X` of shape (n_samples, n_features).

    It is what ``CRLM().fit(X)`` takes, in a part of its time.

    Parameters
    ----------
    X : array-like or dataframe
    alpha : float
        Chance of seeing any cluster where there is only background.
    metric : {"euclidean", "cosine"}
        With "cosine" rows are scaled to unit length first, as in a fit.

    Examples
    --------
    >>> from crlm import GMMUB, estimate_sigma
    >>> model = GMMUB.draw(k=3, d=100, sigmas=[1, 3, 5], weights=0.01, D=100, sigma_max=11, rng=0)
    >>> X, _ = model.sample(3000, rng=1)
    >>> estimate = estimate_sigma(X)
    >>> [round(peak) for peak in estimate.peaks], estimate.evidence
    ([1, 3, 5], 'clear')
    """
    table = check_table(X)
    check_has_rows(table)
    points = check_points(table, check_metric(metric))
    level = check_alpha(alpha) or ALPHA
    background = Background.learn(
        points, np.ones(len(points), dtype=np.int64), level, n_jobs=check_n_jobs(None)
    )
    estimate = suggest_sigma_max(points, background, level)
    check_suggested(estimate.suggested)
    return estimate


def suggest_sigma_max(X: Floats, background: Background, alpha: float) -> SigmaEstimate:
    """Suggest a bandwidth from the distances between references.

    Or where clusters have too few rows to be seen in them, from those between all rows.
    """
    estimate, largest = _from_references(X, background, alpha)
    references = background.references
    if not references.is_sample or estimate.evidence == "clear":
        return estimate
    if references.is_flat and largest:  # narrower ones are sought among all rows anyway
        return estimate
    rare = _from_all_rows(X, background, alpha, estimate)
    shown = largest >= few_points(len(references.rows))
    if rare is None or (shown and not _is_better(rare, estimate, references.w)):
        return estimate
    return rare


def _is_better(rare: SigmaEstimate, estimate: SigmaEstimate, w: float) -> bool:
    """Whether what all rows show is clear, and not just a small part of what references show."""
    return rare.evidence == "clear" and rare.net.max() >= _PART * w * estimate.net.max()


def _from_references(X: Floats, background: Background, alpha: float) -> tuple[SigmaEstimate, int]:
    """What the references say, and the size of the largest cluster among them."""
    d, references = X.shape[1], background.references
    guess = SigmaEstimate(
        _guess(background) / math.sqrt(4.0 * d),
        "weak",
        [],
        *_histogram(references.log_r, d),
        score=_score(background.top, references.n_points),
    )
    if background.growth is None or background.alone:
        return guess, 0
    from crlm.bandwidth.radii import ReferencePath  # not for a given bandwidth

    path = ReferencePath(X, background, background.growth, alpha)
    estimate, balls = _read(path, guess, d)
    return estimate, max((len(ball.members) for ball in balls), default=0)


def _from_all_rows(
    X: Floats, background: Background, alpha: float, estimate: SigmaEstimate
) -> SigmaEstimate | None:
    """What all rows say, from near; None if nothing."""
    from crlm.bandwidth.rare import rare_path  # few need it

    path = rare_path(X, background.references, alpha)
    if path is None:
        return None
    d = X.shape[1]
    rare, balls = _read(path, estimate, d)
    radius = rare.suggested * math.sqrt(4.0 * d)
    if not balls or not path.are_more_than_chance(balls, radius, X, background, alpha):
        return None
    return rare._replace(rare=True)


def _read(path: Path, estimate: SigmaEstimate, d: int) -> tuple[SigmaEstimate, list[Found]]:
    """What a path says, and the clusters at the bandwidth suggested; as `estimate` if nothing."""
    found = path.clusters()
    net = path.net(found)
    n_clusters = np.array([len(balls) for balls in found], dtype=np.intp)
    sigmas = path.radii / math.sqrt(4.0 * d)
    estimate = estimate._replace(sigmas=sigmas, n_clusters=n_clusters, net=net)
    if not n_clusters.any():
        return estimate, []
    first, at, last = _plateau(net, n_clusters)
    plateau = float(sigmas[first]), float(sigmas[last])
    top = max(found[at], key=lambda ball: ball.surprise)
    read = estimate._replace(
        suggested=float(sigmas[at]),
        evidence="clear" if plateau[1] >= _CLEAR * plateau[0] else "moderate",
        peaks=sorted(map(path.sigma, found[at])),
        plateau=plateau,
        score=_score(top.surprise, path.n),
        gap=path.gap(top),
        alternatives=_alternatives(sigmas, np.where(n_clusters > 0, net, -1.0), first, last),
    )
    return read, found[at]


def _guess(background: Background) -> float:
    """Radius that just holds the most surprising ball, for want of a better one."""
    log_R, log_r = background.log_radius, background.references.log_r
    if not math.isfinite(log_R):
        return 1.0
    from crlm.bandwidth.radii import grid  # not for a given bandwidth

    radii = grid(background.references, log_R, float(log_r.max())).radii  # in whatever units
    return float(radii[min(1, len(radii) - 1)])


def _score(surprise: float, n: int) -> float:
    """-log10 of a p-value."""
    return max(0.0, (surprise - math.log(n)) / math.log(10.0))


def _plateau(net: F64, n_clusters: NDArray[np.intp]) -> tuple[int, int, int]:
    """Middle one of the radii as good as any, and how far the number of clusters stays there."""
    good = (net >= (1.0 - _SHARE) * net.max() - _FEW) & (n_clusters > 0)
    at = int(np.flatnonzero(good)[good.sum() // 2])
    other = np.flatnonzero(~good | (n_clusters != n_clusters[at]))
    after = int(np.searchsorted(other, at))
    first = int(other[after - 1]) + 1 if after else 0
    last = int(other[after]) - 1 if after < len(other) else len(net) - 1
    return first, at, last


def _alternatives(sigmas: F64, net: F64, first: int, last: int) -> list[float]:
    """Other maxima of at least half the largest net and well apart, best first, at most three."""
    apart = np.ones(len(net), dtype=bool)
    apart[max(0, first - _APART) : last + 1 + _APART] = False
    found: list[float] = []
    for at in np.argsort(-net, kind="stable").tolist():
        if len(found) == 3 or net[at] < 0.5 * net.max():
            break
        if apart[at]:
            found.append(float(sigmas[at]))
            apart[max(0, at - _APART) : at + 1 + _APART] = False
    return found


def _histogram(log_r: F64, d: int) -> tuple[F64, F64]:
    """Pairs of references in bins of log distance / sqrt(2 d), of equal ratio."""
    if len(log_r) < 2:
        return np.array([0.5, 2.0]), np.zeros(1)
    unit, step = 0.5 * math.log(2.0 * d), math.log(2.0) / _BINS_PER_OCTAVE
    low = math.floor((log_r[:, 1].min() - unit) / step)
    high = math.floor((log_r[:, -1].max() - unit) / step) + 1
    log_edges = np.arange(low, high + 1) * step
    # Rows are sorted, so that a bin is the difference of two places; a row itself is none.
    ends = log_edges[1:] + unit
    below = sum(row.searchsorted(ends) for row in log_r)
    return np.exp(log_edges), np.diff(below - len(log_r), prepend=0) / 2.0
