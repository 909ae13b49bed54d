"""A margin, and what it decides."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

Verdict = Literal["holds", "fails", "undecided"]
Known = Literal["exact", "at least", "at most"]


class Margin(NamedTuple):
    """How far a condition holds: above 0 it does, below it does not.

    `known` says what the value is where the exact one was not computed.
    """

    value: float
    verdict: Verdict
    known: Known = "exact"


def margin(value: float, rounding: float = 0.0, *, strict: bool) -> Margin:
    """Margin decided by its value; undecided when that is within rounding error of 0."""
    if abs(value) < rounding or (rounding > 0.0 and value == 0.0):
        return Margin(value, "undecided")
    holds = value > 0.0 if strict else value >= 0.0
    return Margin(value, "holds" if holds else "fails")


def rounding_error(sq_norms: float, sq_radius: float) -> float:
    """Relative error that a distance may have when coordinates are as large as these."""
    return 8.0 * float(np.finfo(np.float64).eps) * sq_norms / sq_radius


def together(*verdicts: Verdict) -> Verdict:
    """Whether all hold: one that fails decides, one that is undecided leaves it open."""
    if "fails" in verdicts:
        return "fails"
    return "undecided" if "undecided" in verdicts else "holds"


def shown(value: float) -> float | None:
    """The value for JSON, which knows no infinity."""
    return value if math.isfinite(value) else None
