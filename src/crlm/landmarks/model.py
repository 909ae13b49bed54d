"""The part of the estimator that reads its data in passes.

A mixin of :class:`crlm.CRLM`, and of `crlm.dask.CRLM`, which runs the same passes elsewhere.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crlm import __version__, checks
from crlm.data_checks import check_weights
from crlm.errors import ParameterError
from crlm.landmarks.checkpoint import Checkpoint
from crlm.landmarks.fit import Outcome, Settings, fit_landmarks
from crlm.landmarks.passes import LocalRunner
from crlm.landmarks.source import ArraySource, Source, as_source
from crlm.landmarks.tally import Moments, Tally, merge_tallies, moments, tally, tally_of, unit_of
from crlm.loss import QUANTUM, sq_cutoff
from crlm.search import Floats, Weights, first_ball
from crlm.theory.landmarks import plan_candidates
from crlm.theory.plan import adaptive_G


class LandmarkFits:
    """Fits with landmarks, and what else is done block by block."""

    # Of the estimator, which says what they are
    get_params: Any
    _points: Any
    sigma_max: Any
    max_clusters: Any
    min_cluster_size: Any
    alpha: Any
    G: Any
    metric: Any
    n_landmarks: Any
    refine: Any
    min_weight: Any
    delta: Any
    memory_limit: Any
    n_jobs: Any
    random_state: Any
    progress: Any
    certificate_: Any
    _origin: Any
    n_duplicates_: Any

    # Of a fit in passes alone: what tells its rows from others, and what they count if not one
    _seal: int = 0
    _row_weights: Weights | None = None

    def _fit_landmarks(
        self,
        X: Any,
        sample_weight: Any,
        checkpoint: str | os.PathLike[str] | None,
        *,
        keep_checkpoint: bool,
    ) -> Self:
        """Fit with a random subset of rows as centres."""
        settings = self._settings()
        metric = checks.check_metric(self.metric)
        checked = copy(self)
        source = as_source(X)
        if source is None:
            source = ArraySource(checked._points(X, "euclidean", reset=True))
        if sample_weight is not None:
            if source.n is None:
                msg = (
                    "sample_weight needs an X whose number of rows is known: an array or a .npy "
                    "file. Repeat the rows in the blocks instead."
                )
                raise ParameterError(msg)
            G = checks.check_G(self.G)
            largest = adaptive_G(source.n, 1) if G == "auto" else G
            weights = check_weights(sample_weight, source.n, largest)
            settings = settings._replace(weights=weights)
        kept = self._checkpoint(checkpoint, source, settings.weights)
        run = LocalRunner(
            source,
            metric=metric,
            n_jobs=settings.n_jobs,
            memory_limit=settings.memory_limit,
            weights=settings.weights,
            progress=settings.progress,
            checkpoint=kept,
            m=settings.m,
            refine=settings.refine,
        )
        # BLAS gets one thread, because the tiles themselves are spread over threads.
        with threadpool_limits(limits=1, user_api="blas"):
            found = fit_landmarks(run, settings)
        self._warn_of(found, settings)
        self._adopt(found, checked)
        if settings.weights is not None and not (settings.weights == 1).all():
            self._row_weights = settings.weights
        if not keep_checkpoint:
            kept.remove()
        return self

    def _warn_of(self, found: Outcome, settings: Settings) -> None:
        """Say what is to be doubted in the bandwidth, or why there is nothing."""
        total = found.n if settings.weights is None else settings.weights.sum().item()
        if found.estimate is None and settings.min_size <= total:
            return
        from crlm.cautions import warn  # seldom for a given bandwidth

        sizes = len(found.rows), settings.min_size, total, len(found.landmarks)
        warn(found.estimate, settings.sigma_max, *sizes)

    def _settings(self) -> Settings:
        """Parameters of a fit with landmarks, checked."""
        m = checks.check_n_landmarks(self.n_landmarks)
        k = checks.check_max_clusters(self.max_clusters)
        least, delta = checks.check_min_weight(self.min_weight), checks.check_delta(self.delta)
        return Settings(
            sigma_max=checks.check_sigma_max(self.sigma_max),
            G=checks.check_G(self.G),
            alpha=checks.check_alpha(self.alpha),
            k=k,
            min_size=checks.check_min_cluster_size(self.min_cluster_size),
            m=m if isinstance(m, int) else plan_candidates(least, delta, k),
            seed=checks.check_random_state(self.random_state),
            memory_limit=checks.check_memory_limit(self.memory_limit),
            n_jobs=checks.check_n_jobs(self.n_jobs),
            progress=checks.check_progress(self.progress),
            refine=checks.check_refine(self.refine),
        )

    def _checkpoint(
        self, path: str | os.PathLike[str] | None, source: Source, weights: Weights | None
    ) -> Checkpoint:
        """File to resume from; it must agree in everything that a result depends on."""
        if path is None:
            return Checkpoint(None, {})
        free = ("memory_limit", "n_jobs", "progress")
        own = {k: repr(v) for k, v in self.get_params().items() if k not in free}
        about = {
            "the version of crlm": __version__,
            "the data": source.mark(),
            "sample_weight": None if weights is None else zlib.crc32(weights.tobytes()),
        }
        return Checkpoint(path, about | own)

    def _adopt(self, found: Outcome, checked: Self) -> None:
        """Take over what a fit with landmarks found."""
        self.__dict__.clear()
        self.__dict__.update(checked.__dict__)
        self._metric = checks.check_metric(self.metric)
        self.n_features_in_ = found.d
        self.sigma_max_, self.G_, self.sigma_estimate_ = found.sigma_max, found.G, found.estimate
        self.radius_ = math.sqrt(sq_cutoff(found.sigma_max, found.d, found.G))
        self.labels_ = found.labels
        self.center_indices_, self.ball_centers_ = found.rows, found.centers
        self.losses_, self.p_values_ = found.losses, found.p_values
        self.n_clusters_ = len(found.rows)
        self.bandwidths_ = np.full(self.n_clusters_, found.sigma_max)
        self.n_duplicates_ = self.certificate_ = self._origin = None
        self.landmark_indices_ = found.landmarks
        self._background, self._seal = found.enclosing, found.seal
        self._take(found.tally, found.moments)

    def _take(self, total: Tally, found: Moments) -> None:
        """Take over counts, means and sigmas."""
        self._tally = total
        whole = np.array_equal(found.sizes, np.rint(found.sizes))
        self.cluster_sizes_ = found.sizes.astype(np.int64) if whole else found.sizes
        self.cluster_centers_, self.sigmas_ = found.means, found.sigmas
        points = float(total.weights.sum() + total.background) * QUANTUM
        self.weights_ = found.sizes / points
        self.background_weight_ = total.background * QUANTUM / points

    def _update(self, X: Any) -> NDArray[np.int64]:
        """Count new rows in, and return their labels."""
        unit, centers = unit_of(self._widest), self.ball_centers_
        total = self._tally if hasattr(self, "_tally") else self._tally_of_fit(unit)
        labels = [np.zeros(0, dtype=np.int64)]
        for points in self._blocks(X):
            labels.append(self._first_ball(points))
            total = merge_tallies([total, tally(points, labels[-1], centers, unit, None)])
        self._take(total, moments(total, centers, unit, self.sigma_max_))
        return np.concatenate(labels)

    @property
    def _widest(self) -> float:
        """Radius of the widest ball."""
        return float(np.sqrt(self._sq_cutoffs()).max(initial=self.radius_))

    def _tally_of_fit(self, unit: int) -> Tally:
        """Sums that an exact fit would have kept."""
        own = Moments(self.cluster_sizes_.astype(np.float64), self.cluster_centers_, self.sigmas_)
        rows = np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters_)
        # With weights or without, what is not in a cluster is background.
        share = self.background_weight_
        rest = own.sizes.sum() * share / (1.0 - share) if share < 1.0 else len(self.labels_)
        return tally_of(own, rows, self.ball_centers_, unit, float(rest))

    def _blocks(self, X: Any) -> Iterator[Floats]:
        """Rows to predict, a block at a time."""
        source = as_source(X, passes=1)
        if source is None:
            yield self._points(X, self._metric, reset=False)
            return
        for block in source.blocks():
            yield block.points(self._metric, self.n_features_in_)

    def _first_ball(self, points: Floats) -> NDArray[np.int64]:
        return first_ball(points, self.ball_centers_, self._sq_cutoffs())

    def _sq_cutoffs(self) -> NDArray[np.float64]:
        """Squared radius of the ball of each cluster."""
        d, G = self.n_features_in_, self.G_
        return np.array([sq_cutoff(own, d, G) for own in self.bandwidths_.tolist()])
