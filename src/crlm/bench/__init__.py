"""crlm beside the exact peers, as ratios measured in one run, answers compared.

::

    data: X, radius --> programs: crlm and its peers --> measure: time, answer --> Row
                                                     --> memory: in a process of its own

``crlm bench`` is a short version; the scripts in ``benchmarks/`` are the long one.
"""

from __future__ import annotations

from crlm.bench.measure import Row, compare, exponent, missing, time_of, time_over_floor
from crlm.bench.programs import FITS, PAIRS

__all__ = [
    "FITS",
    "PAIRS",
    "Row",
    "compare",
    "exponent",
    "missing",
    "time_of",
    "time_over_floor",
]
