"""The bandwidth from the data: the paper's histogram of short distances.

Two points of one Gaussian cluster are ``sigma * sqrt(2 d)`` apart, give or take little, so
pair distances over ``sqrt(2 d)`` pile up at the sigma of each cluster. The paper reads the
peaks off the histogram of the shortest 5 % of distances and takes a little over twice the
largest. Done by program, that needs two cautions, both in `suggest_sigma_max`.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, signal
from threadpoolctl import threadpool_limits

from crlm.checks import check_points, check_table
from crlm.search import Floats, Weights

Evidence = Literal["clear", "moderate", "weak"]

SHORTEST = 0.05  # "the histogram of the 5 % shortest distances"
FACTOR = 2.1  # "just slightly larger than twice the largest estimated sigma" (A3)

# Bins of equal ratio make the rule free of the unit, and put the peak of a Gaussian cluster
# at its sigma in any dimension: r**d * exp(-r**2 / (4 sigma**2)) is largest at
# r**2 = 2 d sigma**2. The bins are numbered from distance / sqrt(2 d) = 1.
_BINS_PER_OCTAVE = 24
_ZERO = -(2**15)  # bin of coincident points, which say nothing about a spread
# Peaks are sought in the square root of the counts, where a count's standard deviation is 1/2
# whatever its size. A rise of five standard deviations is no accident.
_PROMINENCE = 5.0
_MAX_ROWS = 4096  # the bins of all their pairs take 32 MB
_BLOCK = 512


class SigmaEstimate(NamedTuple):
    """What the distances say about sigma_max.

    Attributes
    ----------
    suggested : float
        The bandwidth to use; with weak evidence a guess.
    evidence : {"clear", "moderate", "weak"}
        "clear": peaks among the shortest 5 % of distances. "moderate": a peak beyond them,
        as when clusters hold much of the data. "weak": no peak of its own.
    peaks : list of float
        Estimated sigmas of the clusters, ascending.
    edges : ndarray of shape (n_bins + 1,)
        Edges of the histogram of distance / sqrt(2 d), of equal ratio.
    counts : ndarray of shape (n_bins,)
        Pairs in each bin.
    """

    suggested: float
    evidence: Evidence
    peaks: list[float]
    edges: NDArray[np.float64]
    counts: NDArray[np.float64]


def estimate_sigma(X: ArrayLike) -> SigmaEstimate:
    """Suggest a bandwidth for data `X` of shape (n_samples, n_features).

    Examples
    --------
    >>> from crlm import GMMUB, estimate_sigma
    >>> model = GMMUB.draw(k=3, d=100, sigmas=[1, 3, 5], weights=0.01, D=100, sigma_max=11, rng=0)
    >>> X, _ = model.sample(3000, rng=1)
    >>> estimate = estimate_sigma(X)
    >>> [round(peak) for peak in estimate.peaks], estimate.evidence
    ([1, 3, 5], 'clear')
    """
    points = check_points(check_table(X))
    return suggest_sigma_max(points, np.ones(len(points), dtype=np.int64))


def suggest_sigma_max(X: Floats, weights: Weights) -> SigmaEstimate:
    """Suggest a bandwidth from the distances between at most 4096 rows.

    Two cautions beyond the paper. Distances between two clusters make peaks too, so a peak's
    rows are set aside before the next is sought: rows that already have close company do not
    count again. And a peak whose ball would take in more than 5 % of all pairs is no cluster
    in a background.
    """
    rows = _sample_rows(X)
    d, w = X.shape[1], weights[rows].astype(np.float64)
    bins = _distance_bins(X[rows])
    low, counts = _histogram(bins, w)
    if not counts.any():
        return SigmaEstimate(1.0, "weak", [], np.array([0.5, 2.0]), np.zeros(1))
    edges = 2.0 ** (np.arange(low, low + len(counts) + 1) / _BINS_PER_OCTAVE)
    share = np.cumsum(counts) / counts.sum()

    def share_within_ball(peak: int) -> float:
        """Share of all pairs closer than R = 2.1 sigma sqrt(4 d) for the sigma of a bin."""
        reach = peak + round(_BINS_PER_OCTAVE * math.log2(FACTOR * math.sqrt(2.0)))
        return float(share[min(reach - low, len(share) - 1)])

    peaks: list[int] = []
    active = w > 0
    while found := [p for p in _peaks(bins, w * active, d) if share_within_ball(p) <= SHORTEST]:
        peaks.append(found[0])
        # In or before the peak: within a factor 1.25 of its sigma.
        company = (bins > _ZERO) & (bins <= found[0] + round(_BINS_PER_OCTAVE * math.log2(1.25)))
        active &= ~(company[:, active]).any(axis=1)
    if peaks:
        return SigmaEstimate(FACTOR * _sigma(max(peaks)), "clear", _sigmas(peaks), edges, counts)

    every = _peaks(bins, w, d)
    if len(every) > 1:  # the last is the background, or one cluster seen from another
        return SigmaEstimate(
            FACTOR * _sigma(every[0]), "moderate", _sigmas(every[:1]), edges, counts
        )
    # No peak stands alone. Guess a ball in which a row has two others on average.
    n_distinct = _count_distinct(bins, w) * len(X) / len(rows)
    reach = edges[1 + int(np.searchsorted(share, min(1.0, 2.0 / n_distinct)))]
    return SigmaEstimate(float(reach) / math.sqrt(2.0), "weak", [], edges, counts)


def _sigma(peak: int) -> float:
    """Middle of a bin."""
    return float(2.0 ** ((peak + 0.5) / _BINS_PER_OCTAVE))


def _sigmas(peaks: list[int]) -> list[float]:
    return sorted(_sigma(peak) for peak in peaks)


def _sample_rows(X: Floats) -> NDArray[np.intp]:
    """Rows to measure: all, or every so many-th in the order of their norms.

    That order, unlike the order of rows, stays the same when the rows are shuffled.
    """
    if len(X) <= _MAX_ROWS:
        return np.arange(len(X))
    blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
    sq_norms = [np.square(block, dtype=np.float64).sum(axis=1) for block in blocks]
    order = np.argsort(np.concatenate(sq_norms), kind="stable")
    return np.sort(order[np.linspace(0, len(X) - 1, _MAX_ROWS).astype(np.intp)])


def _distance_bins(X: Floats) -> NDArray[np.int16]:
    """Bin of ``log2(distance / sqrt(2 d))`` for every pair, (n, n); ``_ZERO`` on the diagonal."""
    n, d = X.shape
    a = X.astype(np.float64)
    a -= np.median(a, axis=0)
    sq_norm = np.square(a).sum(axis=1)
    bins = np.empty((n, n), dtype=np.int16)
    with threadpool_limits(limits=1, user_api="blas"):  # the same bits for any thread count
        for start in range(0, n, _BLOCK):
            part = slice(start, min(start + _BLOCK, n))
            scale = sq_norm[part, None] + sq_norm
            sq = scale - 2.0 * (a[part] @ a.T)
            # Below this the product has lost too many digits to tell a distance from zero.
            near = np.argwhere(sq < 1e-10 * scale)
            sq[near[:, 0], near[:, 1]] = [
                np.square(a[start + i] - a[j]).sum() for i, j in near.tolist()
            ]
            with np.errstate(divide="ignore"):
                log = 0.5 * _BINS_PER_OCTAVE * (np.log2(sq) - math.log2(2.0 * d))
            bins[part] = np.maximum(np.floor(log), _ZERO)
    return bins


def _histogram(bins: NDArray[np.int16], w: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """Number of the first bin in use, and the pairs in each bin from there on."""
    counts = np.zeros(2**16)
    active = np.flatnonzero(w)
    for start in range(0, len(active), _BLOCK):
        rows = active[start : start + _BLOCK]
        found = bins[np.ix_(rows, active)].astype(np.intp) - _ZERO
        pairs = np.outer(w[rows], w[active])
        counts += np.bincount(found.ravel(), weights=pairs.ravel(), minlength=2**16)
    counts[0] = 0.0
    used = np.flatnonzero(counts)
    if not len(used):
        return 0, np.zeros(0)
    return int(used[0]) + _ZERO, counts[used[0] : used[-1] + 1] / 2.0  # each pair came twice


def _count_distinct(bins: NDArray[np.int16], w: NDArray[np.float64]) -> float:
    """Number of distinct rows, whether copies are repeated or weighted."""
    copies = (bins == _ZERO) @ w
    return float((w[w > 0] / copies[w > 0]).sum())


def _peaks(bins: NDArray[np.int16], w: NDArray[np.float64], d: int) -> list[int]:
    """Bins at which the smoothed histogram has a clear maximum, ascending."""
    low, counts = _histogram(bins, w)
    # A cluster's peak is 1 / sqrt(2 d) wide in log distance; smooth by a quarter of that.
    # Smoothing averages about 2 sqrt(pi) width bins, and calms their noise as much.
    width = max(0.5, 0.25 * _BINS_PER_OCTAVE / math.log(2.0) / math.sqrt(2.0 * d))
    smooth = ndimage.gaussian_filter1d(np.pad(counts, 1), width, mode="constant")
    noise = 0.5 / math.sqrt(2.0 * math.sqrt(math.pi) * width)
    at, _ = signal.find_peaks(np.sqrt(smooth), prominence=_PROMINENCE * noise)
    return [low + int(p) - 1 for p in at]
