"""The paper's simulations: CRLM is exact whenever its two conditions hold on the sample."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from crlm import CRLM, GMMUB, scores

SIGMA_MAX, G = 10.0, 4.0


def conditions_hold(model, X, y):
    """C1: no negative within R of a positive. C2: positives within sigma_j sqrt(dG) of mu_j."""
    d = X.shape[1]
    R = SIGMA_MAX * np.sqrt(d * G)
    c1 = (cdist(X[y >= 0], X[y < 0]) >= R).all()
    reach = np.linalg.norm(X[y >= 0] - model.means[y[y >= 0]], axis=1)
    return c1 and (reach < model.sigmas[y[y >= 0]] * np.sqrt(d * G)).all()


@pytest.mark.parametrize("d", [10, 100, 1000])
def test_f_measure_is_one_whenever_C1_and_C2_hold(d):
    held = 0
    for seed in range(20):
        model = GMMUB.draw(3, d, [1, 2, 3], 0.01, D=100, sigma_max=SIGMA_MAX, rng=seed)
        X, y = model.sample(3000, rng=seed + 100)
        if conditions_hold(model, X, y):
            held += 1
            found = CRLM(SIGMA_MAX, max_clusters=3, alpha=None).fit(X)
            supervised = [X[y == j].mean(axis=0) for j in range(3)]
            assert scores.f_measure(y, found.labels_) == 1.0
            assert scores.mean_error(model.means, found.cluster_centers_) == pytest.approx(
                scores.mean_error(model.means, supervised)
            )
    assert held >= 15
