"""Rows that keep to themselves, all together, where no single ball is beyond doubt."""

import math

import numpy as np
import pytest
from scipy import stats

from crlm import CRLM
from crlm.background import kinship
from crlm.background.references import References
from crlm.background.significance import Background

pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")


def ones(n):
    return np.ones(n, dtype=np.int64)


def references_of(X):
    return References.choose(X, ones(len(X)))


def crowds(seed=5, k=4, size=30, n=40, d=8):
    """Wide clusters, which hold most of the rows and touch, and rows around them."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    parts = [1.3 * rng.normal(size=(n, d))]
    parts += [center + 0.75 * rng.normal(size=(size, d)) for center in centers]
    return np.vstack(parts), np.repeat(np.arange(-1, k), [n, *[size] * k])


def test_all_rows_together_may_tell_where_no_ball_does(monkeypatch):
    X, y = crowds()
    background = Background.learn(X, ones(len(X)))
    assert background.top < background.needed
    assert not background.alone
    model = CRLM().fit(X)
    assert model.sigma_estimate_.evidence == "moderate"
    assert model.n_clusters_ > 1
    assert (model.p_values_ <= 0.01).all()  # each has a significant ball all the same
    for j in range(model.n_clusters_):
        (rows,) = np.nonzero(model.labels_ == j)
        assert np.bincount(y[rows] + 1).max() >= 0.8 * len(rows)
    # A given bandwidth is asked the same.
    assert CRLM(model.sigma_max_).fit(X).n_clusters_ > 0
    monkeypatch.setattr(kinship, "MAX_ROWS", len(X) - 1)
    assert CRLM().fit(X).n_clusters_ == 0


def test_it_follows_the_rows_and_the_units():
    X, _ = crowds()
    labels = CRLM().fit_predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(CRLM(n_jobs=2).fit_predict(X[order]), labels[order])
    assert np.array_equal(CRLM().fit_predict(X * 2.0**-40), labels)
    weighted = CRLM().fit(X, sample_weight=np.arange(len(X)) % 3 + 1)
    assert np.array_equal(weighted.labels_, labels)  # copies count once


def test_a_background_keeps_to_itself_no_more_than_decoys():
    """At a level of a tenth, 7 or more of 24 would be one chance in a hundred."""
    rng = np.random.default_rng(0)
    passed = 0
    for i in range(24):
        n, d = int(rng.integers(60, 200)), int(rng.choice([5, 20, 60]))
        X = rng.normal(size=(n, d))
        X = [X, np.exp(X), np.cumsum(X, axis=1), X / np.linalg.norm(X, axis=1)[:, None]][i % 4]
        passed += kinship.keep_to_themselves(references_of(X), 0.1)
    assert passed < 7


def test_one_kind_of_decoys_that_keeps_to_itself_as_much_is_enough(monkeypatch):
    X, _ = crowds()
    references = references_of(X)
    assert kinship.keep_to_themselves(references, 0.01)
    for kind in ("normal_decoys", "stretched_decoys", "column_decoys"):
        with monkeypatch.context() as patch:
            patch.setattr(kinship, kind, lambda points: lambda number: points)
            assert not kinship.keep_to_themselves(references, 0.01), kind


def test_decoys_with_equal_rows_say_nothing():
    """A lattice of few places: rows that differ have decoys of which some are equal."""
    X, _ = crowds()
    X = np.unique((X > 0.0).astype(float), axis=0)
    assert not kinship.keep_to_themselves(references_of(X), 0.9999)
    assert kinship._another(np.array([1.0, np.inf]), 0.1) == np.inf


def test_where_most_distances_are_equal_nothing_is_said():
    """Independent categories, each as four columns of which one is 1: decoys have other columns."""
    n_found = 0
    for seed in range(5, 10):
        categories = np.random.default_rng(seed).integers(0, 4, (200, 15))
        X = np.eye(4)[categories].reshape(200, -1)
        assert not kinship.keep_to_themselves(references_of(X), 0.01)
        jitter = 1e-3 * np.random.default_rng(0).normal(size=X.shape)
        assert not kinship.keep_to_themselves(references_of(X + jitter), 0.01)
        n_found += CRLM().fit(X).n_clusters_ > 0
    assert n_found <= 1  # single balls are not safe: docs/selection-details.md
    whole = np.rint(16.0 * crowds()[0])  # of images, say: few distances are equal
    assert kinship.keep_to_themselves(references_of(whole), 0.01)


@pytest.mark.parametrize("seed", [264, 297, 430, 537, 877])
def test_copies_of_columns_change_nothing_on_a_lattice(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(60, 220)), int(rng.integers(4, 20)), int(rng.integers(1, 5))
    y = rng.integers(-1, k, n)
    centers = rng.normal(size=(k + 1, d))
    X = centers[y] + 0.75 * rng.normal(size=(n, d))
    X[y < 0] = 1.3 * rng.normal(size=((y < 0).sum(), d))
    X = np.rint(2.0 * X)
    labels = CRLM().fit_predict(X)
    assert np.array_equal(CRLM().fit_predict(np.hstack([X] * 4) / 2.0), labels)
    order = rng.permutation(n)
    assert np.array_equal(CRLM().fit_predict(X[order]), labels[order])


def test_another_number_of_the_same_law_is_rarely_larger():
    rng = np.random.default_rng(1)
    draws = rng.normal(3.0, 0.2, (40_000, 5))
    for alpha in (0.01, 0.1):
        larger = [row[-1] > kinship._another(row[:-1], alpha) for row in draws]
        low, high = stats.binom.interval(0.999, len(draws), alpha)
        assert low <= sum(larger) <= high


def test_the_level_is_half_of_alpha_for_there_are_two_ways_in(monkeypatch):
    X, _ = crowds()
    asked = []
    monkeypatch.setattr(kinship, "_another", lambda shown, alpha: asked.append(alpha) or 0.0)
    for alpha in (0.01, 0.05):
        assert Background.learn(X, ones(len(X)), alpha).keep_to_themselves
    assert asked == pytest.approx([0.005] * 3 + [0.025] * 3)


def test_few_rows_have_no_strength_and_more_are_not_asked():
    assert kinship.mean_strength(references_of(np.eye(5))) == 0.0
    assert math.isfinite(kinship.mean_strength(references_of(np.eye(9))))
    X, _ = crowds(size=150, n=100)
    background = Background.learn(X, ones(len(X)))
    assert len(X) > kinship.MAX_ROWS
    assert not background.keep_to_themselves
    flat = Background.learn(X[:120, :2], ones(120))
    assert not flat.keep_to_themselves
