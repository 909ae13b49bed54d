r"""The generative model of the paper: a few Gaussians in a uniform ball (GMMUB).

.. math:: \sum_{j=1}^k \pi_j\, N(\mu_j, \sigma_j^2 I_d) + \pi_{k+1}\, U(B(c, D\sqrt d))

Densities are kept as logarithms throughout: in d = 4096 the volume of the ball alone is far
outside the range of a float.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.spatial import distance

from crlm.errors import InputError, ParameterError
from crlm.labels import BACKGROUND
from crlm.loss import G_PAPER, sq_cutoff

# Weights such as three times 1/3 may add up to a little more than 1.
WEIGHT_ROUNDING = 1e-9

# Tries per mean before `GMMUB.draw` gives up. A mean that fits with probability 1 % is missed
# with probability 4e-5.
MAX_TRIES = 1000

# Entries of the largest temporary array, 8 MB: the densities of n rows need no more than this
# beyond their result.
BLOCK_ENTRIES = 2**20

Seed = int | np.random.Generator


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
        clean_means = _means(means)
        k, d = clean_means.shape
        values = {
            "means": clean_means,
            "sigmas": _sigmas(sigmas, k),
            "weights": _weights(weights, k),
            "D": _above("D", D, bound=0.0),
            "center": _filled("center", center, d, "columns"),
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

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
        k, d = _whole("k", k, least=0), _whole("d", d, least=1)
        D, sigma_max = _above("D", D, bound=0.0), _above("sigma_max", sigma_max, bound=0.0)
        G = _above("G", G, bound=1.0)
        _require_a1(D, sigma_max, G)
        _require_a3(_sigmas(sigmas, k), sigma_max)
        gap = 2.0 * math.sqrt(sq_cutoff(sigma_max, d, G))
        means = _spread_means(k, d, D * math.sqrt(d), gap, _generator(rng))
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
        n, rng = _whole("n", n, least=0), _generator(rng)
        y = self._sample_labels(n, rng)
        is_background = y == BACKGROUND
        j = y[~is_background]
        X = np.empty((n, self.d))
        X[~is_background] = self.means[j] + self.sigmas[j, np.newaxis] * rng.standard_normal(
            (len(j), self.d)
        )
        X[is_background] = self.center + _uniform_ball(n - len(j), self.d, self._radius, rng)
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
        X = _points(X, self.d)
        log_density = np.empty(len(X))
        for rows, block in _blocks(X, self.k):
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
        X = _points(X, self.d)
        responsibilities = np.empty((len(X), self.k + 1))
        for rows, block in _blocks(X, self.k):
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

    def _sample_labels(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        y = rng.choice(self.k + 1, size=n, p=self._all_weights).astype(np.int64)
        y[y == self.k] = BACKGROUND
        return y

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


# -- densities and sampling --------------------------------------------------------------


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


def _uniform_ball(n: int, d: int, radius: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw n points uniform in a ball around the origin, by the method of Muller (1959)."""
    X = rng.standard_normal((n, d))
    r = radius * rng.random(n) ** (1.0 / d)
    X *= (r / np.linalg.norm(X, axis=1))[:, np.newaxis]
    return X


