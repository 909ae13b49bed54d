"""How to search: which directions to filter on, and how to cut the rows into runs.

Both are chosen by trying them on a sample of the data. They change the time, never the pairs.
"""

from __future__ import annotations

import logging
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats
from crlm.search.filter import Frame
from crlm.search.kernel import MAX_ROWS, TILE, compiled, has_wholes
from crlm.search.order import Runs, cut_into_runs
from crlm.search.whole import Whole

log = logging.getLogger("crlm")

# Up to this many rows a plain search takes less time than a plan.
_SMALL = 4096
# All principal directions of up to so many columns, or else the first of them.
_MAX_COLUMNS, _MAX_DIRECTIONS = 1024, 256
_DIRECTIONS = (
    *(1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256),
    *(320, 384, 448, 512, 640, 768, 896, 1024),
)
_AXES = (1, 2, 3)
_MAX_SINGLE = 2.0**50  # squares of which stay far below float32's 2**127
_SOME = 8  # one in so many of a sample is compared with all of it
# Rows of a run: small boxes exclude more, tall products cost less.
_SIZES = (128, 256)
# The compiled loop has boxes for every 16 rows; its runs are what is worth a call, stays in the
# cache of a core while all others pass by (a quarter of a megabyte), and leaves enough for threads.
_LEAST, _MOST, _RUN_BYTES, _RUNS_PER_THREAD = 256, 1024, 1 << 18, 16
# Numbers in a product: half a megabyte of float32, in the cache of a core, and work enough for
# a call.
CELLS = 1 << 17


class Costs(NamedTuple):
    """What one pair costs, in nanoseconds of one core as measured on a common one."""

    pair: float  # filtering: fixed,
    column: float  # for each column,
    calls: float  # and the calls for a product that some pair passes
    look: float  # another look at a pair that passed: fixed,
    look_column: float  # and for each column
    measure: float  # measuring: fixed,
    measure_column: float  # and for each column

    def measuring(self, d: int) -> float:
        """Cost of a distance."""
        return self.measure + self.measure_column * d


_PLAIN = Costs(0.4, 0.022, 0.15, 60.0, 1.0, 100.0, 3.0)
_COMPILED = Costs(0.12, 0.021, 0.0, 12.0, 0.07, 20.0, 0.6)
_WHOLE = _COMPILED._replace(pair=0.11, column=0.014)  # numbers of sixteen bits
PROJECT_COLUMN = 0.06  # making a coordinate of a row, for each column
# Below this share of the cost of filtering, what is kept is not worth another look.
_LITTLE = 0.05


class Plan(NamedTuple):
    """A frame for the filter, and the rows in runs."""

    frame: Frame
    runs: Runs
    looked_at: float = 1.0  # share of pairs that the boxes leave to the filter
    kept: float = 0.0  # share of pairs that the filter leaves to be measured
    looking: float = 0.0  # cost of further looks, for each pair of rows
    tiles: Runs | None = None  # the runs in tiles, for the compiled loop
    costs: Costs = _PLAIN  # of the sieve that this is for

    @property
    def reach(self) -> float:
        """Squared gap between boxes from which on their rows are too far apart.

        Boxes are made of at most three projections, each off by less than (d + 8) 2**-53 times
        the norm, and the gap between two boxes by less than twice sqrt(3) of that.
        """
        f = self.frame
        return (math.sqrt(f.cutoff) + 7.0 * (len(f.center) + 8) * 2.0**-53 * f.norm) ** 2


