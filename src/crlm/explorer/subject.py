"""What is explored: the rows, what each is called, its picture, its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.images import thumbnail

_THUMB = 192  # pixels; twice what is shown, for sharp screens
_SPARK = 48
_MAX_TEXT = 400
_KEPT_THUMBS = 4096


@dataclass(frozen=True)
class Subject:
    """Rows as people know them.

    Attributes
    ----------
    name : str
        Of the data.
    n : int
        Rows that are explored.
    file_rows : ndarray of shape (n,)
        Their numbers in the file.
    n_file : int
        Rows of the file; those left out are background.
    ids, texts : sequence of str or None
    images : sequence of path or array, or None
        One for each row.
    meta : dict of sequences
        Other columns.
    command : tuple of str
        The command line that says the same, without sigma_max and what can be changed.
    """

    name: str
    n: int
    file_rows: NDArray[np.int64]
    n_file: int
    ids: Sequence[Any] | None = None
    texts: Sequence[Any] | None = None
    images: Sequence[Any] | None = None
    meta: dict[str, Sequence[Any]] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    is_sample: bool = False  # whether rows of the file were left out by chance

    def __post_init__(self) -> None:
        aligned = {"ids": self.ids, "texts": self.texts, "images": self.images, **self.meta}
        for name, values in aligned.items():
            if values is not None and len(values) != self.n:
                msg = (
                    f"{name} has {len(values):,} entries, but there are {self.n:,} rows. Give "
                    "one for each row."
                )
                raise InputError(msg)

    @property
    def shows(self) -> str:
        """What the gallery shows of a row."""
        if self.images is not None:
            return "images"
        return "text" if self.texts is not None or self.meta else "numbers"

    def title(self, row: int) -> str:
        """What a row is called."""
        return f"row {self.file_rows[row]:,}" if self.ids is None else str(self.ids[row])[:120]

    def text(self, row: int) -> str:
        """What is known of a row, in words."""
        lines = [] if self.texts is None else [str(self.texts[row])]
        lines += [f"{name}: {values[row]}" for name, values in self.meta.items()]
        return "\n".join(lines)[:_MAX_TEXT]

    def item(self, row: int, X: NDArray[Any], distance: float | None) -> dict[str, Any]:
        """A row for the gallery."""
        item: dict[str, Any] = {"row": row, "title": self.title(row), "distance": distance}
        if text := self.text(row):
            item["text"] = text
        if self.shows == "numbers":
            item["spark"] = [float(value) for value in _thinned(X[row])]
        return item

    def search(self, word: str, limit: int) -> list[int]:
        """Rows whose name or number is, or else begins with, a word."""
        if self.ids is None:
            if not word.isdecimal() or len(word) > 18:
                return []
            at = int(np.searchsorted(self.file_rows, int(word)))
            return [at] if at < self.n and self.file_rows[at] == int(word) else []
        names = [str(name) for name in self.ids]
        exact = [row for row, name in enumerate(names) if name == word]
        more = [row for row, name in enumerate(names) if name != word and word in name]
        return (exact + more)[:limit]

    def thumb(self, row: int) -> bytes:
        """Small picture of a row, as JPEG.

        Raises
        ------
        InputError
            There is none, or it cannot be read.
        """
        if self.images is None:
            raise InputError("these rows have no pictures.")
        return _thumb(_Picture(self, row))


@dataclass(frozen=True)
class _Picture:
    """Key of a kept thumbnail: a data set, by identity, and a row."""

    subject: Subject
    row: int

    def __hash__(self) -> int:
        return hash((id(self.subject), self.row))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Picture) and other.subject is self.subject and other.row == self.row
        )


@lru_cache(maxsize=_KEPT_THUMBS)
def _thumb(picture: _Picture) -> bytes:
    assert picture.subject.images is not None
    source = picture.subject.images[picture.row]
    source = source if isinstance(source, np.ndarray) else Path(source)
    return thumbnail(source, _THUMB)


def _thinned(values: NDArray[Any]) -> NDArray[Any]:
    """At most some fifty numbers of a row, evenly spread."""
    if len(values) <= _SPARK:
        return values
    return np.asarray(values[np.linspace(0, len(values) - 1, _SPARK).astype(np.intp)])
