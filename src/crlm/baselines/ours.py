"""CRLM beside its competitors, and the supervised line that none can pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from crlm.baselines.common import Floats, Labels, Method, Trial, means_of
from crlm.errors import WeakEvidenceWarning
from crlm.estimator import CRLM


class Given(Method):
    """Algorithm 2 of the paper at one sigma_max, or at the best of several."""

    name: ClassVar[str] = "CRLM"

    def __init__(
        self, sigmas: float | list[float], seed: int = 0, *, background: bool = True
    ) -> None:
        super().__init__(seed, background=background)
        self.sigmas = [sigmas] if isinstance(sigmas, float) else sigmas

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """One for each sigma_max."""
        for sigma in self.sigmas:
            model = CRLM(sigma, max_clusters=k, alpha=None).fit(X)
            yield Trial(f"sigma_max {sigma:.4g}", model.labels_, model.cluster_centers_)


class Auto(Method):
    """CRLM() as it comes: no bandwidth, no number of clusters, no truth."""

    name: ClassVar[str] = "CRLM()"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """The one answer; k is not used."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakEvidenceWarning)
            model = CRLM().fit(X)
        yield Trial(f"sigma_max {model.sigma_max_:.4g}", model.labels_, model.cluster_centers_)


class Supervised(Method):
    """Means from the true labels: what any clustering can hope for."""

    name: ClassVar[str] = "Supervised"

    def __init__(self, y: Labels, seed: int = 0) -> None:
        super().__init__(seed)
        self.y = np.asarray(y, dtype=np.int64)

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """The truth itself."""
        yield Trial("true labels", self.y, means_of(X, self.y))
