"""The filter as a compiled loop over tiles of sixteen rows, which have boxes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crlm.search.distance import Floats, chunks
from crlm.search.kernel import LANES, ROOM, TILE, compiled
from crlm.search.parallel import in_parallel
from crlm.search.plan import Plan

F32 = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Tiles:
    """Rows made ready for the compiled loop: places in tiles, the last one filled up."""

    plan: Plan
    tiles: F32  # (n_tiles, width, 16) coordinates and -s / 2
    boxes: F32  # (n_tiles, n_axes, 2) lowest and highest
    looks: list[tuple[F32, F32]]  # (n, width) of each further look, and (n,) the rest before it

    @staticmethod
    def workspace(plan: Plan, n_jobs: int) -> int:
        """Bytes that the rows and the lists of all threads take."""
        width, *more = plan.frame.widths
        numbers = width + sum(_whole(w) + 1 for w in more)
        return 4 * len(plan.runs.order) * numbers + n_jobs * ROOM * 28

    @classmethod
    def prepare(cls, X: Floats, plan: Plan, n_jobs: int) -> Tiles:
        """Transform all rows."""
        assert plan.tiles is not None, "a plan for products"
        f, n, (order, _, low, high) = plan.frame, len(X), plan.tiles
        width, *more = f.widths
        tiles = np.empty((len(low), width - 1, TILE), dtype=np.float32)
        looks = [np.zeros((n, _whole(w)), dtype=np.float32) for w in more]
        rests = [np.empty(n, dtype=np.float32) for _ in more]

        def fill(part: slice) -> None:
            places = slice(part.start * TILE, min(part.stop * TILE, n))
            right, *others = f.rows(X.take(order[places], axis=0))
            right[:, -2] = -0.5 * right[:, -1]
            by_place = np.zeros(((part.stop - part.start) * TILE, width - 1), dtype=np.float32)
            by_place[len(right) :, -1] = -np.inf  # rows that are not there are far from all
            by_place[: len(right)] = right[:, :-1]
            tiles[part] = by_place.reshape(-1, TILE, width - 1).transpose(0, 2, 1)
            rest = right[:, -3]
            for k, columns in enumerate(others):
                looks[k][places, : columns.shape[1]] = columns
                rests[k][places], rest = rest, columns[:, -1]

        # Twice a chunk, or directions of many columns would be read too often.
        parts = list(chunks(len(tiles), TILE * X.shape[1] // 2))
        for _ in in_parallel(fill, parts, n_jobs):
            pass
        lowest = np.nextafter(low.astype(np.float32), np.float32(-np.inf))
        highest = np.nextafter(high.astype(np.float32), np.float32(np.inf))
        boxes = np.stack([lowest, highest], axis=-1)
        return cls(plan, tiles, boxes, list(zip(looks, rests, strict=True)))

    def with_later_runs(self, b: int, runs: Places) -> Iterator[tuple[Places, Places]]:
        """Pairs that pass the filter, as places, of run b with some runs, ascending from b on."""
        k = self.plan.runs.size // TILE
        tiles = (runs[:, None] * k + np.arange(k)).ravel()
        return self._near_pairs(b, tiles[tiles < len(self.tiles)], later=True)

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
            self.tiles,
            self.boxes,
            self.plan.reach * (1.0 + 2.0**-20),  # boxes and gaps are rounded to float32
            f.cutoff,
            self.looks,
            range(b * k, min(b * k + k, len(self.tiles))),
            others.astype(np.int32),
            later=later,
        )


def _whole(width: int) -> int:
    """Numbers of the vectors that hold a row."""
    return -(-width // LANES) * LANES
