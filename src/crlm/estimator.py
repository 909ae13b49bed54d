"""The estimator: data and settings in, fitted attributes out.

This is the border between scikit-learn's words (outside) and the paper's symbols (inside),
and the only module that imports scikit-learn's base classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from crlm import checks, summary
from crlm.background.references import first_of_equals
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.certificate import Certificate, certify
from crlm.data_checks import (
    check_has_rows,
    check_points,
    check_table,
    check_weights,
    has_mixed_names,
)
from crlm.errors import ParameterError
from crlm.greedy import Cluster
from crlm.labels import BACKGROUND
from crlm.landmarks.model import LandmarkFits
from crlm.landmarks.source import Source
from crlm.loss import G_PAPER, sq_cutoff
from crlm.model import GMMUB
from crlm.search import Floats, Neighbourhood, Pairs, StoredGraph, Weights, neighbourhood
from crlm.search.balls import farthest
from crlm.search.distance import chunks
from crlm.search.filter import column_range
from crlm.task import Task
from crlm.theory.plan import adaptive_G

if TYPE_CHECKING:
    from crlm.explorer.serve import Explorer
    from crlm.path import SigmaPath


class CRLM(ClusterMixin, LandmarkFits, BaseEstimator):  # type: ignore[misc]
    """Find tight clusters in data that is mostly background.

    Repeats one step: take the point whose ball of radius ``sigma_max * sqrt(d * G)`` holds the
    most points, near ones counting most; call that ball a cluster; remove it. Points in no
    cluster are background. There is no random start, so equal input gives equal output.

    Use it when clusters are round and most points belong to none. For chains and rings, or
    when every point must go somewhere, prefer HDBSCAN or k-means.

    Parameters
    ----------
    sigma_max : float, "auto" or "histogram", default="auto"
        Bandwidth, in the units of `X`. With 0.8 times the standard deviation per coordinate of
        the widest cluster a ball just holds it; the theorems ask for a little over twice
        (assumption A3), which serves where nothing else is near. "auto" takes the one at which
        significant clusters hold most points (:func:`crlm.estimate_sigma`). Where that is only
        moderate evidence, each cluster has one of its own (`bandwidths_`): the clusters are then
        balls around any row (of 2,048), with a significant core, whose rows keep more of their
        nearest neighbours to themselves than those of other balls; and first of all any ball of six
        rows or more that have no other nearest neighbours. In up to three dimensions,
        where any ball does, it looks for narrower clusters among the rest instead. When nothing
        is significant at any bandwidth it warns of weak evidence and finds nothing: `sigma_max_`
        is then a guess, of use only with ``alpha=None``. A number is taken as it is, for all
        clusters. "histogram" is the paper's own rule, a little over twice the largest peak of the
        shortest distances.
    max_clusters : int or None, default=None
        The k of Algorithm 2, an upper limit. None takes as many as there are.
    min_cluster_size : int, default=2
        A ball with fewer points is not a cluster. It is passed over, not removed. The paper's
        rule is 2; a point alone is never a cluster.
    alpha : float or None, default=0.01
        Chance of reporting any cluster where there is only background. A ball that the
        background makes more often is passed over (in up to three dimensions, a narrower one
        beside j - 1 clusters if it does so more than j times as often). The background is assumed
        to be locally of one density, or of one that changes by less than a factor of two over a
        ball; how its count grows with the radius is learnt from the data. What skewed, discrete or
        correlated columns show without clusters is measured and taken off. Exact copies of a row
        count once. With "auto" it also enters the choice of `sigma_max`, so that a smaller one
        may change clusters and p-values, and not only leave some out. None is the paper's rule
        alone: every ball of two points is a cluster.
    G : float or "auto", default=4.0
        Depth of the loss, greater than 1. "auto" is the smallest G with which all points of a
        Gaussian cluster are expected in its ball.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is Euclidean distance after dividing each row by its length; `sigma_max`, the
        centres and the sigmas then refer to the divided rows.
    n_landmarks : int, "auto" or None, default=None
        None looks at every row as a centre. A number takes so many rows, drawn at random, as the
        only possible centres; losses and balls are still over all rows, and the data are read in
        three passes, so that they may be a memory-mapped file, a source (:func:`crlm.stream`), or
        a function that returns blocks of rows. "auto" draws so many that a cluster of at least
        `min_weight` is missed with a chance of at most `delta`.
    refine : bool, default=False
        With landmarks, look for better centres once the clusters are found: the rows nearest to
        their means are tried too, in three more passes of little work. Of use when `sigma_max` is
        so small that a ball cuts into its cluster.
    min_weight : float, default=0.001
        Share of all rows in the smallest cluster that "auto" must not miss.
    delta : float, default=0.01
        Chance that it misses any of them.
    memory_limit : int or str, default="auto"
        Bytes, or a size such as "2GB", that a fit may allocate. With less it takes longer:
        pairs that do not fit are not stored. "auto" is half of the free memory. The labels do
        not depend on it. (``sigma_max="auto"`` works in up to some 400 MB of its own.)
    n_jobs : int or None, default=None
        Threads. None and -1 use every core. The labels do not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draw of landmarks; nothing else is random. None is 0.
    progress : callable or None, default=None
        Called as ``progress(done, total)`` while the search runs. Whatever it raises ends the
        fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Number of the cluster of each row, in the order found, or -1 for background.
    n_clusters_ : int
        Number of clusters found; may be 0.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters.
    sigmas_ : ndarray of shape (n_clusters_,)
        Standard deviation per coordinate of each cluster.
    cluster_sizes_ : ndarray of shape (n_clusters_,)
        Points in each cluster; with `sample_weight`, the sum of their weights.
    center_indices_ : ndarray of shape (n_clusters_,)
        Row at the middle of each ball.
    ball_centers_ : ndarray of shape (n_clusters_, n_features)
        Those rows; `predict` measures from them.
    losses_ : ndarray of shape (n_clusters_,)
        Loss of each cluster when it was found. In that order it never decreases, as long as all
        clusters have one bandwidth.
    p_values_ : ndarray of shape (n_clusters_,)
        Chance that a background alone has a ball like that of the cluster anywhere; NaN with
        ``alpha=None``. If the cluster has a bandwidth of its own, it is the chance of the least
        likely ball around one of its rows (of a tight group: of its own ball). In up to three
        dimensions it is that of its own ball, divided by j if j - 1 clusters of other bandwidths
        were found before it. With "auto" it may depend on `alpha`.
    n_duplicates_ : int or None
        Rows that are exact copies of an earlier row; None, not counted, with landmarks.
    weights_ : ndarray of shape (n_clusters_,)
        Share of the points in each cluster.
    background_weight_ : float
        Share of the points in no cluster.
    sigma_max_ : float
        The bandwidth that was given, or suggested by the data.
    radius_ : float
        Radius of its balls, ``sigma_max_ * sqrt(n_features * G_)``.
    bandwidths_, radii_ : ndarray of shape (n_clusters_,)
        Those of the balls that are the clusters. They differ from the common ones only with
        "auto", with a test (`alpha`) and without landmarks.
    G_ : float
        The depth used.
    sigma_estimate_ : SigmaEstimate or None
        What "auto" saw: peaks, evidence, histogram. None when `sigma_max` was given.
    certificate_ : Certificate or None
        Margins of the answer, whether CRLM must return exactly it, and what the theorems say.
        None with landmarks: it needs the losses of all rows.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Rows that could be centres, ascending; only with landmarks.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when `X` had any.

    Notes
    -----
    ``CRLM(sigma_max=s, max_clusters=k, alpha=None)`` is Algorithm 2 of the paper to the letter.
    Time is one neighbour search plus one pass over the pairs closer than the radius, for any
    number of clusters; the test and the choice of sigma_max look at 2,048 rows at most, and
    unless these are clear the choice also at up to a million pairs of near rows.

    References
    ----------
    S. Liu and A. Barbu, "Unsupervised Learning of GMM with a Uniform Background Component".

    Examples
    --------
    >>> from crlm import CRLM, GMMUB
    >>> truth = GMMUB.draw(k=2, d=50, sigmas=[1, 2], weights=0.02, D=60, sigma_max=5, rng=0)
    >>> X, y = truth.sample(2000, rng=1)
    >>> model = CRLM(sigma_max=5).fit(X)
    >>> model.n_clusters_, bool((model.labels_ == -1)[y == -1].all())
    (2, True)
    """

    labels_: NDArray[np.int64]
    n_clusters_: int
    cluster_centers_: NDArray[np.float64]
    sigmas_: NDArray[np.float64]
    cluster_sizes_: NDArray[Any]
    center_indices_: NDArray[np.int64]
    ball_centers_: Floats
    losses_: NDArray[np.float64]
    p_values_: NDArray[np.float64]
    n_duplicates_: int | None
    weights_: NDArray[np.float64]
    background_weight_: float
    bandwidths_: NDArray[np.float64]
    sigma_max_: float
    radius_: float
    G_: float
    sigma_estimate_: SigmaEstimate | None
    certificate_: Certificate | None
    _origin: tuple[Any, Any] | None  # source and settings, which `record` keeps here
    landmark_indices_: NDArray[np.int64]

    def __init__(
        self,
        sigma_max: float | Literal["auto", "histogram"] = "auto",
        *,
        max_clusters: int | None = None,
        min_cluster_size: int = 2,
        alpha: float | None = 0.01,
        G: float | Literal["auto"] = G_PAPER,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        n_landmarks: int | Literal["auto"] | None = None,
        refine: bool = False,
        min_weight: float = 0.001,
        delta: float = 0.01,
        memory_limit: int | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.sigma_max = sigma_max
        self.max_clusters = max_clusters
        self.min_cluster_size = min_cluster_size
        self.alpha = alpha
        self.G = G
        self.metric = metric
        self.n_landmarks = n_landmarks
        self.refine = refine
        self.min_weight = min_weight
        self.delta = delta
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        keep_checkpoint: bool = False,
    ) -> Self:
        """Find the clusters of `X`.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            With `n_landmarks` also a source of blocks, or a function that returns them.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            How many points each row stands for. A whole weight is the same as that many
            copies of the row.
        checkpoint : path-like or None, default=None
            With `n_landmarks`, a file to keep what is done so far in. A fit that was killed goes
            on from there, to the same result; at the end the file is removed.
        keep_checkpoint : bool, default=False
            Leave it there: delete it yourself when the results are where they should be.

        Returns
        -------
        self : CRLM
        """
        if checks.check_n_landmarks(self.n_landmarks) is not None:
            return self._fit_landmarks(
                X, sample_weight, checkpoint, keep_checkpoint=keep_checkpoint
            )
        if checkpoint is not None or isinstance(X, Source) or callable(X):
            msg = (
                "blocks of rows and checkpoints need landmarks. Pass n_landmarks='auto', or an "
                "array as X and no checkpoint."
            )
            raise ParameterError(msg)
        given = checks.check_sigma_max(self.sigma_max)
        metric = checks.check_metric(self.metric)
        # On a copy: the checks write attributes, and a fit that fails must leave no trace.
        checked = copy(self)
        task = checked._task(X, sample_weight, reset=True)
        sigma_max, estimate = task.bandwidth(given)
        near = checked._neighbourhood(task, sigma_max)
        first_losses = near.L.copy()
        if given == "auto" and estimate is not None:
            quiet = replace(task, progress=None, learnt=task.background)
            search = partial(checked._closer, near, quiet)
            clusters = task.own_clusters(near, sigma_max, estimate, search)
            estimate = task.confirmed(estimate, len(clusters))
        else:
            clusters = task.clusters(near, sigma_max)
        total = task.weights.sum().item()
        untested = estimate is None and task.alpha is not None and not clusters
        is_most = untested and task.is_most(first_losses, sigma_max)
        if estimate is not None or task.min_size > total or is_most:
            from crlm.cautions import warn  # seldom for a given bandwidth

            names = getattr(checked, "feature_names_in_", None)
            counts = len(clusters), task.min_size, total
            warn(estimate, given, *counts, X=task.X, names=names, is_most=is_most)

        self.__dict__.clear()  # names of columns, for one, may be gone
        self.__dict__.update(checked.__dict__)
        self._metric, self._origin = metric, None
        self.sigma_max_, self.G_, self.sigma_estimate_ = sigma_max, task.G, estimate
        self.radius_ = task.radius(sigma_max)
        self._store([judged.cluster for judged in clusters], task.X, task.weights)
        self.p_values_ = np.array([judged.p_value for judged in clusters], dtype=np.float64)
        self.bandwidths_ = np.array([judged.bandwidth for judged in clusters], dtype=np.float64)
        self.n_duplicates_ = _n_copies(task.X, near)
        self.certificate_ = certify(
            task.X,
            self.labels_,
            self.center_indices_,
            sigma_max,
            task.G,
            near,
            task.weights,
            L=first_losses,
            metric=metric,
            bandwidths=self.bandwidths_,
        )
        return self

    @property
    def _has_own_bandwidths(self) -> bool:
        """Whether some cluster has another bandwidth than `sigma_max_`."""
        return bool((self.bandwidths_ != self.sigma_max_).any())

    @property
    def radii_(self) -> NDArray[np.float64]:
        """Radius of the ball of each cluster."""
        return np.sqrt(self._sq_cutoffs())

    @property
    def _sample_weight(self) -> NDArray[Any] | None:
        """Weights of the rows of the fit; None if each counted once."""
        return self._row_weights if self.certificate_ is None else self.certificate_.weights

    def _closer(self, near: Neighbourhood, task: Task, sigma_max: float) -> Neighbourhood:
        """Losses and balls of all rows at a smaller bandwidth than that of `near`."""
        pairs: Pairs | None = getattr(near, "pairs", None)
        if pairs is None:
            return self._neighbourhood(task, sigma_max)
        d = task.X.shape[1]
        closer = pairs.closer(sq_cutoff(sigma_max, d, task.G))
        return StoredGraph(closer, sigma_max, d, task.G, task.weights, task.counted)

    def _neighbourhood(self, task: Task, sigma_max: float) -> Neighbourhood:
        """Losses and balls of all rows."""
        return neighbourhood(
            task.X,
            sigma_max,
            task.G,
            task.weights,
            task.counted,
            memory_limit=task.memory_limit,
            n_jobs=task.n_jobs,
            progress=task.progress,
        )

    def update(self, X: Any) -> NDArray[np.int64]:
        """Count new rows into the clusters that were found, and return their labels.

        The balls stay where they are; sizes, means, sigmas and weights become those of all
        members seen so far. In which blocks the rows come does not matter. `labels_` keeps to the
        rows of `fit`.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features), or blocks of them

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._update(X)

    def path(self, X: Any, sigmas: Any = None, *, sample_weight: Any = None) -> SigmaPath:
        """Clusters at many bandwidths, from one search at the largest of them.

        The settings are those of this model, without `n_landmarks`; it need not be fitted, and is
        not changed. (A model keeps no copy of its data, so they are given again.)

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
        sigmas : array-like of float or None, default=None
            Bandwidths, in the units of `X`. None takes 49, from a quarter of `sigma_max` (as
            given, or as "auto" finds it) to twice as much.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        path : SigmaPath
            The labels at each bandwidth equal those of a separate fit, bit for bit.
        """
        from crlm.path import walk  # few need it

        if checks.check_n_landmarks(self.n_landmarks) is not None:
            msg = (
                f"a path has every row as a centre, so that n_landmarks={self.n_landmarks!r} does "
                f"not go with it. Leave n_landmarks out, or fit at each bandwidth with it."
            )
            raise ParameterError(msg)
        task = copy(self)._task(X, sample_weight, reset=True)
        if sigmas is None:
            middle = task.bandwidth(checks.check_sigma_max(self.sigma_max))[0]
            return walk(task, middle * np.geomspace(0.25, 2.0, 49))
        return walk(task, checks.check_sigmas(sigmas))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Cluster of each row: the first ball, in the order found, that contains it, or -1.

        On the data of `fit` this gives `labels_`. Blocks of rows, as in `fit` with landmarks or
        from an iterator, are read one after the other.
        """
        check_is_fitted(self)
        labels = [self._first_ball(points) for points in self._blocks(X)]
        return labels[0] if len(labels) == 1 else np.concatenate([np.zeros(0, np.int64), *labels])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Posterior of each cluster, and in the last column of the background.

        Under the mixture of Gaussians with the fitted means, sigmas and weights and a uniform
        background over the ball around the training data. Outside that ball the background
        keeps its density, so that a point far from everything is background.

        Labels are by balls and know of no mixture, so the two may differ: a row just outside a
        ball may well belong to its Gaussian. Where the background is crowded, as that of real
        data mostly is and a uniform one is not, they differ for many rows of the background.
        """
        check_is_fitted(self)
        points = self._points(X, self._metric, reset=False)
        return self._mixture().responsibilities(points, extend_background=True)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model to one file, to be read by :meth:`load`.

        Parameters
        ----------
        path : path-like
            Its name ends in ``.crlm.npz``. The file appears whole or not at all.
        force : bool, default=False
            Replace a file that exists.
        """
        from crlm import record

        check_is_fitted(self)
        record.save(self, path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Model from a file that :meth:`save` or ``crlm fit`` wrote, equal to what was saved.

        Nothing in the file can run code. What is not kept: `progress`.
        """
        from crlm import record

        return record.load(cls, path)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        images: Any = None,
        meta: Any = None,
        y: Any = None,
        title: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write one self-contained HTML file: verdict, figures, clusters, gallery, map.

        It asks for nothing from outside, can be read without JavaScript and printed, and is at
        most 5 MB large; what does not fit is left out, and the report says so.

        Parameters
        ----------
        path : path-like
            Its name ends in ``.html``.
        X : array-like or dataframe, optional
            The data of `fit`; a model keeps no copy. Left out, they are read again from the
            file that ``crlm fit`` noted in the model, with the pictures and words in it.
        images : sequence of path or ndarray, optional
            A picture for each row.
        meta : dataframe, dict of columns, or sequence of str, optional
            Words about each row. The first column names it; a column with few values tells
            what each cluster mostly is.
        y : array-like of int or str, optional
            True labels; -1 or "background" for rows in no cluster.
        title : str, optional
            What the data are called; by default the name of their file.
        force : bool, default=False
            Replace a file that exists.

        Returns
        -------
        path : Path
            The file.
        """
        from crlm.report import write_report

        check_is_fitted(self)
        return write_report(self, path, X, images=images, meta=meta, y=y, title=title, force=force)

    def explore(
        self,
        X: Any = None,
        *,
        images: Any = None,
        texts: Any = None,
        ids: Any = None,
        meta: Any = None,
        sample_weight: Any = None,
        host: str = "127.0.0.1",
        port: int = 5151,
        browser: bool = True,
    ) -> Explorer:
        """Open a page on this machine to drag `sigma_max` and look at the clusters.

        Parameters
        ----------
        X : array-like or dataframe, optional
            The rows; a model that was read from a file finds its own.
        images : sequence of paths or array of pictures, optional
            One for each row, shown in the gallery.
        texts, ids : sequence of str, optional
            Words of each row, and what it is called.
        meta : dataframe or dict of columns, optional
            More about each row.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        host, port : str, int
            Where to listen; the next port is taken when this one is. Other hosts than this
            machine's loopback let other machines in, if they know the token.
        browser : bool
            Whether to open the page; its address is in the result. A notebook shows a smaller
            one instead, inside the cell and without a server.

        Returns
        -------
        explorer : Explorer
            Serves until the program ends, or ``explorer.close()``.
        """
        from crlm.explorer.opening import explore_model

        known = {"images": images, "texts": texts, "ids": ids, "meta": meta}
        return explore_model(self, X, known, sample_weight, browser=browser, host=host, port=port)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        settings: str = super().__repr__(N_CHAR_MAX)
        return summary.text(settings, self) if hasattr(self, "labels_") else settings

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not hasattr(self, "labels_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        settings = super().__repr__()
        return {
            "text/plain": summary.text(settings, self),
            "text/html": summary.html(settings, self),
        }

    def _task(self, X: Any, sample_weight: Any, *, reset: bool) -> Task:
        """Data and settings, checked; the parameters first, because that costs nothing."""
        k = checks.check_max_clusters(self.max_clusters)
        min_size = checks.check_min_cluster_size(self.min_cluster_size)
        alpha = checks.check_alpha(self.alpha)
        n_jobs = checks.check_n_jobs(self.n_jobs)
        memory_limit = checks.check_memory_limit(self.memory_limit)
        progress = checks.check_progress(self.progress)
        G = checks.check_G(self.G)
        self._check_settings_of_landmarks()  # which are of no use here, but may be wrong
        points = self._points(X, checks.check_metric(self.metric), reset=reset)
        if G == "auto":
            G = adaptive_G(*points.shape)
        weights = check_weights(sample_weight, len(points), G)
        return Task(points, weights, G, alpha, k, min_size, memory_limit, n_jobs, progress)

    def _check_settings_of_landmarks(self) -> None:
        checks.check_refine(self.refine)
        checks.check_min_weight(self.min_weight)
        checks.check_delta(self.delta)
        checks.check_random_state(self.random_state, draw=False)

    def _points(self, X: Any, metric: str, *, reset: bool) -> Floats:
        """Data as the numerics take them."""
        table = check_table(X)
        check_has_rows(table)
        named = np.empty(table.shape) if has_mixed_names(table) else table
        validate_data(self, named, reset=reset, skip_check_array=True)  # names and their number
        return check_points(table, metric, whole=reset)

    def _store(self, clusters: list[Cluster], X: Floats, weights: Weights) -> None:
        n, d = X.shape
        balls = [cluster.ball for cluster in clusters]
        self.n_clusters_ = len(clusters)
        self.labels_ = np.full(n, BACKGROUND, dtype=np.int64)
        for j, ball in enumerate(balls):
            self.labels_[ball.members] = j
        self.center_indices_ = np.array([ball.center_index for ball in balls], dtype=np.int64)
        self.ball_centers_ = X[self.center_indices_]
        self.cluster_sizes_ = np.array([ball.size for ball in balls], dtype=weights.dtype)
        self.losses_ = np.array([ball.loss for ball in balls], dtype=np.float64)
        self.cluster_centers_ = np.array(
            [cluster.mu_hat for cluster in clusters], dtype=np.float64
        ).reshape(-1, d)
        self.sigmas_ = np.array([cluster.sigma_hat for cluster in clusters], dtype=np.float64)
        self.weights_ = self.cluster_sizes_ / weights.sum()
        self.background_weight_ = float(weights[self.labels_ == BACKGROUND].sum() / weights.sum())
        self._background = _enclosing_ball(X[weights > 0] if not weights.all() else X)

    def _mixture(self) -> GMMUB:
        center, radius = self._background
        # A cluster of coincident rows has no spread, which no density can express.
        floor = 1e-9 * self.sigma_max_
        return GMMUB(
            means=self.cluster_centers_,
            sigmas=np.maximum(self.sigmas_, floor),
            weights=self.weights_,
            D=max(radius, floor) / np.sqrt(self.n_features_in_),
            center=center,
        )


def sigma_path(X: Any, sigmas: Any = None, **parameters: Any) -> SigmaPath:
    """Clusters of `X` at many bandwidths: ``CRLM(**parameters).path(X, sigmas)``.

    Examples
    --------
    >>> from crlm import GMMUB, sigma_path
    >>> truth = GMMUB.draw(k=2, d=50, sigmas=[1, 2], weights=0.02, D=60, sigma_max=5, rng=0)
    >>> path = sigma_path(truth.sample(2000, rng=1)[0], [0.3, 3.0, 5.0])
    >>> path.n_clusters.tolist(), path.stable
    ([0, 2, 2], [(3.0, 5.0)])
    """
    return CRLM(**parameters).path(X, sigmas)


def _n_copies(X: Floats, near: Neighbourhood) -> int:
    """Number of rows that are a copy of an earlier one: where pairs are known, at distance zero."""
    pairs: Pairs | None = getattr(near, "pairs", None)
    some = X if pairs is None else X[pairs.coincident()]
    return int(np.count_nonzero(~first_of_equals(some)))


def _enclosing_ball(X: Floats) -> tuple[NDArray[np.float64], float]:
    """Centre and radius of a ball around the data: the middle of their box, the farthest row."""
    low, high = (corner.astype(np.float64) for corner in column_range(X))
    center = (low + high) / 2.0
    rows = farthest(X, center)
    sq_radius = max(
        float(np.square(X[rows[part]] - center).sum(axis=1).max())
        for part in chunks(len(rows), X.shape[1])
    )
    return center, float(np.sqrt(sq_radius))
