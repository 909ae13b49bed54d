"""The members of each cluster: its middle, its edge, and what nearly made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm.display.common import INK, axes, points_of_fit
from crlm.errors import InputError
from crlm.look.colors import GREY, color
from crlm.look.picks import Picks, pick_rows

if TYPE_CHECKING:
    from crlm.estimator import CRLM

KINDS = {"center": "nearest the middle", "edge": "at the edge", "nearly": "nearly in"}
MAX_CLUSTERS = 10


class GalleryDisplay:
    """Rows of each cluster as pictures, or without any as the curve of their values.

    Parameters
    ----------
    picks : list of Picks
        Rows to show of each cluster.
    tiles : dict of int to ndarray
        Picture of each row, (height, width) or (height, width, 3); or its values, (d,).
    n_clusters : int
        Clusters that there are, of which the first few are shown.
    """

    def __init__(self, picks: list[Picks], tiles: dict[int, NDArray[Any]], n_clusters: int) -> None:
        self.picks, self.tiles, self.n_clusters = picks, tiles, n_clusters

    @classmethod
    def from_estimator(
        cls,
        model: CRLM,
        X: Any,
        images: Sequence[Any] | NDArray[Any] | None = None,
        *,
        n_rows: int = 6,
        ax: Any = None,
    ) -> Self:
        """Draw the first clusters of a fitted model, `n_rows` of each kind.

        `images` has one picture for each row of `X`: arrays, or anything that NumPy can turn
        into one, or the names of files.
        """
        points = points_of_fit(model, X)
        if images is not None and len(images) != len(points):
            msg = (
                f"images has {len(images):,} pictures and X {len(points):,} rows. Pass one "
                f"picture for each row."
            )
            raise InputError(msg)
        middles = model.ball_centers_[:MAX_CLUSTERS]
        picks = pick_rows(points, model.labels_, middles, model.radius_, n_rows)
        rows = [i for found in picks for i in found.rows]
        tiles = {i: points[i] if images is None else _picture(images[i]) for i in rows}
        return cls(picks, tiles, model.n_clusters_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure: a line for each cluster, the three kinds beside."""
        width = self._width
        size = (0.75 * (3 * width + 2.2), 0.85 * max(1, len(self.picks)) + 0.8)
        ax = axes("GalleryDisplay.plot", ax, figsize=size, layout="constrained")
        for at, kind in enumerate(KINDS):
            ax.text(at * (width + 0.6), -0.15, KINDS[kind], va="bottom", color=INK)
            for j, picks in enumerate(self.picks):
                for c, row in enumerate(getattr(picks, kind)):
                    where = at * (width + 0.6) + c, j
                    self._tile(ax, int(row), where, GREY if kind == "nearly" else color(j))
        for j in range(len(self.picks)):
            ax.text(-0.25, j + 0.5, f"{j}", ha="right", va="center", fontweight="bold")
        hidden = self.n_clusters - len(self.picks)
        ax.set(
            xlim=(-0.8, 3 * width + 1.3),
            ylim=(max(1, len(self.picks)) + 0.1, -0.7),
            title="Members of each cluster" + (f"; {hidden} more not shown" if hidden else ""),
        )
        ax.axis("off")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _width(self) -> int:
        return max([1, *(len(getattr(p, kind)) for p in self.picks for kind in KINDS)])

    def _tile(self, ax: Any, row: int, where: tuple[float, float], edge: str) -> None:
        tile = self.tiles[row]
        x, y = where
        box = (x, x + 0.94, y + 0.94, y)
        if tile.ndim > 1:
            ax.imshow(tile, extent=box, cmap="gray", aspect="auto", interpolation="antialiased")
        else:
            ax.plot(*_curve(tile, self._span), color=INK, linewidth=0.5,
                    transform=_shift(x, y) + ax.transData)  # fmt: skip
        frame = [x, x + 0.94, x + 0.94, x, x], [y, y, y + 0.94, y + 0.94, y]
        ax.plot(*frame, color=edge, linewidth=1.5)

    @property
    def _span(self) -> tuple[float, float]:
        values = [tile for tile in self.tiles.values() if tile.ndim == 1]
        return float(np.min(values)), float(np.max(values))


def _curve(values: NDArray[Any], span: tuple[float, float]) -> tuple[Any, Any]:
    """Values from left to right in a box of size 0.94."""
    low, high = span
    place = np.linspace(0.05, 0.89, len(values))
    return place, 0.89 - 0.84 * (values - low) / max(high - low, 1e-300)


def _shift(x: float, y: float) -> Any:
    from matplotlib.transforms import Affine2D

    return Affine2D().translate(x, y)


def _picture(given: Any) -> NDArray[Any]:
    """A picture as an array, read from its file if it is a name."""
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        return _thumbnail(given)
    return np.asarray(given)


def _thumbnail(path: Any) -> NDArray[Any]:
    from PIL import Image

    with Image.open(path) as image:
        image.thumbnail((96, 96))
        return np.asarray(image.convert("RGB"))
