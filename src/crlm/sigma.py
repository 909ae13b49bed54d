"""The bandwidth from the data: the radius at which significant clusters hold most points.

For each radius of a fine grid, take the clusters of Algorithm 2 that are more than chance
(:mod:`crlm.significance`) and count their points less twice the background expected among them:

    net(R) = sum over clusters of (points - 2 * background expected).

A shell is worth taking while more than half of it belongs to the cluster, so `net` rises while
the ball grows into its cluster and falls when it grows into the background. The middle one of
the radii whose `net` is as high as any is taken; where clusters are well apart these are many,
a plateau.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.checks import check_alpha, check_metric, check_n_jobs
from crlm.data_checks import check_has_rows, check_points, check_table
from crlm.growth import CONTRAST, LARGEST, Growth
from crlm.search import Floats
from crlm.significance import Background

Evidence = Literal["clear", "moderate", "weak"]
F64 = NDArray[np.float64]

ALPHA = 0.01

# Radii differ by 2**(1/32). A count that grows as the 30th power of the radius, as for embeddings,
# doubles from one to the next. They are placed by the spread of the data, to a millionth of a step:
# so they follow the units, and the last bit of a distance does not move them.
_STEPS = 32
_PLACES = 2.0**20
_MAX_RADII = 32 * 16
# Two points or one in twenty more or less are chance.
_FEW, _SHARE = 2.0, 0.05
# Distances of clusters with a clear gap around them leave a range of radii without any; where
# the radius may change by half without a change in the answer, its exact value is no matter.
_CLEAR = 1.5
_BINS_PER_OCTAVE = 24
_TWICE = math.log(2.0) + 0.01  # log of two radii, and more than rounding adds
_APART = _STEPS // 4  # radii between alternatives: a fifth larger or smaller


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

    def __repr__(self) -> str:
        """Give what is read first; the histogram and the curve are long."""
        low, high = self.plateau
        return (
            f"SigmaEstimate(suggested={self.suggested:.4g}, evidence={self.evidence!r}, "
            f"peaks=[{', '.join(f'{peak:.4g}' for peak in self.peaks)}], "
            f"plateau=({low:.4g}, {high:.4g}), score={self.score:.4g}, gap={self.gap:.4g}, "
            f"alternatives=[{', '.join(f'{other:.4g}' for other in self.alternatives)}], ...)"
        )


class Found(NamedTuple):
    """A significant ball among the references."""

    center: int
    members: NDArray[np.intp]
    m: int  # members without the centre
    surprise: float


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
    return suggest_sigma_max(points, background, level)


def suggest_sigma_max(X: Floats, background: Background, alpha: float) -> SigmaEstimate:
    """Suggest a bandwidth from the distances between references."""
    d = X.shape[1]
    edges, counts = _histogram(background.references.log_r, d)
    path = (
        None
        if background.growth is None or background.alone
        else _Path(background, background.growth, alpha)
    )
    found = [] if path is None else path.clusters()
    net = np.zeros(0) if path is None else path.net(found)
    radii = np.zeros(0) if path is None else path.radii
    sigmas = np.exp2(radii / _STEPS) / math.sqrt(4.0 * d)
    n_clusters = np.array([len(balls) for balls in found], dtype=np.intp)
    if path is None or not n_clusters.any():
        log_R = background.log_radius
        guess = math.exp(log_R) / math.sqrt(4.0 * d) if math.isfinite(log_R) else 1.0
        score = _score(background.top, background.references.n_points)
        none = (math.nan, math.nan)
        return SigmaEstimate(
            *(guess, "weak", [], edges, counts, none, score, 1.0, []), *(sigmas, n_clusters, net)
        )
    first, at, last = _plateau(net, n_clusters)
    plateau = float(sigmas[first]), float(sigmas[last])
    top = max(found[at], key=lambda ball: ball.surprise)
    return SigmaEstimate(
        float(sigmas[at]),
        "clear" if plateau[1] >= _CLEAR * plateau[0] else "moderate",
        sorted(path.sigma(ball, X) for ball in found[at]),
        edges,
        counts,
        plateau,
        _score(top.surprise, len(path.log_r)),
        path.gap(top),
        _alternatives(sigmas, net, first, last),
        sigmas,
        n_clusters,
        net,
    )


class _Path:
    """Significant clusters of the references at each radius, smallest radius first."""

    def __init__(self, background: Background, growth: Growth, alpha: float) -> None:
        self._references, self._growth = background.references, growth
        self._inflation = background.inflation.simple
        self.log_r = self._references.log_r
        self._needed = math.log(len(self.log_r) / alpha)
        self.radii = self._grid()
        self._log_radii = self.radii * math.log(2.0) / _STEPS

    def _grid(self) -> F64:
        """Radii from the smallest ball of three to the median distance, in steps of 2**(1/32)."""
        phase = self._phase()
        low = math.floor(self.log_r[:, 2].min() / math.log(2.0) * _STEPS - phase)
        middle = float(np.median(self.log_r[:, len(self.log_r) // 2]))
        high = math.ceil(middle / math.log(2.0) * _STEPS - phase)
        return np.arange(max(low, high - _MAX_RADII), high + 1) + phase

    def _phase(self) -> float:
        """Where the spread of the references lies between two powers of 2**(1/32), from 0 to 1."""
        sq = float(np.square(self._references.points).sum(axis=1).mean())
        steps = 0.5 * _STEPS * math.log2(sq) if sq else 0.0
        return round((steps - math.floor(steps)) * _PLACES) / _PLACES

    def clusters(self) -> list[list[Found]]:
        """Clusters of Algorithm 2 at each radius that are more than chance."""
        at, rows, m, surprise = self._significant()
        loss = self._losses(at, rows, m)
        ends = np.searchsorted(at, np.arange(1, len(self.radii)))
        balls = (np.split(of, ends) for of in (rows, m, surprise, loss))
        return [self._greedy(*here) for here in zip(*balls, self._log_radii, strict=True)]

    def _significant(self) -> list[NDArray[Any]]:
        """Balls that are more than chance, by radius: its number, their rows, sizes, surprises."""
        # Points in the open ball around each reference, without itself.
        sizes = np.array([row.searchsorted(self._log_radii) - 1 for row in self.log_r]).T
        found = []
        for start in range(0, len(sizes), _STEPS):  # an octave at a time, to save memory
            some = sizes[start : start + _STEPS]
            at, rows = np.nonzero((some >= 2) & (some <= LARGEST * len(self.log_r)))
            m, at = some[at, rows], at + start
            surprise = self._surprise(rows, m, self._log_radii[at])
            found.append([of[surprise >= self._needed] for of in (at, rows, m, surprise)])
        return [np.concatenate(of) for of in zip(*found, strict=True)]

    def _surprise(self, rows: NDArray[np.intp], m: NDArray[np.intp], log_R: ArrayLike) -> F64:
        return self._growth.surprise(self._references.around, rows, m, log_R) / self._inflation

    def _losses(self, at: NDArray[np.intp], rows: NDArray[np.intp], m: NDArray[np.intp]) -> F64:
        """Losses over G, and without that of the centre itself."""
        unit = self.log_r[0, -1]  # a typical length, so that squares keep their digits
        sq_sums = np.empty((len(self.log_r), m.max(initial=0) + 1))
        some = np.unique(rows)
        nearest = self.log_r[some, : sq_sums.shape[1]]
        sq_sums[some] = np.cumsum(np.exp(2.0 * (nearest - unit)), axis=1)
        loss: F64 = sq_sums[rows, m] * np.exp(2.0 * (unit - self._log_radii))[at] - m
        return loss

    def net(self, found: list[list[Found]]) -> F64:
        """Points of the clusters at each radius, less twice the background among them."""
        balls = [ball for at_radius in found for ball in at_radius]
        n_clusters = [len(at_radius) for at_radius in found]
        centers = np.array([ball.center for ball in balls], dtype=np.intp)
        m = np.array([ball.m for ball in balls], dtype=np.intp)
        log_R = np.repeat(self._log_radii, n_clusters)
        expected = self._growth.expected(self.log_r, centers, m, log_R)
        worth = np.maximum(m + 1 - CONTRAST * expected, 0.0)
        parts = np.split(worth, np.cumsum(n_clusters)[:-1])
        return np.array([sum(part.tolist()) for part in parts], dtype=np.float64)

    def _greedy(
        self, rows: NDArray[np.intp], m: NDArray[np.intp], surprise: F64, loss: F64, log_R: float
    ) -> list[Found]:
        """Least loss first; balls that shared points with it are judged anew without them."""
        log_D = self._references.log_distances
        found: list[Found] = []
        gone = np.zeros(len(self.log_r), dtype=bool)
        still = np.arange(len(rows))  # places of the rows that may yet be a centre
        while len(still):
            j = int(still[np.argmin(loss[still])])
            log_d = log_D[rows[j]]
            members = np.flatnonzero((log_d < log_R) & ~gone)
            found.append(Found(int(rows[j]), members, int(m[j]), float(surprise[j])))
            gone[members] = True
            still = still[~gone[rows[still]]]
            beside = still[log_d[rows[still]] < log_R + _TWICE]  # others share no points
            shared = log_D[np.ix_(rows[beside], members)]
            near = shared < log_R
            lost = near.sum(axis=1)
            some = lost > 0
            changed = beside[some]
            if not len(changed):
                continue
            weight = 1.0 - np.exp(2.0 * (shared[some] - log_R))
            loss[changed] += np.where(near[some], weight, 0.0).sum(axis=1)
            m[changed] -= lost[some]
            surprise[changed] = self._surprise(rows[changed], np.maximum(m[changed], 1), log_R)
            still = still[(m[still] >= 2) & (surprise[still] >= self._needed)]
        return found

    def sigma(self, ball: Found, X: Floats) -> float:
        """Standard deviation per coordinate of the members of a ball."""
        points = X[self._references.rows[ball.members]].astype(np.float64)
        points -= points[0]
        sq = float(np.square(points - points.mean(axis=0)).sum())
        return math.sqrt(sq / (points.shape[1] * max(1, len(points) - 1)))

    def gap(self, ball: Found) -> float:
        """Distance of the nearest point outside a ball over that of the farthest inside."""
        log_D = self._references.log_distances[ball.center]
        outside = np.ones(len(log_D), dtype=bool)
        outside[ball.members] = False
        return float(np.exp(log_D[outside].min() - log_D[ball.members].max()))


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
