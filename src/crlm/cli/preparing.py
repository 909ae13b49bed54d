"""Which rows of a file are fitted, and what is done to them first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import Command, number, say
from crlm.cli.reading import Rows, read_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm.record import Source, Transform

_LOOK = 4096  # rows whose columns are compared
_UNEVEN = 100.0  # times the typical spread


def preparing_options(command: Command) -> Command:
    """Add the options that choose and change rows."""
    options = [
        click.option(
            "--sample",
            type=click.IntRange(1),
            metavar="N",
            help="Fit only N rows, chosen at random; labels are still written for all.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Another seed, another --sample.",
        ),
        click.option(
            "--standardize",
            is_flag=True,
            help="Give each column mean 0 and standard deviation 1 first.",
        ),
        click.option("--normalize", is_flag=True, help="Divide each row by its length first."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class Prepared:
    """Rows of a file as they are fitted.

    Attributes
    ----------
    chosen : ndarray of int64 or None
        Row numbers in the file; None for all.
    """

    rows: Rows
    path: Path
    reading: dict[str, Any]
    chosen: NDArray[np.int64] | None
    transform: Transform

    @cached_property
    def X(self) -> NDArray[Any]:
        """What is fitted."""
        X = self.rows.table.X
        return self.transform(X if self.chosen is None else X[self.chosen])

    @property
    def n_dropped(self) -> int:
        """Rows that cannot be used."""
        return 0 if self.rows.valid is None else int((~self.rows.valid).sum())

    @property
    def is_sample(self) -> bool:
        """Whether some rows that could be used were not fitted."""
        n = len(self.rows.table.X) - self.n_dropped
        return self.chosen is not None and len(self.chosen) < n

    @property
    def source(self) -> Source:
        """The same for the model, which keeps it."""
        from crlm.record import Source

        given = {name: value for name, value in self.reading.items() if value is not None}
        return Source(
            None if str(self.path) == "-" else self.path,
            len(self.rows.table.X),
            given,
            self.chosen,
            self.n_dropped,
            self.transform,
            self.rows.table.columns,
        )


def prepare(data: Path, reading: dict[str, Any], how: dict[str, Any]) -> Prepared:
    """Read the rows, choose some, and learn what is to be done to them.

    `how` has the flags metric, drop_invalid, sample, seed, standardize and normalize.
    """
    from crlm.record import Transform

    rows = read_rows(data, metric=how["metric"], drop_invalid=how["drop_invalid"], **reading)
    chosen = choose(rows, how["sample"], how["seed"])
    X = rows.table.X
    transform = Transform.learn(
        X if chosen is None else X[chosen],
        standardize=how["standardize"],
        normalize=how["normalize"],
    )
    if transform.is_nothing and how["metric"] == "euclidean":
        warn_of_uneven_columns(rows)
    return Prepared(rows, data, reading, chosen, transform)


def choose(rows: Rows, sample: int | None, seed: int) -> NDArray[np.int64] | None:
    """Numbers of the rows to fit, ascending; None for all."""
    import numpy as np

    n = len(rows.table.X)
    good = None if rows.valid is None else np.flatnonzero(rows.valid)
    n_good = n if good is None else len(good)
    if sample is None or sample >= n_good:
        return good
    some = np.sort(np.random.default_rng(seed).choice(n_good, sample, replace=False))
    return some if good is None else good[some]


def warn_of_uneven_columns(rows: Rows) -> None:
    """Say so when one column is so wide that the others hardly count."""
    import numpy as np

    X = rows.table.X
    some = X[:: max(1, len(X) // _LOOK)][:_LOOK].astype(np.float64)
    some = some[np.isfinite(some).all(axis=1)]
    if X.shape[1] < 2 or len(some) < 2 or np.abs(some).max() > 1e100:
        return
    spread = some.std(axis=0)
    spread = spread[spread > 0.0]
    if len(spread) > 1 and spread.max() > _UNEVEN * np.median(np.sort(spread)[:-1]):
        widths = f"{number(float(spread.min()))}–{number(float(spread.max()))}"
        say(
            f"warning: columns spread over {widths}. One column dominates the distance; consider "
            "--standardize",
            err=True,
        )
