r"""The filter on whole numbers of sixteen bits, which a processor multiplies faster than floats.

Coordinates (:mod:`crlm.search.filter`) are rounded to multiples q of a step h. With w columns
``|q - c| <= e = 0.51 h sqrt(w)`` (c / h is rounded too, in float32), so

.. math:: c_a c_b \le q_a q_b + |c_a| e + |q_b| e \le q_a q_b + e (|a| + |b| + e),

and with ``t = -s / 2 + e |a| + e^2 / 2`` the sum ``t_a + t_b + q_a q_b`` is at least ``-V / 2``. In
units of ``h^2``, t rounded up, it is a sum of whole numbers and has no rounding of its own; pairs
with a sum of at most ``-cutoff / 2``, rounded down, are too far.

No sum leaves 32 bits: no row is longer than 32,000 steps, so that ``t >= -32000^2 / 2`` and, as
long as w is below 160,000, any part of ``q_a q_b`` is within ``(32000 + 210)^2``. Nor is R longer
than 32,768 steps, so that -2^30 for t keeps a row that is not there from all others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LONGEST = 32_000.0  # steps
MISSING = -(2**30)  # as t of a row that is not there
# Worth it while what is added to V is small beside the cutoff: pairs are kept for nothing where it
# is not, and their number grows with a high power of the radius.
_LITTLE = 2.0**-7


class Whole(NamedTuple):
    """The step of the numbers, and what rounding to it costs."""

    step: float
    error: float  # e

    @classmethod
    def of(cls, norm: float, width: int, cutoff: float) -> Whole | None:
        """For rows no longer than `norm` of so many columns; None where it would not be sharp."""
        step = max(norm / _LONGEST, math.sqrt(cutoff) * 2.0**-15)
        error = 0.51 * step * math.sqrt(width)
        sharp = 2.0 * error * (2.0 * norm + error) < _LITTLE * cutoff
        return cls(step, error) if sharp else None

    @property
    def unit(self) -> float:
        """What a sum of one stands for."""
        return self.step**2

    def limit(self, cutoff: float) -> int:
        """Pairs with a sum above it may be near."""
        return math.floor(-0.5 * cutoff / self.unit) - 1  # one less, for a division is rounded

    def columns(
        self, c: NDArray[np.float32], s: NDArray[np.float32], lengths: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """Rows of q, two columns in a number, and of t.

        `s` and the lengths of the rows are columns, of shape (n, 1).
        """
        n, w = c.shape
        q = np.zeros((n, w + w % 2), dtype=np.int16)
        np.rint(c * (1.0 / self.step), out=q[:, :w], casting="unsafe")
        out = np.empty((n, q.shape[1] // 2 + 1), dtype=np.int32)
        out[:, :-1] = q.view(np.int32)
        t = -0.5 * s + self.error * (lengths + 0.5 * self.error)
        out[:, -1:] = np.floor(t / self.unit) + 2.0  # one more than up, for a division is rounded
        return out
