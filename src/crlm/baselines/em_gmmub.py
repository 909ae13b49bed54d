r"""EM for Gaussians with a uniform background, the paper's EM for GMMUB.

Isotropic Gaussians and one uniform component over the smallest ball around the middle of the
data, or over their box. Everything is kept as logarithms: in d = 1000 a density is no float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crlm.baselines.common import Floats, Method, Trial
from crlm.labels import BACKGROUND

# A Gaussian on a single row has no width, and its likelihood no bound. A thousandth of the
# spread of the data is far below any cluster that could be seen in it.
_NARROWEST = 1e-3
_COMPANY = 5  # rows that say how wide a start shall be
_ALONE = 1.5  # rows; a component of less is that accident and no cluster


class Mixture(NamedTuple):
    """Parameters, and the log-likelihood they give."""

    means: Floats
    sigmas: Floats
    log_weights: Floats  # the background last
    log_likelihood: float


class EMGMMUB(Method):
    """EM for a Gaussian mixture with uniform background, best likelihood of some restarts.

    Parameters
    ----------
    seed : int, default=0
    restarts : int, default=10
        As in the paper. Each starts from rows of the data: any rows, or rows far apart.
    support : {"ball", "box"}, default="ball"
        Where the background is uniform.
    """

    name: ClassVar[str] = "EM-GMMUB"

    def __init__(
        self,
        seed: int = 0,
        *,
        background: bool = True,
        restarts: int = 10,
        support: Literal["ball", "box"] = "ball",
        max_iter: int = 200,
    ) -> None:
        super().__init__(seed, background=background)
        self.restarts, self.support, self.max_iter = restarts, support, max_iter

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Fit of the largest likelihood."""
        points = X - X.mean(axis=0)
        log_volume = _log_volume(points, self.support)
        rng = np.random.default_rng(self.seed)
        # Far rows part clusters from one another, but are often background; so both are tried.
        starts = [_start(points, k, rng, spread=i % 2 == 1) for i in range(self.restarts)]
        fits = [self._fit(points, start, log_volume) for start in starts]
        best = max(fits, key=lambda fit: (not _has_collapsed(fit, len(X)), fit.log_likelihood))
        joint = _log_joint(points, best, log_volume)
        labels = joint.argmax(axis=1).astype(np.int64)
        labels[labels == k] = BACKGROUND
        yield Trial(f"best of {self.restarts} starts", labels, best.means + X.mean(axis=0))

    def _fit(self, X: Floats, fit: Mixture, log_volume: float) -> Mixture:
        floor = _NARROWEST * math.sqrt(float(X.var(axis=0).mean()))
        for _ in range(self.max_iter):
            joint = _log_joint(X, fit, log_volume)
            log_rows = special.logsumexp(joint, axis=1)
            total = float(log_rows.sum())
            share = np.exp(joint - log_rows[:, np.newaxis])
            is_done = total - fit.log_likelihood < 1e-8 * abs(total)
            fit = _update(X, share, floor)._replace(log_likelihood=total)
            if is_done:
                break
        return fit


def _start(X: Floats, k: int, rng: np.random.Generator, *, spread: bool) -> Mixture:
    """Means at rows of the data, each as wide as the company of its nearest rows is near."""
    sq_norm = np.square(X).sum(axis=1)
    chosen = _spread_rows(X, sq_norm, k, rng) if spread else rng.choice(len(X), k, replace=False)
    sq = _sq_distances(X, sq_norm, X[chosen])
    nearest = np.partition(sq, min(_COMPANY, len(X) - 1), axis=0)[min(_COMPANY, len(X) - 1)]
    # Two rows of one Gaussian are sigma * sqrt(2 d) apart.
    sigmas = np.sqrt(np.maximum(nearest, 1e-12 * sq_norm.max()) / (2.0 * X.shape[1]))
    return Mixture(X[chosen], sigmas, np.full(k + 1, -math.log(k + 1)), -math.inf)


def _spread_rows(
    X: Floats, sq_norm: Floats, k: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    """Rows far from one another, chosen as k-means++ does."""
    chosen: list[int] = []
    nearest = np.ones(len(X))
    for _ in range(k):
        chosen.append(int(rng.choice(len(X), p=nearest / nearest.sum())))
        sq = _sq_distances(X, sq_norm, X[chosen[-1:]])[:, 0]
        nearest = sq if len(chosen) == 1 else np.minimum(nearest, sq)
    return np.array(chosen)


def _update(X: Floats, share: Floats, floor: float) -> Mixture:
    """M-step; the background has no parameter but its weight."""
    n, d = X.shape
    size = share.sum(axis=0) + 1e-300
    part = share[:, :-1]
    means = part.T @ X / size[:-1, np.newaxis]
    sq = _sq_distances(X, np.square(X).sum(axis=1), means)
    variances = np.einsum("ij,ij->j", part, sq) / (d * size[:-1])
    sigmas = np.sqrt(np.maximum(variances, floor**2))
    return Mixture(means, sigmas, np.log(size / n), -math.inf)


def _log_joint(X: Floats, fit: Mixture, log_volume: float) -> Floats:
    """Log of weight times density, (n, k + 1), the background last."""
    d = X.shape[1]
    sq = _sq_distances(X, np.square(X).sum(axis=1), fit.means)
    joint = np.empty((len(X), len(fit.log_weights)))
    joint[:, :-1] = -0.5 * sq / fit.sigmas**2 - d * np.log(fit.sigmas * math.sqrt(2.0 * math.pi))
    joint[:, -1] = -log_volume
    return joint + fit.log_weights


def _sq_distances(X: Floats, sq_norm: Floats, means: Floats) -> Floats:
    sq = sq_norm[:, np.newaxis] - 2.0 * (X @ means.T) + np.square(means).sum(axis=1)
    positive: Floats = np.maximum(sq, 0.0)
    return positive


def _has_collapsed(fit: Mixture, n: int) -> bool:
    return bool((np.exp(fit.log_weights[:-1]) * n < _ALONE).any())


def _log_volume(X: Floats, support: str) -> float:
    """Log volume of what holds the data: a ball around the origin, or a box."""
    d = X.shape[1]
    if support == "box":
        width = np.ptp(X, axis=0)
        return float(np.log(width[width > 0]).sum())
    radius = math.sqrt(float(np.square(X).sum(axis=1).max()))
    log_unit = 0.5 * d * math.log(math.pi) - float(special.gammaln(0.5 * d + 1.0))
    return float(log_unit + d * math.log(max(radius, 1e-300)))
