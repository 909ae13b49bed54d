"""An estimate of sigma_max in words for people and as numbers for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crlm.cli.common import number

if TYPE_CHECKING:
    from crlm.bandwidth.sigma import SigmaEstimate

MAX_NAMED = 8


def estimate_record(estimate: SigmaEstimate) -> dict[str, Any]:
    """Plain numbers, for JSON; the histogram and the curve are left to Python."""
    return {
        "suggested": float(estimate.suggested),
        "evidence": estimate.evidence,
        "peaks": [float(peak) for peak in estimate.peaks],
        "plateau": [float(end) for end in estimate.plateau],
        "gap": float(estimate.gap),
        "score": float(estimate.score),
        "alternatives": [float(sigma) for sigma in estimate.alternatives],
        "rare": estimate.rare,
    }


def evidence(estimate: SigmaEstimate, scale: float = 1.0) -> str:
    """How sure the estimate is, and within which limits another bandwidth serves as well.

    `scale` is the bandwidth used over the one suggested, which differ when G is not 4.
    """
    low, high = (scale * end for end in estimate.plateau)
    if not low < high:  # a guess, a single bandwidth, or the paper's rule, which has no plateau
        return estimate.evidence
    only = "" if estimate.evidence == "clear" else "only "
    return f"{estimate.evidence}, as good {only}from {number(low)} to {number(high)}"


def listed(values: list[float]) -> str:
    """Numbers in a row, the first few of many.

    >>> listed([1.0, 3.0]), listed([float(i) for i in range(1, 11)])[-18:]
    ('1.00, 3.00', '7.00, 8.00, 2 more')
    """
    names = [number(value) for value in values[:MAX_NAMED]]
    more = len(values) - len(names)
    return ", ".join([*names, *([f"{more:,} more"] if more else [])])
