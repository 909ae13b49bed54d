"""What every competitor offers: a name, and labels for given data and number of clusters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


class Trial(NamedTuple):
    """One setting of a method and what it gave.

    Attributes
    ----------
    setting : str
        In words, for the tables.
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for background.
    means : ndarray of shape (m, d) or None
        Means, when the method estimates them itself; otherwise they are those of the labels.
    """

    setting: str
    labels: Labels
    means: Floats | None = None


class Method(ABC):
    """A way to cluster, with the settings its users would try.

    Parameters
    ----------
    seed : int, default=0
        Equal seeds give equal labels.
    background : bool, default=True
        Whether the data hold a background beside their k clusters. A method that must put
        every row somewhere then makes k + 1 groups.
    """

    name: ClassVar[str]

    def __init__(self, seed: int = 0, *, background: bool = True) -> None:
        self.seed, self.background = seed, background

    @abstractmethod
    def trials(self, X: Floats, k: int) -> Iterator[Trial]:
        """Labels at each setting worth trying, the usual one first.

        Which is best can be told only with the truth. Tables that compare methods at their best
        say so.
        """

    def fit_predict(self, X: Floats, k: int) -> Labels:
        """Labels at the usual setting.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        k : int
            Number of clusters, the background not counted.

        Returns
        -------
        labels : ndarray of shape (n,)
            -1 for background, where the method knows of one.
        """
        return next(self.trials(X, k)).labels

    def _groups(self, k: int) -> int:
        return k + 1 if self.background else k


def means_of(X: Floats, labels: Labels) -> Floats:
    """Mean of each cluster of at least two rows, shape (m, d); a single row is no cluster.

    >>> means_of(np.array([[0.0], [2.0], [9.0], [5.0]]), np.array([4, 4, 1, -1]))
    array([[1.]])
    """
    names, which, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(names), X.shape[1]))
    np.add.at(sums, which, X)
    real = (sizes >= 2) & (names >= 0)
    means: Floats = sums[real] / sizes[real, np.newaxis]
    return means
