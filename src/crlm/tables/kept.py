"""Columns that are no coordinates: names, paths, words, one value for each row."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from crlm.errors import InputError

# What columns of pictures are called, in small letters
IMAGE_NAMES = (
    *("image", "images", "image_path", "path", "paths", "file", "files", "filename"),
    *("file_name", "img", "img_path"),
)
ID_NAMES = ("id", "ids", "uid", "uuid")


class Kept(Mapping[str, list[Any]]):
    """Columns by name, each read when it is first asked for.

    Parameters
    ----------
    names : sequence of str
    load : callable
        Takes a name and returns the values of that column, one for each row.
    """

    def __init__(self, names: Sequence[str], load: Callable[[str], list[Any]]) -> None:
        self._names, self._load = list(dict.fromkeys(names)), load
        self._read: dict[str, list[Any]] = {}

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:  # without reading, as Mapping would
        return name in self._names

    def __repr__(self) -> str:
        return f"Kept({', '.join(self._names)})"

    def joined(self, other: Kept) -> Kept:
        """These columns and those of `other`, which win where a name is in both."""

        def load(name: str) -> list[Any]:
            return other[name] if name in other else self[name]

        return Kept([*self, *other], load)


def _none(name: str) -> list[Any]:
    raise KeyError(name)


NOTHING = Kept((), _none)


def find_roles(wanted: Mapping[str, str], kept: Kept, source: str) -> dict[str, str]:
    """Columns that were named for a role, and those that are called after one.

    Raises
    ------
    InputError
        A column that was named is not there.
    """
    roles = {}
    for role, name in wanted.items():
        if name not in kept:
            raise InputError(_not_there(role, name, kept, source))
        roles[role] = name
    for role, usual in (("id", ID_NAMES), ("image", IMAGE_NAMES)):
        called = [name for name in kept if name.strip().lower() in usual]
        if role not in roles and called:
            roles[role] = called[0]
    if "image" in roles:
        roles.setdefault("id", roles["image"])  # a picture is known by its path
    return roles


def _not_there(role: str, name: str, kept: Kept, source: str) -> str:
    close = difflib.get_close_matches(name, list(kept), n=1)
    if close:
        return f"{source} has no column {name!r} for --{role}. Did you mean {close[0]}?"
    held = ", ".join(list(kept)[:8]) or "none"
    return f"{source} has no column {name!r} for --{role}. Columns beside the coordinates: {held}."
