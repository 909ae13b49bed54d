"""What changes when the bandwidth does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm.display.common import axes, log_axis, points_of_fit, quiet
from crlm.look.colors import PALETTE

if TYPE_CHECKING:
    from crlm.estimator import CRLM
    from crlm.path import SigmaPath


class SweepDisplay:
    """Number of clusters and share of rows in them, against the bandwidth.

    Parameters
    ----------
    sigmas, n_clusters, share : ndarray of shape (n_steps,)
        Of a :class:`crlm.path.SigmaPath`.
    stable : list of tuple of float
        Ranges over which the clusters stay the same, widest first.
    sigma_max : float, optional
        The bandwidth to mark.
    """

    def __init__(
        self,
        sigmas: NDArray[np.float64],
        n_clusters: NDArray[np.intp],
        share: NDArray[np.float64],
        stable: list[tuple[float, float]],
        sigma_max: float | None = None,
    ) -> None:
        self.sigmas, self.n_clusters, self.share = sigmas, n_clusters, share
        self.stable, self.sigma_max = stable, sigma_max

    @classmethod
    def from_path(cls, path: SigmaPath, *, sigma_max: float | None = None, ax: Any = None) -> Self:
        """Draw a path that was walked already."""
        return cls(path.sigmas, path.n_clusters, path.share, path.stable, sigma_max).plot(ax)

    @classmethod
    def from_estimator(cls, model: CRLM, X: Any, sigmas: Any = None, *, ax: Any = None) -> Self:
        """Walk the path of a fitted model around its bandwidth, and draw it.

        `sigmas` are as in :meth:`crlm.CRLM.path`, by default a quarter of the model's bandwidth
        to twice as much.
        """
        points_of_fit(model, X)
        if sigmas is None:
            sigmas = model.sigma_max_ * np.geomspace(0.25, 2.0, 49)
        return cls.from_path(model.path(X, sigmas), sigma_max=model.sigma_max_, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure; the share has an axis of its own, on the right."""
        ax = axes("SweepDisplay.plot", ax)
        right = ax.twinx()
        right.fill_between(
            self.sigmas, 100.0 * self.share, color=PALETTE[5], alpha=0.25, linewidth=0
        )
        (clusters,) = ax.step(
            self.sigmas, self.n_clusters, where="mid", color=PALETTE[0], linewidth=2
        )
        handles = [clusters, right.collections[0]]
        names = ["clusters", "% of rows in them"]
        if self.stable:
            low, high = self.stable[0]
            handles.append(ax.axvspan(low, high, color=PALETTE[2], alpha=0.12, linewidth=0))
            names.append(f"the same from {low:.3g} to {high:.3g}")
        if self.sigma_max is not None:
            handles.append(ax.axvline(self.sigma_max, color=PALETTE[1], linewidth=2))
            names.append(f"sigma_max {self.sigma_max:.3g}")
        self._set_axes(ax, right)
        ax.legend(
            handles, names, loc="upper left", framealpha=0.9, edgecolor="none", fontsize="small"
        )
        self.ax_, self.share_ax_, self.figure_ = ax, right, ax.figure
        return self

    def _set_axes(self, ax: Any, right: Any) -> None:
        log_axis(ax)
        top = int(self.n_clusters.max(initial=1))
        ax.set(
            xlim=(self.sigmas[0], self.sigmas[-1]),
            ylim=(0, 1.5 * max(top, 1)),
            xlabel="sigma_max",
            ylabel="clusters",
            title="Clusters at every bandwidth",
        )
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_zorder(right.get_zorder() + 1)  # lines above the area
        ax.patch.set_visible(False)
        right.set(ylim=(0, max(2.0, 150.0 * float(self.share.max(initial=0.0)))))
        right.set_ylabel("% of rows in clusters")
        quiet(ax)
        right.spines[["top"]].set_visible(False)
