"""Memory: what a search may take, and a refusal before it takes more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crlm.errors import MemoryLimitError
from crlm.search.distance import Floats, sq_distances_of_pairs
from crlm.search.pairs import BYTES_PER_PAIR

_N_PROBES = 64
_PROBE_WORK = 1 << 21  # numbers that each probe reads


class Budget:
    """Counts the pairs of one search against the bytes it may use."""

    def __init__(self, X: Floats, sq_cutoff: float, *, limit: int, workspace: int) -> None:
        self._X, self._sq_cutoff, self._limit, self._workspace = X, sq_cutoff, limit, workspace
        self._max_pairs = (limit - workspace) / BYTES_PER_PAIR
        self._n_pairs = 0

    def probe(self) -> None:
        """Refuse at once when a sample of rows says that the pairs will not fit.

        The sample errs by some percent, so only a clear excess is refused here; `add` keeps
        the exact account.
        """
        if self._max_pairs < 0:
            raise self._error(0.0)
        n = len(self._X)
        if n * (n - 1) / 2 <= self._max_pairs:
            return
        expected = float((self._probe_distances() < self._sq_cutoff).mean()) * n * (n - 1) / 2
        if expected > 1.25 * self._max_pairs:
            raise self._error(expected)

    def add(self, n_pairs: int, *, share: float) -> None:
        """Account for pairs about to be kept, after `share` of the work."""
        self._n_pairs += n_pairs
        if self._n_pairs > self._max_pairs:
            raise self._error(self._n_pairs / share)

    def _probe_distances(self) -> NDArray[np.float64]:
        """Squared distances between some evenly spaced rows and more of them."""
        n, d = self._X.shape
        some = np.unique(np.linspace(0, n - 1, _N_PROBES).astype(np.intp))
        more = np.unique(np.linspace(0, n - 1, max(_PROBE_WORK // d, _N_PROBES)).astype(np.intp))
        i, j = (part.ravel() for part in np.meshgrid(some, more))
        i, j = i[i != j], j[i != j]
        return sq_distances_of_pairs(self._X, i, self._X, j)

    def _error(self, expected: float) -> MemoryLimitError:
        n, d = self._X.shape
        all_pairs = n * (n - 1) / 2
        needed = self._workspace + expected * BYTES_PER_PAIR
        raise_to = f"memory_limit='{math.ceil(1.1 * needed / 1e6):d}MB'"
        if self._max_pairs <= 0:
            msg = (
                f"memory_limit of {_bytes(self._limit)} is less than the {_bytes(needed)} that "
                f"the search over {n:,} rows x {d:,} columns works in. Pass {raise_to} or more."
            )
            return MemoryLimitError(msg)
        share = 0.8 * self._max_pairs / all_pairs
        fits = math.sqrt(np.quantile(self._probe_distances(), min(share, 1.0)) / self._sq_cutoff)
        smaller = (
            f"use at most {fits:.2g} times this sigma_max"
            if fits > 0
            else "drop exact duplicates of rows"
        )
        msg = (
            f"the radius {math.sqrt(self._sq_cutoff):.4g} reaches about {expected:,.0f} of "
            f"{all_pairs:,.0f} pairs ({expected / all_pairs:.2g} of all), which takes about "
            f"{_bytes(needed)}, over the memory limit of {_bytes(self._limit)}. A ball that "
            f"wide takes in the background: {smaller}, or pass {raise_to}."
        )
        return MemoryLimitError(msg)


def _bytes(n: float) -> str:
    """Write a number of bytes the way people read it.

    >>> _bytes(52_000_000_000), _bytes(300_000_000)
    ('52.0 GB', '300 MB')
    """
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB"
