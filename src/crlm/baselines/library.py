"""Competitors that scikit-learn has, with the settings their users would try."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial import distance
from sklearn import cluster, decomposition, manifold, mixture
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from crlm.baselines.common import Floats, Labels, Method, Trial

RESTARTS = 10


class KMeans(Method):
    """k-means++, best of ten starts."""

    name: ClassVar[str] = "k-means"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """With a group for the background, and without one."""
        for groups in sorted({self._groups(k), max(k, 2)}, reverse=True):
            yield Trial(f"{groups} groups", k_means(X, groups, self.seed))


class DBSCAN(Method):
    """DBSCAN over a grid of eps and of the points that make a core."""

    name: ClassVar[str] = "DBSCAN"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Eps at the knee of the distances to the neighbour that counts, then any of them."""
        dist = distance.squareform(distance.pdist(X))
        for points in (5, 3, 10):
            if points > len(X):
                continue
            reach = np.partition(dist, points - 1, axis=1)[:, points - 1]
            low, high = np.quantile(reach[reach > 0], [0.0, 0.9])
            for eps in [_knee(reach), *np.geomspace(low, high, 20).tolist()]:
                found = cluster.DBSCAN(eps=eps, min_samples=points, metric="precomputed")
                yield Trial(f"eps {eps:.4g}, {points} points", _labels(found.fit_predict(dist)))


class CompleteLinkage(Method):
    """Complete linkage, its tree cut into k groups or more."""

    name: ClassVar[str] = "CL"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Cut where it gives the groups asked for, and at finer levels."""
        tree = hierarchy.linkage(X, method="complete")
        groups = self._groups(k)
        finer = np.geomspace(groups, max(groups, len(X) // 2), 12).astype(int)
        for n_groups in sorted({groups, k, *finer.tolist()}, key=lambda m: (m != groups, m)):
            labels = hierarchy.fcluster(tree, n_groups, criterion="maxclust") - 1
            yield Trial(f"{n_groups} groups", labels.astype(np.int64))


class Spectral(Method):
    """Spectral clustering of Ng, Jordan and Weiss with a Gaussian affinity."""

    name: ClassVar[str] = "SC"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Widths of the affinity from short distances to the median one."""
        sq = distance.squareform(distance.pdist(X, "sqeuclidean"))
        of_pairs = sq[np.triu_indices(len(X), 1)]
        for share in (0.1, 0.01, 0.05, 0.25, 0.5):
            width = float(np.quantile(of_pairs, share))
            affinity = np.exp(-sq / (2.0 * max(width, 1e-300)))
            np.fill_diagonal(affinity, 0.0)  # as Ng, Jordan and Weiss have it
            yield Trial(f"width at {share:.0%} of pairs", self._cluster(affinity, self._groups(k)))

    def _cluster(self, affinity: Floats, groups: int) -> Labels:
        """Rows of the leading eigenvectors of the normalised affinity, set to length 1."""
        degree = np.sqrt(np.maximum(affinity.sum(axis=1), 1e-300))
        rng = np.random.default_rng(self.seed)
        vectors = _leading(affinity / degree[:, None] / degree, groups, rng)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return k_means(vectors / np.maximum(length, 1e-300), groups, self.seed)


class TSNE(Method):
    """t-SNE to two dimensions, then k-means."""

    name: ClassVar[str] = "t-SNE"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Perplexities 30 and 10, after 50 principal components as its authors advise."""
        points = X
        if min(X.shape) > 50:
            points = decomposition.PCA(50, random_state=self.seed).fit_transform(X)
        for perplexity in (30.0, 10.0):
            if perplexity >= len(X) / 3:
                continue
            plane = manifold.TSNE(perplexity=perplexity, init="pca", random_state=self.seed)
            # On few rows its threads wait for one another ten times as long as they work.
            with threadpool_limits(1, user_api="openmp"):
                flat = plane.fit_transform(points.astype(np.float32))
            labels = k_means(flat.astype(np.float64), self._groups(k), self.seed)
            yield Trial(f"perplexity {perplexity:g}", labels)


class EM(Method):
    """EM for a Gaussian mixture without background, best of ten starts."""

    name: ClassVar[str] = "EM"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Spherical, diagonal and full covariances; the last is the standard one of the paper."""
        for shape in ("spherical", "diag", "full"):
            model = mixture.GaussianMixture(
                self._groups(k),
                covariance_type=shape,
                n_init=RESTARTS if shape != "full" else 1,  # one start in d = 200 takes minutes
                reg_covar=1e-6 * float(X.var(axis=0).mean()),
                random_state=self.seed,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = model.fit_predict(X)
            yield Trial(f"{shape} covariance", _labels(labels), np.asarray(model.means_))


class HDBSCAN(Method):
    """HDBSCAN over its smallest cluster, with and without the answer 'one cluster'."""

    name: ClassVar[str] = "HDBSCAN"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Smallest clusters of 5 to 30 rows."""
        dist = distance.squareform(distance.pdist(X))
        for single in (False, True):
            for size in (5, 3, 10, 20, 30):
                if size < len(X):
                    found = cluster.HDBSCAN(
                        size, allow_single_cluster=single, metric="precomputed", copy=True
                    )
                    words = f"at least {size} rows" + (", one cluster allowed" if single else "")
                    yield Trial(words, _labels(found.fit_predict(dist)))


class OPTICS(Method):
    """OPTICS with its xi rule, over its smallest cluster."""

    name: ClassVar[str] = "OPTICS"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """5, 10 and 20 rows."""
        dist = distance.squareform(distance.pdist(X))
        for size in (5, 10, 20):
            if size < len(X):
                with warnings.catch_warnings():
                    # Where rows coincide its reachability ratios divide by zero.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    found = cluster.OPTICS(min_samples=size, metric="precomputed")
                    labels = found.fit_predict(dist)
                yield Trial(f"at least {size} rows", _labels(labels))


def k_means(X: Floats, groups: int, seed: int) -> Labels:
    """Labels of k-means++, best of ten starts."""
    model = cluster.KMeans(min(groups, len(X)), n_init=RESTARTS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than groups
        return _labels(model.fit_predict(X))


def _knee(reach: Floats) -> float:
    """Where sorted distances begin to rise: the "first valley" its authors look for."""
    ordered = np.sort(reach)
    bend, is_above = _bend(ordered)
    if is_above:  # the shoulder at which most rows are, all background; the foot is before it
        bend, _ = _bend(ordered[: bend + 1])
    return max(float(ordered[bend]), 1e-300)


def _bend(ordered: Floats) -> tuple[int, bool]:
    """Point farthest from the line between both ends, and whether it is above that line."""
    above = ordered - np.linspace(ordered[0], ordered[-1], len(ordered))
    at = int(np.abs(above).argmax())
    return at, bool(above[at] > 0.0)


def _leading(A: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Eigenvectors of the k largest eigenvalues of a symmetric matrix."""
    from scipy.sparse.linalg import eigsh

    if len(A) < 50 or k >= len(A) - 1:
        vectors: Floats = np.linalg.eigh(A)[1][:, -k:]
    else:
        vectors = eigsh(A, k=k, which="LA", v0=rng.standard_normal(len(A)), maxiter=5000)[1]
    return vectors


def _labels(found: object) -> Labels:
    return np.asarray(found, dtype=np.int64)
