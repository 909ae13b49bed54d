"""Narrower clusters in up to three dimensions."""

import math

import numpy as np
import pytest

from crlm import CRLM, GMMUB
from crlm.background.significance import Background, Judge
from crlm.greedy import accepted_balls
from crlm.search import neighbourhood

ALPHA = 0.01


def drawn(seed, n, d):
    rng = np.random.default_rng(seed)
    k = 6
    sigmas, weights = rng.uniform(1.0, 3.0, k), np.geomspace(0.003, 0.05, k)
    model = GMMUB.draw(k, d, sigmas, weights, D=70, sigma_max=2.1 * sigmas.max(), rng=rng)
    return model.sample(n, rng)[0]


def one_bandwidth_after_the_other(X, found, sigma_max):
    """Clusters beside those found, one row and one bandwidth at a time."""
    d, weights = X.shape[1], np.ones(len(X), dtype=np.int64)
    background = Background.learn(X, weights, ALPHA)
    taken = [np.flatnonzero(found == j) for j in range(found.max() + 1)]
    bandwidths = [float(sigma_max * np.exp2(-step / 8.0)) for step in range(1, 17)]

    def search(bandwidth):
        near = neighbourhood(X, bandwidth, 4.0, weights, memory_limit=10**9)
        near.remove(np.concatenate(taken))
        return near

    references, free = background.references, np.flatnonzero(found < 0)
    surprise = np.empty((len(bandwidths), len(free)))
    for at, row in enumerate(free):
        around = references.level(references.log_r_of(X, np.array([row])))
        for step, bandwidth in enumerate(bandwidths):
            log_R = math.log(math.sqrt(4.0 * d) * bandwidth)
            m = round(references.w * float((around.log_r < log_R).sum() - 1))
            ball = around, np.zeros(1, dtype=int), np.array([m]), log_R, references.w
            surprise[step, at] = background.growth.surprise(*ball)[0]
    own = surprise.argmax(axis=0)
    most = [surprise[step, own == step].max(initial=0.0) for step in range(len(bandwidths))]
    p_values = []
    for step in np.argsort(np.negative(most), kind="stable"):
        j = len(taken) + 1
        judge = Judge(X, background, math.sqrt(4.0 * d) * bandwidths[step], min(j * ALPHA, 0.5))
        near = search(bandwidths[step])
        may = judge.may_be_centers(near, free)
        for ball in accepted_balls(near, weights, judge, free[own == step], may):
            taken.append(ball.members)
            p_values.append(judge.p_value(ball) / j)
    labels = np.full(len(X), -1)
    for j, rows in enumerate(taken):
        labels[rows] = j
    return labels, p_values


@pytest.mark.parametrize(("seed", "n", "d"), [(0, 700, 2), (9, 700, 3), (6, 1000, 3), (3, 2400, 2)])
def test_all_bandwidths_at_a_time_is_one_after_the_other(seed, n, d):
    X = drawn(seed, n, d)
    model = CRLM().fit(X)
    wide = model.bandwidths_ == model.sigma_max_
    assert wide.any()
    assert not wide.all()  # otherwise this says nothing
    labels, p_values = one_bandwidth_after_the_other(
        X, CRLM(model.sigma_max_).fit(X).labels_, model.sigma_max_
    )
    assert np.array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.p_values_[~wide], p_values)
    assert (model.p_values_ <= ALPHA).all()
    assert np.array_equal(model.predict(X), labels)


def test_engine_threads_and_order_do_not_matter(monkeypatch):
    X = drawn(3, 2400, 2)
    labels = CRLM(n_jobs=1).fit(X).labels_
    assert np.array_equal(CRLM(n_jobs=2).fit(X).labels_, labels)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(CRLM().fit(X[order]).labels_, labels[order])
    for engine in ("stream", "dense"):
        monkeypatch.setattr("crlm.search._Search.choose", lambda _, engine=engine: engine)
        assert np.array_equal(CRLM().fit(X).labels_, labels)


def test_a_cluster_that_is_nothing_alone_may_be_one_beside_others():
    """Each has to be as unlikely as its number allows, and the first as alpha asks for."""
    rng = np.random.default_rng(0)
    background = rng.uniform(-80.0, 80.0, (700, 2))
    tight = [place + 0.5 * rng.normal(size=(20, 2)) for place in rng.uniform(-70, 70, (12, 2))]

    def is_found(seed, n_tight):
        """Whether a loose cluster is found beside others."""
        loose = np.random.default_rng(seed).normal(4.0, 1.0, size=(8, 2))
        labels = CRLM().fit(np.vstack([loose, background, *tight[:n_tight]])).labels_[:8]
        return labels.max() >= 0

    few, many = ([is_found(seed, n) for seed in range(12)] for n in (2, 12))
    assert sum(many) > sum(few)
    assert np.greater_equal(many, few).all()


def test_on_background_alone_nothing_is_found_beside_nothing():
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.uniform(size=(500, 2))
        with pytest.warns(UserWarning, match="evidence"):
            assert CRLM().fit(X).n_clusters_ == 0


def test_no_more_clusters_than_asked_for_and_none_too_small():
    X = drawn(3, 2400, 2)
    model = CRLM().fit(X)
    k = model.n_clusters_ - 1
    assert np.array_equal(
        CRLM(max_clusters=k).fit(X).labels_, np.where(model.labels_ < k, model.labels_, -1)
    )
    least = int(np.sort(model.cluster_sizes_)[1])
    assert CRLM(min_cluster_size=least).fit(X).cluster_sizes_.min() >= least
