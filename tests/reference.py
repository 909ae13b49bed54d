"""Algorithms 1 and 2 as printed: slow on purpose, never improved.

The only liberties are those that the library documents: a loss is rounded once to a multiple
of 2**-30, the cutoff is d * G * sigma_max**2, and equal losses go to the lowest row.
"""

import numpy as np


def ocrlm(S, sigma_max, G):
    d = S.shape[1]
    sq = ((S[:, None] - S[None]) ** 2).sum(-1)
    loss = np.minimum(sq / (d * sigma_max**2) - G, 0)
    i = np.rint(loss * 2.0**30).astype(np.int64).sum(1).argmin()
    return i, np.flatnonzero(sq[i] < d * G * sigma_max**2)


def crlm(X, k, sigma_max, G=4.0):
    X = np.array(X, dtype=np.float64, order="C")
    left, labels = np.arange(len(X)), np.full(len(X), -1)
    for j in range(k):
        if len(left) == 0:
            break
        _, C = ocrlm(X[left], sigma_max, G)
        if len(C) == 1:
            break
        labels[left[C]] = j
        left = np.delete(left, C)
    return labels
