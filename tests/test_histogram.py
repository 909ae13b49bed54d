"""The paper's rule for sigma_max, done by program."""

import numpy as np
import pytest

from crlm import CRLM, GMMUB
from crlm.bandwidth.histogram import read_histogram
from crlm.errors import WeakEvidenceWarning


def read(X):
    return read_histogram(X, np.ones(len(X), dtype=np.int64))


def gmmub(sigmas, d, seed, n=3000, D=100.0, weights=0.015):
    model = GMMUB.draw(
        len(sigmas), d, sigmas=sigmas, weights=weights, D=D, sigma_max=2.2 * max(sigmas), rng=seed
    )
    return model.sample(n, rng=seed + 1000)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [30, 100, 1000])
def test_peaks_stand_at_the_true_sigmas(d, seed):
    estimate = read(gmmub([1.0, 3.0, 5.0], d, seed))
    assert estimate.evidence == "clear"
    width = max(0.06, 1 / np.sqrt(2 * d))  # of a peak, or two bins
    assert estimate.peaks == pytest.approx([1.0, 3.0, 5.0], rel=width)
    assert estimate.suggested == pytest.approx(2.1 * 5.0, rel=width)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [100, 1000])
def test_a_peak_is_read_as_exactly_as_the_rows_of_its_cluster_allow(d, seed):
    sigmas = [1.0, 3.0, 5.0]
    model = GMMUB.draw(3, d, sigmas, 0.01, D=100, sigma_max=11, rng=seed)
    X, y = model.sample(3000, rng=seed + 1000)
    own = [np.sqrt(X[y == j].var(axis=0, ddof=1).mean()) for j in range(3)]
    assert read(X).peaks == pytest.approx(own, rel=0.02)  # bins are 3 % wide


def test_distances_between_two_clusters_are_no_peak_of_their_own():
    rng = np.random.default_rng(0)
    near, far = rng.normal(0, 1, (60, 50)), rng.normal(0, 1, (60, 50)) + 15.0
    background = rng.uniform(-400, 400, (2000, 50))
    estimate = read(np.vstack([near, far, background]))
    assert estimate.peaks == pytest.approx([1.0], rel=0.06)


def test_clusters_that_hold_much_of_the_data_give_moderate_evidence():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 1, (100, 20)) for c in (-10, 0, 10)])
    estimate = read(X)
    assert estimate.evidence == "moderate"
    assert estimate.peaks == pytest.approx([1.0], rel=0.06)


@pytest.mark.parametrize("d", [2, 20, 100])
def test_pure_background_gives_weak_evidence(d):
    X, _ = GMMUB(np.empty((0, d)), [], [], D=10.0).sample(1000, rng=d)
    assert read(X).evidence == "weak"


def test_estimate_scales_with_the_data_and_ignores_shifts_and_row_order():
    X = gmmub([1.0, 2.0], 40, seed=5, n=6000)  # more rows than are measured
    estimate = read(X)
    assert read(X * 2.0**20).suggested == estimate.suggested * 2.0**20
    assert read(X[np.random.default_rng(0).permutation(6000)])[:3] == estimate[:3]
    small = gmmub([1.0, 2.0], 40, seed=5)
    assert read(small + 512.0)[:3] == read(small)[:3]


def test_tight_cluster_far_from_the_origin_is_measured_from_differences():
    rng = np.random.default_rng(0)
    X = np.vstack([1e7 + 1e-3 * rng.normal(size=(40, 20)), 1e7 + rng.normal(0, 50, (500, 20))])
    assert read(X).peaks == pytest.approx([1e-3], rel=0.06)


def test_histogram_counts_every_pair_once():
    X = np.random.default_rng(0).normal(size=(50, 5))
    estimate = read(X)
    assert estimate.counts.sum() == 50 * 49 / 2
    assert len(estimate.edges) == len(estimate.counts) + 1


def test_weights_and_copies_give_the_same_estimate():
    X = gmmub([1.0, 2.0], 40, seed=5, n=1000, weights=0.05)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = read_histogram(X, w)
    repeated = read_histogram(np.repeat(X, w, axis=0), np.ones(w.sum(), dtype=np.int64))
    assert weighted[:3] == repeated[:3]
    assert np.array_equal(weighted.counts, repeated.counts)


def test_copies_of_a_few_rows_cost_no_more_than_the_rows():
    X = np.repeat(gmmub([1.0], 30, seed=1, n=40, weights=0.5), 100, axis=0)
    assert read(X).counts.sum() == 100 * 100 * 40 * 39 / 2


@pytest.mark.parametrize("total", [1e9, 2e9])
@pytest.mark.parametrize("seed", range(4))
def test_very_large_weights_end_in_an_estimate_too(seed, total):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(80, 10)), rng.uniform(-50, 50, (320, 10))])
    w = rng.uniform(0.5, 2.0, 400)
    assert read_histogram(X, w * total / w.sum()).suggested > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_peak_beside_the_background_is_read_as_its_own(seed):
    rng = np.random.default_rng(seed)
    tight, wide = 1.3 * rng.normal(size=(150, 30)), rng.uniform(-5, 5, (1476, 30))
    estimate = read(np.vstack([tight, wide]))
    assert estimate.evidence == "moderate"
    assert estimate.peaks == pytest.approx([1.3], rel=0.03)


def test_rows_of_weight_zero_are_not_sampled():
    X = gmmub([1.0, 2.0], 40, seed=5, n=9000)
    w = np.zeros(9000, dtype=np.int64)
    w[:600] = 1
    assert read_histogram(X, w)[:3] == read_histogram(X[:600], w[:600])[:3]


def test_the_estimator_offers_the_rule_by_name():
    X = gmmub([1.0, 2.0], 40, seed=5)
    model = CRLM("histogram").fit(X)
    assert model.sigma_max_ == read(X).suggested
    assert model.n_clusters_ == 2


def test_weak_evidence_of_the_histogram_is_told_in_its_own_words():
    X = np.random.default_rng(0).uniform(size=(300, 20))
    with pytest.warns(WeakEvidenceWarning, match="no peak in the distances"):
        CRLM("histogram").fit(X)
