"""A progress bar for people; nothing for pipes and log files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    wanted: bool, what: str = "Distances"
) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function of (done, total) that draws on stderr, or None when nobody looks."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    # rich takes longer to import than the rest of the program takes to print its help
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    bar = Progress(
        what,
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
