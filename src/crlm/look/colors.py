"""Colours that colour-blind readers can tell apart, on white and on black."""

from __future__ import annotations

# Okabe and Ito's, with an olive instead of their yellow, which white swallows; and the same hues
# lighter for a dark page, on which their blue is lost. The page has the same in colours.js.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00")
PALETTE_DARK = ("#4ea8e6", "#ff8a50", "#2fcf9f", "#f0a3cd", "#ffc14d", "#9adcff", "#f0e442")
GREY = "#999999"


def color(j: int) -> str:
    """Colour of cluster j; after seven they come again, so numbers stand beside them."""
    return PALETTE[j % len(PALETTE)]
