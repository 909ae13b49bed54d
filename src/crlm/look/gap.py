"""The empty stretch between the distances inside clusters and all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

_LEAST = 1.1  # a stretch shorter than a tenth of its place is an accident


def empty_gap(edges: F64, counts: F64) -> tuple[float, float] | None:
    """Widest run of bins without a pair that has pairs on both sides; None if there is none.

    >>> edges = 2.0 ** np.arange(7)
    >>> empty_gap(edges, np.array([3.0, 1.0, 0.0, 0.0, 5.0, 9.0]))
    (4.0, 16.0)
    >>> empty_gap(edges, np.ones(6)) is None
    True
    """
    used = np.flatnonzero(counts > 0)
    if len(used) < 2:
        return None
    low, high = edges[used[:-1] + 1], edges[used[1:]]
    at = int(np.argmax(high / low))
    return (float(low[at]), float(high[at])) if high[at] >= _LEAST * low[at] else None
