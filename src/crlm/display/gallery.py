"""The members of clusters: their middle, their edge, and what nearly made it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm.display.common import INK, axes, points_of_fit
from crlm.errors import InputError
from crlm.gallery import Picks, pick_rows
from crlm.images import padded
from crlm.look.colors import GREY, PALETTE, color

if TYPE_CHECKING:
    from crlm.estimator import CRLM

Pictures = Sequence[Any] | NDArray[Any]

MAX_CLUSTERS = 10
_TILE = 48  # pixels of a picture
_BOX = 0.94  # side of a tile, of 1


class GalleryDisplay:
    """Rows of clusters as pictures, or without any as curves of their values.

    Parameters
    ----------
    picks : dict of int to Picks
        Rows to show of each cluster, from :func:`crlm.gallery.pick_rows`.
    tiles : dict of int to ndarray
        Of each row its picture, (size, size, 3), or its values, (d,).
    n_clusters : int
        Clusters that there are; not all need be shown.
    marked : collection of int
        Rows to frame, such as known mistakes.
    """

    def __init__(
        self,
        picks: dict[int, Picks],
        tiles: dict[int, NDArray[Any]],
        n_clusters: int,
        marked: Collection[int] = (),
    ) -> None:
        self.picks, self.tiles, self.n_clusters, self.marked = picks, tiles, n_clusters, marked

    @classmethod
    def from_estimator(
        cls,
        model: CRLM,
        X: Any,
        images: Pictures | None = None,
        *,
        cluster: int | None = None,
        limit: int | None = None,
        marked: Collection[int] = (),
        ax: Any = None,
    ) -> Self:
        """Draw clusters of a model that was fitted on `X`.

        Parameters
        ----------
        model : CRLM
        X : array-like
        images : sequence of path or ndarray, optional
            The picture of each row of `X`.
        cluster : int, optional
            The cluster to show; None for the first ten, a line each.
        limit : int, optional
            Rows of each kind: by default 24 of one cluster, 6 of several.
        marked : collection of int
            Rows to frame.
        ax : Axes, optional
        """
        points = points_of_fit(model, X)
        if images is not None and len(images) != len(points):
            msg = (
                f"there are {len(images):,} images for {len(points):,} rows. Pass one picture "
                f"for each row."
            )
            raise InputError(msg)
        limit = limit or (6 if cluster is None else 24)
        which = range(min(model.n_clusters_, MAX_CLUSTERS)) if cluster is None else [cluster]
        picks = {j: pick_rows(model, X, j, limit) for j in which}
        rows = {int(i) for found in picks.values() for kind in found[:3] for i in kind}
        tiles = {i: points[i] if images is None else padded(images[i], _TILE) for i in rows}
        return cls(picks, tiles, model.n_clusters_, marked).plot(ax)

    def plot(self, ax: Any = None, *, columns: int = 12) -> Self:
        """Draw on `ax`, or on a new figure: several clusters as lines, one in so many columns."""
        size = (0.62 * (3 * self._width + 2), 0.7 * max(1, len(self.picks)) + 0.8)
        if len(self.picks) == 1:
            size = (10.0, 7.6)
        ax = axes("GalleryDisplay.plot", ax, figsize=size, layout="constrained")
        if len(self.picks) == 1:
            self._one(ax, columns)
        else:
            self._several(ax)
        ax.set_aspect("equal")
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _one(self, ax: Any, columns: int) -> None:
        """Bands of one cluster, one below the other."""
        (picks,) = self.picks.values()
        bands = {
            "middle: members nearest the centre": picks.middle,
            "edge: members farthest from it": picks.edge,
            "nearly in: the nearest background": picks.nearly_in,
        }
        top = 0.0
        for title, rows in bands.items():
            ax.text(0, top + 0.5, f"{title} ({_span(picks.reach[rows])})", color=INK)
            top += 0.6
            for i, row in enumerate(rows):
                self._tile(ax, int(row), (i % columns, top + i // columns))
            top += -(-len(rows) // columns)
        ax.set(xlim=(-0.05, columns), ylim=(top, 0))

    def _several(self, ax: Any) -> None:
        """A line for each cluster, its three kinds side by side."""
        step = self._width + 0.6
        words = ("nearest the middle", "at the edge", "nearly in")
        for at, title in enumerate(words):
            ax.text(at * step, -0.15, title, va="bottom", color=INK)
        for line, (j, picks) in enumerate(self.picks.items()):
            ax.text(-0.25, line + 0.5, f"{j}", ha="right", va="center", fontweight="bold")
            for at, rows in enumerate(picks[:3]):
                for c, row in enumerate(rows):
                    edge = GREY if at == 2 else color(j)
                    self._tile(ax, int(row), (at * step + c, line), edge)
        hidden = self.n_clusters - len(self.picks)
        ax.set(
            xlim=(-0.8, 2 * step + self._width + 0.1),
            ylim=(max(1, len(self.picks)) + 0.1, -0.7),
            title="Members of each cluster" + (f"; {hidden} more not shown" if hidden else ""),
        )

    @property
    def _width(self) -> int:
        return max([1, *(len(rows) for picks in self.picks.values() for rows in picks[:3])])

    def _tile(self, ax: Any, row: int, where: tuple[float, float], edge: str | None = None) -> None:
        tile, (x, y) = self.tiles[row], where
        if tile.ndim > 1:
            box = (x, x + _BOX, y + _BOX, y)
            ax.imshow(tile, extent=box, cmap="gray", interpolation="nearest")
        else:
            across, down = _curve(tile, self._range)
            ax.plot(x + across, y + down, color=INK, linewidth=0.5)
            edge = edge or GREY
        if row in self.marked:
            edge = PALETTE[1]
        if edge is not None:
            frame = [x, x + _BOX, x + _BOX, x, x], [y, y, y + _BOX, y + _BOX, y]
            ax.plot(*frame, color=edge, linewidth=3 if row in self.marked else 1.5)

    @property
    def _range(self) -> tuple[float, float]:
        values = [tile for tile in self.tiles.values() if tile.ndim == 1]
        return float(np.min(values)), float(np.max(values))


def _curve(values: NDArray[Any], limits: tuple[float, float]) -> tuple[Any, Any]:
    """Values from left to right in a tile."""
    low, high = limits
    across = np.linspace(0.05, _BOX - 0.05, len(values))
    return across, _BOX - 0.05 - (_BOX - 0.1) * (values - low) / max(high - low, 1e-300)


def _span(reach: NDArray[np.float64]) -> str:
    if len(reach) == 0:
        return "none"
    return f"{reach.min():.2f} to {reach.max():.2f} of the radius"
