"""All bandwidths from one search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm import CRLM, GMMUB, sigma_path
from crlm.background.significance import Judge
from crlm.errors import MemoryLimitError
from crlm.loss import sq_cutoff
from crlm.search import RankedPairs, StoredGraph, pairs_within
from strategies import data_sets


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(k=3, d=20, sigmas=[1, 2, 3], weights=0.02, D=60, sigma_max=7, rng=0)
    return truth.sample(1500, rng=1)


@settings(max_examples=60, deadline=None)
@given(data_sets())
def test_every_step_is_a_separate_fit(case):
    X, sigma_max, G = case
    sigmas = sigma_max * np.array([0.3, 0.5, 0.8, 1.0, 1.7])
    model = CRLM(sigma_max, G=G, alpha=None)
    path = model.path(X, sigmas)
    for step, sigma in enumerate(sigmas.tolist()):
        alone = CRLM(sigma, G=G, alpha=None).fit(X)
        assert np.array_equal(path.labels(step), alone.labels_)
        assert path.n_clusters[step] == alone.n_clusters_


@settings(max_examples=40, deadline=None)
@given(data_sets(max_d=6), st.integers(0, 2**32 - 1))
def test_pairs_in_order_of_distance_answer_as_plain_ones_do(case, seed):
    X, sigma, G = case
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 4, len(X))
    for weights in (whole, whole * 0.7):
        task = CRLM(G=G)._task(X, weights if weights.any() else None, reset=True)
        d = X.shape[1]
        pairs = pairs_within(task.X, sq_cutoff(1.5 * sigma, d, G), memory_limit=2**30)
        ranked = RankedPairs.of(pairs).near(sigma, d, G, task.weights)
        near = pairs.closer(sq_cutoff(sigma, d, G))
        plain = StoredGraph(near, sigma, d, G, task.weights)
        for i in rng.integers(0, len(X), 5).tolist():
            assert np.array_equal(ranked.L[ranked.alive], plain.L[plain.alive])
            if plain.alive[i]:
                ball = plain.ball(i)
                assert np.array_equal(ranked.ball(i), ball)
                plain.remove(ball)
                ranked.remove(ball)


def test_every_step_is_judged_as_a_separate_fit_is(toy):
    X, _ = toy
    sigmas = np.geomspace(0.5, 20, 12)
    path = sigma_path(X, sigmas)
    for step, sigma in enumerate(sigmas.tolist()):
        alone = CRLM(sigma).fit(X)
        assert np.array_equal(path.labels(step), alone.labels_)
        assert np.array_equal(path.p_values[step], alone.p_values_)


def test_the_grid_goes_around_the_bandwidth_of_the_model(toy):
    X, truth = toy
    path = CRLM(6.0).path(X)
    assert path.sigmas[[0, -1]] == pytest.approx([1.5, 12.0])
    assert path.share.max() == pytest.approx((truth >= 0).mean(), abs=0.01)


def test_clusters_are_followed_and_the_stable_range_is_told(toy):
    path = sigma_path(toy[0], np.geomspace(1.0, 12.0, 15))
    low, high = path.stable[0]
    inside = (path.sigmas >= low) & (path.sigmas <= high)
    assert high / low > 1.5
    assert set(path.n_clusters[inside]) == {3}
    last = path.tracks[int(np.flatnonzero(inside)[-1])]
    for step in np.flatnonzero(inside):
        assert sorted(path.tracks[step]) == sorted(last)


def test_a_model_is_not_changed_by_its_path(toy):
    X, _ = toy
    model = CRLM(7.0).fit(X)
    before = model.labels_.copy()
    model.path(X, [3.0])
    assert np.array_equal(model.labels_, before)
    assert model.sigma_max_ == 7.0
    assert not hasattr(CRLM(7.0), "labels_")


def test_pairs_that_do_not_fit_are_refused(toy):
    with pytest.raises(MemoryLimitError, match="memory limit"):
        CRLM(7.0, memory_limit="30MB").path(np.tile(toy[0], (2, 1)), [500.0])


def test_a_path_judges_no_more_balls_than_fits(monkeypatch):
    """Rows are counted before a ball is judged, which takes longer."""
    judged = []
    judge = Judge._judge

    def counting(self, ball, **how):
        judged.append(ball)
        return judge(self, ball, **how)

    monkeypatch.setattr(Judge, "_judge", counting)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((4000, 2)), 0.5 + 0.003 * rng.normal(size=(100, 2))])
    sigmas = [0.001, 0.002, 0.004]
    path = CRLM(n_jobs=1).path(X, sigmas)
    by_path = len(judged)
    fits = [CRLM(sigma, n_jobs=1).fit(X) for sigma in sigmas]
    assert [fit.n_clusters_ for fit in fits] == path.n_clusters.tolist()
    assert by_path == len(judged) - by_path


def test_a_path_is_told_in_a_line(toy):
    path = CRLM().path(toy[0], [1.0, 2.0, 4.0])
    assert repr(path).startswith("SigmaPath(3 sigmas from 1 to 4, n_clusters=")
    assert len(repr(path)) < 200
