"""A folder or list of pictures to a file of vectors that keeps their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from crlm import __version__
from crlm.describe import Described, Descriptor, Hog, Pixels, Progress, describe_images
from crlm.errors import InputError
from crlm.features import Axes
from crlm.images import SUFFIXES, list_images
from crlm.network import Network
from crlm.tables import replacing
from crlm.tables.arrays import read_array, read_made
from crlm.tables.made import SCHEMA
from crlm.unfinished import Unfinished


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
            write_vectors(file, described, pictures, out, descriptor)
    except BaseException:
        store.close()
        raise
    store.remove()
    return described


def descriptor_like(
    path: Path, *, model: Path | None = None, threads: int | None = None
) -> Descriptor:
    """Descriptor with the settings of an earlier file of vectors.

    Parameters
    ----------
    path : path
        The file.
    model : path or None
        The network, when it was made with one; it must be the same.
    threads : int or None
    """
    if not path.is_file():
        msg = f"no such file: {path}"
        raise InputError(msg)
    made = read_made(path) if path.suffix.lower() == ".npz" else {}
    makers: dict[Any, Callable[[], Descriptor]] = {
        "hog": lambda: Hog(made["size"]),
        "pixels": lambda: Pixels(made["size"], made["components"], _axes(path)),
        "onnx": lambda: _network(made, model, path.name, threads),
    }
    if made.get("method") not in makers:
        msg = f"{path.name} does not say how its vectors were made; crlm embed did not write it."
        raise InputError(msg)
    if model is not None and made["method"] != "onnx":
        msg = f"{path.name} was made without a network, by {made['method']}. Leave out --model."
        raise InputError(msg)
    try:
        return makers[made["method"]]()
    except (KeyError, TypeError) as error:
        msg = f"{path.name} is damaged: it does not say how its vectors were made."
        raise InputError(msg) from error


def _axes(path: Path) -> Axes:
    mean, basis = (read_array(path, name) for name in ("mean", "components"))
    return Axes(mean.ravel(), basis.reshape(len(basis), -1))


def _network(
    made: Mapping[str, Any], model: Path | None, source: str, threads: int | None
) -> Descriptor:
    if model is None:
        msg = f"{source} was made with the network {made['model']}. Name it again with --model."
        raise InputError(msg)
    same: dict[str, Any] = {name: made[name] for name in ("layer", "size", "white", "fit")}
    same |= {name: tuple(made[name]) for name in ("mean", "std")}
    net = Network(model, threads=threads, **same)
    if net.settings["sha256"] != made["sha256"]:
        msg = f"{model} is another network than that of {source}, {made['model']}."
        raise InputError(msg)
    return net


def unfinished_name(out: Path) -> Path:
    """File beside `out` that holds what is done so far."""
    return out.with_name(f".{out.name}.unfinished")


def write_vectors(
    file: IO[bytes],
    described: Described,
    pictures: Sequence[Path],
    out: Path,
    descriptor: Descriptor,
) -> None:
    """Write arrays that any NumPy reads, and one JSON document about them."""
    made = {"crlm": __version__, **descriptor.settings, "failures": described.failures}
    arrays = {
        "X": described.X,
        "paths": np.array([_from(out, pictures[i]) for i in described.rows]),
        "info": np.array(json.dumps({"schema": SCHEMA, **made})),
        **descriptor.arrays(),
    }
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _from(out: Path, picture: Path) -> str:
    """Path as seen from the folder of `out` if the picture is in it or below, else in full."""
    full, folder = Path(os.path.abspath(picture)), Path(os.path.abspath(out.parent))  # noqa: PTH100 - links stay
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.as_posix()
