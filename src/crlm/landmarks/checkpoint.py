"""What a fit has done so far, in one file that is always whole."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crlm.errors import InputError, OutputError

EVERY_SECONDS = 10.0
ALL = -1  # rows done, when that is all of them
_HEAD = "head"


class State(NamedTuple):
    """Rows done in a phase, and what was found in them."""

    done: int
    arrays: Mapping[str, Any]


class Checkpoint:
    """A file beside the results, written now and then and removed at the end.

    Written under another name and renamed, so that a process killed at any moment leaves the last
    whole one. `mark` is what a fit must have in common with the one that it goes on from.
    """

    def __init__(self, path: str | os.PathLike[str] | None, mark: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._mark = json.loads(json.dumps(mark))
        self._last = time.monotonic()
        self._known: dict[str, State] = {}

    def load(self) -> None:
        """Take over what an earlier run knew, if there was one."""
        if self._path is None or not self._path.exists():
            return
        try:
            with np.load(self._path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            head = json.loads(str(arrays.pop(_HEAD)))
            marks, phases = head["mark"], head["phases"]
        except (
            *(OSError, ValueError, KeyError, TypeError, EOFError),
            zipfile.BadZipFile,
        ) as error:
            msg = (
                f"{self._path} is not a checkpoint of this version of crlm. Give another name, or "
                f"delete it to begin again."
            )
            raise InputError(msg) from error
        if marks != self._mark:
            every = {**self._mark, **marks}
            differ = [key for key in every if marks.get(key) != self._mark.get(key)]
            msg = (
                f"{self._path} belongs to another fit: it differs in {', '.join(differ)}. Use the "
                f"same data and parameters, or delete it to begin again."
            )
            raise InputError(msg)
        for phase, done in phases.items():
            own = {n.partition("/")[2]: a for n, a in arrays.items() if n.startswith(f"{phase}/")}
            self._known[phase] = State(done, own)

    def at(self, phase: str) -> State:
        """How far a phase was, and what it knew then."""
        return self._known.get(phase, State(0, {}))

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return self._path is not None and time.monotonic() - self._last > EVERY_SECONDS

    def save(self, phase: str, done: int, arrays: Mapping[str, Any]) -> None:
        """Write what is known of a phase, beside those that are done."""
        if self._path is None:
            return
        self._known = {name: state for name, state in self._known.items() if state.done == ALL}
        self._known[phase] = State(done, arrays)
        phases = {name: state.done for name, state in self._known.items()}
        head = json.dumps({"mark": self._mark, "phases": phases})
        content = {f"{n}/{key}": a for n, s in self._known.items() for key, a in s.arrays.items()}
        try:
            with _part(self._path).open("wb") as file:
                np.savez(file, **{**content, _HEAD: np.array(head)})
                file.flush()
                os.fsync(file.fileno())
            _part(self._path).replace(self._path)
        except OSError as error:
            msg = f"cannot write the checkpoint {self._path}: {error.strerror or error}"
            raise OutputError(msg) from error
        self._last = time.monotonic()

    def remove(self) -> None:
        """Leave nothing behind."""
        if self._path is not None:
            forget(self._path)


def forget(path: Path) -> None:
    """Remove a checkpoint, and what a run that was killed may have left of the next."""
    path.unlink(missing_ok=True)
    _part(path).unlink(missing_ok=True)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")
