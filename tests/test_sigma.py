"""The bandwidth that the data ask for."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from crlm import CRLM, GMMUB, estimate_sigma, scores
from crlm.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")


def gmmub(seed, n=1500, d=20, k=4, weights=0.02, D=60.0):
    sigmas = np.random.default_rng(seed).uniform(1, 3, k)
    model = GMMUB.draw(k, d, sigmas=sigmas, weights=weights, D=D, sigma_max=6.5, rng=seed)
    return model.sample(n, rng=seed + 1000)


@pytest.mark.parametrize("d", [5, 10, 30, 100])
@pytest.mark.parametrize("seed", range(2))
def test_the_paper_s_model_is_found_without_a_parameter(d, seed):
    X, truth = gmmub(seed, d=d)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-6, 6)
    model = CRLM().fit(X * scale)
    assert model.n_clusters_ == 4
    assert scores.f_measure(truth, model.labels_) > 0.98
    assert model.sigma_estimate_.evidence == "clear"
    low, high = model.sigma_estimate_.plateau
    assert low <= model.sigma_max_ <= high


def test_more_rows_than_are_measured_give_the_same_clusters():
    X, truth = gmmub(3, n=5000, weights=0.01)
    model = CRLM().fit(X)
    assert scores.f_measure(truth, model.labels_) == 1.0
    assert model.n_clusters_ == 4


@pytest.mark.parametrize("kind", ["ellipses", "heavy tails", "gaussian", "half"])
def test_departures_from_the_model_do_no_harm(kind):
    rng = np.random.default_rng(7)
    d, size = 20, 200 if kind == "half" else 50
    around = rng.normal(0, 40, (800, d)) if kind == "gaussian" else rng.uniform(-70, 70, (800, d))
    spread = np.geomspace(0.5, 2.0, d) if kind == "ellipses" else np.ones(d)
    parts = []
    for center in rng.uniform(-35, 35, (2, d)):
        z = rng.normal(size=(size, d)) * spread
        if kind == "heavy tails":
            z /= np.sqrt(rng.chisquare(5, size=(size, 1)) / 5)
        parts.append(center + z)
    X = np.vstack([around[: 400 if kind == "half" else 800], *parts])
    truth = np.repeat([-1, 0, 1], [len(X) - 2 * size, size, size])
    model = CRLM().fit(X)
    assert model.n_clusters_ == 2
    assert scores.f_measure(truth, model.labels_) > 0.97


def test_labels_follow_the_rows():
    X, _ = gmmub(0)
    order = np.random.default_rng(0).permutation(len(X))
    model, shuffled = CRLM().fit(X), CRLM().fit(X[order])
    assert shuffled.sigma_max_ == model.sigma_max_
    assert np.array_equal(shuffled.labels_, model.labels_[order])


def test_scaling_by_powers_of_two_and_exact_shifts_change_nothing():
    X, _ = gmmub(1)
    X = np.round(X * 2.0**20) * 2.0**-20
    model = CRLM().fit(X)
    for exponent in (-40, 7):
        scaled = CRLM().fit(np.ldexp(X, exponent))
        assert scaled.sigma_max_ == np.ldexp(model.sigma_max_, exponent)
        assert np.array_equal(scaled.labels_, model.labels_)
    shifted = CRLM().fit(X + 4096.0)
    assert shifted.sigma_max_ == model.sigma_max_
    assert np.array_equal(shifted.labels_, model.labels_)


def test_every_column_twice_over_the_root_of_two_changes_no_label():
    X, _ = gmmub(2)
    twice = np.hstack([X, X]) / np.sqrt(2.0)
    assert np.array_equal(CRLM().fit(twice).labels_, CRLM().fit(X).labels_)


def test_whole_weights_are_copies_for_the_rule_too():
    X, _ = gmmub(4, n=600, weights=0.05, k=2)
    w = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = CRLM().fit(X, sample_weight=w)
    repeated = CRLM().fit(np.repeat(X, w, axis=0))
    assert weighted.sigma_max_ == repeated.sigma_max_
    assert np.array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    assert np.array_equal(weighted.p_values_, repeated.p_values_)


def test_the_answer_of_auto_is_what_its_bandwidth_gives():
    X, _ = gmmub(5)
    model = CRLM().fit(X)
    given = CRLM(model.sigma_max_).fit(X)
    assert np.array_equal(given.labels_, model.labels_)
    assert np.array_equal(model.predict(X), model.labels_)


def test_the_radius_does_not_depend_on_G():
    X, _ = gmmub(6)
    assert CRLM(G=8.0).fit(X).radius_ == pytest.approx(CRLM().fit(X).radius_, rel=1e-12)


def test_peaks_are_the_sigmas_of_the_clusters():
    X, _ = GMMUB.draw(3, 50, [1, 3, 5], 0.02, D=100, sigma_max=11, rng=0).sample(2000, rng=1)
    assert estimate_sigma(X).peaks == pytest.approx([1, 3, 5], rel=0.05)


def test_the_curve_belongs_to_the_choice():
    estimate = estimate_sigma(gmmub(7)[0])
    assert len(estimate.sigmas) == len(estimate.n_clusters) == len(estimate.net)
    at = int(np.searchsorted(estimate.sigmas, estimate.suggested))
    assert estimate.sigmas[at] == estimate.suggested
    assert estimate.n_clusters[at] == 4
    assert estimate.net[at] >= 0.9 * estimate.net.max()
    assert estimate.gap > 1.0
    assert estimate.score > 10


def test_histogram_counts_every_pair_once():
    X = np.random.default_rng(0).normal(size=(50, 5))
    estimate = estimate_sigma(X)
    assert estimate.counts.sum() == 50 * 49 / 2
    assert len(estimate.edges) == len(estimate.counts) + 1


def test_background_alone_is_weak_evidence_and_has_a_guess():
    estimate = estimate_sigma(np.random.default_rng(0).uniform(size=(300, 5)))
    assert estimate.evidence == "weak"
    assert 0 < estimate.suggested < 1
    assert estimate.peaks == []


def test_no_rows_are_no_ground_for_a_bandwidth():
    with pytest.raises(InputError, match="X has no rows"):
        estimate_sigma(np.empty((0, 5)))


def test_dataframe_is_accepted():
    X, _ = gmmub(0, n=500)
    assert estimate_sigma(pd.DataFrame(X)).suggested == estimate_sigma(X).suggested


@pytest.mark.parametrize("factor", [3.7, 2.54, 1e-3])
def test_other_units_change_no_label_however_much_the_bandwidth_matters(factor):
    X, y = load_digits(return_X_y=True)
    X = X[np.concatenate([np.flatnonzero(y == j)[: 15 + 45 * (j == 3)] for j in range(10)])]
    model, other = CRLM().fit(X), CRLM().fit(factor * X)
    assert model.sigma_estimate_.evidence == "moderate"
    assert np.array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.bandwidths_, factor * model.bandwidths_, rtol=1e-7)
