"""All rows from near: the neighbours of each, up to a radius that takes in some sixty a row."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crlm.background.references import References
from crlm.background.significance import MIN_SIZE
from crlm.bandwidth.radii import grid
from crlm.errors import InputError, MemoryLimitError
from crlm.search import Floats, Pairs, RankedPairs, pairs_within

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

# R0 takes in some sixty points around a row, which is room for a shell around what the references
# do not show; of more than thirty thousand rows fewer, to stay within a hundred megabytes.
_PAIRS_PER_ROW, _MAX_PAIRS = 32, 1 << 20
_LIMIT = 1 << 30  # bytes: if distances are not at all what they seemed, there is no quick look
_TINY = 1e-300
_QUARTERED = 8  # neighbours, to tell how they grow


def near_rows(X: Floats, references: References) -> Near | None:
    """Look at all rows that count from near; None where that cannot be done."""
    n = references.n_points
    log_r = references.log_r[:, 1:]
    n_pairs = min(_PAIRS_PER_ROW * n, _MAX_PAIRS)
    at = min(int(2.0 * n_pairs / n**2 * log_r.size), log_r.size - 1)
    log_R0 = float(np.partition(log_r, at, axis=None)[at])
    R0 = float(grid(references, log_R0, log_R0).radii[0])  # which follows the units
    rows = np.flatnonzero(references.distinct)
    points = X if len(rows) == len(X) else X[rows]
    try:
        pairs = pairs_within(points, R0**2, memory_limit=_LIMIT, n_jobs=references.n_jobs)
    except (InputError, MemoryLimitError):
        return None
    return Near(points, rows, pairs, R0)


class Near:
    """Rows that count, and for each its neighbours up to R0, nearest first.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of shape (n,)
        Their row numbers in the data.
    R0 : float
    log_d : ndarray
        Log distances of all pairs over R0, ascending.
    others, log_r : ndarray
        Neighbours of all rows, and how far they are; :meth:`of` says where those of a row are.
    N : ndarray of shape (n,)
        Neighbours of each row.
    """

    def __init__(self, points: Floats, rows: Rows, pairs: Pairs, R0: float) -> None:
        self.points, self.rows, self.R0 = points, rows, R0
        ranked = RankedPairs.of(pairs)
        with np.errstate(divide="ignore"):  # copies of a row count once, but squares may vanish
            self.log_d = 0.5 * np.log(ranked.sq_dist / R0**2)
        self.starts, self.others, ranks = ranked.lists
        self.log_r = self.log_d[ranks]
        self.N = np.diff(self.starts, append=len(ranks))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.points)

    def of(self, row: int, size: int | None = None) -> slice:
        """Where the nearest neighbours of a row are."""
        start = int(self.starts[row])
        return slice(start, start + int(self.N[row] if size is None else size))

    @cached_property
    def last(self) -> NDArray[np.int64]:
        """Which neighbour each is, counted from 1; of equally distant ones the last."""
        ends = np.ones(len(self.log_r), dtype=bool)
        ends[:-1] = self.log_r[1:] != self.log_r[:-1]
        ends[(self.starts + self.N - 1)[self.N > 0]] = True
        at = np.flatnonzero(ends)
        last = np.repeat(at + 1, np.diff(at, prepend=-1))
        return last - np.repeat(self.starts, self.N)

    @property
    def growth(self) -> float:
        """Growth around a row of middling growth, from a quarter of its neighbours to all."""
        some = np.flatnonzero(self.N >= _QUARTERED)
        quarter = -self.log_r[self.starts[some] + self.N[some] // 4 - 1]
        return float(np.median(np.log(4.0) / quarter)) if len(some) else 0.0

    def surprising(self, delta: float, contrast: float, needed: float) -> Rows:
        """Rows around which some ball is surprising; it may end at one of its points.

        Where neighbours grow as r**delta, which is soon asked, and only roughly so.
        """
        m = np.arange(1, len(self.log_r) + 1) - np.repeat(self.starts, self.N)
        N = np.repeat(self.N, self.N)
        p = np.minimum(contrast * np.exp(delta * self.log_r), 1.0)
        at = np.flatnonzero((m >= MIN_SIZE - 1) & (m > N * p))
        m, N, p = m[at].astype(np.float64), N[at].astype(np.float64), np.maximum(p[at], _TINY)
        # The chance of m or more is at least that of m, so that a surprise is at most this.
        most = special.rel_entr(m, N * p) + special.rel_entr(N - m, N * (1.0 - p))
        at = at[most + 0.5 * np.log(8.0 * m) >= needed]
        return np.unique(np.searchsorted(self.starts, at, side="right") - 1)
