"""Make a small model file of the current format; run once for each format."""

import sys
from pathlib import Path

import numpy as np

from crlm import CRLM, record


def points():
    """Two tight groups among 40 points of background, in three dimensions, all exact decimals."""
    rng = np.random.default_rng(0)
    background = rng.integers(-400, 400, (40, 3)) / 8
    groups = [rng.integers(-4, 5, (12, 3)) / 8 + 20 * j for j in (1, -1)]
    return np.concatenate([*groups, background])


def points_of_two_widths():
    """A wide group and a narrow one in a plane, among 200 points of background."""
    rng = np.random.default_rng(2)
    background = rng.integers(-640, 640, (200, 2)) / 8
    wide = np.rint(24 * rng.normal(size=(50, 2))) / 8 + [30, 0]
    narrow = np.rint(2 * rng.normal(size=(9, 2))) / 8 - [30, 0]
    return np.concatenate([wide, narrow, background])


if __name__ == "__main__":
    X = points() if "v1" in sys.argv[1] else points_of_two_widths()
    source = record.Source(Path("points.npy"), len(X), {"columns": [f"0:{X.shape[1] - 1}"]})
    model = record.with_source(
        CRLM(metric="euclidean").fit(X), source, {"command": "fit", "values": {}, "origins": {}}
    )
    model.save(sys.argv[1])
