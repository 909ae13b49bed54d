"""The paper's own rule for the bandwidth: the histogram of short distances.

Two points of one Gaussian cluster are ``sigma * sqrt(2 d)`` apart, give or take little, so
pair distances over ``sqrt(2 d)`` pile up at the sigma of each cluster. The paper reads the
peaks off the histogram of the shortest 5 % of distances and takes a little over twice the
largest. Done by program, that needs two cautions, both in `read_histogram`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm.bandwidth.sigma import SigmaEstimate
from crlm.search import Floats, Weights
from crlm.search.distance import sq_distances_of_pairs

SHORTEST = 0.05  # "the histogram of the 5 % shortest distances"
FACTOR = 2.1  # "just slightly larger than twice the largest estimated sigma" (A3)

# Bins of equal ratio make the rule free of the unit, and put the peak of a Gaussian cluster
# at its sigma in any dimension: r**d * exp(-r**2 / (4 sigma**2)) is largest at
# r**2 = 2 d sigma**2. The bins are numbered from distance / sqrt(2 d) = 1.
_BINS_PER_OCTAVE = 24
_LOWEST = -(2**15)
_NONE = 2**15 - 1  # bin of a row with itself or its copy, which says nothing about a spread
# Peaks are sought in the square root of the counts, where a count's standard deviation is 1/2
# whatever its size. A rise of five standard deviations is no accident.
_PROMINENCE = 5.0
_MAX_ROWS = 4096  # the bins of all their pairs take 32 MB
_BLOCK = 128


def read_histogram(X: Floats, weights: Weights) -> SigmaEstimate:
    """Suggest a bandwidth from the distances between at most 4096 rows.

    Two cautions beyond the paper. Distances between two clusters make peaks too, so a peak's
    rows are set aside before the next is sought: rows that already have close company do not
    count again. And a peak whose ball would take in more than 5 % of all pairs is no cluster
    in a background.
    """
    rows = _sample_rows(X, np.flatnonzero(weights))
    points, w = _distinct(X[rows], weights[rows])
    d, bins = X.shape[1], _distance_bins(points)
    every = np.arange(len(points))
    ordered = _histogram(bins, w, every, every)
    used = np.flatnonzero(ordered)
    if not len(used):
        return SigmaEstimate(1.0, "weak", [], np.array([0.5, 2.0]), np.zeros(1))
    low, counts = int(used[0]) + _LOWEST, ordered[used[0] : used[-1] + 1] / 2.0
    edges = 2.0 ** (np.arange(low, low + len(counts) + 1) / _BINS_PER_OCTAVE)
    share = np.cumsum(counts) / counts.sum()

    def share_within_ball(peak: int) -> float:
        """Share of all pairs closer than R = 2.1 sigma sqrt(4 d) for the sigma of a bin."""
        reach = peak + round(_BINS_PER_OCTAVE * math.log2(FACTOR * math.sqrt(2.0)))
        return float(share[min(reach - low, len(share) - 1)])

    all_peaks = _peaks(ordered, d)
    sigmas: list[float] = []
    active = every
    while len(active) and (
        found := [p for p in _peaks(ordered, d) if share_within_ball(p) <= SHORTEST]
    ):
        company = _in_company(bins[np.ix_(active, active)], found[0])
        if not company.any():
            break  # what looked like a peak is the rounding of very large weights
        gone, rest = active[company], active[~company]
        own = _histogram(bins, w, gone, gone)
        sigmas.append(_sigma_at(found[0], own, d))
        # Ordered pairs without those rows, counted from what goes and not from what stays.
        ordered -= 2.0 * _histogram(bins, w, gone, rest) + own
        active = rest
    if sigmas:
        return SigmaEstimate(FACTOR * max(sigmas), "clear", sorted(sigmas), edges, counts)

    if len(all_peaks) > 1:  # the last is the background, or one cluster seen from another
        together = np.flatnonzero(_in_company(bins, all_peaks[0]))
        sigma = _sigma_at(all_peaks[0], _histogram(bins, w, together, together), d)
        return SigmaEstimate(FACTOR * sigma, "moderate", [sigma], edges, counts)
    # No peak stands alone. Guess a ball in which a row has two others on average.
    n_distinct = len(points) * np.count_nonzero(weights) / len(rows)
    reach = edges[1 + int(np.searchsorted(share, min(1.0, 2.0 / n_distinct)))]
    return SigmaEstimate(float(reach) / math.sqrt(2.0), "weak", [], edges, counts)


def _in_company(bins: NDArray[np.integer], peak: int) -> NDArray[np.bool_]:
    """Rows with another in or before the peak: within a factor 1.25 of its sigma."""
    near: NDArray[np.bool_] = bins.min(axis=1) <= peak + round(_BINS_PER_OCTAVE * math.log2(1.25))
    return near


def _sigma_at(peak: int, ordered: NDArray[np.float64], d: int) -> float:
    """Sigma of the cluster whose pairs make this peak.

    A few hundred pairs make a ragged hill, and its highest bin is off by several percent. The top
    of a curve smoothed by the whole width of the hill is about as exact as the cluster's own rows
    allow; three values around it give the place between bins. Where that curve has no top near the
    peak, its highest bin has to do.
    """
    smooth = _smooth(ordered, _width(d))
    at = peak - _LOWEST
    reach = math.ceil(_width(d))
    moved = int(np.argmax(smooth[at - reach : at + reach + 1])) - reach
    between = 0.0
    if abs(moved) < reach:  # else on the slope of a larger hill, as of the background
        at += moved
        before, top, after = np.log(np.maximum(smooth[at - 1 : at + 2], 1e-300))
        curvature = before - 2.0 * top + after
        between = 0.5 * (before - after) / curvature if curvature < 0.0 else 0.0
    # Whole octaves apart, so that a unit twice as large gives twice the sigma to the last bit.
    octave, rest = divmod(at + _LOWEST, _BINS_PER_OCTAVE)
    return math.ldexp(2.0 ** ((rest + 0.5 + float(between)) / _BINS_PER_OCTAVE), octave)


def _sample_rows(X: Floats, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Some of `rows` to measure: all, or every so many-th in the order of their norms.

    That order, unlike the order of rows, stays the same when the rows are shuffled.
    """
    if len(rows) <= _MAX_ROWS:
        return rows
    blocks = (X[rows[start : start + _BLOCK]] for start in range(0, len(rows), _BLOCK))
    sq_norms = [np.square(block, dtype=np.float64).sum(axis=1) for block in blocks]
    order = np.argsort(np.concatenate(sq_norms), kind="stable")
    return np.sort(rows[order[np.linspace(0, len(rows) - 1, _MAX_ROWS).astype(np.intp)]])


