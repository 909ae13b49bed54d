"""One exploration: its data, how far it is, and who is listening."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crlm import __version__
from crlm.errors import CRLMError
from crlm.explorer.answers import clean, settings_record
from crlm.explorer.engine import Answer, CancelledError, Engine, Settings, SupersededError
from crlm.explorer.notes import Notes, read
from crlm.explorer.subject import Subject
from crlm.explorer.view import VIEWS, project

_SENT_CLUSTERS = 2000  # of one stop, to a page that re-clusters by itself
MAX_DRAWN = 200_000  # rows of background on the map, beyond which some are left out


class Session:
    """State behind the page.

    Parameters
    ----------
    subject : Subject
    engine : Engine
    folder : Path
        Where exports and notes go.
    read_only : bool
        Whether to write nothing at all.
    own_bandwidths : bool
        Whether the model it comes from has one for each cluster, which the page has not.
    """

    def __init__(
        self,
        subject: Subject,
        engine: Engine,
        folder: Path,
        *,
        read_only: bool = False,
        own_bandwidths: bool = False,
    ) -> None:
        self.subject, self.engine, self.folder = subject, engine, folder
        self.read_only, self.own_bandwidths = read_only, own_bandwidths
        self.notes_path = folder / f"{Path(subject.name).name}.notes.json"
        self.notes: Notes = read(self.notes_path, subject.n)
        self.phase: dict[str, Any] = {"phase": "loading", "done": 0, "total": 0}
        self._steps: dict[int, dict[str, Any]] = {}
        self._listeners: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Queue[Any]]] = {}
        self._round = 0  # of filling; a new one makes the last stale
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._decided = threading.Event()
        self._views: dict[str, Any] = {}
        self._asked: dict[str, int] = {}  # latest question of each page

    # Getting ready

    def run(self) -> None:
        """Prepare, then fill the stops; ends when the session is closed."""
        try:
            self.engine.task = replace(self.engine.task, progress=self._progress)
            self.engine.prepare()
            self.engine.task = replace(self.engine.task, progress=None)
            self.first = self.engine.answer(self.engine.start)
        except CancelledError:
            self._enter({"phase": "cancelled"})
        except (CRLMError, MemoryError) as error:
            self._enter({"phase": "failed", "message": str(error)})
        else:
            self._enter({"phase": "ready"})
            self.fill(self.engine.start)

    def start(self) -> threading.Thread:
        """Run in a thread of its own, which does not keep the program alive."""
        thread = threading.Thread(target=self.run, name="crlm-explorer", daemon=True)
        thread.start()
        return thread

    def cancel(self) -> None:
        """Stop preparing and filling."""
        self._cancelled.set()
        self._round += 1

    def fill(self, settings: Settings) -> None:
        """Answer at every stop with these settings, telling the page each."""
        with self._lock:
            self._round += 1
            mine = self._round
            self._steps = {}
        self.tell("stops", {"settings": settings_record(settings)})

        def is_stale() -> bool:
            return self._round != mine

        try:
            for i, answer in self.engine.fill(settings, is_stale):
                record = self._step(i, answer)
                with self._lock:
                    if is_stale():
                        return
                    self._steps[i] = record
                self.tell("step", record)
        except SupersededError:
            return

    def wait(self) -> bool:
        """Wait until it is known whether questions can be answered, and say so."""
        self._decided.wait()
        return self.is_ready

    def refill(self, settings: Settings) -> None:
        """Start filling anew, in the background."""
        threading.Thread(target=self.fill, args=(settings,), daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """Whether questions can be answered."""
        return bool(self.phase["phase"] == "ready")

    def _progress(self, done: int, total: int) -> None:
        if self._cancelled.is_set():
            raise CancelledError
        before = self.phase
        step = max(1, total // 200)
        if done // step != before["done"] // step or done == total:
            self._enter({"phase": "loading", "done": done, "total": total})

    def _enter(self, phase: dict[str, Any]) -> None:
        self.phase = {"done": 0, "total": 0, **phase}
        if phase["phase"] != "loading":
            self._decided.set()
        self.tell("phase", self.phase)

    def _step(self, i: int, answer: Answer) -> dict[str, Any]:
        k = len(answer.members)
        record: dict[str, Any] = {"i": i, "k": k, "clustered": answer.n_clustered}
        if k <= _SENT_CLUSTERS and self.engine.fits_in_a_page():
            record["clusters"] = answer.record
        return record

    # Listeners

    def listen(self) -> tuple[int, asyncio.Queue[Any]]:
        """Queue of what happens from now on, after what has happened."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        queue.put_nowait(("phase", self.phase))
        with self._lock:
            for record in self._steps.values():
                queue.put_nowait(("step", record))
            self._listeners[id(queue)] = (asyncio.get_running_loop(), queue)
        return id(queue), queue

    def leave(self, number: int) -> None:
        """Listen no more."""
        with self._lock:
            self._listeners.pop(number, None)

    def tell(self, kind: str, record: dict[str, Any]) -> None:
        """Tell every listener, from any thread."""
        with self._lock:
            listeners = list(self._listeners.values())
        for loop, queue in listeners:
            try:
                loop.call_soon_threadsafe(queue.put_nowait, (kind, clean(record)))
            except RuntimeError:  # its loop is closed: the page is gone
                continue

    # Questions

    def latest(self, page: str, serial: int) -> Any:
        """Whether a question of this page is still the latest, to be asked again later."""
        with self._lock:
            if len(self._asked) > 1000:
                self._asked.clear()
            self._asked[page] = max(serial, self._asked.get(page, serial))
        return lambda: self._asked.get(page, serial) > serial

    def points(self, view: str) -> Any:
        """Coordinates of a view, made once."""
        if view not in self._views:
            self._views[view] = project(self.engine.task.X, view, self.first.members)
        return self._views[view]

    def meta(self) -> dict[str, Any]:
        """All that a page needs to know at first."""
        if not self.is_ready:
            return {**self._about(), **self.phase}
        engine, estimate = self.engine, self.engine.estimate
        return {
            **self._about(),
            **self.phase,
            "ownBandwidths": self.own_bandwidths or engine.has_own_balls,
            "start": settings_record(engine.start),
            "suggested": engine.suggested,
            "estimate": estimate._asdict(),
            "plateau": self.plateau,
            "stops": engine.stops,
            "limit": engine.high,
            "G": engine.task.G,
            "inPage": engine.fits_in_a_page(),
            "notes": self.notes.record(),
            "views": VIEWS,
        }

    def code(self, settings: Settings) -> dict[str, str]:
        """The same in a shell and in Python."""
        return {
            "shell": shlex.join(["crlm", "fit", *self._arguments(settings)]),
            "python": self._python(settings),
        }

    def _arguments(self, settings: Settings) -> Iterator[str]:
        yield from self.subject.command or (self.subject.name,)
        yield from ("--sigma-max", repr(settings.sigma))
        if settings.min_size != 2:
            yield from ("--min-cluster-size", str(settings.min_size))
        if settings.max_clusters is not None:
            yield from ("--max-clusters", str(settings.max_clusters))
        if settings.alpha != 0.01:
            yield from ("--alpha", "none" if settings.alpha is None else repr(settings.alpha))

    def _python(self, settings: Settings) -> str:
        words = [repr(settings.sigma)]
        if settings.min_size != 2:
            words.append(f"min_cluster_size={settings.min_size}")
        if settings.max_clusters is not None:
            words.append(f"max_clusters={settings.max_clusters}")
        if settings.alpha != 0.01:
            words.append(f"alpha={settings.alpha!r}")
        if self.engine.task.G != 4.0:
            words.append(f"G={self.engine.task.G!r}")
        return f"from crlm import CRLM\n\nmodel = CRLM({', '.join(words)}).fit(X)"

    def _about(self) -> dict[str, Any]:
        X = self.engine.task.X
        return {
            "name": self.subject.name,
            "n": len(X),
            "d": X.shape[1],
            "shows": self.subject.shows,
            "readOnly": self.read_only,
            "folder": self.folder.name or str(self.folder),
            "version": __version__,
            "maxDrawn": MAX_DRAWN,
        }

    @property
    def plateau(self) -> list[float] | None:
        """Bandwidths that serve as well as the suggested one."""
        low, high = self.engine.estimate.plateau
        scale = self.engine.suggested / self.engine.estimate.suggested
        return None if np.isnan(low) else [low * scale, high * scale]
