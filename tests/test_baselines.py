"""The competitors reach what their papers claim on easy data, so that comparisons are fair."""

import numpy as np
import pytest

from crlm import GMMUB, scores
from crlm.baselines import (
    DBSCAN,
    EM,
    EMGMMUB,
    HDBSCAN,
    KNNCLUST,
    OPTICS,
    TSNE,
    Auto,
    CompleteLinkage,
    Given,
    KMeans,
    Spectral,
    Supervised,
    TensorDecomposition,
    means_of,
)
from crlm.errors import InputError

EVERY = [DBSCAN, EM, EMGMMUB, HDBSCAN, KNNCLUST, OPTICS, TSNE, CompleteLinkage, KMeans, Spectral]
EVERY += [TensorDecomposition, Auto]


def blobs(sizes, sigmas, d, seed, apart=20.0):
    """Gaussians around multiples of the unit vectors: no background, nothing in doubt."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = apart * np.eye(d)[y] + np.asarray(sigmas)[y, None] * rng.standard_normal((len(y), d))
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("kind", EVERY)
def test_every_method_finds_clusters_far_apart_at_one_of_its_settings(kind):
    X, y = blobs([40, 30, 50], [1.0, 1.0, 1.0], d=5, seed=0)
    F = [scores.f_measure(y, t.labels) for t in kind(background=False).trials(X, 3)]
    assert max(F) > 0.99 if kind is not OPTICS else max(F) > 0.9


@pytest.mark.parametrize("kind", EVERY)
def test_equal_seeds_give_equal_labels_and_the_data_stay_as_they_are(kind):
    X, _ = blobs([30, 30], [1.0, 2.0], d=4, seed=1)
    before = X.copy()
    first, again = kind(seed=5).fit_predict(X, 2), kind(seed=5).fit_predict(X, 2)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(X, before)
    assert first.shape == (60,)
    assert first.dtype == np.int64


def test_means_of_labels_leave_out_background_and_single_rows():
    X = np.array([[0.0, 0.0], [2.0, 4.0], [7.0, 7.0], [1.0, 1.0]])
    np.testing.assert_array_equal(means_of(X, np.array([0, 0, 3, -1])), [[1.0, 2.0]])


# EM for GMMUB


def test_em_gmmub_reaches_the_supervised_means_without_background():
    X, y = blobs([100, 200, 150], [1.0, 2.0, 3.0], d=10, seed=2, apart=30.0)
    (trial,) = EMGMMUB().trials(X, 3)
    supervised = means_of(X, y)
    assert scores.f_measure(y, trial.labels) == 1.0
    assert scores.mean_error(supervised, trial.means) < 1e-6


@pytest.mark.parametrize("support", ["ball", "box"])
def test_em_gmmub_parts_gaussians_from_a_background_of_half_the_rows(support):
    truth = GMMUB([[0.0] * 5, [12.0] * 5], sigmas=[1.0, 2.0], weights=0.25, D=25.0)
    X, y = truth.sample(800, rng=3)
    labels = EMGMMUB(support=support).fit_predict(X, 2)
    assert scores.f_measure(y, labels) > 0.98
    assert np.mean(labels[y == -1] == -1) > 0.98


def test_em_gmmub_recovers_overlapping_gaussians_better_than_their_distance():
    """The estimate is that of maximum likelihood: nearer the truth than a hard partition's."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 4000)
    means = np.array([[0.0, 0.0], [2.5, 0.0]])
    X = means[y] + rng.standard_normal((4000, 2))
    (em,) = EMGMMUB().trials(X, 2)
    hard = means_of(X, KMeans(background=False).fit_predict(X, 2))
    assert scores.mean_error(means, em.means) < 0.12
    assert scores.mean_error(means, em.means) < scores.mean_error(means, hard)


def test_em_gmmub_stays_finite_at_99_percent_background_in_1000_dimensions():
    truth = GMMUB.draw(2, 1000, [1, 2], 0.005, D=100, sigma_max=10, rng=5)
    X, _ = truth.sample(600, rng=6)
    with np.errstate(all="raise", under="ignore"):
        (trial,) = EMGMMUB(restarts=3).trials(X, 2)
    assert np.isfinite(trial.means).all()


