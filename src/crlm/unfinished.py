"""Vectors that are done, kept on disk while the rest is not, so that work can go on later."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import DiskFullError, OutputError

Found = NDArray[np.float32] | str


class Unfinished(MutableMapping[int, Found]):
    """Vectors by the number of their picture, or what is wrong with it, in an SQLite file.

    What is written is there whole or not at all, whenever the program is stopped. A picture is
    known by its path, size and time of change, so one that was changed is described again.

    Parameters
    ----------
    path : path
        The file; it is removed by `remove` when all is done.
    pictures : sequence of path
    settings : mapping
        All that decides the vectors; with other settings nothing of an old file is used.
    """

    def __init__(self, path: Path, pictures: Sequence[Path], settings: Mapping[str, Any]) -> None:
        self.path, self._keys = path, [_mark(picture) for picture in pictures]
        self._base = self._open(json.dumps(settings, sort_keys=True))
        known = {key for (key,) in self._base.execute("select key from done")}
        self._rows = {i for i, key in enumerate(self._keys) if key in known}
        self.n_found = len(self._rows)

    def _open(self, settings: str) -> sqlite3.Connection:
        try:
            base = sqlite3.connect(self.path)
            base.execute("create table if not exists settings (text text)")
            base.execute(
                "create table if not exists done (key text primary key, vector blob, said text)"
            )
            if base.execute("select text from settings").fetchall() != [(settings,)]:
                base.execute("delete from settings")
                base.execute("delete from done")
                base.execute("insert into settings values (?)", (settings,))
            base.commit()
        except sqlite3.OperationalError as error:
            raise self._unwritten(error) from error
        except sqlite3.DatabaseError as error:
            msg = f"cannot use {self.path} ({error}). Remove it and start anew."
            raise OutputError(msg) from error
        return base

    def __getitem__(self, i: int) -> Found:
        if i not in self._rows:
            raise KeyError(i)
        query = "select vector, said from done where key = ?"
        vector, said = self._base.execute(query, (self._keys[i],)).fetchone()
        return str(said) if vector is None else np.frombuffer(vector, np.float32)

    def __setitem__(self, i: int, found: Found) -> None:
        self.update({i: found})

    def update(self, found: Any = (), /, **_: Any) -> None:
        """Keep several at once, all of them or none."""
        pairs = dict(found)
        rows = [
            (self._keys[i], None, value)
            if isinstance(value, str)
            else (self._keys[i], np.asarray(value, np.float32).tobytes(), None)
            for i, value in pairs.items()
        ]
        try:
            with self._base:
                self._base.executemany("insert or replace into done values (?, ?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise self._unwritten(error) from error
        self._rows.update(pairs)

    def _unwritten(self, error: sqlite3.Error) -> OutputError:
        kind = DiskFullError if "full" in str(error) else OutputError
        return kind(f"cannot write {self.path} ({error}). What was done before is kept.")

    def __delitem__(self, i: int) -> None:
        self._rows.discard(i)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, i: object) -> bool:
        return i in self._rows

    def close(self) -> None:
        """Leave the file for another time."""
        self._base.close()

    def remove(self) -> None:
        """Remove the file; all is done."""
        self.close()
        self.path.unlink(missing_ok=True)


def _mark(picture: Path) -> str:
    try:
        state = picture.stat()
    except OSError:
        return str(picture)
    return f"{state.st_size} {state.st_mtime_ns} {picture}"
