r"""The generative model of the paper: a few Gaussians in a uniform ball (GMMUB).

.. math:: \sum_{j=1}^k \pi_j\, N(\mu_j, \sigma_j^2 I_d) + \pi_{k+1}\, U(B(c, D\sqrt d))

Densities are kept as logarithms throughout: in d = 4096 the volume of the ball alone is far
outside the range of a float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.spatial import distance

from crlm.labels import BACKGROUND
from crlm.loss import G_PAPER, sq_cutoff
from crlm.model_checks import (
    Seed,
    check_above,
    check_center,
    check_means,
    check_points,
    check_rng,
    check_sigmas,
    check_weights,
    check_whole,
    finite_blocks,
)
from crlm.model_draw import require_a1, require_a3, spread_means, uniform_ball


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GMMUB:
    """Mixture of k isotropic Gaussians and a uniform background, in d dimensions.

    The background fills a ball of radius ``D * sqrt(d)`` around `center`, and has the weight
    that the clusters leave over. A model is immutable: its arrays are read-only copies.

    Parameters
    ----------
    means : array-like of shape (k, d)
        Shape (0, d) is a model of background alone.
    sigmas : float or array-like of shape (k,)
        Standard deviation per coordinate of each cluster, in the units of the data.
    weights : float or array-like of shape (k,)
        Share of each cluster. A single number is the share of every one of them.
    D : float
        Radius of the background's ball divided by ``sqrt(d)``.
    center : float or array-like of shape (d,), default=0
        Centre of that ball.

    Examples
    --------
    >>> from crlm import GMMUB
    >>> model = GMMUB(means=[[0.0, 0.0], [9.0, 0.0]], sigmas=[1.0, 0.5], weights=0.25, D=20.0)
    >>> model
    GMMUB(k=2, d=2, D=20, background_weight=0.5)
    >>> X, y = model.sample(5, rng=0)
    >>> y
    array([-1,  1,  0,  0, -1])
    >>> model.responsibilities([[9.0, 0.5], [0.0, -15.0]]).round(3)
    array([[0.   , 0.998, 0.002],
           [0.   , 0.   , 1.   ]])
    """

    means: NDArray[np.float64]
    sigmas: NDArray[np.float64]
    weights: NDArray[np.float64]
    D: float
    center: NDArray[np.float64]

    # Written out, not generated, because it accepts more than it stores: lists and single
    # numbers come in, float64 arrays of the right shape are kept.
    def __init__(
        self,
        means: ArrayLike,
        sigmas: ArrayLike,
        weights: ArrayLike,
        D: float,
        center: ArrayLike = 0.0,
    ) -> None:
        clean_means = check_means(means)
        k, d = clean_means.shape
        vars(self).update(  # frozen: plain assignment is refused
            means=clean_means,
            sigmas=check_sigmas(sigmas, k),
            weights=check_weights(weights, k),
            D=check_above("D", D, bound=0.0),
            center=check_center(center, d),
        )

    def __repr__(self) -> str:
        return (
            f"GMMUB(k={self.k}, d={self.d}, D={self.D:g}, "
            f"background_weight={self.background_weight:g})"
        )

    @property
    def k(self) -> int:
        """Number of clusters, the background not counted."""
        return len(self.means)

    @property
    def d(self) -> int:
        """Dimension."""
        return int(self.means.shape[1])

    @property
    def background_weight(self) -> float:
        """Share of the background: what the clusters leave over of 1."""
        return max(0.0, 1.0 - math.fsum(self.weights))

    @classmethod
    def draw(
        cls,
        k: int,
        d: int,
        sigmas: ArrayLike,
        weights: ArrayLike,
        D: float,
        sigma_max: float,
        rng: Seed,
        *,
        G: float = G_PAPER,
    ) -> GMMUB:
        r"""Draw means at random so that the assumptions A1, A2 and A3 of the paper hold.

        With :math:`R = \sigma_{\max}\sqrt{dG}`, every mean is nearer than
        :math:`D\sqrt d - 2R` to the origin (A1), any two means are more than 2R apart (A2),
        and :math:`\sigma_{\max} > 2\sigma_j` (A3).

        Parameters
        ----------
        k, d : int
            Number of clusters and dimension.
        sigmas, weights : float or array-like of shape (k,)
        D : float
            Radius of the background's ball divided by ``sqrt(d)``.
        sigma_max : float
            The bandwidth for which the assumptions shall hold.
        rng : int or numpy.random.Generator
        G : float, default=4.0
            Depth of the loss.

        Returns
        -------
        model : GMMUB
            Centred at the origin.

        Notes
        -----
        Means are drawn one after the other, each uniformly in the ball that A1 allows, and
        drawn again when too near an earlier one. This finds no dense packing, so that a model
        which could just exist may be refused.

        Examples
        --------
        >>> from crlm import GMMUB
        >>> GMMUB.draw(k=3, d=50, sigmas=[1, 2, 3], weights=0.02, D=60, sigma_max=7, rng=0)
        GMMUB(k=3, d=50, D=60, background_weight=0.94)
        """
        k, d = check_whole("k", k, least=0), check_whole("d", d, least=1)
        D = check_above("D", D, bound=0.0)
        sigma_max = check_above("sigma_max", sigma_max, bound=0.0)
        G = check_above("G", G, bound=1.0)
        require_a1(D, sigma_max, G)
        require_a3(check_sigmas(sigmas, k), sigma_max)
        gap = 2.0 * math.sqrt(sq_cutoff(sigma_max, d, G))
        means = spread_means(k, d, D * math.sqrt(d), gap, check_rng(rng))
        return cls(means, sigmas, weights, D)

    def sample(self, n: int, rng: Seed) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw n independent points and the component each came from.

        Parameters
        ----------
        n : int
        rng : int or numpy.random.Generator
            Required: equal seeds give equal points. Use another seed than the one the model
            was drawn with.

        Returns
        -------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Cluster number, or -1 for background.

        Examples
        --------
        >>> from crlm import GMMUB
        >>> X, y = GMMUB(means=[[3.0]], sigmas=0.1, weights=0.5, D=10.0).sample(4, rng=0)
        >>> X.round(1).ravel(), y
        (array([5.4, 2.9, 3. , 3.1]), array([-1,  0,  0,  0]))
        """
        n, rng = check_whole("n", n, least=0), check_rng(rng)
        y = rng.choice(self.k + 1, size=n, p=self._all_weights).astype(np.int64)
        y[y == self.k] = BACKGROUND
        is_background = y == BACKGROUND
        j = y[~is_background]
        noise = rng.standard_normal((len(j), self.d))
        X = np.empty((n, self.d))
        X[~is_background] = self.means[j] + self.sigmas[j, np.newaxis] * noise
        X[is_background] = self.center + uniform_ball(n - len(j), self.d, self._radius, rng)
        return X, y

    def log_prob(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of the density at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        log_density : ndarray of shape (n,)
            ``-inf`` where nothing of the model reaches.

        Examples
        --------
        In d = 1 a background alone has the density 1 / (2 D) inside its interval, here 1/8:

        >>> import numpy as np
        >>> from crlm import GMMUB
        >>> model = GMMUB(means=np.empty((0, 1)), sigmas=1.0, weights=0.0, D=4.0)
        >>> np.exp(model.log_prob([[3.9], [4.1]]))
        array([0.125, 0.   ])
        """
        X = check_points(X, self.d)
        log_density = np.empty(len(X))
        for rows, block in finite_blocks(X, self.k):
            log_joint = self._log_joint(block, extend_background=False)
            log_density[rows] = special.logsumexp(log_joint, axis=1)
        return log_density

    def responsibilities(
        self, X: ArrayLike, *, extend_background: bool = False
    ) -> NDArray[np.float64]:
        """Probability that each row came from each component, given the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
        extend_background : bool, default=False
            The background ends at its ball. A point outside, however far from every cluster,
            is therefore a cluster's. True lets the background go on with the same density,
            so that such a point is background.

        Returns
        -------
        responsibilities : ndarray of shape (n, k + 1)
            Rows add up to 1; the last column is the background. A row that no component can
            have made is background.

        Examples
        --------
        >>> from crlm import GMMUB
        >>> model = GMMUB(means=[[0.0]], sigmas=1.0, weights=0.5, D=10.0)
        >>> model.responsibilities([[11.0]])
        array([[1., 0.]])
        >>> model.responsibilities([[11.0]], extend_background=True).round(3)
        array([[0., 1.]])
        """
        X = check_points(X, self.d)
        responsibilities = np.empty((len(X), self.k + 1))
        for rows, block in finite_blocks(X, self.k):
            log_joint = self._log_joint(block, extend_background=extend_background)
            log_joint[np.isneginf(log_joint).all(axis=1), -1] = 0.0
            responsibilities[rows] = special.softmax(log_joint, axis=1)
        return responsibilities

    @property
    def _radius(self) -> float:
        return self.D * math.sqrt(self.d)

    @property
    def _all_weights(self) -> NDArray[np.float64]:
        return np.append(self.weights, self.background_weight)

    def _log_joint(
        self, block: NDArray[np.float64], *, extend_background: bool
    ) -> NDArray[np.float64]:
        """Log of weight times density, one column per cluster, the background last."""
        dist = distance.cdist(block, np.vstack([self.means, self.center]))
        log_density = np.empty(dist.shape)
        log_density[:, :-1] = _log_gaussian(dist[:, :-1], self.sigmas, self.d)
        log_density[:, -1] = -_log_ball_volume(self._radius, self.d)
        if not extend_background:
            log_density[dist[:, -1] > self._radius, -1] = -np.inf
        with np.errstate(divide="ignore"):  # a component of weight 0 has the log weight -inf
            log_density += np.log(self._all_weights)
        return log_density


def _log_gaussian(
    dist: NDArray[np.float64], sigmas: NDArray[np.float64], d: int
) -> NDArray[np.float64]:
    """Log density of isotropic Gaussians at given distances from their means.

    >>> _log_gaussian(np.array([[0.0, 2.0]]), np.array([1.0, 2.0]), d=1).round(4)
    array([[-0.9189, -2.1121]])
    """
    # dist / sigma before squaring: sigma**2 would underflow first. An infinite square is right.
    with np.errstate(over="ignore"):
        sq_dist = np.square(dist / sigmas)
    log_norm: NDArray[np.float64] = d * (np.log(sigmas) + 0.5 * math.log(2.0 * math.pi))
    return -0.5 * sq_dist - log_norm


def _log_ball_volume(radius: float, d: int) -> float:
    """Log volume of a ball.

    >>> math.exp(_log_ball_volume(1.0, d=2)) / math.pi
    1.0
    """
    log_unit_ball = 0.5 * d * math.log(math.pi) - special.gammaln(0.5 * d + 1.0)
    return float(log_unit_ball + d * math.log(radius))
