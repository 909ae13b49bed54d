"""Bandwidths for which success is promised, as in the paper's figures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from crlm.display.common import axes
from crlm.look.colors import GREY, PALETTE
from crlm.theory.guarantees import Kind
from crlm.theory.plan import SigmaMaxInterval, sigma_max_interval

_KINDS: tuple[Kind, ...] = ("sharp", "corrected", "printed")


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
        ax = axes("AdmissibleRegionDisplay.plot", ax)
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
