"""The three passes on this machine, block by block, spread over threads."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.landmarks.checkpoint import ALL, Checkpoint
from crlm.landmarks.groups import Gatherer, Groups, count_rows, group_rows
from crlm.landmarks.keys import likely_bar
from crlm.landmarks.refine import Nearest, merge_nearest, nearest_rows
from crlm.landmarks.sieve import Sieve
from crlm.landmarks.source import Block, Source
from crlm.landmarks.survey import Survey, merge_surveys, survey
from crlm.landmarks.tally import I64, Tally, label_rows, merge_tallies, tally
from crlm.search import Floats, Weights
from crlm.search.parallel import Progress, in_parallel

log = logging.getLogger("crlm")

T = TypeVar("T")

_TILE = 4096  # rows that a thread takes at a time


class Runner(Protocol):
    """Whoever can make the three passes: this machine, or many."""

    def survey(self, seed: int, size: int) -> Survey:
        """Count the rows and draw `size` of them."""
        ...

    def groups(self, sieve: Sieve, middle: NDArray[np.float64], *, marked: bool) -> Groups:
        """Rows near the landmarks of the sieve, in groups."""
        ...

    def counts(self, sieve: Sieve) -> I64:
        """Rows near each landmark of the sieve, when groups of them would not fit."""
        ...

    def tally(self, sieve: Sieve, unit: int) -> tuple[Any, Tally]:
        """Labels by the balls of the sieve, and sums over the members."""
        ...

    def nearest(self, sieve: Sieve, means: NDArray[np.float64]) -> Nearest:
        """Of the members of each ball the one nearest to its mean."""
        ...


class Tile(NamedTuple):
    """Rows that a thread takes at a time."""

    block: Block
    start: int  # in the block
    stop: int


class LocalRunner:
    """The passes over a source, on this machine."""

    def __init__(
        self,
        source: Source,
        *,
        metric: str,
        n_jobs: int,
        memory_limit: int,
        weights: Weights | None = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        m: int = 1,
        refine: bool = False,
    ) -> None:
        self._source, self._metric, self._n_jobs = source, metric, n_jobs
        self._limit, self._weights, self._progress = memory_limit, weights, progress
        self._checkpoint = checkpoint or Checkpoint(None, {})
        self._d: int | None = None
        self._n = source.n
        # What a row costs in each pass, to foretell how long the rest will take.
        self._cost = {"survey": 1.0, "groups": 2.0 + m / 200.0, "tally": 2.0}
        if refine:
            self._cost |= {"nearest": 2.0, "groups again": 2.0, "tally again": 2.0}
        self._spent, self._again = 0.0, False
        self._checkpoint.load()

    def survey(self, seed: int, size: int) -> Survey:
        """Count the rows and draw `size` of them."""
        done, known = self._checkpoint.at("survey")
        found = _restored(known) if done else None
        if done == ALL and found is not None:
            return self._surveyed(found)
        bar = np.uint64(2**64 - 1) if self._n is None else likely_bar(self._n, size)

        def work(tile: Tile) -> Survey:
            return survey(self._points(tile), tile.block.start + tile.start, seed, size, bar)

        for block, parts in self._blocks("survey", work, done):
            some = [part for part in parts if part.n]
            if not some:
                continue
            found = merge_surveys(some if found is None else [found, *some], size)
            if len(found.keys) == size:
                bar = min(bar, found.keys[-1])
            if self._checkpoint.is_due():
                self._checkpoint.save("survey", _end(block), found._asdict())
        if found is None or not found.n:
            raise InputError("X has no rows. Give at least one.")
        if len(found.keys) < min(size, found.n):  # once in 10**20 draws
            self._n = None
            return self.survey(seed, size)
        self._checkpoint.save("survey", ALL, found._asdict())
        return self._surveyed(found)

    def _surveyed(self, found: Survey) -> Survey:
        if self._n is None:
            self._n = found.n
        self._d, self._survey = len(found.low), found
        self._spent = self._cost["survey"] * found.n
        return found

    def groups(self, sieve: Sieve, middle: NDArray[np.float64], *, marked: bool) -> Groups:
        """Rows near the landmarks of the sieve, in groups."""
        gatherer = Gatherer(self._limit)
        phase = _phase("groups", sieve)
        step = self._step("groups")
        done, known = self._checkpoint.at(phase)
        if done:
            earlier = Groups(**known)._replace(sq_radius=float(known["sq_radius"]))
            if done == ALL:
                self._pass_over(step)
                return earlier
            gatherer.add(earlier)

        def work(tile: Tile) -> Groups:
            start = tile.block.start + tile.start
            X = self._points(tile)
            weights = None if self._weights is None else self._weights[start : start + len(X)]
            return group_rows(X, start, sieve, middle, weights, marked=marked)

        for block, found in self._blocks(step, work, done):
            for part in found:
                gatherer.add(part)
            if self._checkpoint.is_due():
                self._checkpoint.save(phase, _end(block), gatherer.finish()._asdict())
        groups = gatherer.finish()
        self._pass_over(step)
        self._checkpoint.save(phase, ALL, groups._asdict())
        return groups

    def counts(self, sieve: Sieve) -> I64:
        """Rows near each landmark of the sieve, when groups of them would not fit."""
        phase = _phase("counts", sieve)
        done, known = self._checkpoint.at(phase)
        total = np.array(known["total"]) if done else np.zeros(len(sieve.rows), dtype=np.int64)
        if done == ALL:
            return total

        def work(tile: Tile) -> I64:
            return count_rows(self._points(tile), sieve)

        for block, found in self._blocks("groups", work, done):
            total += np.sum(found, axis=0)
            if self._checkpoint.is_due():
                self._checkpoint.save(phase, _end(block), {"total": total})
        self._checkpoint.save(phase, ALL, {"total": total})
        return total

    def tally(self, sieve: Sieve, unit: int) -> tuple[I64, Tally]:
        """Labels by the balls of the sieve, and sums over the members."""
        labels = np.empty(self._survey.n, dtype=np.int64)
        total = Tally.empty(*sieve.landmarks.shape)
        phase, small = _phase("tally", sieve), np.min_scalar_type(-1 - len(sieve.rows))
        step = self._step("tally")
        done, known = self._checkpoint.at(phase)
        if done:
            labels[: len(known["labels"])] = known["labels"]
            total = Tally(*(known[name] for name in Tally._fields))
            total = total._replace(background=int(total.background))
            if done == ALL:
                self._pass_over(step)
                return labels, total

        def work(tile: Tile) -> Tally:
            X, start = self._points(tile), tile.block.start + tile.start
            part = slice(start, start + len(X))
            labels[part] = label_rows(X, sieve)
            weights = None if self._weights is None else self._weights[part]
            return tally(X, labels[part], sieve.landmarks, unit, weights)

        def save(end: int) -> None:
            so_far = labels[: None if end == ALL else end].astype(small)
            self._checkpoint.save(phase, end, {**total._asdict(), "labels": so_far})

        for block, found in self._blocks(step, work, done):
            total = merge_tallies([total, *found])
            if self._checkpoint.is_due():
                save(_end(block))
        save(ALL)
        self._pass_over(step)
        return labels, total

    def nearest(self, sieve: Sieve, means: NDArray[np.float64]) -> Nearest:
        """Of the members of each ball the one nearest to its mean."""
        phase = _phase("nearest", sieve)
        done, known = self._checkpoint.at(phase)
        best = Nearest(**known) if done else None

        def work(tile: Tile) -> Nearest:
            X, start = self._points(tile), tile.block.start + tile.start
            weights = None if self._weights is None else self._weights[start : start + len(X)]
            return nearest_rows(X, start, sieve, means, weights)

        if done != ALL:
            for block, found in self._blocks("nearest", work, done):
                if found:
                    best = merge_nearest(found if best is None else [best, *found])
                    if self._checkpoint.is_due():
                        self._checkpoint.save(phase, _end(block), best._asdict())
            assert best is not None
            self._checkpoint.save(phase, ALL, best._asdict())
        assert best is not None
        self._pass_over("nearest")
        self._again = True
        return best

    def _step(self, name: str) -> str:
        return f"{name} again" if self._again else name

    def _pass_over(self, step: str) -> None:
        """Count a pass as done."""
        self._spent += self._cost[step] * self._survey.n

    def _blocks(
        self, phase: str, work: Callable[[Tile], T], start: int
    ) -> Iterator[tuple[Block, list[T]]]:
        """The work done on each block, block after block."""
        end = start
        for block in self._source.blocks(start):
            n = len(block.X)
            end = self._same_rows(phase, block.start + n, is_last=False)
            tiles = [Tile(block, at, min(at + _TILE, n)) for at in range(0, n, _TILE)]
            done: list[T] = []
            for result in in_parallel(work, tiles, min(self._n_jobs, max(1, len(tiles)))):
                done.append(result)
                self._tell(phase, block.start + tiles[len(done) - 1].stop)
            yield block, done
        self._same_rows(phase, end, is_last=True)
        log.info("%s: done", phase)

    def _same_rows(self, phase: str, end: int, *, is_last: bool) -> int:
        """Refuse data that are not as long as in the first pass; else the rows seen so far."""
        n = self._survey.n if phase != "survey" else end
        if end > n or (is_last and end < n):
            msg = (
                f"X had {n:,} rows in the first pass, and {'only' if is_last else 'at least'} "
                f"{end:,} in a later one. A function must return the same blocks each time."
            )
            raise InputError(msg)
        return end

    def _points(self, tile: Tile) -> Floats:
        """Rows of a tile, checked."""
        rows = tile.block.X[tile.start : tile.stop]
        block = tile.block._replace(start=tile.block.start + tile.start, X=rows)
        X = block.points(self._metric, self._d)
        self._d = X.shape[1]
        return X

    def _tell(self, phase: str, row: int) -> None:
        if self._progress is not None and self._n is not None:
            total = sum(self._cost.values()) * self._n
            done = min(self._spent + self._cost[phase] * row, total)
            self._progress(round(done), round(total))


def _phase(name: str, sieve: Sieve) -> str:
    """Name of a pass for these landmarks: groups may be made twice."""
    return f"{name} of {zlib.crc32(sieve.rows.tobytes())}"


def _restored(known: Mapping[str, Any]) -> Survey:
    found = Survey(**known)
    return found._replace(n=int(found.n), seal=int(found.seal))


def _end(block: Block) -> int:
    return block.start + len(block.X)
