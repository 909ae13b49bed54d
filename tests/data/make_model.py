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


if __name__ == "__main__":
    X = points()
    source = record.Source(Path("points.npy"), len(X), {"columns": ["0:2"]})
    model = record.with_source(
        CRLM(metric="euclidean").fit(X), source, {"command": "fit", "values": {}, "origins": {}}
    )
    model.save(sys.argv[1])
