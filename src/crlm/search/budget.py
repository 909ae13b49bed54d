"""Memory: what a search may take, and a refusal before it takes more."""

from __future__ import annotations

import math
from typing import NamedTuple

from crlm.errors import MemoryLimitError
from crlm.search.pairs import BYTES_PER_PAIR


class Budget(NamedTuple):
    """Bytes for one search: some to work in, the rest for pairs."""

    n: int  # rows
    limit: int
    workspace: int
    bytes_per_pair: int = BYTES_PER_PAIR

    @property
    def max_pairs(self) -> float:
        """Number of pairs that fit."""
        return (self.limit - self.workspace) / self.bytes_per_pair

    def needed(self, n_pairs: float) -> float:
        """Bytes for a search that finds so many pairs."""
        return self.workspace + n_pairs * self.bytes_per_pair

    def check(self, n_pairs: float, *, doubt: float = 0.0) -> None:
        """Refuse to keep more pairs than fit, unless `doubt` in their number leaves hope."""
        if (1.0 - doubt) * n_pairs > self.max_pairs:
            raise MemoryLimitError(self._refusal(n_pairs))

    def _refusal(self, n_pairs: float) -> str:
        needed = self.needed(n_pairs)
        enough = f"memory_limit='{math.ceil(1.1 * needed / 1e6)}MB'"
        if not n_pairs:
            return (
                f"a search over {self.n:,} rows works in about {in_words(needed)}, over the memory "
                f"limit of {in_words(self.limit)}. Pass {enough}, or use fewer threads."
            )
        return (
            f"the radius takes in about {n_pairs:,.0f} pairs of {self.n:,} rows, which takes about "
            f"{in_words(needed)}, over the memory limit of {in_words(self.limit)}. Use a smaller "
            f"sigma_max, or pass {enough}."
        )


def in_words(n_bytes: float) -> str:
    """Write a number of bytes the way people read it.

    >>> in_words(52_000_000_000), in_words(300_000_000), in_words(1000)
    ('52.0 GB', '300 MB', '1 kB')
    """
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
