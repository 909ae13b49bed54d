"""A folder or list of pictures to a file of vectors that keeps their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from crlm import __version__
from crlm.describe import Described, Descriptor, Progress, describe_images
from crlm.errors import InputError
from crlm.images import SUFFIXES, list_images
from crlm.tables import replacing
from crlm.unfinished import Unfinished

SCHEMA = "crlm.vectors/1"


def pictures_of(source: Path) -> list[Path]:
    """Pictures in a folder, or those that a list names.

    A list is a text file with a path a line; a path is taken from the folder of the list, or else
    as it stands.
    """
    if source.is_dir():
        found = list_images(source)
        if not found:
            kinds = ", ".join(sorted(SUFFIXES))
            msg = f"{source} is a folder without images ({kinds})."
            raise InputError(msg)
        return found
    if not source.exists():
        msg = f"no such folder or list: {source}"
        raise InputError(msg)
    found = _listed(source)
    if not found:
        msg = f"{source} names no image. Write a path a line."
        raise InputError(msg)
    return found


def _listed(source: Path) -> list[Path]:
    try:
        lines = source.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        msg = f"{source} is neither a folder of images nor a list of paths, one a line."
        raise InputError(msg) from error
    names = [line.strip() for line in lines if line.strip()]
    beside = source.parent
    return [beside / name if (beside / name).exists() else Path(name) for name in names]


def embed(
    pictures: Sequence[Path],
    out: Path,
    descriptor: Descriptor,
    *,
    resume: bool = True,
    progress: Progress | None = None,
) -> Described:
    """Describe pictures and write ``X``, ``paths`` and ``info`` to a .npz file.

    While the work goes on, what is done is kept in a file beside `out`; when it is stopped, the
    same call goes on from there.

    Parameters
    ----------
    pictures : sequence of path
    out : path
        The .npz file; it appears whole, at the end.
    descriptor : Descriptor
    resume : bool, default=True
        Whether to use what an earlier call has left.
    progress : callable or None

    Returns
    -------
    Described
    """
    waiting = unfinished_name(out)
    if not resume:
        waiting.unlink(missing_ok=True)
    store = Unfinished(waiting, pictures, descriptor.settings)
    try:
        described = describe_images(pictures, descriptor, store=store, progress=progress)
        with replacing(out) as file:
            write_vectors(file, described, pictures, out, descriptor.settings)
    except BaseException:
        store.close()
        raise
    store.remove()
    return described


def unfinished_name(out: Path) -> Path:
    """File beside `out` that holds what is done so far."""
    return out.with_name(f".{out.name}.unfinished")


def write_vectors(
    file: IO[bytes],
    described: Described,
    pictures: Sequence[Path],
    out: Path,
    settings: dict[str, Any],
) -> None:
    """Write arrays that any NumPy reads, and one JSON document about them."""
    info = {"schema": SCHEMA, "crlm": __version__, **settings, "failures": described.failures}
    paths = [_from(out, pictures[i]) for i in described.rows]
    np.savez(file, X=described.X, paths=np.array(paths), info=np.array(json.dumps(info)))


def _from(out: Path, picture: Path) -> str:
    """Path as seen from the folder of `out` if the picture is in it or below, else in full."""
    full, folder = Path(os.path.abspath(picture)), Path(os.path.abspath(out.parent))  # noqa: PTH100 - links stay
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.as_posix()
