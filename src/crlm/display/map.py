"""The clusters in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm.display.common import axes, points_of_fit
from crlm.labels import BACKGROUND
from crlm.look.colors import GREY, color
from crlm.look.projection import project

if TYPE_CHECKING:
    from crlm.estimator import CRLM


class ClusterMapDisplay:
    """Clusters in colour over a faint background, in two dimensions.

    Parameters
    ----------
    xy : ndarray of shape (n, 2)
        Positions.
    labels : ndarray of shape (n,)
        Clusters, -1 for background.
    """

    def __init__(self, xy: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        self.xy, self.labels = xy, labels

    @classmethod
    def from_estimator(cls, model: CRLM, X: Any, *, ax: Any = None) -> Self:
        """Draw the data of a fitted model, seen along the plane that parts its clusters best.

        Two columns are drawn as they are.
        """
        points = points_of_fit(model, X)
        return cls(project(points, model.cluster_centers_), model.labels_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = axes("ClusterMapDisplay.plot", ax)
        noise = self.labels == BACKGROUND
        k = int(self.labels.max(initial=BACKGROUND)) + 1
        many = len(self.labels) > 20_000  # drawn as pixels, or a PDF of them takes minutes
        ax.scatter(
            *self.xy[noise].T, s=3, color=GREY, alpha=0.3, linewidths=0, rasterized=many, zorder=1
        )
        for j in range(k):
            self._draw_cluster(ax, j, many)
        share = noise.mean() if len(noise) else 0.0
        ax.set(
            xticks=[],
            yticks=[],
            title=f"{k} {'cluster' if k == 1 else 'clusters'}; {share:.1%} of rows are background",
        )
        ax.spines[:].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_cluster(self, ax: Any, j: int, many: bool) -> None:
        members = self.xy[self.labels == j]
        ax.scatter(*members.T, s=8, color=color(j), linewidths=0, rasterized=many, zorder=2)
        ax.annotate(
            f"{j}",
            np.median(members, axis=0),
            xytext=(8, 8),
            textcoords="offset points",
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0},
            zorder=3,
        )
