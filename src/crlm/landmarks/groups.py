"""What the second pass keeps: rows with the same near landmarks, added up.

A ball around a landmark holds all rows of such a group or none. So the greedy loop needs no more of
the rows than, for each group, how many they are and what they add to the loss of each landmark near
them. These are whole numbers: blocks and shards add up to the same in any order. Where clusters are
well apart a cluster is one group, however many rows it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import MemoryLimitError
from crlm.identity import U64
from crlm.landmarks.keys import copy_marks
from crlm.landmarks.sieve import Sieve, near_pairs
from crlm.loss import QUANTUM, fixed_point, robust_loss
from crlm.search import Floats, Weights
from crlm.search.budget import in_words
from crlm.search.pairs import weigh

I64 = NDArray[np.int64]

_GROUP_BYTES, _ENTRY_BYTES, _MARK_BYTES = 600, 40, 24  # with all copies made on the way


class Groups(NamedTuple):
    """Groups of rows.

    Attributes
    ----------
    indptr, landmarks, losses : ndarray
        Landmarks near the rows of a group, ascending, and the loss that the group adds to each.
    weights : ndarray of shape (n_groups,)
        Points in each group, in quanta.
    mark_ptr, marks : ndarray
        Marks of the distinct rows of each group, ascending.
    own : ndarray of shape (n_own, 2)
        Landmark, and the group that its own row is in.
    sq_radius : float
        Largest squared distance of a row from the middle of the data's box.
    """

    indptr: I64
    landmarks: NDArray[np.int32]
    losses: I64
    weights: I64
    mark_ptr: I64
    marks: U64
    own: I64
    sq_radius: float

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.weights)


def group_rows(
    X: Floats,
    start: int,
    sieve: Sieve,
    middle: NDArray[np.float64],
    weights: Weights | None = None,
    *,
    marked: bool = True,
) -> Groups:
    """Groups of the rows of `X`, which are number `start` and on."""
    sq_radius = float(np.square(X - middle).sum(axis=1).max(initial=0.0))
    i, j, sq_dist = near_pairs(X, sieve)
    loss = fixed_point(robust_loss(sq_dist, sieve.sigma_max, X.shape[1], sieve.G))
    if weights is not None:
        loss = weigh(loss, weights[i])
    rows, first, degree = np.unique(i, return_index=True, return_counts=True)
    group, signatures = _signatures(j.astype(np.int32), first, degree)
    lengths = np.array([len(signature) for signature in signatures], dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(indptr[group] - first, degree) + np.arange(len(i))
    losses = np.zeros(indptr[-1], dtype=np.int64)
    np.add.at(losses, at, loss)
    counts = np.zeros(len(signatures), dtype=np.int64)
    own_weights = np.ones(len(rows)) if weights is None else weights[rows]
    np.add.at(counts, group, fixed_point(own_weights))
    # Rows without weight are none, and count for nothing.
    counted = np.flatnonzero(own_weights > 0) if marked else np.zeros(0, dtype=np.intp)
    mark_ptr, marks = _distinct(group[counted], copy_marks(X[rows[counted]]), len(signatures))
    is_own = sieve.rows[j] == start + i
    own = np.stack([j[is_own], group[np.searchsorted(rows, i[is_own])]], axis=1)
    none = np.zeros(0, dtype=np.int32)
    landmarks = np.concatenate([none, *signatures])
    return Groups(indptr, landmarks, losses, counts, mark_ptr, marks, own, sq_radius)


def _signatures(
    j: NDArray[np.int32], first: NDArray[np.intp], degree: NDArray[np.intp]
) -> tuple[NDArray[np.intp], list[NDArray[np.int32]]]:
    """Group of each row, and the landmarks of each group."""
    known: dict[bytes, int] = {}
    group = np.empty(len(first), dtype=np.intp)
    signatures: list[NDArray[np.int32]] = []
    for r, (a, n) in enumerate(zip(first.tolist(), degree.tolist(), strict=True)):
        near = j[a : a + n]
        group[r] = known.setdefault(near.tobytes(), len(signatures))
        if group[r] == len(signatures):
            signatures.append(near)
    return group, signatures


def _distinct(group: NDArray[np.intp], marks: U64, n_groups: int) -> tuple[I64, U64]:
    """Marks by group, ascending, each once, and where those of a group begin."""
    order = np.lexsort((marks, group))
    group, marks = group[order], marks[order]
    new = np.ones(len(marks), dtype=bool)
    new[1:] = (group[1:] != group[:-1]) | (marks[1:] != marks[:-1])
    counts = np.bincount(group[new], minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), marks[new]


def count_rows(X: Floats, sieve: Sieve) -> I64:
    """Rows near each landmark."""
    near = near_pairs(X, sieve)
    return np.bincount(near.j, minlength=len(sieve.rows)).astype(np.int64)


class Gatherer:
    """Adds up groups, within a limit of bytes."""

    def __init__(self, memory_limit: int | None = None) -> None:
        self._limit = memory_limit
        self._number: dict[bytes, int] = {}
        self._losses: list[I64] = []
        self._weights: list[int] = []
        self._marks: list[list[U64]] = []
        self._own: list[tuple[int, int]] = []
        self._sq_radius = 0.0
        self._n_bytes = 0

    def add(self, found: Groups) -> None:
        """Add the groups of some more rows."""
        number = [self._add_one(found, g) for g in range(found.n_groups)]
        self._own += [(int(j), number[g]) for j, g in found.own.tolist()]
        self._sq_radius = max(self._sq_radius, float(found.sq_radius))
        if self._limit is not None and self._n_bytes > self._limit:
            msg = (
                f"the pairs of landmarks and rows near them take over {in_words(self._limit)}, "
                f"the memory limit. Use a smaller sigma_max or fewer landmarks, or pass "
                f"memory_limit='{-(-self._n_bytes * 4 // 10**6)}MB'."
            )
            raise MemoryLimitError(msg)

    def _add_one(self, found: Groups, g: int) -> int:
        entries = slice(int(found.indptr[g]), int(found.indptr[g + 1]))
        marks = found.marks[found.mark_ptr[g] : found.mark_ptr[g + 1]]
        near = found.landmarks[entries]
        at = self._number.setdefault(near.tobytes(), len(self._losses))
        if at == len(self._losses):
            self._losses.append(found.losses[entries].copy())
            self._weights.append(int(found.weights[g]))
            self._marks.append([marks.copy()])
            self._n_bytes += _GROUP_BYTES + _ENTRY_BYTES * len(near)
        else:
            self._losses[at] += found.losses[entries]
            self._weights[at] += int(found.weights[g])
            self._marks[at].append(marks.copy())
        self._n_bytes += _MARK_BYTES * len(marks)
        return at

    def finish(self) -> Groups:
        """All groups together."""
        near = [np.frombuffer(key, dtype=np.int32) for key in self._number]
        marks = [
            parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
            for parts in self._marks
        ]
        return Groups(
            _pointers(near),
            np.concatenate([np.zeros(0, dtype=np.int32), *near]),
            np.concatenate([np.zeros(0, dtype=np.int64), *self._losses]),
            np.array(self._weights, dtype=np.int64),
            _pointers(marks),
            np.concatenate([np.zeros(0, dtype=np.uint64), *marks]),
            np.array(self._own, dtype=np.int64).reshape(-1, 2),
            self._sq_radius,
        )


def merge_groups(parts: Iterable[Groups], memory_limit: int | None = None) -> Groups:
    """The groups of all rows together, in whatever order they were found."""
    gatherer = Gatherer(memory_limit)
    for part in parts:
        gatherer.add(part)
    return gatherer.finish()


def _pointers(parts: list[NDArray[np.int32]] | list[U64]) -> I64:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


class LandmarkGraph:
    """Neighbourhood of landmarks: the losses, one ball, removal.

    The first m numbers stand for the landmarks, which alone are centres; those after them for
    the groups, which alone are members.
    """

    def __init__(self, groups: Groups, m: int, alone: I64, *, whole: bool) -> None:
        self._groups, self._m = groups, m
        self.alone = alone
        self.alive = np.ones(m + groups.n_groups, dtype=bool)
        # Groups may hold copies, which count once. A landmark's own row is in one of them.
        self._n_distinct = np.diff(groups.mark_ptr)
        self.m = np.full(m, -1, dtype=np.int64)
        self.L = np.zeros(m, dtype=np.int64)
        np.add.at(self.L, groups.landmarks, groups.losses)
        owner = np.repeat(np.arange(groups.n_groups), np.diff(groups.indptr))
        np.add.at(self.m, groups.landmarks, self._n_distinct[owner])
        order = np.argsort(groups.landmarks, kind="stable")
        self._by_landmark = owner[order]
        self._ptr = np.searchsorted(groups.landmarks[order], np.arange(m + 1))
        sizes = np.concatenate([np.full(m, round(1 / QUANTUM)), groups.weights])
        self.weights: Weights = sizes * QUANTUM if not whole else sizes // round(1 / QUANTUM)

    def ball(self, i: int) -> NDArray[np.intp]:
        """Groups alive in the open ball around landmark `i`, ascending."""
        near = self._m + self._by_landmark[self._ptr[i] : self._ptr[i + 1]]
        return near[self.alive[near]]

    def remove(self, C: NDArray[np.intp]) -> None:
        """Take these groups out of the data, and the landmarks among their rows."""
        self.alive[C] = False
        landmark, group = self._groups.own.T
        self.alive[landmark[~self.alive[self._m + group]]] = False
        for g in (C - self._m).tolist():
            entries = slice(int(self._groups.indptr[g]), int(self._groups.indptr[g + 1]))
            self.L[self._groups.landmarks[entries]] -= self._groups.losses[entries]
            self.m[self._groups.landmarks[entries]] -= self._n_distinct[g]

    def n_distinct(self, C: NDArray[np.intp]) -> int:
        """Rows of these groups, copies counted once."""
        return int(self._n_distinct[C - self._m].sum())
