"""Numbers as people write them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Three significant digits, as a person would write them.

    >>> number(0.99712), number(-478.3), number(0.01234), number(123456.0), number(2e9)
    ('0.997', '−478', '0.0123', '123,456', '2.00e+09')
    """
    if not math.isfinite(value):
        return "–"
    size = abs(float(f"{value:.3g}"))  # 9.996 is 10.0, not 10.00
    if size >= 1e7 or 0 < size < 1e-4:
        return f"{value:.2e}".replace("-", "−", 1) if value < 0 else f"{value:.2e}"
    decimals = 2 if size == 0 else max(0, 2 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}".replace("-", "−")


def count(n: int, noun: str) -> str:
    """Number of things, in words.

    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
