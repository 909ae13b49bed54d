r"""How the background grows: the null hypothesis of the significance test, read off the data.

Around a point of a background whose density changes little nearby, the number of neighbours
grows as a power of the radius,

.. math:: N(r) \propto r^{\delta},

so that of the M nearest points a share :math:`q = (R / r_M)^{\delta}` is expected within R. A
cluster has far more. What the density is does not matter, only the growth :math:`\delta`, which
is not d (edges, curvature and correlated columns lower it). It is estimated from the points that
belong to no cluster, at the same counts, so that whatever bends the growth bends the estimate
alike. Two cautions make it a test:

* *Contrast.* The background within a ball may be up to twice as dense as the shell around it
  foretells (an edge or the slope of a density can do that), so a ball must be surprising at 2 q.
  In other words: more than half of its points must be its own.
* *Own slope.* Growth differs from place to place. Each point shows its own a little farther out,
  from the shell to one of four times as many points; it is shrunk towards the typical one by the
  measured spread of true slopes and may only speak against a cluster.

That is what a single cluster must stand up to (:meth:`Growth.surprise`). Whether there is any
cluster at all is asked more severely (``severe=True``), of the best ball alone:

* *Doubt.* The true growth at a place may still be a factor f lower, at the price of its log
  likelihood, ``(kappa + K) * (f - 1 - log f)``; the least surprising f counts.
* *Trend.* Where a background is denser it may also grow more slowly; the heavy tails of Student's
  t in many dimensions do that, whose middle then looks like a cluster. The trend of the growth
  with the density is measured between the sparse and the dense third of the places and carried
  on to the densest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

CONTRAST = 2.0
# Points of the shell for each point of the ball: near enough to be local, and so many that its
# own scatter does not matter. Two, because a neighbouring cluster may lie in one of them.
SHELLS = (3, 7)
OUTER = 4  # the own slope is taken up to this many times the shell
# A ball of more than half of the points leaves no background to compare it with.
LARGEST = 0.5
_USED = 0.95  # the last few of all neighbours are the edge of the data
# Growth is read from the lower quartile: rows of clusters lie in the upper tail.
_LOW, _LOWER = 0.25, 0.05
_Z = float(special.ndtri(_LOW) - special.ndtri(_LOWER))
_RATIOS = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4])  # points in the ball over all up to M
_MIN_SPREAD = 1e-4  # variance of log slopes below which places are as good as alike
_POOL = 2  # levels on each side that share their estimate of the spread
_SLOWER = np.geomspace(1.0, 0.03, 14)[:, None]  # f
_FAR = 600.0  # exp(-700) is the smallest number that a float can tell from zero
# On a lattice many points are equally far. That is no growth; and no growth, no surprise.
_TIE = 1e-8
MIN_POINTS = 8  # fewer say nothing about growth


def levels(first: int, last: int) -> Rows:
    """Whole numbers that grow by sqrt(2), from `first` to at most `last`.

    >>> levels(2, 23)
    array([ 2,  3,  4,  6,  8, 11, 16, 23])
    """
    n_steps = max(0, int(2 * np.log2(max(last, 1) / first))) + 2
    steps = np.rint(first * 2.0 ** (np.arange(n_steps) / 2)).astype(np.intp)
    return np.unique(steps[steps <= last])


@dataclass(frozen=True)
class Growth:
    """Growth of the background at each number of neighbours.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Numbers of neighbours.
    slope : ndarray of shape (n_levels,)
        Median of log (d log r / d log N) of the points' own slopes.
    kappa : ndarray of shape (n_levels,)
        Inverse variance of true log slopes between places.
    delta : ndarray of shape (n_levels, n_ratios)
        Growth from a share of the neighbours to all of them.
    trend : ndarray of shape (n_levels,)
        How the log of log r(M) / r(M / 4) changes with log r(M); 0 unless it falls.
    middle : ndarray of shape (n_levels,)
        Median of log r(M).
    """

    levels: Rows
    slope: F64
    kappa: F64
    delta: F64
    trend: F64
    middle: F64

    @classmethod
    def learn(cls, log_r: F64) -> Growth:
        """Read the growth off sorted log distances, (n, n) with the point itself first."""
        n = len(log_r)
        at = levels(2, max(2, int(0.9 * (n - 1))))
        every, none = np.arange(n), np.zeros(n, dtype=np.intp)
        slope, spread = np.zeros(len(at)), np.full(len(at), np.nan)
        low, lower = max(int(_LOW * n), 1), int(_LOWER * n)
        for b, s in enumerate(at):
            u, information = _own_slope(log_r, every, none, np.full(n, s))
            if not information[0]:
                slope[b] = slope[b - 1]
                continue
            ordered = np.partition(u, [lower, low, n // 2])
            slope[b] = ordered[n // 2]
            spread[b] = ((ordered[low] - ordered[lower]) / _Z) ** 2 - 1.0 / information[0]
        growth = cls(
            at,
            slope,
            1.0 / _pooled(spread),
            np.ones((len(at), len(_RATIOS))),
            np.array([_trend(log_r[:, s], log_r[:, s] - log_r[:, max(1, s // 4)]) for s in at]),
            np.median(log_r[:, at], axis=0),
        )
        for b, s in enumerate(at):
            shrink = growth._shrunk(log_r, every, none, np.full(n, s))[0]
            for a, ratio in enumerate(_RATIOS):
                m = min(max(1, round(ratio * s)), s - 1)
                x = np.partition((log_r[:, s] - log_r[:, m]) * shrink, low)[low]
                expected = -np.log(special.betaincinv(m, s - m, 1.0 - _LOW))
                growth.delta[b, a] = expected / x if x > _TIE else 0.0
        return growth

    def surprise(
        self,
        log_r: F64,
        rows: Rows,
        m: Rows,
        log_R: ArrayLike,
        w: float = 1.0,
        *,
        severe: bool = False,
    ) -> F64:
        """Minus the log of the chance of a ball with as many points in the background.

        Parameters
        ----------
        log_r : ndarray of shape (n, n_references)
            Sorted log distances of points to all references, itself or -inf first.
        rows, m : ndarray of shape (n_balls,)
            Centre of each ball, a row of `log_r`, and its points without the centre.
        log_R : float or ndarray of shape (n_balls,)
            Log of the radius.
        w : float
            Points for each reference; 1 when all points are references.
            severe : bool
            Whether growth may be as unlike the typical one as it can be; less is surprising then.
        """
        beside = [
            self._beside(shell, log_r, rows, m, np.asarray(log_R), w, severe) for shell in SHELLS
        ]
        most: F64 = np.maximum.reduce(beside)
        return most

    def expected(self, log_r: F64, rows: Rows, m: Rows, log_R: ArrayLike, w: float = 1.0) -> F64:
        """Points of the background in each ball, as the shell around it foretells; at most m."""
        ok, s, log_q, _ = self._shell(SHELLS[0], log_r, rows, m, np.asarray(log_R), w)
        q = np.exp(np.minimum(log_q, 0.0))
        b = np.where(q < 1.0, (w * (m / w + s - 1.0)) * q, m)
        return np.where(ok, np.minimum(b, m), m)

    def _beside(
        self, shell: int, log_r: F64, rows: Rows, m: Rows, log_R: F64, w: float, severe: bool
    ) -> F64:
        ok, s, log_q, certainty = self._shell(shell, log_r, rows, m, log_R, w)
        n_seen = (m + s - 1).astype(np.float64)
        if not severe:
            return np.where(ok, _tail(m, n_seen, _share(log_q, w)), -np.inf)
        log_q = log_q * self._slower_where_dense(log_r, rows, m, s, w)
        f = _SLOWER
        tails = _tail(m, n_seen, _share(f * log_q, w)) + certainty * (f - 1.0 - np.log(f))
        return np.where(ok, tails.min(axis=0), -np.inf)

    def _slower_where_dense(self, log_r: F64, rows: Rows, m: Rows, s: Rows, w: float) -> F64:
        """Growth that the trend foretells at a place, over the typical one; at most 1."""
        M = np.minimum(np.rint(m / w).astype(np.intp) + s, log_r.shape[1] - 1)
        denser = np.minimum(log_r[rows, M] - self._look(self.middle, M), 0.0)
        slower: F64 = np.exp(-self._look(self.trend, s) * denser)
        return slower

    def _shell(
        self, shell: int, log_r: F64, rows: Rows, m: Rows, log_R: F64, w: float
    ) -> tuple[NDArray[np.bool_], Rows, F64, F64]:
        """Points of the shell around each ball, log q, and how certain the growth there is."""
        inner = np.rint(m / w).astype(np.intp)
        room = ((_USED * (log_r.shape[1] - 1) - inner) / OUTER).astype(np.intp)
        s = np.minimum(np.maximum((shell * m / w).astype(np.intp), 2 * shell), room)
        ok, s = s >= 1, np.maximum(s, 1)
        M = np.minimum(inner + s, log_r.shape[1] - 1)
        shrink, certainty = self._shrunk(log_r, rows, inner, s)
        ratio = np.maximum(m / w, 1e-9) / M
        log_q = -self._delta(s, ratio) * shrink * (log_r[rows, M] - log_R)
        ok &= inner <= LARGEST * log_r.shape[1]
        return ok & (log_q < 0.0), s, np.minimum(log_q, 0.0), certainty

    def _shrunk(self, log_r: F64, rows: Rows, inner: Rows, s: Rows) -> tuple[F64, F64]:
        """Own growth over the typical one, shrunk towards 1 and at most 1, and its certainty."""
        u, information = _own_slope(log_r, rows, inner, s)
        kappa = self._look(self.kappa, s)
        steeper = np.exp(np.clip(u - self._look(self.slope, s), -3.0, 3.0))
        certainty = kappa + information
        return np.minimum(certainty / (kappa + information * steeper), 1.0), certainty

    def _look(self, table: F64, s: Rows) -> F64:
        """Entry for a number of neighbours, interpolated in its logarithm."""
        return np.interp(np.log(s), np.log(self.levels), table)

    def _delta(self, s: Rows, ratio: F64) -> F64:
        columns = np.stack([self._look(column, s) for column in self.delta.T], axis=1)
        x = np.interp(np.log(ratio), np.log(_RATIOS), np.arange(len(_RATIOS)))
        low = np.minimum(x.astype(np.intp), len(_RATIOS) - 2)
        rows = np.arange(len(s))
        below, above = columns[rows, low], columns[rows, low + 1]
        delta: F64 = below + (x - low) * (above - below)
        return delta


def _own_slope(log_r: F64, rows: Rows, inner: Rows, s: Rows) -> tuple[F64, F64]:
    """Log of d log r / d log N beyond each shell, and the information in it (0: no room)."""
    last = log_r.shape[1] - 1
    outer = np.minimum(inner + OUTER * s, int(_USED * last))
    far = (outer - inner) / s
    enough = far >= 1.5
    far = np.maximum(far, 1.5)
    # The ball's own points are counted as background up to a third of the shell, which is what
    # the nearest shell leaves them: more would let a background of two densities pass.
    kept = np.minimum(inner, s / 3.0)
    step = log_r[rows, outer] - log_r[rows, np.minimum(inner + s, last)]
    u = np.log(np.maximum(step, 1e-9) / np.log((kept + far * s) / (kept + s)))
    information = np.log(far) ** 2 / (1.0 / s - 1.0 / (far * s))
    return u, np.where(enough, information, 0.0)


def _trend(log_r: F64, x: F64) -> float:
    """Slope of log x against log r by the medians of their outer thirds; 0 unless it falls."""
    third = len(log_r) // 3
    if third < MIN_POINTS:
        return 0.0
    order = np.argsort(log_r, kind="stable")
    dense, sparse = order[:third], order[-third:]
    run = np.median(log_r[sparse]) - np.median(log_r[dense])
    x_dense, x_sparse = np.median(x[dense]), np.median(x[sparse])
    if min(run, x_dense, x_sparse) <= _TIE:
        return 0.0
    return float(min(np.log(x_sparse / x_dense) / run, 0.0))


def _pooled(spread: F64) -> F64:
    """Spread of true slopes at each level, with its neighbours; differences may be negative."""
    near = [spread[max(0, b - _POOL) : b + _POOL + 1] for b in range(len(spread))]
    known = [part[~np.isnan(part)] for part in near]
    return np.array([max(part.mean() if len(part) else 0.0, _MIN_SPREAD) for part in known])


def _share(log_q: F64, w: float) -> F64:
    """Chance that a point of ball and shell lies in the ball, at the largest contrast allowed."""
    q = np.minimum(CONTRAST * np.exp(log_q), 1.0 - 1e-12)
    return w * q / (w * q + 1.0 - q)


def _tail(m: Rows, n: F64, p: F64) -> F64:
    """-log P(Binomial(n, p) >= m), by Chernoff's bound where it leaves the range of floats."""
    m, n, p = np.broadcast_arrays(m, n, p)
    out = np.zeros(p.shape)
    more = m > n * p  # otherwise nothing is surprising
    m, n, p = m[more], n[more], p[more]
    with np.errstate(divide="ignore"):
        tail = -np.log(special.betainc(m, np.maximum(n - m + 1.0, 1e-9), p))
    far = tail > _FAR
    m, n, p = m[far], n[far], p[far]
    bound = special.rel_entr(m, n * p) + special.rel_entr(n - m, n * (1.0 - p))
    tail[far] = np.maximum(bound, _FAR)
    out[more] = tail
    return out
