r"""The robust loss, the radius it ends at, and the fixed point it is summed in.

Everything that depends on the formula

.. math:: \ell(x, \sigma) = \min\bigl(\|x\|^2 / (d\sigma^2) - G,\; 0\bigr)

is here and nowhere else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

G_PAPER = 4.0  # "we fix G = 4"

# Losses are summed as whole multiples of this. Algorithm 2 takes an argmin over sums from
# which terms are later removed; in floating point (a + b) - b need not be a, and ties would
# break by rounding error, differently for every thread count and block size.
QUANTUM = 2.0**-30

# The square is sigma * sigma, not sigma**2: a product is rounded correctly on every machine and in
# every language, a power is not, and the page has to find the same labels in JavaScript.

# A row's sum fits in int64 while n * G stays below this.
MAX_TOTAL = 2.0**63 * QUANTUM


def sq_cutoff(sigma: float, d: int, G: float = G_PAPER) -> float:
    r"""Squared radius :math:`R_\sigma^2 = d G \sigma^2` at which the loss reaches zero.

    A point belongs to a ball when its squared distance is strictly less (`alg:closs`).

    >>> sq_cutoff(10.0, d=100)
    40000.0
    """
    return d * G * (sigma * sigma)


def robust_loss(
    sq_dist: ArrayLike, sigma: float, d: int, G: float = G_PAPER
) -> NDArray[np.float64]:
    r"""Truncated quadratic loss :math:`\ell`, from squared distances to the centre.

    Parameters
    ----------
    sq_dist : array-like, any shape
        Squared Euclidean distances ``||x_i - mu||**2``, not distances.
    sigma : float
        Bandwidth, in the units of the data.
    d : int
        Dimension of the data.
    G : float
        Depth of the loss.

    Returns
    -------
    loss : ndarray, same shape as `sq_dist`
        In ``[-G, 0]``: ``-G`` at the centre, 0 from :func:`sq_cutoff` on.

    Examples
    --------
    In d = 100 the well of sigma = 1 ends at distance 20:

    >>> robust_loss([0.0, 10.0**2, 20.0**2, 30.0**2], sigma=1.0, d=100)
    array([-4., -3.,  0.,  0.])
    """
    return np.minimum(np.asarray(sq_dist, dtype=np.float64) / (d * (sigma * sigma)) - G, 0.0)


def fixed_point(loss: ArrayLike) -> NDArray[np.int64]:
    """Loss as a whole number of quanta, so that sums are exact in any order.

    >>> fixed_point([-4.0, -0.5, 0.0])
    array([-4294967296,  -536870912,           0])
    """
    return np.rint(np.asarray(loss, dtype=np.float64) / QUANTUM).astype(np.int64)


def total_loss(X: ArrayLike, mu: ArrayLike, sigma: float, G: float = G_PAPER) -> float:
    r"""Cost :math:`L(\mu, \sigma) = \sum_i \ell(x_i - \mu, \sigma)` of one centre (`eq:loss`).

    >>> total_loss([[0.0], [1.0], [5.0]], mu=[0.0], sigma=1.0)
    -7.0
    """
    X = np.asarray(X, dtype=np.float64)
    sq_dist = np.square(X - np.asarray(mu, dtype=np.float64)).sum(axis=1)
    return float(fixed_point(robust_loss(sq_dist, sigma, X.shape[1], G)).sum() * QUANTUM)
