"""Reference points: the rows against which the background is measured.

All rows up to two thousand; of more, every so many-th in the order of their distance from the
middle, which stays the same when the rows are shuffled, shifted or scaled. Equal rows count
once: a copy is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.sides import Sides, span
from crlm.identity import mix, numbered
from crlm.search import Floats, Weights
from crlm.search.distance import chunks, sq_distances_of_pairs
from crlm.search.parallel import in_parallel, one_blas_thread

F64 = NDArray[np.float64]

MAX_REFERENCES = 2048
MEASURED = 512  # rows measured against them at a time: 8 MB
_BLOCK = 256  # rows at a time, in a thread each: 4 MB of distances
_CELLS = 1 << 20  # of the data at a time, to find the middle: 8 MB
# Log distances are rounded to this, so that the rounding of a matrix product, which depends on
# where a row stands, does not tell in the result.
_QUANTUM = 2.0**-30
_SPAN = float(np.iinfo(np.uint32).max)  # quanta from the nearest to the farthest, as a rule
_MOST, _GAP = 0.9, 10.0  # of the rows; from one to the next, in distances from the middle
_FINE = 2.0**40  # parts of a squared distance: coarser than rounding, finer than they differ by
_CLOSE = 1e-7  # below this share of the norms a product has lost too many digits


class Around(NamedTuple):
    """What lies around some points."""

    log_r: F64  # (n, n_references) sorted log distances, the point itself or -inf first
    sides: Sides | None = None  # of as many references, where they are measured


@dataclass(frozen=True)
class References:
    """Rows to measure against.

    Attributes
    ----------
    points : ndarray of shape (n_references, d)
        Centred and scaled.
    rows : ndarray of shape (n_references,)
        Their row numbers, ascending.
    distinct : ndarray of shape (n,) of bool
        Rows that count: the first of each set of equal rows, if it has any weight.
    """

    points: F64
    rows: NDArray[np.intp]
    distinct: NDArray[np.bool_]
    center: F64
    exponent: int  # points are the rows less the centre, over 2**exponent
    total: int | None = None  # rows that count, when X was a sample of them
    n_jobs: int = 1  # threads that measure distances

    @classmethod
    def choose(
        cls, X: Floats, weights: Weights, n: int | None = None, n_jobs: int = 1
    ) -> References:
        """Take references from the rows of `X` that have some weight.

        `n` is the number of rows of which these are a random sample, if they are one; as many of
        them are taken to be copies as in the sample.
        """
        distinct = _distinct(X, weights)
        rows = np.flatnonzero(distinct)
        center = _middle(X, rows, n_jobs)
        if len(rows) > MAX_REFERENCES:
            order = from_the_middle(X, rows, center)
            some = np.linspace(0, len(rows) - 1, MAX_REFERENCES).astype(np.intp)
            rows = np.sort(rows[order[some]])
        points = X[rows].astype(np.float64) - center
        exponent = math.frexp(max(float(np.abs(points).max(initial=0.0)), 1e-300))[1]
        total = None if n is None else round(n * distinct.sum() / np.count_nonzero(weights))
        return cls(np.ldexp(points, -exponent), rows, distinct, center, exponent, total, n_jobs)

    @property
    def n_points(self) -> int:
        """Number of rows that count."""
        return int(self.distinct.sum()) if self.total is None else self.total

    @property
    def is_sample(self) -> bool:
        """Whether they are a part of the rows at hand."""
        return self.total is None and len(self.rows) < self.n_points

    @property
    def w(self) -> float:
        """Points for each reference."""
        return self.n_points / len(self.rows)

    @cached_property
    def log_distances(self) -> F64:
        """Log distances between all references, (n, n); -inf on the diagonal."""
        log_D = np.empty((len(self.points), len(self.points)))

        def fill(part: slice) -> None:
            self._fill(self.points, part, part.start, log_D)
            log_D[part.stop :, part] = log_D[part, part.stop :].T  # as far back as there

        with one_blas_thread():
            self._each_block(fill, len(log_D))
        np.fill_diagonal(log_D, -np.inf)
        return log_D

    @cached_property
    def around(self) -> Around:
        """What lies around the references themselves."""
        return self._around(self.points, self.log_distances)

    @property
    def log_r(self) -> F64:
        """Log distances between all references, each row sorted."""
        return self.around.log_r

    @property
    def is_flat(self) -> bool:
        """Whether the points span so few dimensions that it is seen how lopsided a place is."""
        return self._span is not None

    @property
    def fastest(self) -> float:
        """Growth of points of one density, at most: the directions they span, if these are few."""
        return math.inf if self._span is None else float(self._span.shape[1])

    @cached_property
    def typical(self) -> F64:
        """The points, but for those far off: about a tenth of them at most, beyond a wide gap.

        One wrong number in a table is no cluster, and does nothing to those there are. But in what
        is told of all points together, their covariance or the directions they span, it would be
        all that there is. (Heavy tails seldom have such gaps.)
        """
        sq = np.sort(self._sq_norm)[int(_MOST * (len(self.points) - 1)) :]
        gaps = np.flatnonzero(sq[1:] > _GAP**2 * sq[:-1])
        if not len(gaps) or sq[0] == 0.0:
            return self.points
        typical: F64 = self.points[self._sq_norm <= sq[gaps[0]]]
        return typical

    @cached_property
    def _span(self) -> F64 | None:
        return span(self.typical)

    def around_of(self, X: Floats, row: int) -> Around:
        """What lies around one row."""
        return self._around(*self._measured(X, np.array([row])))

    def log_r_of(self, X: Floats, rows: NDArray[np.intp]) -> F64:
        """Sorted log distances of some rows to the references, the row itself first."""
        _, log_D = self._measured(X, rows)
        self._sort(log_D, log_D)
        return log_D

    def in_blocks(self, X: Floats, rows: NDArray[np.intp]) -> Iterator[tuple[slice, F64]]:
        """Which of some rows are measured at a time, and their sorted log distances."""
        for at in range(0, len(rows), MEASURED):
            part = slice(at, at + MEASURED)
            yield part, self.log_r_of(X, rows[part])

    def level(self, log_r: F64) -> Around:
        """What lies around points at these distances, if nowhere lopsided."""
        if self._span is None:
            return Around(log_r)
        return Around(log_r, Sides.level(log_r.shape, self._span.shape[1]))

    def _measured(self, X: Floats, rows: NDArray[np.intp]) -> tuple[F64, F64]:
        """Some rows, centred and scaled, and their log distances to the references."""
        points = self._scaled(X, rows)
        log_D = self._log_distances(points)
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        own = self.rows[at] == rows
        log_D[own, at[own]] = -np.inf
        # The farthest makes room for the row itself where it is no reference.
        log_D[np.flatnonzero(~own), log_D[~own].argmax(axis=1)] = -np.inf
        return points, log_D

    def _scaled(self, X: Floats, rows: NDArray[np.intp]) -> F64:
        return np.ldexp(X[rows].astype(np.float64) - self.center, -self.exponent)

    def _around(self, A: F64, log_D: F64) -> Around:
        """What lies around points at these distances."""
        log_r = np.empty_like(log_D)
        if self._span is None:
            self._sort(log_D, log_r)
            return Around(log_r)
        points, places = self.points @ self._span, A @ self._span
        tilt, directions = np.empty((2, *log_r.shape), dtype=np.float32)

        def fill(part: slice) -> None:
            order = np.argsort(log_D[part], axis=1)  # in whatever order equal ones come
            log_r[part] = np.take_along_axis(log_D[part], order, axis=1)
            r = np.exp(log_r[part] - self.exponent * math.log(2.0))
            tilt[part], directions[part], _ = Sides.measure(points, places[part], order, r)

        self._each_block(fill, len(log_r))
        return Around(log_r, Sides(tilt, directions, points.shape[1]))

    def _sort(self, log_D: F64, out: F64) -> None:
        self._each_block(lambda part: _sort_logs(log_D[part], out[part]), len(log_D))

    def _each_block(self, work: Callable[[slice], None], n: int) -> None:
        """Do some work for each block of `n` rows."""
        parts = [slice(at, min(at + _BLOCK, n)) for at in range(0, n, _BLOCK)]
        for _ in in_parallel(work, parts, max(1, min(self.n_jobs, len(parts)))):
            pass

    def _log_distances(self, A: F64) -> F64:
        """Log distances of some points to all references, in the units of the data."""
        if len(A) == 1:  # sparing the overhead of a product
            return self._logs(np.square(self.points - A).sum(axis=1)[None])
        out = np.empty((len(A), len(self.points)))
        with one_blas_thread():
            self._each_block(lambda part: self._fill(A, part, 0, out), len(A))
        return out

    def _fill(self, A: F64, part: slice, first: int, out: F64) -> None:
        """Log distances of a block of points to the references from the `first` on."""
        scale = np.square(A[part]).sum(axis=1)[:, None] + self._sq_norm[first:]
        sq = A[part] @ self.points[first:].T
        sq *= -2.0
        sq += scale
        scale *= _CLOSE
        i, j = np.divmod(np.flatnonzero(sq < scale), sq.shape[1])
        sq[i, j] = sq_distances_of_pairs(A, i + part.start, self.points, j + first)
        out[part, first:] = self._logs(sq)

    @cached_property
    def _sq_norm(self) -> F64:
        sq_norm: F64 = np.square(self.points).sum(axis=1)
        return sq_norm

    def _logs(self, out: F64) -> F64:
        """Logs of distances, in the units of the data, from squares of scaled ones."""
        # Two rows may differ by less than the scaling leaves of them.
        np.maximum(out, np.finfo(np.float64).tiny, out=out)
        np.log(out, out=out)
        out *= 0.5 / _QUANTUM
        np.rint(out, out=out)
        out += round(self.exponent * math.log(2.0) / _QUANTUM)  # the same in other powers of two
        out *= _QUANTUM
        return out


def _sort_logs(log_D: F64, out: F64) -> None:
    """Sort each row of rounded log distances, in place if both are the same.

    They are whole numbers of quanta, and numbers of half the width are sorted in half the time.
    The farthest has the largest, and 0 is for the point itself: one in a row.
    """
    first = log_D.max() - _SPAN * _QUANTUM
    whole = np.zeros(log_D.shape, dtype=np.uint32)
    if first > -np.inf:
        quanta = log_D - first
        quanta *= 1.0 / _QUANTUM
        whole[:] = np.maximum(quanta, 0.0, out=quanta)
        whole.sort(axis=1)
    if not whole[:, 1:2].all():  # rows that are all but equal to others
        out[:] = np.sort(log_D, axis=1)
        return
    np.multiply(whole, _QUANTUM, out=out)
    out += first
    out[whole[:, 0] == 0, 0] = -np.inf


@dataclass(frozen=True)
class Remembered(References):
    """References that keep what they have measured: for the same rows at many radii."""

    max_rows: int = 16_384  # of 16 KB each
    _kept: dict[int, F64] = field(default_factory=dict)
    _alone: dict[int, Around] = field(default_factory=dict)

    def log_r_of(self, X: Floats, rows: NDArray[np.intp]) -> F64:
        """Sorted log distances of some rows to the references, the row itself first."""
        missing = np.array([row for row in rows.tolist() if row not in self._kept], dtype=np.intp)
        if len(self._kept) + len(missing) > self.max_rows:
            return super().log_r_of(X, rows)
        if len(missing):
            self._kept.update(zip(missing.tolist(), super().log_r_of(X, missing), strict=True))
        return np.stack([self._kept[row] for row in rows.tolist()])

    def around_of(self, X: Floats, row: int) -> Around:
        """What lies around one row."""
        if row not in self._alone:
            if len(self._alone) >= self.max_rows // 8:
                self._alone.clear()
            self._alone[row] = super().around_of(X, row)
        return self._alone[row]


def first_of_equals(X: Floats) -> NDArray[np.bool_]:
    """Rows that are not a copy of an earlier row."""
    first = np.ones(len(X), dtype=bool)
    marks = fingerprints(X)
    in_order = np.sort(marks)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    alike = np.flatnonzero(np.isin(marks, twice))  # equal, but for chance: compare byte by byte
    points = np.ascontiguousarray(X[alike] + X.dtype.type(0))  # no negative zeros
    as_bytes = points.view(np.dtype((np.void, points.dtype.itemsize * points.shape[1]))).ravel()
    first[alike] = False
    first[alike[np.unique(as_bytes, return_index=True)[1]]] = True
    return first


def fingerprints(X: Floats) -> NDArray[np.uint64]:
    """A number for each row, the same for equal rows: its words times odd ones, modulo 2**64."""
    words = X.shape[1] * X.dtype.itemsize // 4
    odd = np.random.default_rng(0).integers(2**64, size=words, dtype=np.uint64) | np.uint64(1)
    out = np.empty(len(X), dtype=np.uint64)
    for part in chunks(len(X), words):
        points = np.ascontiguousarray(X[part] + X.dtype.type(0))  # no negative zeros
        out[part] = np.einsum("ij,j->i", points.view(np.uint32), odd)
    return out


def _distinct(X: Floats, weights: Weights) -> NDArray[np.bool_]:
    """First of each set of equal rows among those with some weight."""
    rows = np.flatnonzero(weights)
    out = np.zeros(len(X), dtype=bool)
    out[rows[first_of_equals(X if len(rows) == len(X) else X[rows])]] = True
    return out


def _middle(X: Floats, rows: NDArray[np.intp], n_jobs: int) -> F64:
    """Lower median of each column, over some rows."""
    at = (len(rows) - 1) // 2
    step = max(1, _CELLS // len(rows))
    starts = range(0, X.shape[1], step)

    def medians(start: int) -> NDArray[Any]:
        columns: NDArray[Any] = X[:, start : start + step][rows]
        columns.partition(at, axis=0)
        return np.array(columns[at])

    parts = in_parallel(medians, starts, min(n_jobs, len(starts)))
    return np.concatenate(list(parts)).astype(np.float64)


def from_the_middle(X: Floats, rows: NDArray[np.intp], center: F64) -> NDArray[np.intp]:
    """Order of some rows by their distance from the middle; the same however they are ordered."""
    return nearest_first(_sq_lengths(X, rows, center), X, rows)


def nearest_first(sq: F64, X: Floats, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order of some rows by their squared distances; equally far ones by what is in them.

    The same however rows and columns are ordered, columns are copied, and in any units.
    """
    far = np.rint(sq / max(float(sq.max()), np.finfo(np.float64).tiny) * _FINE)
    order = np.argsort(far, kind="stable")
    equal = far[order[1:]] == far[order[:-1]]
    if not equal.any():
        return order
    tied = order[np.append(equal, False) | np.append(False, equal)]
    marks = np.zeros((2, len(rows)), dtype=np.uint64)
    marks[:, tied] = _marks(X, rows[tied])
    return np.lexsort([*marks, far])


def _marks(X: Floats, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Two numbers for each of some rows that tell what is in them, by ranks.

    The second one, which counts first, does not depend on the order of the columns; columns with
    the same values in another order are told apart by the first.
    """
    marks, places = np.zeros((2, len(rows)), dtype=np.uint64), numbered(1, len(rows) + 1)
    seen: set[int] = set()
    for j in range(X.shape[1]):
        ranks = mix(np.unique(X[rows, j], return_inverse=True)[1].astype(np.uint64))
        itself = int(mix(ranks + places).sum(dtype=np.uint64))
        if itself not in seen:  # no copy of an earlier column
            marks[0] += mix(ranks + numbered(len(seen), len(seen) + 1))
            marks[1] += mix(ranks + ranks.sum(dtype=np.uint64))
            seen.add(itself)
    return marks


def _sq_lengths(X: Floats, rows: NDArray[np.intp], center: F64) -> F64:
    parts = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    return np.concatenate([np.square(X[part] - center).sum(axis=1) for part in parts])
