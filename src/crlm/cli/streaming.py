"""``crlm fit`` with landmarks: files read in blocks, and fits that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import Command
from crlm.errors import InputError

if TYPE_CHECKING:
    from crlm import CRLM
    from crlm.landmarks.source import Source

IN_BLOCKS = (".npy", ".parquet")


def landmark_count(value: str | int | None) -> int | str | None:
    """Read the word auto or a whole number."""
    if value is None or value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        msg = f"{value!r} is neither 'auto' nor a whole number."
        raise click.BadParameter(msg) from None


def landmark_options(command: Command) -> Command:
    """Add the options of fits with landmarks."""
    landmarks = click.option(
        "--landmarks",
        type=landmark_count,
        metavar="auto|INT",
        help="Look at so many random rows as centres instead of all; rows are still counted all. "
        "For data beyond memory: .npy and .parquet files, and folders of .parquet files, are read "
        "in blocks, three times. auto draws enough to miss a cluster of --min-weight in one case "
        "in a hundred.  [default: exact]",
    )
    least = click.option(
        "--min-weight",
        type=float,
        default=0.001,
        show_default=True,
        help="Share of rows in the smallest cluster that --landmarks auto must not miss.",
    )
    resume = click.option(
        "--resume",
        is_flag=True,
        help="Keep what is done in a file beside the output, and go on from it if there is one. "
        "It is removed at the end. Needs --landmarks.",
    )
    refine = click.option(
        "--refine",
        is_flag=True,
        help="Try the rows nearest to the means of the clusters as centres too: "
        "three more passes of little work. Needs --landmarks.",
    )
    return landmarks(refine(least(resume(command))))


@dataclass
class StreamedRows:
    """A file read in blocks; its shape is known when it has been read."""

    source: Source
    name: str
    n: int = 0
    d: int = 0
    valid: None = None

    @property
    def X(self) -> Source:
        """What to fit."""
        return self.source

    @property
    def head(self) -> str:
        """Name and shape, to begin with."""
        return f"{self.name}  {self.n:,} × {self.d:,} in blocks"

    @property
    def dropped(self) -> list[int]:
        """None: a row that cannot be used ends the fit."""
        return []

    @property
    def facts(self) -> dict[str, Any]:
        """The same for programs."""
        about = {"data": self.name, "n": self.n, "d": self.d}
        none = dict.fromkeys(("columns", "vector", "sample"))
        plain = dict.fromkeys(("standardize", "normalize"), False)
        return {**about, **none, "dropped": 0, "dropped_rows": [], **plain}

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Turn what the library says about its X into words about the file."""
        try:
            yield
        except InputError as error:
            raise InputError(str(error).replace("of X (", f"of {self.name} (", 1)) from error

    def learn_shape(self, model: CRLM) -> None:
        """Take over what the fit has seen."""
        self.n, self.d = len(model.labels_), model.n_features_in_


def open_blocks(data: Path, reading: Mapping[str, Any]) -> StreamedRows | None:
    """The file in blocks; None if its format, or what is asked of its rows, needs it whole."""
    wishes = {name for name, value in reading.items() if value and name not in ("columns", "seed")}
    columns = reading["columns"]
    from crlm.tables import holds_parquet

    suffix = data.suffix.lower()
    is_file = suffix in IN_BLOCKS and data.is_file()
    is_folder = data.is_dir() and holds_parquet(data)
    if wishes or not (is_file or is_folder) or (suffix == ".npy" and columns is not None):
        return None
    from crlm import stream

    return StreamedRows(stream(data, columns=columns), data.name)


def checkpoint_of(data: Path, files: list[Path]) -> Path:
    """File that a resumed fit goes on from: beside the first output, else in this folder."""
    if files:
        return files[0].with_name(files[0].name + ".resume")
    return Path(f"{data.name}.resume")
