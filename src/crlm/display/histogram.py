"""The distances: where clusters show, and which bandwidths serve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crlm.display.common import INK, axes, log_axis, quiet
from crlm.errors import InputError
from crlm.look.admissible import admissible_interval
from crlm.look.colors import GREY, PALETTE
from crlm.look.gap import empty_gap

if TYPE_CHECKING:
    from crlm.bandwidth.sigma import SigmaEstimate
    from crlm.estimator import CRLM

Interval = tuple[float, float]


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
    plateau : tuple of float, optional
        Bandwidths that serve as well.
    gap : tuple of float, optional
        Stretch without any pair.
    admissible : tuple of float, optional
        Bandwidths that the paper's assumptions A1 to A3 allow.
    """

    def __init__(
        self,
        edges: NDArray[np.float64],
        counts: NDArray[np.float64],
        peaks: list[float],
        sigma_max: float,
        *,
        plateau: Interval | None = None,
        gap: Interval | None = None,
        admissible: Interval | None = None,
    ) -> None:
        self.edges, self.counts, self.peaks, self.sigma_max = edges, counts, peaks, sigma_max
        self.plateau, self.gap, self.admissible = plateau, gap, admissible

    @classmethod
    def from_estimate(
        cls, estimate: SigmaEstimate, *, sigma_max: float | None = None, ax: Any = None
    ) -> Self:
        """Draw what :func:`crlm.estimate_sigma` saw."""
        return cls._of(estimate, sigma_max or estimate.suggested, None).plot(ax)

    @classmethod
    def from_estimator(cls, model: CRLM, *, ax: Any = None) -> Self:
        """Draw what ``sigma_max="auto"`` saw in the data of a fitted model."""
        estimate = model.sigma_estimate_
        if estimate is None:
            msg = (
                "the model was fitted with a given sigma_max, so it holds no histogram. Fit with "
                "sigma_max='auto', or draw crlm.estimate_sigma(X) by from_estimate."
            )
            raise InputError(msg)
        found = model.certificate_
        allowed = None if found is None else admissible_interval(found)
        return cls._of(estimate, model.sigma_max_, allowed).plot(ax)

    @classmethod
    def _of(cls, estimate: SigmaEstimate, sigma_max: float, allowed: Interval | None) -> Self:
        known = not math.isnan(estimate.plateau[0])
        return cls(
            estimate.edges,
            estimate.counts,
            estimate.peaks,
            sigma_max,
            plateau=estimate.plateau if known else None,
            gap=empty_gap(estimate.edges, estimate.counts),
            admissible=allowed,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure. Counts are logarithmic, or the clusters vanish."""
        ax = axes("SigmaHistogramDisplay.plot", ax)
        ax.stairs(np.maximum(self.counts, 0.5), self.edges, fill=True, color=GREY, baseline=0.5)
        self._set_axes(ax)
        self._mark(ax)
        self._bars(ax)
        quiet(ax)
        ax.legend(loc="upper left", framealpha=0.9, edgecolor="none", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_axes(self, ax: Any) -> None:
        used = self.edges[:-1][self.counts > 0]
        low = min([*self.peaks, self.sigma_max, *used[:1]])
        # Room above the bars for the intervals and the legend.
        top = 20.0 * max(float(self.counts.max(initial=1.0)), 10.0)
        log_axis(ax)
        ax.set(
            yscale="log",
            ylim=(0.5, top),
            xlim=(0.8 * low, max(float(self.edges[-1]), 1.1 * self.sigma_max)),
            xlabel="pair distance / sqrt(2d)",
            ylabel="pairs",
            title="Distances pile up at the sigma of each cluster",
        )

    def _mark(self, ax: Any) -> None:
        if self.gap is not None:
            ax.axvspan(*self.gap, color=PALETTE[5], alpha=0.15, linewidth=0, label="no pair")
        for i, peak in enumerate(self.peaks):
            label = None if i else "peaks: " + _listed(self.peaks)
            ax.axvline(peak, color=PALETTE[0], linewidth=1, linestyle="--", label=label)
        label = f"sigma_max {self.sigma_max:.3g}"
        ax.axvline(self.sigma_max, color=PALETTE[1], linewidth=2, label=label)

    def _bars(self, ax: Any) -> None:
        """Draw the intervals of good bandwidths above the histogram."""
        bars = {"plateau": (self.plateau, PALETTE[2]), "A1-A3 allow": (self.admissible, INK)}
        place = 0.045
        for name, (interval, color) in bars.items():
            if interval is None:
                continue
            label = f"{name} {interval[0]:.3g} to {interval[1]:.3g}"
            line = ax.plot(
                interval,
                [place] * 2,
                transform=ax.get_xaxis_transform(),
                color=color,
                linewidth=5,
                solid_capstyle="butt",
                label=label,
            )[0]
            line.set_gid(name)
            place += 0.04


def _listed(values: list[float], limit: int = 5) -> str:
    return ", ".join(f"{v:.2g}" for v in values[:limit]) + (", ..." if values[limit:] else "")
