"""How much of everything a report holds, so that it can be sent by mail."""

from __future__ import annotations

from typing import NamedTuple

MAX_BYTES = 5_000_000


class Limits(NamedTuple):
    """Numbers of things shown; whatever is left out is said where it is missing."""

    clusters: int = 50  # with a gallery
    tiles: int = 8  # rows of each kind in a gallery
    thumb: int = 96  # pixels of a picture
    table: int = 500  # clusters in the table
    pairs: int = 300_000  # for the live bandwidth
    points: int = 100_000  # on the live map
    captions: int = 300_000  # letters about the points of the map
    labels: int = 200_000  # rows whose labels are inside the file
    confusion: int = 20  # lines and columns against the truth


# Tried one after the other until a report is small enough.
LEVELS = (
    Limits(),
    Limits(captions=0, tiles=6, thumb=80),
    Limits(captions=0, clusters=30, tiles=5, thumb=64, points=50_000, pairs=150_000),
    Limits(captions=0, clusters=15, tiles=4, thumb=48, points=20_000, pairs=60_000, labels=50_000),
    Limits(captions=0, clusters=8, tiles=3, thumb=40, points=5_000, pairs=0, labels=10_000),
)
