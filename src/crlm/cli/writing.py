"""What is said about each row, written block by block: for fit, predict and export."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from crlm.cli.common import is_stdout_closed
from crlm.errors import OutputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm import CRLM
    from crlm.assign import Assigned
    from crlm.scaling import Scaling
    from crlm.tables import Block, Table

STDOUT = Path("-")
Job = tuple[Path, Callable[[IO[bytes]], None]]
Progress = Callable[[int, int], object] | None


def refuse_unheard(outputs: Sequence[Path]) -> None:
    """Refuse to work for the standard output alone when the caller has closed it."""
    if set(outputs) == {STDOUT} and is_stdout_closed():
        msg = (
            "the labels are for the standard output (-), which is closed. Leave it open, or give "
            "them a file name."
        )
        raise OutputError(msg)


class Described:
    """Every row of a table with its label, distance, p-value and posterior, in blocks.

    Parameters
    ----------
    model, table : CRLM, Table
    scaling : Scaling or None
        What is done to rows of the table before the model sees them.
    valid : ndarray of bool or None
        Rows that can be used; the others are background.
    """

    def __init__(
        self,
        model: CRLM,
        table: Table,
        scaling: Scaling | None,
        valid: NDArray[np.bool_] | None = None,
        *,
        progress: Progress = None,
    ) -> None:
        self._model, self._table, self._scaling = model, table, scaling
        self._valid, self._progress = valid, progress
        self.counts: NDArray[np.int64] | None = None  # background first, once all were seen

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self._table.X)

    def blocks(self) -> Iterator[Block]:
        """Columns row, id if there is one, label, distance, p_value, posterior."""
        import numpy as np

        from crlm.assign import assign

        counts = self._nothing()
        for start, good, X in self._transformed():
            found = assign(self._model, X)
            found = found if good is None else _spread(found, good)
            stop = start + len(found.label)
            counts += np.bincount(found.label + 1, minlength=len(counts))
            yield {"row": np.arange(start, stop), **self._names(start, stop), **found._asdict()}
            self._tell(stop)
        self.counts = counts

    def labels(self) -> Iterator[Block]:
        """The labels alone, which is quicker."""
        import numpy as np

        from crlm.labels import BACKGROUND

        counts = self._nothing()
        for start, good, X in self._transformed():
            label = np.full(len(X) if good is None else len(good), BACKGROUND, dtype=np.int64)
            if len(X):
                label[slice(None) if good is None else good] = self._model.predict(X)
            counts += np.bincount(label + 1, minlength=len(counts))
            yield {"label": label}
            self._tell(start + len(label))
        self.counts = counts

    def count(self) -> NDArray[np.int64]:
        """Rows in the background and in each cluster; looks at all of them if none has yet."""
        if self.counts is None:
            for _ in self.labels():
                pass
        assert self.counts is not None
        return self.counts

    def jobs(self, paths: Sequence[Path]) -> list[Job]:
        """What writes each file, in the format that its suffix says."""
        from crlm.tables import row_job

        return [(path, row_job(path, self._blocks_for(path), self.n_rows)) for path in paths]

    def _blocks_for(self, path: Path) -> Callable[[], Iterator[Block]]:
        return self.labels if path.suffix.lower() == ".npy" else self.blocks

    def to_stdout(self) -> None:
        """Write csv to the standard output."""
        from crlm.tables import write_csv

        sys.stdout.flush()
        write_csv(sys.stdout.buffer, self.blocks(), self.n_rows)
        sys.stdout.buffer.flush()

    def _transformed(self) -> Iterator[tuple[int, NDArray[np.bool_] | None, NDArray[Any]]]:
        """First row of each block, which of its rows can be used, and those."""
        from crlm.tables import row_blocks

        for start, block in row_blocks(self._table.X):
            good = None if self._valid is None else self._valid[start : start + len(block)]
            X = block if good is None else block[good]
            X = X if self._scaling is None else self._scaling.apply(X)
            yield start, good, X

    def _names(self, start: int, stop: int) -> dict[str, Any]:
        ids = column_of(self._table, "id")
        return {} if ids is None else {"id": ids[start:stop]}

    def _nothing(self) -> NDArray[np.int64]:
        import numpy as np

        return np.zeros(self._model.n_clusters_ + 1, dtype=np.int64)

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, self.n_rows)


class LabelsOnly:
    """Row numbers and labels alone, of a fit in blocks: what else there is to a row has gone by."""

    def __init__(self, model: CRLM) -> None:
        self._labels = model.labels_

    def jobs(self, paths: Sequence[Path]) -> list[Job]:
        """What writes each file, in the format that its suffix says."""
        from crlm.tables import label_writer

        # Whether a file may be replaced was asked before the fit.
        return [(path, label_writer(path, self._labels, force=True)) for path in paths]

    def to_stdout(self) -> None:
        """Write csv to the standard output."""
        from crlm.tables import write_labels_csv

        sys.stdout.flush()
        write_labels_csv(sys.stdout.buffer, self._labels)
        sys.stdout.buffer.flush()


def column_of(table: Table, role: str) -> list[Any] | None:
    """Column with the id, the image or the text of each row, if there is one."""
    name = table.roles.get(role)
    return None if name is None else table.kept[name]


def _spread(found: Assigned, good: NDArray[np.bool_]) -> Assigned:
    """Give rows that were left out the label of the background, and no numbers."""
    import numpy as np

    from crlm.labels import BACKGROUND

    full = {
        name: np.full(len(good), BACKGROUND if name == "label" else np.nan, dtype=values.dtype)
        for name, values in found._asdict().items()
    }
    for name, values in found._asdict().items():
        full[name][good] = values
    return type(found)(**full)
