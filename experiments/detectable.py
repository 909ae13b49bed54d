"""How much can be found in two and three dimensions at all?

    python experiments/detectable.py        # the cases of `selection.py low`; some seconds

A test that knows the density of the background bounds what any test at the same level can find:
it takes for each cluster the best ball around any of the eight rows nearest its mean, at the
one radius that is best by the labels for the whole data set. Three of them: no test, the density
known exactly, and a background that may be twice as dense (as CRLM() allows).
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist
from selection import SIZES, draw_model

ALPHA, SEED, N_CENTERS = 0.01, 2024, 8
CONTRASTS = {"no test": 0, "density known": 1, "at most twice it": 2}


def main():
    n_cases = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES["usual"]["low"]
    F, n = [], []
    for i in range(n_cases):
        model, X, y = draw_model("low", np.random.default_rng([SEED, 1, i, True]))
        n.append(len(X))
        F.append([best_radius(model, X, y, contrast) for contrast in CONTRASTS.values()])
    small = np.array(n) <= 2000
    print("mean F".ljust(22), *(f"{name:>18}" for name in CONTRASTS))
    for name, some in (("all", small | True), ("n <= 2,000", small)):
        cells = (f"{value:18.3f}" for value in np.mean(np.array(F)[some], axis=0))
        print(f"{name} ({some.sum()})".ljust(22), *cells)


def best_radius(model, X, y, contrast):
    """Mean F over clusters at the best radius; a cluster that is not significant has 0."""
    radii = np.geomspace(0.5, 19.0 * math.sqrt(model.d), 60)
    found = [cluster(model, X, y, j, contrast, radii) for j in range(model.k)]
    return np.mean(found, axis=0).max()


def cluster(model, X, y, j, contrast, radii):
    """Largest F of a significant ball of one cluster, at each radius."""
    rows = np.flatnonzero(y == j)
    centers = rows[np.argsort(cdist(model.means[[j]], X[rows])[0])[:N_CENTERS]]
    inside = cdist(X[centers], X)[None] < radii[:, None, None]
    size, hits = inside.sum(axis=2), inside[:, :, rows].sum(axis=2)
    F = 2.0 * hits / (len(rows) + size)
    if not contrast:
        return F.max(axis=1)
    n = len(X)
    n_background = n * model.background_weight
    log_share = model.d * np.log(radii / (model.D * math.sqrt(model.d)))
    share = np.minimum(contrast * np.exp(log_share), 1.0 - 1e-12)[:, None]
    m = size - 1
    tail = special.betainc(np.maximum(m, 1), np.maximum(n_background - m, 1e-9), share)
    significant = (m >= 2) & (m > n_background * share) & (n * tail <= ALPHA)
    return np.where(significant, F, 0.0).max(axis=1)


if __name__ == "__main__":
    main()
