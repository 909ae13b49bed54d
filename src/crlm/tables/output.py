"""Files that appear whole or not at all, and the labels in them."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.errors import CRLMError, DiskFullError, MissingExtraError, OutputError
from crlm.tables.arrow import import_pyarrow
from crlm.tables.common import listed

_PARTS: set[Path] = set()  # not ready yet
_STEADY: list[str] = []  # whoever wants the same partial names in every run


def write_labels(path: str | os.PathLike[str], labels: ArrayLike, *, force: bool = False) -> None:
    """Write one label per row as .csv or .parquet (columns row, label) or as .npy.

    The file appears whole or not at all; with `force` an old one is replaced.
    """
    write_together([(Path(path), label_writer(path, labels, force=force))])


def label_writer(
    path: str | os.PathLike[str], labels: ArrayLike, *, force: bool = False
) -> Callable[[IO[bytes]], None]:
    """Function that writes the labels in the format of `path`, once `path` may be written."""
    check_writable(path, force)
    write = LABEL_WRITERS[Path(path).suffix.lower()]
    return lambda file: write(file, np.asarray(labels, dtype=np.int64))


def write_together(jobs: Sequence[tuple[Path, Callable[[IO[bytes]], None]]]) -> None:
    """Write several files of which all appear, or when one fails, none."""
    with ExitStack() as stack:  # at whose end the files take their names
        for path, write in jobs:
            file = stack.enter_context(replacing(path))
            write(file)
            file.flush()  # a full disk must show before any file has its name


def check_writable(
    path: str | os.PathLike[str], force: bool = False, *, formats: Sequence[str] | None = None
) -> None:
    """Find out before the work starts whether its result can be written.

    Raises
    ------
    OutputError
        The suffix is not one of `formats` (default: those of labels), the file exists and
        `force` is false, or the folder is missing or not writable.
    MissingExtraError
        The suffix is .parquet and pyarrow is not installed.
    """
    path = Path(path)
    problem = _problem(path, force, tuple(LABEL_WRITERS) if formats is None else formats)
    if problem:
        raise OutputError(problem)
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("writing parquet", package="pyarrow", extra="parquet")


def _problem(path: Path, force: bool, formats: Sequence[str]) -> str | None:
    # What is written takes the place of what a link points to.
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if path.suffix.lower() not in formats:
        return f"cannot write {path}: its suffix must be one of {listed(formats)}."
    if folder.exists() and not folder.is_dir():
        return f"cannot write {path}: {folder} is a file, not a folder."
    if not folder.exists():
        return f"cannot write {path}: there is no folder {folder}. Make it: mkdir -p {folder}"
    if path.is_dir():
        return f"cannot write {path}: it is a folder. Choose another name."
    if path.exists() and not force:
        return f"{path} exists. Replace it with force=True, or choose another name."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"cannot write {path}: no permission to write in {folder.absolute()}."
    return None


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` only when all of it has been written."""
    target = path.resolve()  # through a symbolic link, so that the link stays
    with _partial(path, target) as partial:
        # "x+" rather than "x": for a write-only file NumPy bypasses Python's write() and then
        # a full disk is an error without its number.
        with partial.open("x+b") as file:
            yield file
        partial.replace(target)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make a folder that takes the place of `path` only when all of it has been written."""
    target = path.resolve()
    with _partial(path, target) as partial, _partial(path, target) as old:
        partial.mkdir()
        yield partial
        if target.exists():
            target.replace(old)
        partial.replace(target)


@contextmanager
def _partial(path: Path, target: Path) -> Iterator[Path]:
    """Name for what is not ready yet, beside `target`; nothing of that name is left behind."""
    partial = target.with_name(f".crlm-{_token(target)}.part")
    _PARTS.add(partial)
    try:
        if _STEADY:
            _remove(partial)
            _PARTS.add(partial)
        yield partial
    except CRLMError:  # of another file, and already in words
        raise
    except OSError as error:
        if error.errno == errno.EFBIG:
            msg = (
                f"cannot write {path}: {error.strerror} for the limit of this shell or disk "
                "(ulimit -f). Nothing was changed."
            )
            raise DiskFullError(msg) from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"disk full while writing {path}. Nothing was changed; make room."
            raise DiskFullError(msg) from error
        msg = f"cannot write {path}: {error.strerror or error}"
        raise OutputError(msg) from error
    finally:
        _remove(partial)


def _token(target: Path) -> str:
    if not _STEADY:
        return secrets.token_hex(6)
    return hashlib.sha256(f"{_STEADY[-1]} {target}".encode()).hexdigest()[:12]


@contextmanager
def steady_parts(owner: Path | None) -> Iterator[None]:
    """Let what is written have the same partial names in every run of the same owner.

    So a run that goes on after one that was killed clears up after it. Two at the same time must
    not have the same owner; None is nobody.
    """
    if owner is None:
        yield
        return
    _STEADY.append(str(owner.resolve()))
    try:
        yield
    finally:
        _STEADY.pop()


def sweep() -> None:
    """Remove what a signal at the worst moment has left."""
    for partial in list(_PARTS):
        _remove(partial)


def _remove(partial: Path) -> None:
    if partial.is_dir():
        shutil.rmtree(partial, ignore_errors=True)
    partial.unlink(missing_ok=True)
    _PARTS.discard(partial)


def write_labels_csv(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    """Write lines ``row,label`` under a header."""
    rows = np.column_stack([np.arange(len(labels)), labels])
    np.savetxt(file, rows, fmt="%d", delimiter=",", header="row,label", comments="")


def _write_labels_npy(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    np.save(file, labels, allow_pickle=False)


def _write_labels_parquet(file: IO[bytes], labels: NDArray[np.int64]) -> None:
    pa = import_pyarrow("writing parquet")
    pa.parquet.write_table(pa.table({"row": np.arange(len(labels)), "label": labels}), file)


LABEL_WRITERS: dict[str, Callable[[IO[bytes], NDArray[np.int64]], None]] = {
    ".csv": write_labels_csv,
    ".npy": _write_labels_npy,
    ".parquet": _write_labels_parquet,
}
