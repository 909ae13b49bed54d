"""Descriptors of pictures that need no network: gradients (HOG) and pixels.

Both are basic. They see outlines and shades, not meaning: portraits taken alike come together,
cats and dogs do not. For meaning use a trained network (``crlm embed --model``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.errors import InputError, ParameterError

Floats = NDArray[np.float64]

EPSILON = 1e-5  # keeps a block without any gradient at zero
CLIP = 0.2  # of the L2-Hys norm, as in the paper on HOG


def hog(
    images: ArrayLike, *, cell: int = 8, block: int = 2, orientations: int = 9
) -> NDArray[np.float64]:
    """Histograms of oriented gradients, as Dalal and Triggs describe them.

    Differences of neighbouring pixels are gradients; each votes with its length for one of the
    `orientations`, from 0 to 180 degrees, of its cell; blocks of cells, one cell apart, are
    scaled to unit length, cut at 0.2 and scaled again (L2-Hys). In colour the channel with the
    longest gradient votes. Votes are not shared between neighbouring cells and orientations.

    Parameters
    ----------
    images : array-like of shape (n, h, w) or (n, h, w, channels)
    cell : int, default=8
        Width and height of a cell in pixels. What is left over at the right and below is not
        used.
    block : int, default=2
        Width and height of a block in cells.
    orientations : int, default=9

    Returns
    -------
    ndarray of shape (n, d)
        Blocks row by row; in each its cells row by row; in each cell its orientations.

    Examples
    --------
    >>> steps = np.arange(16.0) * np.ones((1, 16, 1))   # brighter to the right: 0 degrees
    >>> hog(steps).reshape(4, 9)[:, :2]
    array([[0.5, 0. ],
           [0.5, 0. ],
           [0.5, 0. ],
           [0.5, 0. ]])
    """
    stack = _stack(images)
    if min(cell, block, orientations) < 1:
        msg = (
            f"cell, block and orientations must be at least 1, got {cell}, {block}, {orientations}."
        )
        raise ParameterError(msg)
    rows, columns = stack.shape[1] // cell, stack.shape[2] // cell
    if min(rows, columns) < block:
        msg = (
            f"images of {stack.shape[1]} × {stack.shape[2]} pixels are too small for a block of "
            f"{block} × {block} cells of {cell} pixels. Take a smaller cell."
        )
        raise ParameterError(msg)
    out = np.empty((len(stack), (rows - block + 1) * (columns - block + 1), block**2, orientations))
    for i, image in enumerate(stack):
        out[i] = _blocks(_votes(image, cell, orientations), block)
    return out.reshape(len(stack), -1)


def principal(X: ArrayLike, n_components: int) -> NDArray[np.float64]:
    """Coordinates along the directions in which the rows vary most, at most `n_components`.

    Distances are kept as far as so few numbers can keep them. The sign of a direction is chosen
    so that its largest weight is positive, since a decomposition leaves it open.

    >>> principal([[0.0, 0.0], [2.0, 0.1], [4.0, 0.0]], 1).round(3).tolist()
    [[-2.0], [0.0], [2.0]]
    """
    points = np.asarray(X, dtype=np.float64)
    centred = points - points.mean(axis=0)
    wide = centred.shape[1] > len(centred)
    # The smaller of the two products has the same spectrum, and its size squared is affordable.
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    kept = np.argsort(-values, kind="stable")[: max(1, min(n_components, len(points) - 1))]
    basis = vectors[:, kept].T
    if wide:
        basis = basis @ centred
        basis /= np.maximum(np.linalg.norm(basis, axis=1, keepdims=True), np.finfo(float).tiny)
    largest = np.abs(basis).argmax(axis=1)
    basis = basis * np.where(basis[np.arange(len(basis)), largest] < 0, -1.0, 1.0)[:, None]
    return np.asarray(centred @ basis.T)


def _stack(images: ArrayLike) -> Floats:
    """Pictures as an array of shape (n, h, w, channels)."""
    stack = np.asarray(images, dtype=np.float64)
    if stack.ndim == 3:
        stack = stack[..., None]
    if stack.ndim != 4 or 0 in stack.shape:
        msg = f"images must have shape (n, h, w) or (n, h, w, channels), got {stack.shape}."
        raise InputError(msg)
    return stack


def _votes(image: Floats, cell: int, orientations: int) -> Floats:
    """Mean vote per pixel of each cell, of shape (rows, columns, orientations)."""
    down, right = _gradients(image)
    length = np.hypot(down, right)
    angle = np.rad2deg(np.arctan2(down, right)) % 180.0
    # Rounding can make the angle of a gradient just below the axis 180, which is 0.
    bins = (angle * (orientations / 180.0)).astype(np.intp) % orientations
    rows, columns = image.shape[0] // cell, image.shape[1] // cell
    r, c = np.indices((rows * cell, columns * cell)) // cell
    inside = slice(rows * cell), slice(columns * cell)
    place = (r * columns + c) * orientations + bins[inside]
    size = rows * columns * orientations
    votes = np.bincount(place.ravel(), length[inside].ravel(), minlength=size)
    return votes.reshape(rows, columns, orientations) / cell**2


def _gradients(image: Floats) -> tuple[Floats, Floats]:
    """Differences between the neighbours of a pixel, zero at the border; the longest channel's."""
    down, right = np.zeros_like(image), np.zeros_like(image)
    down[1:-1] = image[2:] - image[:-2]
    right[:, 1:-1] = image[:, 2:] - image[:, :-2]
    if image.shape[2] == 1:
        return down[..., 0], right[..., 0]
    longest = np.hypot(down, right).argmax(axis=2)[..., None]
    return (
        np.take_along_axis(down, longest, axis=2)[..., 0],
        np.take_along_axis(right, longest, axis=2)[..., 0],
    )


def _blocks(votes: Floats, block: int) -> Floats:
    """Overlapping blocks of cells, each scaled, of shape (n_blocks, block^2, orientations)."""
    windows = np.lib.stride_tricks.sliding_window_view(votes, (block, block), axis=(0, 1))
    # (rows, columns, orientations, block, block) -> cells before orientations
    blocks = windows.transpose(0, 1, 3, 4, 2).reshape(-1, block * block * votes.shape[2])
    cut = np.minimum(_scaled(blocks), CLIP)
    return _scaled(cut).reshape(len(blocks), block * block, votes.shape[2])


def _scaled(blocks: Floats) -> Floats:
    lengths = np.sqrt(np.square(blocks).sum(axis=1, keepdims=True) + EPSILON**2)
    return np.asarray(blocks / lengths)
