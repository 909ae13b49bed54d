"""What a study is: cells of work, what is read from their rows, and statements that can fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

Cell = dict[str, Any]  # plain values: what to do
Row = dict[str, Any]  # plain values: what came out
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """How much to do, with which seed, where real data are, and against whom (None = all)."""

    full: bool = False
    seed: int = 0
    data: Path | None = None
    methods: frozenset[str] | None = None

    def wants(self, method: str) -> bool:
        """Whether a competitor is to be run."""
        return self.methods is None or method in self.methods

    def pick(self, quick: T, full: T) -> T:
        """The size for this plan."""
        return full if self.full else quick

    def rng(self, *numbers: int) -> np.random.Generator:
        """Generator of its own for each use, so that cells may run in any order."""
        return np.random.default_rng([self.seed, *numbers])


class Claim(NamedTuple):
    """What the paper says, what was found here, and whether they agree."""

    paper: str
    here: str
    agree: str


class Check(NamedTuple):
    """A statement of ours that either holds or does not."""

    statement: str
    found: str
    holds: bool


class Table(NamedTuple):
    """Cells for a page; all are words by now."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Page:
    """What a study has to say."""

    claims: list[Claim]
    checks: list[Check]
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)  # caption by name of the file
    notes: list[str] = field(default_factory=list)


class Study(NamedTuple):
    """One figure or table of the paper.

    Attributes
    ----------
    name : str
        As given to ``crlm reproduce``.
    title : str
    place : str
        Label of the figure or table in the paper.
    cells : callable
        Cells of a plan. Each is done once, and again only when the plan changes.
    work : callable
        Rows of a cell.
    report : callable
        Page from all rows.
    data : tuple of str
        Data sets it needs.
    """

    name: str
    title: str
    place: str
    cells: Callable[[Plan], list[Cell]]
    work: Callable[[Cell, Plan], list[Row]]
    report: Callable[[list[Row], Plan], Page]
    data: tuple[str, ...] = ()


def select(rows: list[Row], **wanted: Any) -> list[Row]:
    """Rows with these values.

    >>> select([{"n": 1, "x": 5}, {"n": 2, "x": 6}], n=2)
    [{'n': 2, 'x': 6}]
    """
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def distinct(rows: list[Row], key: str) -> list[Any]:
    """Values of a column in the order they come.

    >>> distinct([{"n": 2}, {"n": 1}, {"n": 2}], "n")
    [2, 1]
    """
    return list(dict.fromkeys(row[key] for row in rows if key in row))


def mean(rows: list[Row], key: str) -> float:
    """Average of a column, without what is not finite; NaN when nothing is left."""
    values = [row[key] for row in rows if row.get(key) is not None and np.isfinite(row[key])]
    return float(np.mean(values)) if values else float("nan")


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent of a power law: slope of log y against log x.

    >>> round(slope([1, 10, 100], [5.0, 50.0, 500.0]), 12)
    1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def percent(value: float) -> str:
    """Share as the paper prints it.

    >>> percent(0.7361), percent(float("nan"))
    ('73.61', '–')
    """
    return f"{100.0 * value:.2f}" if np.isfinite(value) else "–"
