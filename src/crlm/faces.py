"""Real faces that come with a package: a hundred portraits among a hundred pieces of pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.errors import MissingExtraError
from crlm.features import hog
from crlm.labels import BACKGROUND

CELL = 5  # pixels; near the 6 to 8 that Dalal and Triggs found best, and divides 25


class Faces(NamedTuple):
    """Descriptors, truth and pictures, row by row.

    Attributes
    ----------
    X : ndarray of shape (200, 576)
        HOG features: 9 orientations, cells of 5 × 5 pixels, blocks of 2 × 2 cells.
    y : ndarray of shape (200,)
        0 for a face, -1 for background.
    images : ndarray of shape (200, 25, 25)
        Grey values from 0 to 1.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    images: NDArray[np.float64]


def load_faces() -> Faces:
    """Faces and clutter of the LFW patches in scikit-image; nothing is downloaded.

    Raises
    ------
    MissingExtraError
        scikit-image is not installed.
    """
    try:
        from skimage import data
    except ImportError as error:
        raise MissingExtraError("this demo", package="scikit-image", extra="images") from error
    lfw_subset: Any = data.lfw_subset
    images = np.asarray(lfw_subset(), dtype=np.float64)
    y = np.where(np.arange(len(images)) < 100, 0, BACKGROUND)
    return Faces(hog(images, cell=CELL), y, images)
