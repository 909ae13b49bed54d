r"""Tensor decomposition for spherical Gaussian mixtures (Hsu and Kakade 2013, Theorem 2).

Moments of order one to three, less what the variances add to them, are

.. math:: M_2 = \sum_i w_i \mu_i \mu_i^T, \qquad M_3 = \sum_i w_i \mu_i^{\otimes 3}.

:math:`M_2` gives a whitening W with :math:`W^T M_2 W = I`; the whitened :math:`M_3` then has
orthogonal components, which power iterations find one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.spatial import distance

from crlm.baselines.common import Floats, Method, Trial
from crlm.errors import InputError


class TensorDecomposition(Method):
    """Means of a mixture of spherical Gaussians from its moments; rows go to the nearest mean.

    Knows of no background. Needs k <= d and linearly independent means, and says so where the
    data cannot have come from such a mixture.
    """

    name: ClassVar[str] = "TD"

    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """The one estimate there is."""
        means = mixture_means(X, k, np.random.default_rng(self.seed))
        labels = distance.cdist(X, means).argmin(axis=1).astype(np.int64)
        yield Trial("nothing to choose", labels, means)


def mixture_means(X: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Means of k spherical Gaussians, shape (k, d).

    Raises
    ------
    InputError
        When k > d, or the second moment has not k positive directions left.
    """
    n, d = X.shape
    if k > d:
        msg = (
            f"tensor decomposition was asked for {k} clusters in {d} dimensions; it needs linearly "
            f"independent means. Ask for at most {d}."
        )
        raise InputError(msg)
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh((X - mean).T @ (X - mean) / n)
    variance, v = max(float(values[0]), 0.0), vectors[:, 0]  # the average of the sigma_i^2
    m1 = X.T @ np.square((X - mean) @ v) / n  # sum of w_i sigma_i^2 mu_i
    W, B = _whitening(X.T @ X / n - variance * np.eye(d), k)
    T = _whitened_third_moment(X @ W, W.T @ m1, W.T @ W)
    found = _decompose(T, k, rng)
    means: Floats = np.array([size * (B @ u) for size, u in found])
    return means


def _whitening(M2: Floats, k: int) -> tuple[Floats, Floats]:
    """W with W^T M2 W = I, and B with which a whitened mean is unwhitened, both (d, k)."""
    values, vectors = np.linalg.eigh(M2)
    top, U = values[-k:], vectors[:, -k:]
    if top[0] <= 1e-12 * abs(top[-1]):
        n_positive = int((values > 1e-12 * abs(values[-1])).sum())
        msg = (
            f"tensor decomposition does not apply: after the noise is taken off, the second moment "
            f"has {n_positive} positive directions, and {k} clusters need {k}. Ask for fewer."
        )
        raise InputError(msg)
    return U / np.sqrt(top), U * np.sqrt(top)


def _whitened_third_moment(Z: Floats, a: Floats, C: Floats) -> Floats:
    """M3(W, W, W) as a k x k x k array, from whitened rows Z, without any d x d x d one."""
    T: Floats = np.einsum("ni,nj,nl->ijl", Z, Z, Z, optimize=True) / len(Z)
    T -= np.einsum("i,jl->ijl", a, C)
    T -= np.einsum("j,il->ijl", a, C)
    T -= np.einsum("l,ij->ijl", a, C)
    return T


def _decompose(T: Floats, k: int, rng: np.random.Generator) -> list[tuple[float, Floats]]:
    """Eigenpairs of a symmetric tensor by power iterations, each taken off in its turn."""
    found = []
    for _ in range(k):
        value, u = _largest(T, rng)
        found.append((value, u))
        T = T - value * np.einsum("i,j,l->ijl", u, u, u)
    return found


def _largest(
    T: Floats, rng: np.random.Generator, starts: int = 10, steps: int = 100
) -> tuple[float, Floats]:
    """Best of some power iterations from random directions."""
    pairs = []
    for _ in range(starts + 2 * len(T)):
        u = rng.standard_normal(len(T))
        u /= np.linalg.norm(u)
        for _ in range(steps):
            next_u = np.einsum("ijl,j,l->i", T, u, u)
            length = float(np.linalg.norm(next_u))
            if length == 0.0:
                break
            next_u /= length
            is_still = float(np.abs(next_u - u).max()) < 1e-12
            u = next_u
            if is_still:
                break
        pairs.append((float(np.einsum("ijl,i,j,l->", T, u, u, u)), u))
    return max(pairs, key=lambda pair: pair[0])
