"""Real data sets, read from where the user has them; nothing is downloaded.

`source` is a folder that holds the sets, or one of their zip files. A set of images is
``<name>.zip`` or a folder ``<name>`` of PNG files.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError

ORIGIN = {
    "kimia216": (
        "the 216 silhouettes of Brown University's LEMS shape databases, 18 classes of 12, as "
        "kimia216.zip or a folder kimia216 of PNG files named class and number (Bone01.png)"
    ),
    "kimia1070": (
        "the 1070 shape database of Brown University's LEMS, as kimia1070.zip or a folder "
        "kimia1070 of PNG files, and kimia1070_labels.csv with the columns file, label (1 to 66) "
        "and a mark for the six positive classes"
    ),
    "faces": (
        "faces72_imagenet1000_mobilenetv2.npz with X (features, one row per image) and y (1 = face "
        "portrait, 0 = one image of each ILSVRC class), or another .npz of that name and layout"
    ),
}


class Shapes(NamedTuple):
    """Silhouettes with their classes.

    Attributes
    ----------
    files : list of str
    images : list of ndarray
        Grey values, the shape is 255 and the ground 0; sizes differ.
    labels : ndarray of shape (n,)
    is_positive : ndarray of shape (n,)
        Whether the class is one of the paper's positive ones; all, where it has no such.
    """

    files: list[str]
    images: list[NDArray[np.uint8]]
    labels: NDArray[np.int64]
    is_positive: NDArray[np.bool_]


def load_kimia216(source: Path | None) -> Shapes:
    """216 shapes; the class is the file name without its number."""
    files, images = _images("kimia216", source)
    names = [re.sub(r"\d+$", "", Path(file).stem) for file in files]
    labels = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return Shapes(files, images, labels, np.ones(len(files), dtype=bool))


def load_kimia1070(source: Path | None) -> Shapes:
    """1070 shapes with the labels of the paper's authors; grey values are cut at 128."""
    files, images = _images("kimia1070", source)
    table = _labels_1070(_path("kimia1070", source, "kimia1070_labels.csv"))
    unknown = [file for file in files if file not in table]
    if unknown:
        msg = (
            f"kimia1070_labels.csv has no row for {unknown[0]}. It must name every image: file, "
            "label, mark of the positive classes."
        )
        raise InputError(msg)
    images = [np.where(image >= 128, 255, 0).astype(np.uint8) for image in images]
    labels = np.array([table[file][0] for file in files], dtype=np.int64)
    return Shapes(files, images, labels, np.array([table[file][1] for file in files]))


def load_faces(source: Path | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features of faces and clutter, and 1 for a face."""
    path = _path("faces", source, "faces72_imagenet1000_mobilenetv2.npz")
    try:
        with np.load(path, allow_pickle=False) as file:
            return file["X"].astype(np.float64), file["y"].astype(np.int64)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        msg = f"{path} cannot be used: {error}. Needed: {ORIGIN['faces']}."
        raise InputError(msg) from error


def _path(name: str, source: Path | None, file: str) -> Path:
    """File of a data set, in the folder named or beside the zip that was named."""
    if source is not None:
        folder = source if source.is_dir() else source.parent
        if source.is_file() and source.name == file:
            return source
        if (folder / file).exists():
            return folder / file
    raise _missing(name, source)


def _missing(name: str, source: Path | None) -> InputError:
    where = "no folder was named" if source is None else f"it is not in {source}"
    msg = (
        f"the data set {name} is needed, and {where}. Get {ORIGIN[name]}; then name its folder "
        "with --data or CRLM_DATA."
    )
    return InputError(msg)


def _images(name: str, source: Path | None) -> tuple[list[str], list[NDArray[np.uint8]]]:
    """Names and grey values of all PNG files of a set, in the order of their names."""
    found = dict(_raw_images(name, source))
    if not found:
        raise _missing(name, source)
    files = sorted(found)
    return files, [_grey(file, found[file]) for file in files]


def _raw_images(name: str, source: Path | None) -> Iterator[tuple[str, bytes]]:
    if source is None:
        raise _missing(name, source)
    named = [source] if source.stem == name else []
    for place in (*named, source / name, source / f"{name}.zip"):
        if place.is_dir() and any(place.glob("*.png")):
            yield from ((path.name, path.read_bytes()) for path in place.glob("*.png"))
            return
        if place.is_file():
            yield from _zipped(place)
            return


def _zipped(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.lower().endswith(".png"):
                    yield Path(entry).name, archive.read(entry)
    except zipfile.BadZipFile as error:
        msg = f"{path} is no zip file ({error}). Get it again."
        raise InputError(msg) from error


def _grey(file: str, raw: bytes) -> NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(raw)) as image:
            return 255 - np.asarray(image.convert("L"))
    except (UnidentifiedImageError, OSError) as error:
        msg = f"{file} is no image that can be read. Get the data set again."
        raise InputError(msg) from error


def _labels_1070(path: Path) -> dict[str, tuple[int, bool]]:
    """Label and mark of each file. A mark is a class number or 1; empty and 0 are none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))[1:]
        return {line[0]: (int(line[1]), line[2].strip() not in ("", "0")) for line in lines}
    except (ValueError, IndexError, OSError) as error:
        msg = f"{path} cannot be used: {error}. Its columns must be file, label, mark."
        raise InputError(msg) from error


def resized(images: list[NDArray[np.uint8]], side: int = 256) -> NDArray[np.float64]:
    """Images stretched to a square, one row of pixels each."""
    from PIL import Image

    size, cubic = (side, side), Image.Resampling.BICUBIC
    flat: list[Any] = [np.asarray(Image.fromarray(a).resize(size, cubic)).ravel() for a in images]
    return np.array(flat, dtype=np.float64)


def principal_components(V: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Coordinates along the k directions of largest variance, for more columns than rows.

    >>> V = np.array([[1.0, 2.0, 2.0], [3.0, 4.0, 3.0], [-4.0, -6.0, -5.0]])
    >>> distances = np.linalg.norm(V[:, None] - V, axis=2)
    >>> Z = principal_components(V, 2)
    >>> bool(np.allclose(np.linalg.norm(Z[:, None] - Z, axis=2), distances))
    True
    """
    centred = V - V.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    top = np.sqrt(np.maximum(values[-k:][::-1], 0.0))
    coordinates: NDArray[np.float64] = vectors[:, -k:][:, ::-1] * top
    return coordinates