def _spread_means(
    k: int, d: int, radius: float, gap: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw k points more than `gap` from each other and from the rim of the ball (A1 and A2)."""
    means = np.empty((k, d))
    for j in range(k):
        candidates = (_uniform_ball(1, d, radius - gap, rng) for _ in range(MAX_TRIES))
        fitting = (mu for mu in candidates if _fits(mu, means[:j], radius, gap))
        mu = next(fitting, None)
        if mu is None:
            raise ParameterError(_no_room(j, k, radius - gap, gap))
        means[j] = mu
    return means


def _fits(mu: NDArray[np.float64], means: NDArray[np.float64], radius: float, gap: float) -> bool:
    is_inside = float(np.linalg.norm(mu)) + gap < radius
    return is_inside and bool((distance.cdist(mu, means) > gap).all())


def _no_room(j: int, k: int, radius: float, gap: float) -> str:
    return (
        f"A2 cannot be met: no place was found for mean {j + 1} of {k} in {MAX_TRIES} tries. "
        f"The means must be more than {gap:g} apart (A2) in a ball of radius {radius:g} (A1). "
        "Make D larger, or sigma_max or k smaller."
    )


# -- blocks of rows ----------------------------------------------------------------------


def _points(X: ArrayLike, d: int) -> NDArray[np.generic]:
    """X as it is stored, once it is known to be n rows of d real numbers."""
    points = np.asarray(X)
    if points.ndim != 2 or points.shape[1] != d:
        msg = (
            f"X has shape {points.shape}, but the model has dimension d = {d}. Give one row per "
            f"point, shape (n, {d}); X.reshape(1, -1) turns a single point into a row."
        )
        raise InputError(msg)
    if points.dtype.kind not in "biuf":
        msg = f"X has dtype {points.dtype}; densities need real numbers. Try X.astype(float)."
        raise InputError(msg)
    return points


def _blocks(X: NDArray[np.generic], k: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Consecutive rows of X as float64, few enough at a time to bound the memory.

    Converting here, and not the whole of X at once, keeps a memory-mapped file on disk.
    """
    n_rows = max(1, BLOCK_ENTRIES // max(X.shape[1], k + 1))
    for start in range(0, len(X), n_rows):
        rows = slice(start, start + n_rows)
        block = X[rows].astype(np.float64)
        if not np.isfinite(block).all():
            i = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            msg = f"X contains NaN or infinity, first in row {i}. Drop or fill such rows."
            raise InputError(msg)
        yield rows, block


# -- checks: each returns the clean value ------------------------------------------------


def _numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} cannot be read as numbers ({error}). Give numbers or an array of numbers."
        raise ParameterError(msg) from error
    if not np.isfinite(array).all():
        msg = f"{name} contains NaN or infinity; every entry must be finite. Replace or drop it."
        raise ParameterError(msg)
    return array


def _means(means: ArrayLike) -> NDArray[np.float64]:
    array = _numbers("means", means)
    if array.ndim != 2 or array.shape[1] == 0:
        msg = (
            f"means has shape {array.shape}, but must be (k, d) with d of at least 1: one row "
            "per cluster. A single mean is [[...]], no cluster is np.empty((0, d))."
        )
        raise ParameterError(msg)
    return array


def _filled(name: str, value: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    """One number for each of `size` things; a single number is for all of them."""
    array = _numbers(name, value)
    if array.shape not in ((), (size,)):
        msg = (
            f"{name} has shape {array.shape}, but means has {size} {what}. "
            f"Give {size} numbers, or a single one for all {what}."
        )
        raise ParameterError(msg)
    return np.broadcast_to(array, (size,)).copy()


def _sigmas(sigmas: ArrayLike, k: int) -> NDArray[np.float64]:
    array = _filled("sigmas", sigmas, k, "rows")
    if (array <= 0).any():
        msg = (
            f"sigmas contains {array.min():g}; a standard deviation must be greater than 0. "
            "Give the smallest spread that the measurement can resolve instead."
        )
        raise ParameterError(msg)
    return array


def _weights(weights: ArrayLike, k: int) -> NDArray[np.float64]:
    array = _filled("weights", weights, k, "rows")
    if (array < 0).any():
        msg = f"weights contains {array.min():g}; a share cannot be less than 0. Use 0 or more."
        raise ParameterError(msg)
    total = math.fsum(array)
    if total > 1.0 + WEIGHT_ROUNDING:
        msg = (
            f"weights add up to {total:.10g}, but the clusters together have at most 1; the "
            "rest is the background's. Divide them by their sum, or by more to leave a rest."
        )
        raise ParameterError(msg)
    return array


def _above(name: str, value: float, *, bound: float) -> float:
    number = _numbers(name, value)
    if number.ndim != 0 or number <= bound:
        msg = f"{name} = {value!r}, but it must be a single number greater than {bound:g}."
        raise ParameterError(msg)
    return float(number)


def _whole(name: str, value: SupportsIndex, *, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        msg = f"{name} = {value!r}, but it must be a whole number of at least {least}."
        raise ParameterError(msg)
    return number


def _generator(rng: Seed | None) -> np.random.Generator:
    if rng is None:
        msg = (
            "rng = None would give different points on every run. Give a seed such as rng=0, or "
            "a numpy.random.Generator, so that the result can be reproduced."
        )
        raise ParameterError(msg)
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = f"rng = {rng!r} is no seed. Give a whole number of at least 0, or a Generator."
        raise ParameterError(msg) from error


def _require_a1(D: float, sigma_max: float, G: float) -> None:
    slack = D - 2.0 * sigma_max * math.sqrt(G)
    if slack <= 0:
        msg = (
            f"A1 cannot hold: D = {D:g} must be greater than 2 * sigma_max * sqrt(G) = "
            f"{D - slack:g}. Make D larger or sigma_max smaller."
        )
        raise ParameterError(msg)


def _require_a3(sigmas: NDArray[np.float64], sigma_max: float) -> None:
    least = 2.0 * sigmas.max(initial=0.0)
    if sigma_max <= least:
        msg = (
            f"A3 cannot hold: sigma_max = {sigma_max:g} must be greater than twice the largest "
            f"of sigmas, {least:g}. Make sigma_max larger or sigmas smaller."
        )
        raise ParameterError(msg)
