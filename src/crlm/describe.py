"""Pictures to vectors without a network: outlines (HOG) or shades (pixels)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, ParameterError
from crlm.features import hog, principal
from crlm.images import pixels

Method = Literal["hog", "pixels"]
METHODS: tuple[Method, ...] = get_args(Method)
HOG_SIZE, PIXEL_SIZE = 64, 32
COMPONENTS = 64

WORDS = {
    "hog": "HOG, which sees outlines and not what is meant",
    "pixels": "their pixels, which see shades and not what is meant",
}


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

    X: NDArray[np.float32]
    rows: list[int]
    failures: list[str]


def describe_images(
    paths: Sequence[Path],
    method: Method = "hog",
    *,
    size: int | None = None,
    components: int = COMPONENTS,
    progress: Callable[[int, int], object] | None = None,
) -> Described:
    """Vectors of pictures; those that cannot be read are named and left out.

    Parameters
    ----------
    paths : sequence of path
    method : {"hog", "pixels"}
        "hog": stretched to 64 × 64 grey pixels, gradients in cells of 8 × 8, 1,764 numbers.
        "pixels": stretched to 32 × 32 in colour, then the principal components of all of them;
        these depend on the whole set, so that sets described apart cannot be compared.
    size : int or None
        Another width and height in pixels.
    components : int, default=64
        Principal components of "pixels"; at most one less than there are pictures.
    progress : callable or None
        Called as ``progress(done, total)``.

    Raises
    ------
    InputError
        Not one of them could be read.
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, got {method!r}."
        raise ParameterError(msg)
    size = size or (HOG_SIZE if method == "hog" else PIXEL_SIZE)
    vectors, rows, failures = [], [], []
    for i, path in enumerate(paths):
        try:
            vectors.append(_vector(path, method, size))
            rows.append(i)
        except InputError as error:
            failures.append(str(error))
        if progress is not None:
            progress(i + 1, len(paths))
    if not vectors:
        msg = f"none of {len(paths):,} images can be read; the first: {failures[0]}"
        raise InputError(msg)
    X = np.stack(vectors)
    if method == "pixels":
        X = principal(X, components).astype(np.float32)
    return Described(X, rows, failures)


def _vector(path: Path, method: Method, size: int) -> NDArray[np.float32]:
    if method == "hog":
        grey = pixels(path, size, grey=True)
        return np.asarray(hog(grey[None], cell=max(1, size // 8))[0], dtype=np.float32)
    return np.asarray(pixels(path, size).ravel() / np.float32(255), dtype=np.float32)
