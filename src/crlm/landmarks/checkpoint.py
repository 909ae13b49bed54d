"""What a fit has done so far, in one file that is always whole."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, OutputError

EVERY_SECONDS = 10.0
_HEAD = "head"


class Checkpoint:
    """A file beside the results, written now and then and removed at the end.

    Written under another name and renamed, so that a process killed at any moment leaves the last
    whole one. `mark` is what a fit must have in common with the one that it goes on from.
    """

    def __init__(self, path: str | os.PathLike[str] | None, mark: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._mark = json.loads(json.dumps(mark))
        self._last = time.monotonic()
        self._kept: dict[str, NDArray[Any]] = {}

    def load(self) -> tuple[str, int, dict[str, NDArray[Any]]] | None:
        """Phase, rows done in it and what was known then; None to begin at the beginning."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with np.load(self._path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            head = json.loads(str(arrays.pop(_HEAD)))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            msg = (
                f"{self._path} is not a checkpoint of crlm. Give another name, or delete it to "
                f"begin again."
            )
            raise InputError(msg) from error
        if head["mark"] != self._mark:
            differ = [key for key in self._mark if head["mark"].get(key) != self._mark[key]]
            msg = (
                f"{self._path} belongs to another fit: it differs in {', '.join(differ)}. Use the "
                f"same data and parameters, or delete it to begin again."
            )
            raise InputError(msg)
        return head["phase"], head["done"], arrays

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return self._path is not None and time.monotonic() - self._last > EVERY_SECONDS

    def save(self, phase: str, done: int, arrays: Mapping[str, Any]) -> None:
        """Write what is known, over what was written before."""
        if self._path is None:
            return
        head = json.dumps({"mark": self._mark, "phase": phase, "done": done})
        try:
            with self._part.open("wb") as file:
                np.savez(file, **{**arrays, _HEAD: np.array(head)})
                file.flush()
                os.fsync(file.fileno())
            self._part.replace(self._path)
        except OSError as error:
            msg = f"cannot write the checkpoint {self._path}: {error.strerror or error}"
            raise OutputError(msg) from error
        self._last = time.monotonic()

    def remove(self) -> None:
        """Leave nothing behind."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._part.unlink(missing_ok=True)

    @property
    def _part(self) -> Path:
        assert self._path is not None
        return self._path.with_name(self._path.name + ".part")