def make_plan(
    X: Floats,
    f: Frame,
    near: float,
    block: int | None = None,
    *,
    n_jobs: int = 1,
    looks: bool = True,
) -> Plan:
    """Plan the search for all pairs of rows closer than a cutoff.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    f : Frame
        Origin and unit of the rows, from :func:`~crlm.search.filter.frame`.
    near : float
        Share of pairs that are closer, from :func:`near_share`.
    block : int or None
        Rows of a run, when the caller knows better (tests do).
    n_jobs : int
        Threads that runs are spread over.
    looks : bool
        Whether pairs may be looked at again along more directions, which takes memory.
    """
    (n, d), tiled = X.shape, is_tiled(f, len(X))
    if n <= _SMALL:
        runs, tiles = _cut(np.zeros((n, 0)), block or _SIZES[-1], tiled)
        return Plan(f, runs, tiles=tiles)

    # Two samples: rows that shaped the directions look better along them than the rest will.
    sample = _sample(X, min(max(n // 4, 2048), 8192))
    shaping, judging = sample[::2], sample[1 :: 2 * max(1, len(sample) // 2048)]
    # Finding many directions does not pay for few rows.
    all_of_them = d <= min(_MAX_COLUMNS, n // 25)
    directions = leading_directions(shaping, d if all_of_them else min(_MAX_DIRECTIONS, n // 100))
    axes = f.along(directions[:, : max(_AXES)])
    n_axes, looked_at = _choose_axes(X, axes, TILE if tiled else _SIZES[0])
    judged = f.along(directions).coordinates(judging)
    costs = _costs(judged, f.cutoff) if tiled else _PLAIN
    if looks:
        ends, kept, looking = choose_looks(judged, f.cutoff, d, n, looked_at, near, costs)
    else:
        m, kept = choose_directions(judged, f.cutoff, d, looked_at, near, costs)
        ends, looking = (m,), 0.0
    f = f.along(None, None) if ends == (d,) else f.along(directions[:, : ends[-1]], ends)
    tiled = tiled and is_tiled(f, n)
    if tiled:
        in_cache = _RUN_BYTES // (f.width * (2 if costs is _WHOLE else 4))
        wanted = min(_MOST, n // (_RUNS_PER_THREAD * n_jobs), in_cache)
        rows = max(_LEAST, wanted) // TILE * TILE
    else:
        rows = _SIZES[0] if looked_at < 0.3 else _SIZES[-1]
    log.info(
        "search: %s rows x %s columns; %s filter on %s of %s directions keeps %.2g of pairs; runs "
        "of %s rows along %s axes leave %.2g of them to filter",
        *(n, d, "compiled" if tiled else "NumPy", " + ".join(map(str, np.diff(ends, prepend=0)))),
        *(d, kept, rows, n_axes, looked_at),
    )
    lead = _lead(X, axes.along(directions[:, :n_axes])) if n_axes else np.zeros((n, 0))
    runs, tiles = _cut(lead, block or rows, tiled)
    return Plan(f, runs, looked_at, kept, looking, tiles, costs if tiled else _PLAIN)


def _costs(c: NDArray[np.float64], cutoff: float) -> Costs:
    """What the compiled loop costs for rows like these; longer ones may be among the others."""
    longest = 1.25 * math.sqrt(np.square(c).sum(axis=1).max())
    sharp = has_wholes() and Whole.of(longest, min(c.shape[1], _MAX_DIRECTIONS), cutoff)
    return _WHOLE if sharp else _COMPILED


def is_tiled(f: Frame, n: int) -> bool:
    """Whether there is a compiled loop for the numbers of a frame, and for so many rows."""
    return f.dtype is np.float32 and n <= MAX_ROWS and compiled() is not None


def _cut(lead: NDArray[np.float64], rows: int, tiled: bool) -> tuple[Runs, Runs | None]:
    """Runs of so many rows, and if they are for the compiled loop, of whole tiles."""
    if not tiled:
        return cut_into_runs(lead, rows), None
    tiles = cut_into_runs(lead, TILE)
    return tiles.grouped(-(-rows // TILE)), tiles


def leading_directions(X: Floats, m: int) -> NDArray[np.float64]:
    """Orthonormal directions (d, m) along which the rows vary most, largest first.

    A randomised range finder with one power step: close to principal components at a fraction
    of their cost, and any orthonormal directions would be right.
    """
    a = X.astype(np.float64)
    a -= np.median(a, axis=0)
    a /= max(float(np.abs(a).max(initial=0.0)), np.finfo(np.float64).tiny)
    d = a.shape[1]
    if d <= m:
        spread = a.T @ a
        return np.ascontiguousarray(np.linalg.eigh(spread)[1][:, ::-1])
    sketch = np.random.default_rng(0).normal(size=(d, m))
    Q = np.linalg.qr(a.T @ (a @ sketch))[0]
    rotation = np.linalg.eigh((a @ Q).T @ (a @ Q))[1][:, ::-1]
    return np.linalg.qr(Q @ rotation)[0]


def near_share(X: Floats, sq_cutoff: float) -> float:
    """Share of pairs that are closer than the radius, in a sample of the rows."""
    sample = _sample(X, 1024).astype(np.float64)
    sample -= np.median(sample, axis=0)
    some = sample[::4]
    sq_norm = np.square(sample).sum(axis=1)
    sq_dist = sq_norm[::4, None] + sq_norm - 2.0 * (some @ sample.T)
    near = int((sq_dist < sq_cutoff).sum()) - len(some)  # not a row with itself
    return max(near, 0) / max(1, len(some) * (len(sample) - 1))


def _sample(X: Floats, size: int) -> Floats:
    """Evenly spaced rows, no more than make some 32 MB."""
    size = min(max(2, min(size, (1 << 22) // X.shape[1])), len(X))
    return X[np.arange(size) * len(X) // size]


def choose_directions(
    c: NDArray[np.float64],
    cutoff: float,
    d: int,
    looked_at: float,
    near: float,
    costs: Costs = _PLAIN,
) -> tuple[int, float]:
    """Number of directions for which filter and measuring together cost least.

    `c` are the coordinates of a sample along all directions, with the rest in the last column;
    `looked_at` is the share of pairs that the boxes leave to the filter, `near` that of pairs
    closer than the radius, which is what a filter on all d columns keeps.
    Returns the number, and the share of pairs that pass such a filter.
    """
    shares = _shares_kept(c, cutoff, d, looked_at, near, costs)
    measure = costs.measuring(d)
    m = min(shares, key=lambda m: _filtering(m, shares, costs) * looked_at + shares[m] * measure)
    return m, shares[m]


def choose_looks(
    c: NDArray[np.float64],
    cutoff: float,
    d: int,
    n: int,
    looked_at: float,
    near: float,
    costs: Costs = _PLAIN,
) -> tuple[tuple[int, ...], float, float]:
    """The same, when pairs that pass the product may be looked at again along more directions.

    `n` is the number of rows, each of which has coordinates along all the directions.
    Returns the number of directions in the product and after each further look, the share of
    pairs that pass all of them, and what looking costs.
    """
    shares = _shares_kept(c, cutoff, d, looked_at, near, costs)
    measure = costs.measuring(d)
    # The cheapest way on from m directions, the largest m first: measure, or look again.
    after: dict[int, tuple[float, tuple[int, ...]]] = {}
    for m in sorted((m for m in shares if m < c.shape[1]), reverse=True):  # directions there are
        ways: list[tuple[float, tuple[int, ...]]]
        ways = [(shares[m] * measure + PROJECT_COLUMN * d * m / (n / 2), (m,))]
        for further, (cost, ends) in after.items():
            look = shares[m] * (costs.look + costs.look_column * (further - m))
            ways.append((look + looked_at * costs.calls + cost, (m, *ends)))
        after[m] = min(ways)
    after[d] = (near * measure, (d,))  # the columns as they are
    m = min(after, key=lambda m: _filtering(m, shares, costs) * looked_at + after[m][0])
    cost, ends = after[m]
    kept = shares[ends[-1]]
    return ends, kept, cost - kept * measure if len(ends) > 1 else 0.0


def _filtering(m: int, shares: dict[int, float], costs: Costs) -> float:
    """Cost of a product on m directions. Near pairs are together in few products, others not."""
    by_chance = shares[m] - min(shares.values())
    return costs.column * m + costs.calls * -math.expm1(-by_chance * CELLS)


def _shares_kept(
    c: Floats, cutoff: float, d: int, looked_at: float, near: float, costs: Costs
) -> dict[int, float]:
    """Share of pairs that a filter on some directions keeps, for the numbers worth a try."""
    if np.abs(c).max(initial=0.0) < _MAX_SINGLE:
        c = c.astype(np.float32)  # half the time, and only shares are counted
    some, sq_norm = c[::_SOME], np.square(c).sum(axis=1)
    # |a - b|^2 is bounded by |a|^2 + |b|^2 less twice the product along the directions so far and
    # that of what is left, so a pair is kept where these products exceed half of the difference.
    enough = 0.5 * (sq_norm[::_SOME, None] + sq_norm - cutoff)
    products, with_rest = np.zeros_like(enough), np.empty_like(enough)
    shares = {d: near}
    done = 0
    for m in [m for m in _DIRECTIONS if m < c.shape[1] - 1] + [c.shape[1] - 1]:
        products += some[:, done:m] @ c[:, done:m].T
        rest = np.sqrt(np.maximum(sq_norm - np.square(c[:, :m]).sum(axis=1), 0.0))
        # The few pairs of a row with itself are counted too; they do no harm.
        np.multiply(rest[::_SOME, None], rest, out=with_rest)
        with_rest += products
        passed = np.count_nonzero(with_rest > enough)
        kept = max(passed - len(some), 0) / products.size
        shares[m] = kept
        if kept * costs.measuring(d) < _LITTLE * looked_at * costs.column * m:
            break  # more columns cost more than they can spare
        done = m
    return shares


def _lead(X: Floats, f: Frame) -> NDArray[np.float64]:
    """Coordinates of all rows along the first few directions."""
    assert f.basis is not None, "no directions to go along"
    lead = np.empty((len(X), f.basis.shape[1]))
    for start in range(0, len(X), 4096):
        np.matmul(f.centred(X[start : start + 4096]), f.basis, out=lead[start : start + 4096])
    return lead


def _choose_axes(X: Floats, f: Frame, size: int) -> tuple[int, float]:
    """Number of axes to cut along, and the share of pairs in runs that are then near enough.

    Tried on a sample of eight rows to a run; the box around eight of many rows is too small by
    7/9 on average, which is made up for. No cut at all when none spares a tenth of the work.
    """
    n_runs = max(1, min(len(X) // size, 512))
    sample = _lead(X[:: max(1, len(X) // (8 * n_runs))], f)
    best = (0.9, 0)
    for n_axes in [a for a in _AXES if a <= sample.shape[1]]:
        runs = cut_into_runs(sample[:, :n_axes], 8)
        grow = (runs.high - runs.low) / 7.0
        runs = runs._replace(low=runs.low - grow, high=runs.high + grow)
        tried = range(0, runs.n_runs, max(1, runs.n_runs // 16))
        near = sum(int((runs.sq_gaps(b, b) < f.cutoff).sum()) for b in tried)
        best = min(best, (near / sum(runs.n_runs - b for b in tried), n_axes))
    return (best[1], best[0]) if best[1] else (0, 1.0)
