"""The filter as a compiled loop over tiles of sixteen rows, which have boxes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats, chunks
from crlm.search.filter import Frame
from crlm.search.kernel import LANES, ROOM, TILE, Sums, compiled, has_wholes
from crlm.search.parallel import in_parallel
from crlm.search.plan import Plan
from crlm.search.whole import MISSING, Whole

_FEW = 1 << 20  # numbers that are sooner transformed than threads are started

F32 = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Tiles:
    """Rows made ready for the compiled loop: places in tiles, the last one filled up."""

    plan: Plan
    sums: Sums
    boxes: F32  # (n_axes, 2, n_tiles + 8) lowest and highest
    looks: list[tuple[F32, F32]]  # (n, width) of each further look, and (n,) the rest before it

    @staticmethod
    def workspace(plan: Plan, n_jobs: int) -> int:
        """Bytes that the rows and the lists of all threads take."""
        width, *more = plan.frame.widths
        numbers = 2 * width + sum(_padded(w) + 1 for w in more)
        return 4 * len(plan.runs.order) * numbers + n_jobs * ROOM * 28

    @classmethod
    def prepare(cls, X: Floats, plan: Plan, n_jobs: int) -> Tiles:
        """Transform all rows."""
        assert plan.tiles is not None, "a plan for products"
        f, n, (order, _, low, high) = plan.frame, len(X), plan.tiles
        width, *more = f.widths
        if X.size < _FEW:
            n_jobs = 1
        rows = np.zeros((len(low) * TILE, width - 1), dtype=np.float32)  # [c, s]
        looks = [np.zeros((n, _padded(w)), dtype=np.float32) for w in more]
        rests = [np.empty(n, dtype=np.float32) for _ in more]

        def fill(part: slice) -> float:
            right, *others = f.rows(X.take(order[part], axis=0))
            rows[part, :-1], rows[part, -1] = right[:, :-2], right[:, -1]
            rest = right[:, -3]
            for k, columns in enumerate(others):
                looks[k][part, : columns.shape[1]] = columns
                rests[k][part], rest = rest, columns[:, -1]
            return float(right[:, -1].max())

        # Twice a chunk, or directions of many columns would be read too often.
        parts = list(chunks(n, -(-X.shape[1] // 2)))
        longest = f.length(max(in_parallel(fill, parts, n_jobs)))
        # Whole numbers where these tell pairs apart as well.
        whole = Whole.of(float(longest), width - 2, f.cutoff) if has_wholes() else None
        sums = _sums(rows, f, n_jobs, whole)
        if n % TILE:  # the rows that fill up the last tile are far from all
            sums.tiles[-1, -1, n % TILE :] = -np.inf if whole is None else MISSING
        boxes = np.zeros((low.shape[1], 2, len(low) + LANES), dtype=np.float32)
        boxes[:, 0, : len(low)] = np.nextafter(low.astype(np.float32), np.float32(-np.inf)).T
        boxes[:, 1, : len(low)] = np.nextafter(high.astype(np.float32), np.float32(np.inf)).T
        return cls(plan, sums, boxes, list(zip(looks, rests, strict=True)))

    def with_later_runs(self, b: int, runs: Places) -> Iterator[tuple[Places, Places]]:
        """Pairs that pass the filter, as places, of run b with some runs, ascending from b on."""
        k = self.plan.runs.size // TILE
        tiles = (runs[:, None] * k + np.arange(k)).ravel()
        return self._near_pairs(b, tiles[tiles < len(self.sums.tiles)], later=True)

    def with_places(self, b: int, places: Places) -> Iterator[tuple[Places, Places]]:
        """The same with some places, ascending, anywhere."""
        for i, j in self._near_pairs(b, np.unique(places // TILE), later=False):
            at = np.minimum(np.searchsorted(places, j), len(places) - 1)
            asked = places[at] == j
            yield i[asked], j[asked]

    def _near_pairs(
        self, b: int, others: Places, *, later: bool
    ) -> Iterator[tuple[Places, Places]]:
        f, k, kernel = self.plan.frame, self.plan.runs.size // TILE, compiled()
        assert kernel is not None, "tiles without the loop they are for"
        return kernel.near_pairs(
            self.sums,
            self.boxes,
            self.plan.reach * (1.0 + 2.0**-20),  # boxes and gaps are rounded to float32
            f.cutoff,
            self.looks,
            range(b * k, min(b * k + k, len(self.sums.tiles))),
            others.astype(np.int32),
            later=later,
        )


def _sums(rows: F32, f: Frame, n_jobs: int, whole: Whole | None) -> Sums:
    """Rows ``[c, s]`` in tiles."""
    n_tiles, width = len(rows) // TILE, rows.shape[1]
    if whole is None:
        sums = Sums(np.empty((n_tiles, width, TILE), np.float32), -0.5 * f.cutoff, 1.0)
    else:
        tiles = np.empty((n_tiles, width // 2 + 1, TILE), np.int32)
        sums = Sums(tiles, whole.limit(f.cutoff), whole.unit)

    def fill(part: slice) -> None:
        c, s = np.split(rows[part.start * TILE : part.stop * TILE], [width - 1], axis=1)
        if whole is None:
            columns: NDArray[Any] = np.hstack([c, -0.5 * s])
        else:
            columns = whole.columns(c, s, f.length(s))
        sums.tiles[part] = columns.reshape(-1, TILE, columns.shape[1]).transpose(0, 2, 1)

    for _ in in_parallel(fill, list(chunks(n_tiles, TILE * width)), n_jobs):
        pass
    return sums


def _padded(width: int) -> int:
    """Numbers of the vectors that hold a row."""
    return -(-width // LANES) * LANES
