"""How far an answer can be trusted, in bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crlm.display.common import INK, axes, quiet
from crlm.look.colors import GREY, PALETTE

if TYPE_CHECKING:
    from crlm.certificate import Certificate
    from crlm.estimator import CRLM

_COLORS = {"holds": PALETTE[2], "fails": PALETTE[1], "undecided": GREY}
_LONGEST = 2.0  # a bar is cut here; what is as far as that is far enough
_LEAST = -16.0  # powers of ten


class Bar(NamedTuple):
    """A condition: its margin, above 0 when it holds, and whether that is an estimate."""

    name: str
    margin: float
    verdict: str
    is_estimate: bool


class CertificateDisplay:
    """Margins of the conditions, and the chance of each way to fail.

    Parameters
    ----------
    bars : list of Bar
        Measured conditions (C1, C2, cover, separation, loss), then the paper's assumptions with
        estimates put in (A1, A2, A3, weight).
    log10_terms : dict of str to float
        Terms of the sharp bound, in powers of ten; empty when there is none.
    verdict : {"holds", "fails", "undecided"}
        Whether CRLM must return exactly this partition (Theorem D).
    """

    def __init__(self, bars: list[Bar], log10_terms: dict[str, float], verdict: str) -> None:
        self.bars, self.log10_terms, self.verdict = bars, log10_terms, verdict

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, ax: Any = None) -> Self:
        """Draw a certificate."""
        measured = [
            Bar(name, m.value, m.verdict, False)
            for name, m in certificate.conditions.margins.items()
        ]
        estimated = [
            Bar(name, slack, "holds" if slack > 0.0 else "fails", True)
            for name, slack in certificate.assumptions.slacks.items()
        ]
        found = certificate.guarantee
        terms = {} if found is None else found.log_terms
        log10 = {name: value / math.log(10.0) for name, value in terms.items()}
        return cls([*measured, *estimated], log10, certificate.theorem_d).plot(ax)

    @classmethod
    def from_estimator(cls, model: CRLM, *, ax: Any = None) -> Self:
        """Draw the certificate of a fitted model."""
        from crlm.certificate import certificate_of

        return cls.from_certificate(certificate_of(model, "this figure"), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, which is divided in two, or on a new figure."""
        ax = axes("CertificateDisplay.plot", ax, figsize=(9.0, 4.2))
        ax.axis("off")
        words = {"holds": "certified", "fails": "not certified", "undecided": "undecided"}
        ax.set_title(f"Theorem D: {words[self.verdict]}")
        wide = 0.53 if self.log10_terms else 0.9
        self.margins_ax_ = ax.inset_axes((0.08, 0.1, wide - 0.08, 0.82))
        self._margins(self.margins_ax_)
        self.terms_ax_ = None
        if self.log10_terms:
            self.terms_ax_ = ax.inset_axes((0.72, 0.1, 0.28, 0.82))
            self._terms(self.terms_ax_)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _margins(self, ax: Any) -> None:
        values = [min(max(bar.margin, -_LONGEST), _LONGEST) for bar in self.bars]
        places = [i + 0.6 * bar.is_estimate for i, bar in enumerate(self.bars)]
        ax.barh(
            places,
            values,
            height=0.72,
            color=[_COLORS[bar.verdict] for bar in self.bars],
            alpha=0.85,
        )
        for place, value, bar in zip(places, values, self.bars, strict=True):
            side = "left" if value >= 0.0 else "right"
            shift = 0.05 if value >= 0.0 else -0.05
            ax.text(
                value + shift,
                place,
                _signed(bar.margin),
                ha=side,
                va="center",
                fontsize="small",
                color=INK,
            )
        names = [f"{bar.name} (estimate)" if bar.is_estimate else bar.name for bar in self.bars]
        ax.set_yticks(places, names)
        ax.axvline(0.0, color=INK, linewidth=1)
        ax.set(xlim=(-1.35 * _LONGEST, 1.35 * _LONGEST), xlabel="margin; above 0 it holds")
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        quiet(ax)

    def _terms(self, ax: Any) -> None:
        shown = [max(value, _LEAST) for value in self.log10_terms.values()]
        places = range(len(shown))
        lengths = [value - _LEAST for value in shown]
        ax.barh(places, lengths, left=_LEAST, color=PALETTE[0], alpha=0.85, height=0.6)
        ax.set_yticks(places, list(self.log10_terms))
        for place, value in enumerate(self.log10_terms.values()):
            at = max(value, _LEAST) + 0.4
            words = f"< $10^{{{_LEAST:.0f}}}$" if value < _LEAST else f"$10^{{{value:.1f}}}$"
            ax.text(at, place, words, va="center", fontsize="small", color=INK)
        ax.set(xlim=(_LEAST, max(4.0, *shown) + 4.0), xlabel="chance to fail, estimate")
        ax.xaxis.set_major_formatter("$10^{{{x:.0f}}}$")
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        quiet(ax)


def _signed(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:+.2g}"
