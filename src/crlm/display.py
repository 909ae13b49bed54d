"""Pictures. A display holds numbers; drawing them is separate and needs matplotlib."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crlm.errors import InputError, MissingExtraError
from crlm.gallery import Picks, pick_rows
from crlm.images import padded
from crlm.labels import BACKGROUND
from crlm.theory.guarantees import Kind
from crlm.theory.plan import SigmaMaxInterval, sigma_max_interval

if TYPE_CHECKING:
    from crlm.estimator import CRLM

# Okabe and Ito's colours, told apart by colour-blind readers too.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
GREY = "#999999"

Pictures = Sequence[Any] | NDArray[Any]

_KINDS: tuple[Kind, ...] = ("sharp", "corrected", "printed")


class SigmaHistogramDisplay:
    """Histogram of pair distances over sqrt(2 d): clusters peak at their sigma.

    Parameters
    ----------
    edges, counts : ndarray
        The histogram; edges of equal ratio.
    peaks : list of float
        Estimated sigmas of clusters.
    sigma_max : float
        The bandwidth to mark.
    """

    def __init__(
        self,
        edges: NDArray[np.float64],
        counts: NDArray[np.float64],
        peaks: list[float],
        sigma_max: float,
    ) -> None:
        self.edges, self.counts, self.peaks, self.sigma_max = edges, counts, peaks, sigma_max

    @classmethod
    def from_estimator(cls, model: CRLM, *, ax: Any = None) -> Self:
        """Draw what ``sigma_max="auto"`` saw in the data of a fitted model."""
        estimate = model.sigma_estimate_
        if estimate is None:
            msg = (
                "the model was fitted with a given sigma_max, so it holds no histogram. Fit with "
                "sigma_max='auto', or draw crlm.estimate_sigma(X)."
            )
            raise InputError(msg)
        return cls(estimate.edges, estimate.counts, estimate.peaks, model.sigma_max_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure. Counts are logarithmic, or the clusters vanish."""
        ax = _axes("SigmaHistogramDisplay.plot", ax)
        ax.stairs(np.maximum(self.counts, 0.5), self.edges, fill=True, color=GREY, baseline=0.5)
        for peak in self.peaks:
            ax.axvline(peak, color=PALETTE[0], linewidth=1)
        ax.axvline(
            self.sigma_max, color=PALETTE[1], linewidth=2, label=f"sigma_max {self.sigma_max:.3g}"
        )
        low = min([*self.peaks, self.sigma_max, *self.edges[:-1][self.counts > 0][:1]])
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(0.5, None),
            xlim=(0.8 * low, self.edges[-1]),
            xlabel="pair distance / sqrt(2d)",
            ylabel="pairs",
            title="Distances pile up at the sigma of each cluster",
        )
        ax.xaxis.set_major_formatter("{x:g}")
        handles = [ax.lines[-1]]
        if self.peaks:
            ax.lines[0].set_label("peaks: " + ", ".join(f"{p:.2g}" for p in self.peaks[:5]))
            handles.insert(0, ax.lines[0])
        ax.legend(handles=handles, loc="upper left", framealpha=1.0, edgecolor="none")
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
        """Draw the data of a fitted model, seen along the plane that parts its clusters best."""
        points = np.asarray(X, dtype=np.float64)
        if len(points) != len(model.labels_):
            msg = (
                f"X has {len(points)} rows, the model was fitted on {len(model.labels_)}. Pass "
                f"the data of fit."
            )
            raise InputError(msg)
        return cls(_project(points, model.cluster_centers_), model.labels_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = _axes("ClusterMapDisplay.plot", ax)
        noise = self.labels == BACKGROUND
        ax.scatter(*self.xy[noise].T, s=3, color=GREY, alpha=0.3, linewidths=0)
        for j in range(int(self.labels.max(initial=BACKGROUND)) + 1):
            members = self.xy[self.labels == j]
            ax.scatter(*members.T, s=8, color=PALETTE[j % len(PALETTE)], linewidths=0)
            ax.annotate(
                f"{j}",
                np.median(members, axis=0),
                xytext=(8, 8),
                textcoords="offset points",
                fontweight="bold",
            )
        share = noise.mean() if len(noise) else 0.0
        k = int(self.labels.max(initial=BACKGROUND)) + 1
        ax.set(
            xticks=[],
            yticks=[],
            title=f"{k} {'cluster' if k == 1 else 'clusters'}; {share:.1%} of rows are background",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


class GalleryDisplay:
    """Pictures of one cluster: its middle, its edge, and the background that is nearly in.

    Parameters
    ----------
    picks : Picks
        Rows to show, from :func:`crlm.gallery.pick_rows`.
    images : sequence of path or ndarray
        The picture of each row of the data.
    marked : collection of int
        Rows to frame, such as known mistakes.
    """

    def __init__(self, picks: Picks, images: Pictures, marked: Collection[int] = ()) -> None:
        self.picks, self.images, self.marked = picks, images, marked

    @classmethod
    def from_estimator(
        cls,
        model: CRLM,
        X: Any,
        images: Pictures,
        *,
        cluster: int = 0,
        limit: int = 24,
        marked: Collection[int] = (),
        ax: Any = None,
    ) -> Self:
        """Draw a cluster of a model that was fitted on `X`, at most `limit` pictures a kind."""
        if len(images) != len(model.labels_):
            msg = f"there are {len(images):,} images for {len(model.labels_):,} rows."
            raise InputError(msg)
        return cls(pick_rows(model, X, cluster, limit), images, marked).plot(ax)

    def plot(self, ax: Any = None, *, tile: int = 48, columns: int = 12) -> Self:
        """Draw on `ax`, or on a new figure: pictures of `tile` pixels in so many columns."""
        ax = _axes("GalleryDisplay.plot", ax, figsize=(10, 7.6), layout="constrained")
        bands = {
            "middle: members nearest the centre": self.picks.middle,
            "edge: members farthest from it": self.picks.edge,
            "nearly in: the nearest background": self.picks.nearly_in,
        }
        top, step = 0.0, tile + 4
        for title, rows in bands.items():
            ax.text(0, top + 0.5 * step, f"{title} ({_span(self.picks.reach[rows])})")
            top += 0.6 * step
            for i, row in enumerate(rows):
                x, y = (i % columns) * step, top + (i // columns) * step
                self._draw_tile(ax, int(row), x, y, tile)
            top += step * -(-len(rows) // columns)
        ax.set(xlim=(-2, columns * step), ylim=(top, 0), aspect="equal")
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_tile(self, ax: Any, row: int, x: float, y: float, tile: int) -> None:
        box = (x, x + tile, y + tile, y)
        ax.imshow(padded(self.images[row], tile), extent=box, interpolation="nearest")
        if row in self.marked:
            edges = ([x, x + tile, x + tile, x, x], [y, y, y + tile, y + tile, y])
            ax.plot(*edges, color=PALETTE[1], linewidth=3)


def _span(reach: NDArray[np.float64]) -> str:
    if len(reach) == 0:
        return "none"
    return f"{reach.min():.2f} to {reach.max():.2f} of the radius"


class AdmissibleRegionDisplay:
    """Bandwidths for which success is promised, against the dimension, as in the paper's figures.

    Parameters
    ----------
    dimensions : list of float
    intervals : dict
        For each kind of theorem one interval per dimension.
    """

    def __init__(
        self, dimensions: list[float], intervals: dict[str, list[SigmaMaxInterval]]
    ) -> None:
        self.dimensions, self.intervals = dimensions, intervals

    @classmethod
    def from_numbers(
        cls,
        n: float,
        d: float,
        weights: ArrayLike,
        sigmas: ArrayLike,
        D: float,
        *,
        sigma_max: float | None = None,
        dimensions: list[float] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the region for some dimensions, by default d / 5 to 5 d.

        `options` are those of :func:`crlm.theory.sigma_max_interval`; `sigma_max` is marked.
        """
        if dimensions is None:
            dimensions = sorted({float(max(1, round(x))) for x in np.geomspace(d / 5, d * 5, 7)})
        intervals: dict[str, list[SigmaMaxInterval]] = {
            kind: [
                sigma_max_interval(n, x, weights, sigmas, D, **options, kind=kind)
                for x in dimensions
            ]
            for kind in _KINDS
        }
        shown = cls(dimensions, intervals).plot(ax)
        if sigma_max is not None:
            shown.ax_.plot([d], [sigma_max], "o", color="black", label="this setting")
            shown.ax_.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return shown

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = _axes("AdmissibleRegionDisplay.plot", ax)
        for (kind, found), color in zip(self.intervals.items(), PALETTE, strict=False):
            low, high = np.array([[i.lower, i.upper] for i in found]).T
            ax.fill_between(self.dimensions, low, high, color=color, alpha=0.2, label=kind)
        lines = {"A3": "a3", "A1": "a1", "A2": "a2", "weight": "weight", "theorem": "theorem"}
        styles = ("-", "--", "-.", ":", (0, (5, 1)))
        for (name, field), style in zip(lines.items(), styles, strict=True):
            values = np.array([getattr(i, field) for i in self.intervals["corrected"]])
            if np.isfinite(values).any():
                shown = np.where(np.isfinite(values), values, np.nan)
                ax.plot(self.dimensions, shown, linestyle=style, color=GREY, label=name)
        ax.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="sigma_max")
        ax.set_title("Where success is promised")
        ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _axes(caller: str, ax: Any, **figure: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(caller, package="matplotlib", extra="plot") from error
    return plt.subplots(**figure)[1] if ax is None else ax


def _project(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates along the two directions in which the centres, or else the data, vary most.

    In high dimension the two directions of largest variance of background-dominated data show
    only background; the plane of the cluster centres shows the clusters.
    """
    middle = X.mean(axis=0)
    basis = np.linalg.svd(centers - middle, full_matrices=False)[2][:2]
    if len(basis) < 2:
        rest = X - middle
        rest -= rest @ basis.T @ basis
        basis = np.concatenate([basis, np.linalg.svd(rest, full_matrices=False)[2]])[:2]
    xy = np.zeros((len(X), 2))
    xy[:, : len(basis)] = (X - middle) @ basis.T
    return xy
