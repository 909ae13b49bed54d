r"""How the background grows: the null hypothesis of the significance test, read off the data.

Around a point of a background whose density changes little nearby, the number of neighbours
grows as a power of the radius,

.. math:: N(r) \propto r^{\delta},

so that of the M nearest points a share :math:`q = (R / r_M)^{\delta}` is expected within R. A
cluster has far more. What the density is does not matter, only the growth :math:`\delta`, which
is not d (edges, curvature and correlated columns lower it). It is estimated from the points that
belong to no cluster, at the same counts, so that whatever bends the growth bends the estimate
alike. Three cautions make it a test:

* *Contrast.* The background within a ball may be up to twice as dense as the shell around it
  foretells (an edge or the slope of a density can do that), so a ball must be surprising at 2 q. In
  other words: more than half of its points must be its own. In up to three dimensions an edge or a
  slope is seen where there is one (:mod:`crlm.background.sides`): as much as it explains is allowed
  there, and elsewhere less than twice (:func:`_contrast`).
* *Directions.* There it is also seen in how many directions the points around a place extend. The
  growth is at most that: along a ridge it is that of a line.
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

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from crlm.background.references import Around
from crlm.background.shells import OUTER, USED, Shells, beyond_shells, log_share, own_slope, shrunk

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

CONTRAST = 2.0
# Points of the shell for each point of the ball: near enough to be local, and so many that its
# own scatter does not matter. Two, because a neighbouring cluster may lie in one of them.
SHELLS = (3, 7)
# Share of a shell that is cut off, over its tilt: on a line 1, at an edge 1.18 in a plane and 4/3
# in space, in a corner where half is cut off 1.32 and 1.6. A corner leaves 1/2, 1/4, 1/8 of it.
_CUT_OFF, _CURVED = 4.0 / 3.0, 0.5
# Log of the factor for two shells, of which the better counts, and as much for all radii. Balls at
# neighbouring radii are nearly the same.
_PRICE = float(np.log(4.0))
# A ball of more than half of the points leaves no background to compare it with.
LARGEST = 0.5
# Growth is read from the lower quartile: rows of clusters lie in the upper tail.
_LOW, _LOWER = 0.25, 0.05
_Z = float(special.ndtri(_LOW) - special.ndtri(_LOWER))
_RATIOS = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4])  # points in the ball over all up to M
_MIN_SPREAD = 1e-4  # variance of log slopes below which places are as good as alike
_POOL = 2  # levels on each side that share their estimate of the spread
_SLOWER = np.geomspace(1.0, 0.03, 14)[:, None]  # f
_TINY = 1e-300
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


def ball_sizes(n: int) -> Rows:
    """Sizes of the balls around each of `n` points that are looked at, without the point itself."""
    return levels(2, max(2, n // 2))


def few_points(n: int) -> float:
    """Points that are few among `n`: fewer than the neighbours a row is asked for elsewhere."""
    return 2.0 * float(np.log(n))


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
    fastest : float
        What it is at most: the directions that all points span, where these are few.
    """

    levels: Rows
    slope: F64
    kappa: F64
    delta: F64
    trend: F64
    middle: F64
    fastest: float
    _kept: dict[tuple[int, int], Shells] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def learn(cls, log_r: F64, fastest: float = np.inf) -> Growth:
        """Read the growth off sorted log distances, (n, n) with the point itself first."""
        n = len(log_r)
        at = levels(2, max(2, int(0.9 * (n - 1))))
        low, lower = max(int(_LOW * n), 1), int(_LOWER * n)
        r = log_r.T[at]  # a row for each level, as everywhere below
        beyond = beyond_shells(np.zeros_like(at), at, n)
        u = own_slope(log_r.T[beyond.outer] - r, beyond.log_ratio[:, None])
        slope, spread = np.zeros(len(at)), np.full(len(at), np.nan)
        for b, ordered in enumerate(np.sort(u, axis=1)):
            if not beyond.information[b]:
                slope[b] = slope[b - 1]
                continue
            slope[b] = ordered[n // 2]
            spread[b] = ((ordered[low] - ordered[lower]) / _Z) ** 2 - 1.0 / beyond.information[b]
        kappa = 1.0 / _pooled(spread)
        shrink, _ = shrunk(u, slope[:, None], kappa[:, None], beyond.information[:, None])
        m = np.clip(np.rint(_RATIOS * at[:, None]).astype(np.intp), 1, at[:, None] - 1)
        steps = [(r - log_r.T[inner]) * shrink for inner in m.T]
        x = np.stack([np.partition(step, low, axis=1)[:, low] for step in steps], axis=1)
        expected = -np.log(special.betaincinv(m, at[:, None] - m, 1.0 - _LOW))
        delta = np.divide(expected, x, out=np.zeros_like(x), where=x > _TIE)
        trend = _trend(r, r - log_r.T[np.maximum(at // 4, 1)])
        return cls(at, slope, kappa, delta, trend, np.median(r, axis=1), fastest)

    def surprise(
        self,
        around: Around,
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
        around : Around
            What lies around some points.
        rows, m : ndarray of int
            Centre of each ball, one of these points, and its points without the centre.
        log_R : float or ndarray
            Log of the radius. The three are broadcast against each other.
        w : float
            Points for each reference; 1 when all points are references.
        severe : bool
            Whether growth may be as unlike the typical one as it can be; less is surprising then.
        """
        rows, m, log_R = np.broadcast_arrays(rows, m, log_R)
        beside = [self._beside(shell, around, rows, m, log_R, w, severe) for shell in SHELLS]
        most: F64 = np.maximum.reduce(beside)
        # Where twice the density is allowed, that pays for the choice of shell and radius too.
        return most if around.sides is None else most - _PRICE

    def surprises(self, around: Around) -> F64:
        """Surprise of the ball of each size around each point, (n, n_sizes)."""
        m = ball_sizes(len(around.log_r))
        rows = np.arange(len(around.log_r))[:, None]
        return self.surprise(around, rows, m, around.log_r[:, m])

    def best(self, around: Around, needed: float, surprises: F64) -> tuple[float, float]:
        """Surprise of the most surprising ball, asked severely, and log of its radius.

        `surprises` is what they have when asked simply. Below `needed` only the most surprising one
        of each size is asked.
        """
        sizes = ball_sizes(len(around.log_r))

        def ask(rows: Rows, at: Rows) -> tuple[float, float, float]:
            log_R = around.log_r[rows, sizes[at]]
            severe = self.surprise(around, rows, sizes[at], log_R, severe=True)
            plain = surprises[rows, at]
            return max(zip(severe.tolist(), plain.tolist(), log_R.tolist(), strict=True))

        # Asked severely no ball gains. So the most surprising ones, asked first, spare the others.
        top = surprises.max(axis=0)
        best = ask(surprises.argmax(axis=0), np.arange(len(sizes)))
        others = np.nonzero(surprises >= np.maximum(best[0], np.minimum(needed, top)))
        if len(others[0]):
            best = max(best, ask(*others))
        return best[0], best[2]

    def expected(self, log_r: F64, rows: Rows, m: Rows, log_R: ArrayLike) -> F64:
        """Points of the background in each ball, as the shell around it foretells; at most m."""
        table, at = self._shells(SHELLS[0], m, 1.0, log_r.shape[1])
        shells = table.of(at)
        log_q, _ = log_share(shells, log_r, rows, np.asarray(log_R), self.fastest)
        foretold = shells.n_seen * np.exp(np.minimum(log_q, 0.0))
        return np.where(shells.room, np.minimum(foretold, m), m)

    def _beside(
        self, shell: int, around: Around, rows: Rows, m: Rows, log_R: F64, w: float, severe: bool
    ) -> F64:
        log_r = around.log_r
        table, at = self._shells(shell, m, w, log_r.shape[1])
        contrast = _contrast(table, at, around, rows)
        # At the typical growth a ball is as surprising as can be: the own slope, doubt and trend
        # only speak against it. Most balls are not surprising even so, and no more is asked.
        log_q = -table.delta[at] * (log_r[rows, table.M[at]] - log_R)
        ok = table.room[at] & (log_q < 0.0)
        out = np.where(ok, 0.0, -np.inf)
        some = ok & (m > table.n_seen[at] * _share(np.minimum(log_q, 0.0), w, contrast))
        shells, rows, m, contrast = table.of(at[some]), rows[some], m[some], contrast[some]
        sides = around.sides
        fastest = self.fastest if sides is None else sides.directions[rows, shells.M]
        log_q, certainty = log_share(shells, log_r, rows, log_R[some], fastest)
        if not severe:
            out[some] = tail(m, shells.n_seen, log_q, w, contrast)
            return out
        log_q = log_q * self._slower_where_dense(shells, log_r, rows)
        f = _SLOWER
        tails = tail(m, shells.n_seen, f * log_q, w, contrast) + certainty * (f - 1.0 - np.log(f))
        out[some] = tails.min(axis=0)
        return out

    def _slower_where_dense(self, shells: Shells, log_r: F64, rows: Rows) -> F64:
        """Growth that the trend foretells at a place, over the typical one; at most 1."""
        denser = np.minimum(log_r[rows, shells.M] - self._look(self.middle, shells.M), 0.0)
        slower: F64 = np.exp(-self._look(self.trend, shells.s) * denser)
        return slower

    def _shells(self, shell: int, m: Rows, w: float, n: int) -> tuple[Shells, Rows]:
        """Shells of balls among `n` references, and which of them is that of each `m`."""
        if w != 1.0:
            return self._shells_of(shell, m.ravel(), w, n), np.arange(m.size).reshape(m.shape)
        # All points are references, so there are no more sizes than these.
        if (shell, n) not in self._kept:
            self._kept[shell, n] = self._shells_of(shell, np.arange(n), w, n)
        return self._kept[shell, n], np.minimum(m, n - 1)

    def _shells_of(self, shell: int, m: Rows, w: float, n: int) -> Shells:
        inner = np.rint(m / w).astype(np.intp)
        room = ((USED * (n - 1) - inner) / OUTER).astype(np.intp)
        s = np.minimum(np.maximum((shell * m / w).astype(np.intp), 2 * shell), room)
        ok, s = (s >= 1) & (inner <= LARGEST * n), np.maximum(s, 1)
        M = np.minimum(inner + s, n - 1)
        delta = self._delta(s, np.maximum(m / w, 1e-9) / M)
        slope, kappa = self._look(self.slope, s), self._look(self.kappa, s)
        n_seen = (m + s - 1).astype(np.float64)
        width = (np.maximum(M, 1) / n) ** (2.0 / np.maximum(delta, _TIE))
        return Shells(ok, s, M, n_seen, width, delta, slope, kappa, *beyond_shells(inner, s, n))

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


def _trend(log_r: F64, x: F64) -> F64:
    """Slope of log x against log r by the medians of their outer thirds; 0 unless it falls.

    One for each of their rows.
    """
    trend = np.zeros(len(log_r))
    third = log_r.shape[1] // 3
    if third < MIN_POINTS:
        return trend
    order = np.argsort(log_r, axis=1)
    ordered = np.take_along_axis(log_r, order, axis=1)
    ends = [third, log_r.shape[1] - third]
    tied = np.flatnonzero((ordered[:, np.subtract(ends, 1)] == ordered[:, ends]).any(axis=1))
    if len(tied):  # the same for equal distances in whatever order
        order[tied] = np.lexsort((x[tied], log_r[tied]), axis=1)
    dense, sparse = order[:, :third], order[:, -third:]

    def middle(of: F64, where: Rows) -> F64:
        return np.median(np.take_along_axis(of, where, axis=1), axis=1)

    run = middle(log_r, sparse) - middle(log_r, dense)
    x_dense, x_sparse = middle(x, dense), middle(x, sparse)
    known = np.minimum(run, np.minimum(x_dense, x_sparse)) > _TIE
    rise = np.log(x_sparse[known] / x_dense[known])
    trend[known] = np.minimum(rise / run[known], 0.0)
    return trend


def _pooled(spread: F64) -> F64:
    """Spread of true slopes at each level, with its neighbours; differences may be negative."""
    near = [spread[max(0, b - _POOL) : b + _POOL + 1] for b in range(len(spread))]
    known = [part[~np.isnan(part)] for part in near]
    return np.array([max(part.mean() if len(part) else 0.0, _MIN_SPREAD) for part in known])


def _contrast(table: Shells, at: Rows, around: Around, rows: Rows) -> F64:
    """How much denser the background may be in a ball than the shell around it foretells.

    Twice, where nothing is known of the sides of the shell. Otherwise as much as it is lopsided:
    where a plane cuts off a share of it, that share is at most 4/3 of the tilt, and the ball may
    still be whole. What is left are changes on all sides alike, which are of second order in the
    width of the shell: around the top of a normal density in a plane, half of its share of points.
    """
    if around.sides is None:
        return np.full(at.shape, CONTRAST)
    tilt, _, k = around.sides
    cut_off = np.minimum(min(k, _CUT_OFF) * tilt[rows, table.M[at]], 1.0 - 0.5**k)
    contrast: F64 = 1.0 / (1.0 - cut_off) + _CURVED * table.width[at]
    return contrast


def _share(log_q: F64, w: float, contrast: F64) -> F64:
    """Chance that a point of ball and shell lies in the ball, at the largest contrast allowed."""
    q = np.minimum(contrast * np.exp(log_q), 1.0 - 1e-12)
    return w * q / (w * q + 1.0 - q)


def tail(m: Rows, n: F64, log_q: F64, w: float, contrast: F64) -> F64:
    """-log P(Binomial(n, share) >= m), by Chernoff's bound where it leaves the range of floats."""
    m, n, log_q, contrast = np.broadcast_arrays(m, n, log_q, contrast)
    p = _share(log_q, w, contrast)
    out = np.zeros(p.shape)
    more = m > n * p  # otherwise nothing is surprising
    m, n, p, log_q, contrast = m[more], n[more], p[more], log_q[more], contrast[more]
    with np.errstate(divide="ignore"):
        tail = -np.log(special.betainc(m, np.maximum(n - m + 1.0, 1e-9), p))
    far = tail > _FAR
    m, n, p, log_q, contrast = m[far], n[far], p[far], log_q[far], contrast[far]
    # In a tight cluster the share leaves it too; were all of them infinitely surprising, the most
    # surprising would not be left out first.
    tiny = m * (np.log(m / n) - np.log(contrast * w) - log_q)
    bound = np.where(p > _TINY, special.rel_entr(m, n * np.maximum(p, _TINY)), tiny)
    bound += special.rel_entr(n - m, n * (1.0 - p))
    tail[far] = np.maximum(bound, _FAR)
    out[more] = tail
    return out