def _distinct(X: Floats, weights: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct rows that count for something, centred, and how many points each stands for."""
    points = np.ascontiguousarray(X[weights > 0], dtype=np.float64) + 0.0  # no negative zeros
    as_bytes = points.view(np.dtype((np.void, points.dtype.itemsize * points.shape[1]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    w = np.bincount(which.ravel(), weights=weights[weights > 0]).astype(np.float64)
    distinct = points[first]
    return distinct - np.median(distinct, axis=0), w


def _distance_bins(a: NDArray[np.float64]) -> NDArray[np.int16]:
    """Bin of ``log2(distance / sqrt(2 d))`` for every pair, (n, n); ``_NONE`` on the diagonal."""
    n, d = a.shape
    sq_norm = np.square(a).sum(axis=1)
    bins = np.empty((n, n), dtype=np.int16)
    with threadpool_limits(limits=1, user_api="blas"):  # the same bits for any thread count
        for start in range(0, n, _BLOCK):
            part = slice(start, min(start + _BLOCK, n))
            # Each pair once: this block with itself and what follows.
            scale = sq_norm[part, None] + sq_norm[start:]
            sq = scale - 2.0 * (a[part] @ a[start:].T)
            # Below this the product has lost too many digits to tell a distance from zero.
            i, j = np.nonzero(sq < 1e-10 * scale)
            sq[i, j] = sq_distances_of_pairs(a, i + start, a, j + start)
            with np.errstate(divide="ignore"):
                log = 0.5 * _BINS_PER_OCTAVE * (np.log2(sq) - math.log2(2.0 * d))
            block = np.where(sq > 0.0, np.floor(log), _NONE).astype(np.int16)
            bins[part, start:], bins[start:, part] = block, block.T
    return bins


def _histogram(
    bins: NDArray[np.int16],
    w: NDArray[np.float64],
    rows: NDArray[np.intp],
    cols: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Ordered pairs of some rows and columns in each bin, from ``_LOWEST`` on."""
    counts = np.zeros(_NONE - _LOWEST + 1)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        found = bins[np.ix_(part, cols)].astype(np.intp) - _LOWEST
        pairs = np.outer(w[part], w[cols])
        counts += np.bincount(found.ravel(), weights=pairs.ravel(), minlength=len(counts))
    counts[-1] = 0.0  # those without a distance
    return counts


def _peaks(ordered: NDArray[np.float64], d: int) -> list[int]:
    """Bins at which the smoothed histogram has a clear maximum, ascending."""
    from scipy import signal  # here, because other fits have no use for it

    # Smoothing averages about 2 sqrt(pi) width bins, and calms their noise as much.
    width = max(0.5, 0.25 * _width(d))
    smooth = _smooth(ordered / 2.0, width)
    noise = 0.5 / math.sqrt(2.0 * math.sqrt(math.pi) * width)
    at, _ = signal.find_peaks(np.sqrt(smooth), prominence=_PROMINENCE * noise)
    return [_LOWEST + int(p) for p in at]


def _width(d: int) -> float:
    """Standard deviation of a cluster's peak in bins: 1 / sqrt(2 d) in log distance."""
    return max(0.5, _BINS_PER_OCTAVE / math.log(2.0) / math.sqrt(2.0 * d))


def _smooth(counts: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    from scipy import ndimage  # as above

    smooth: NDArray[np.float64] = ndimage.gaussian_filter1d(counts, width, mode="constant")
    return np.maximum(smooth, 0.0)