def test_em_gmmub_prefers_a_cluster_to_a_gaussian_on_a_single_row():
    X, _ = blobs([60], [1.0], d=3, seed=7)
    X = np.vstack([X, [[500.0, 0.0, 0.0], [0.0, 500.0, 0.0]]])
    labels = EMGMMUB().fit_predict(X, 1)
    assert np.bincount(labels[labels >= 0])[0] >= 55


# Tensor decomposition


def spherical_mixture(n, seed):
    """Overlapping spherical Gaussians of different widths: no separation is needed (Theorem 2)."""
    means = np.array([[3.0, 0, 0, 0, 0, 0], [0, 2.0, 0, 1.0, 0, 0], [0, 0, -2.0, 0, 0, 2.0]])
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    sigmas = np.array([1.0, 0.7, 1.3])
    return means[y] + sigmas[y, None] * rng.standard_normal((n, 6)), means


def td_error(n, seed):
    X, means = spherical_mixture(n, seed)
    (trial,) = TensorDecomposition().trials(X, 3)
    return scores.mean_error(means, trial.means)


def test_tensor_decomposition_converges_at_the_rate_of_its_theorem():
    sizes = [3000, 30_000, 300_000]
    errors = [np.mean([td_error(n, seed) for seed in range(8)]) for n in sizes]
    assert errors[-1] < 0.05
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35


def test_tensor_decomposition_is_exact_on_exact_moments():
    """Rows at +- sqrt(d) sigma along each axis have the moments of a Gaussian up to order three."""
    d, sigma, sizes = 4, 0.5, (3, 2, 1)
    star = np.sqrt(d) * sigma * np.vstack([np.eye(d), -np.eye(d)])
    means = np.array([[2.0, 0, 0, 0], [0, 3.0, 1.0, 0], [0, 0, -2.0, 1.0]])
    X = np.vstack([m + star for m, size in zip(means, sizes, strict=True) for _ in range(size)])
    (trial,) = TensorDecomposition().trials(X, 3)
    assert scores.mean_error(means, trial.means) < 1e-8


def test_tensor_decomposition_refuses_more_clusters_than_dimensions():
    with pytest.raises(InputError, match="4 clusters in 3 dimensions"):
        TensorDecomposition().fit_predict(np.random.default_rng(0).normal(size=(50, 3)), 4)


def test_tensor_decomposition_refuses_data_without_as_many_directions():
    X = np.outer(np.arange(20.0), [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="1 positive directions, and 2 clusters need 2"):
        TensorDecomposition().fit_predict(X, 2)


# KNNCLUST


def test_knnclust_finds_clusters_of_different_density_and_their_number():
    X, y = blobs([150, 150, 150], [0.2, 1.0, 4.0], d=10, seed=8, apart=30.0)
    (trial,) = KNNCLUST(neighbours=(40,)).trials(X, 3)
    assert trial.labels.max() + 1 == 3
    assert scores.f_measure(y, trial.labels) == 1.0


def test_knnclust_finds_fewer_clusters_with_more_neighbours():
    X = np.random.default_rng(9).normal(size=(300, 4))
    n_found = [t.labels.max() + 1 for t in KNNCLUST(neighbours=(3, 10, 40, 120)).trials(X, 1)]
    assert n_found == sorted(n_found, reverse=True)
    assert n_found[0] > n_found[-1]


# CRLM and the supervised line


def test_crlm_at_the_bandwidth_of_the_paper_equals_the_supervised_means():
    truth = GMMUB.draw(2, 50, [1, 2], 0.02, D=60, sigma_max=5, rng=10)
    X, y = truth.sample(1000, rng=11)
    (ours,), (line,) = Given(5.0).trials(X, 2), Supervised(y).trials(X, 2)
    assert scores.mean_error(line.means, ours.means) < 1e-12


def test_dbscan_at_its_usual_setting_finds_a_cluster_in_much_background():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (30, 20)), rng.uniform(-30, 30, (270, 20))])
    y = np.repeat([0, -1], [30, 270])
    assert scores.f_measure(y, DBSCAN().fit_predict(X, 1)) > 0.85
