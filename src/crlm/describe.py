"""Pictures to vectors, one after the other; those that cannot be read are named and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, ParameterError
from crlm.features import hog, principal
from crlm.images import pixels

Floats = NDArray[np.float32]
Progress = Callable[[int, int], object]


class Descriptor(Protocol):
    """A way to make a vector of a picture.

    Attributes
    ----------
    settings : dict
        All that decides the vectors, as plain values.
    words : str
        What it is and what it is not, to follow "described by".
    batch : int
        Pictures to describe at once.
    """

    settings: dict[str, Any]
    words: str
    batch: int

    def prepare(self, path: Path) -> NDArray[Any]:
        """Read a picture; an InputError when that cannot be done."""

    def vectors(self, pictures: NDArray[Any]) -> Floats:
        """Describe pictures that were prepared, one row for each."""

    def finish(self, X: Floats) -> Floats:
        """Do what needs all vectors."""


class Hog:
    """Outlines: grey pixels of a square, gradients in 8 × 8 cells; 1,764 numbers."""

    words = "HOG, which sees outlines and not what is meant"
    batch = 32

    def __init__(self, size: int = 64) -> None:
        if size < 16:
            msg = f"HOG needs a size of at least 16 pixels, got {size}."
            raise ParameterError(msg)
        self.size = size
        self.settings: dict[str, Any] = {"method": "hog", "size": size}

    def prepare(self, path: Path) -> NDArray[Any]:
        """Grey pixels."""
        return pixels(path, self.size, grey=True)

    def vectors(self, pictures: NDArray[Any]) -> Floats:
        """Histograms of gradients."""
        return hog(pictures, cell=self.size // 8).astype(np.float32)

    def finish(self, X: Floats) -> Floats:
        """Nothing."""
        return X


class Pixels:
    """Shades: the colours of a small square, as principal components of the whole set.

    These depend on the set, so that sets described apart cannot be compared.
    """

    words = "their pixels, which see shades and not what is meant"
    batch = 32

    def __init__(self, size: int = 32, components: int = 64) -> None:
        if min(size, components) < 1:
            msg = f"size and components must be at least 1, got {size} and {components}."
            raise ParameterError(msg)
        self.size, self.components = size, components
        # The components are of the whole set and made last, so they are no part of a vector.
        self.settings: dict[str, Any] = {"method": "pixels", "size": size, "components": components}

    def prepare(self, path: Path) -> NDArray[Any]:
        """Colours."""
        return pixels(path, self.size)

    def vectors(self, pictures: NDArray[Any]) -> Floats:
        """Colours from 0 to 1 in a row."""
        return np.asarray(pictures.reshape(len(pictures), -1) / np.float32(255), np.float32)

    def finish(self, X: Floats) -> Floats:
        """Principal components, at most one less than there are pictures."""
        return principal(X, self.components).astype(np.float32)


METHODS: dict[str, Callable[[], Descriptor]] = {"hog": Hog, "pixels": Pixels}


class Described(NamedTuple):
    """Vectors of the pictures that could be read.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    rows : list of int
        Which of the given pictures they are.
    failures : list of str
        One sentence for each of the others.
    """

    X: Floats
    rows: list[int]
    failures: list[str]


Found = Floats | str  # a vector, or what is wrong with the picture


def describe_images(
    paths: Sequence[Path],
    descriptor: Descriptor,
    *,
    store: MutableMapping[int, Found] | None = None,
    progress: Progress | None = None,
) -> Described:
    """Vectors of pictures; those that cannot be read are named and left out.

    Parameters
    ----------
    paths : sequence of path
    descriptor : Descriptor
    store : mutable mapping or None
        Where vectors, or what went wrong, are kept by the number of the picture. What is there
        already is not done again.
    progress : callable or None
        Called as ``progress(done, total)``.

    Raises
    ------
    InputError
        Not one of them could be read.
    """
    found: MutableMapping[int, Found] = {} if store is None else store
    left = [i for i in range(len(paths)) if i not in found]
    done = len(paths) - len(left)
    for start in range(0, len(left), descriptor.batch):
        rows = left[start : start + descriptor.batch]
        found.update(_batch([(i, paths[i]) for i in rows], descriptor))
        done += len(rows)
        if progress is not None:
            progress(done, len(paths))
    return _collected(found, len(paths), descriptor)


def _batch(pictures: Sequence[tuple[int, Path]], descriptor: Descriptor) -> dict[int, Found]:
    """Vectors of some pictures, or what is wrong with them."""
    found: dict[int, Found] = {}
    ready: dict[int, NDArray[Any]] = {}
    for i, path in pictures:
        try:
            ready[i] = descriptor.prepare(path)
        except InputError as error:
            found[i] = str(error)
    if ready:
        vectors = descriptor.vectors(np.stack(list(ready.values())))
        found.update(zip(ready, vectors, strict=True))
    return found


def _collected(found: MutableMapping[int, Found], n: int, descriptor: Descriptor) -> Described:
    rows, vectors, failures = [], [], []
    for i, value in _in_order(found, n):
        if isinstance(value, str):
            failures.append(value)
        else:
            rows.append(i)
            vectors.append(value)
    if not vectors:
        msg = f"none of {n:,} images can be read; the first: {failures[0]}"
        raise InputError(msg)
    return Described(descriptor.finish(np.stack(vectors)), rows, failures)


def _in_order(found: MutableMapping[int, Found], n: int) -> Iterator[tuple[int, Found]]:
    for i in range(n):
        yield i, found[i]
