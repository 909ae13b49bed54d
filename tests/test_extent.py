"""Each cluster has the bandwidth that suits it."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from crlm import CRLM, GMMUB, scores
from crlm.assign import assign
from crlm.closure import Closure
from crlm.errors import TooSmallWarning
from crlm.extent import own_extents
from crlm.greedy import Ball
from crlm.loss import sq_cutoff
from crlm.significance import Background

pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")

D = 20


def ones(n):
    return np.ones(n, dtype=np.int64)


def clusters_of(parts, n=800):
    """Uniform background and, behind it, clusters: (centre, sigma, points) each."""
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-70.0, 70.0, (n, D))]
    rows += [center + sigma * rng.normal(size=(size, D)) for center, sigma, size in parts]
    sizes = [size for _, _, size in parts]
    return np.vstack(rows), np.repeat(np.arange(-1, len(parts)), [n, *sizes])


def widened(X, y, sigma_max, min_size=2):
    """Extents of balls around the row of each cluster that is nearest to its mean."""
    balls = []
    for j in range(y.max() + 1):
        rows = np.flatnonzero(y == j)
        sq = np.square(X[rows] - X[rows].mean(axis=0)).sum(axis=1)
        balls.append(Ball(int(rows[sq.argmin()]), rows[:3], 3, -float(len(rows))))
    learnt = Background.learn(X, ones(len(X)))
    return list(own_extents(X, ones(len(X)), learnt, balls, sigma_max, 4.0, 0.01, min_size))


def test_balls_reach_as_far_as_their_clusters_and_no_farther():
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60), (np.full(D, -20.0), 3.0, 60)])
    found = widened(X, y, sigma_max=1.5)
    for j, extent in enumerate(found):
        assert extent.number == j
        assert np.array_equal(extent.ball.members, np.flatnonzero(y == j))
    narrow, wide = found
    assert wide.bandwidth > 1.5 * narrow.bandwidth
    assert narrow.bandwidth <= 3.0  # an octave above 1.5 holds nothing more


def test_a_bandwidth_that_changes_nothing_is_the_common_one():
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60)])
    (extent,) = widened(X, y, sigma_max=2.5)
    assert extent.bandwidth == 2.5


def test_a_tight_cluster_does_not_swallow_its_neighbour():
    near, far = np.zeros(D), np.zeros(D)
    far[0] = 30.0
    X, y = clusters_of([(near, 0.01, 100), (far, 0.5, 200)])
    found = widened(X, y, sigma_max=0.05)
    assert [len(extent.ball.members) for extent in found] == [100, 200]


def test_a_ball_that_is_left_with_too_few_is_none():
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60), (np.full(D, -20.0), 1.0, 30)])
    assert [extent.number for extent in widened(X, y, 2.5, min_size=40)] == [0]


@pytest.fixture(scope="module")
def digits():
    """Sixty zeros among fifteen of each other digit: wider and narrower clusters."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = [rng.choice(np.flatnonzero(y == j), 15 + 45 * (j == 0), False) for j in range(10)]
    rows = np.concatenate(rows)
    return X[rows], np.where(y[rows] == 0, 0, -1)


@pytest.fixture(scope="module")
def model(digits):
    return CRLM().fit(digits[0])


def test_own_bandwidths_serve_real_clusters_better_than_one(digits, model):
    X, truth = digits
    assert (model.bandwidths_ != model.sigma_max_).any()
    one = CRLM(model.sigma_max_).fit(X)
    assert (one.bandwidths_ == one.sigma_max_).all()
    F = [scores.f_measure(truth, fit.labels_) for fit in (model, one)]
    assert F[0] > F[1] + 0.02
    assert np.array_equal(model.center_indices_, one.center_indices_)
    assert np.array_equal(model.p_values_, one.p_values_)


def test_radii_are_those_of_the_bandwidths_and_predict_is_a_law(digits, model):
    X, _ = digits
    own = [sq_cutoff(bandwidth, 64, 4.0) for bandwidth in model.bandwidths_.tolist()]
    assert np.array_equal(model.radii_, np.sqrt(own))
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.certificate_.verify(X)


def test_own_bandwidths_follow_rows_scale_shifts_and_copies_of_columns(digits, model):
    X, _ = digits
    assert np.array_equal(CRLM().fit_predict(X + 64.0), model.labels_)  # whole numbers: exact
    twice = np.hstack([X, X]) / np.sqrt(2.0)
    assert np.array_equal(CRLM().fit_predict(twice), model.labels_)
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(CRLM().fit_predict(X[order]), model.labels_[order])
    scaled = CRLM(n_jobs=2, memory_limit="60MB").fit(X * 2.0**9)
    assert np.array_equal(scaled.labels_, model.labels_)
    assert np.array_equal(scaled.bandwidths_, model.bandwidths_ * 2.0**9)


def test_background_is_as_far_from_the_ball_where_that_is_least(digits, model):
    X, _ = digits
    far = np.linalg.norm(X[:, None] - model.ball_centers_, axis=2) / model.radii_
    given = assign(model, X)
    outside = given.label < 0
    np.testing.assert_allclose(given.distance[outside], far[outside].min(axis=1))


def test_own_bandwidths_are_saved(digits, model, tmp_path):
    X, _ = digits
    model.save(tmp_path / "own.crlm.npz")
    loaded = CRLM.load(tmp_path / "own.crlm.npz")
    assert np.array_equal(loaded.bandwidths_, model.bandwidths_)
    assert np.array_equal(loaded.predict(X), model.labels_)


def test_a_cluster_that_is_large_enough_is_not_narrowed_away():
    X, y = clusters_of([(np.zeros(D), 1.0, 60)])
    (narrow,) = widened(X, y, sigma_max=17.0)  # so wide a ball takes in background
    assert narrow.bandwidth < 17.0
    least = len(narrow.ball.members) + 40
    (common,) = widened(X, y, sigma_max=17.0, min_size=least)
    assert common.bandwidth == 17.0
    assert len(common.ball.members) >= least


def test_a_ball_whose_rows_have_their_neighbours_elsewhere_is_no_cluster(monkeypatch):
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60), (np.full(D, -20.0), 1.0, 60)])
    assert [extent.number for extent in widened(X, y, 2.5)] == [0, 1]
    true = Closure.of
    first = y == 0

    def of(self, members):
        return 0.59 if members[first].any() else true(self, members)

    monkeypatch.setattr(Closure, "of", of)
    assert [extent.number for extent in widened(X, y, 2.5)] == [1]


def test_the_least_size_is_that_of_the_ball_which_is_the_cluster(digits, model):
    X, _ = digits
    size = int(model.cluster_sizes_[0])
    assert size > CRLM(model.sigma_max_).fit(X).cluster_sizes_[0]
    assert CRLM(min_cluster_size=size).fit(X).cluster_sizes_.tolist() == [size]
    with pytest.warns(TooSmallWarning, match="smaller min_cluster_size"):
        assert CRLM(min_cluster_size=size + 1).fit(X).n_clusters_ == 0


def test_a_limit_takes_the_first_clusters():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(57)
    sizes = rng.choice([5, 10, 20, 40, 70], 10)
    rows = [rng.choice(np.flatnonzero(y == j), sizes[j], False) for j in range(10)]
    X = X[np.concatenate(rows)]
    all_of_them = CRLM().fit(X)
    # A wide ball has taken the centre of another, which is none then.
    assert all_of_them.n_clusters_ < CRLM(all_of_them.sigma_max_).fit(X).n_clusters_
    for k in range(1, all_of_them.n_clusters_ + 1):
        some = CRLM(max_clusters=k).fit(X)
        assert np.array_equal(some.center_indices_, all_of_them.center_indices_[:k])


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_copies_and_rows_without_weight_are_absent(digits, seed):
    X, _ = digits
    w = np.random.default_rng(seed).integers(0, 3, len(X))
    weighted = CRLM().fit(X, sample_weight=w)
    repeated = CRLM().fit(np.repeat(X, w, axis=0))
    assert np.array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    assert np.array_equal(weighted.bandwidths_, repeated.bandwidths_)
    assert np.array_equal(weighted.predict(X), weighted.labels_)
    assert np.array_equal(repeated.predict(X), weighted.labels_)


def test_new_rows_count_in_the_wider_balls(digits, model, tmp_path):
    X, _ = digits
    model.save(tmp_path / "own.crlm.npz")
    loaded = CRLM.load(tmp_path / "own.crlm.npz")
    sigmas = loaded.sigmas_.copy()
    assert np.array_equal(loaded.update(X), model.labels_)
    assert np.array_equal(loaded.cluster_sizes_, 2 * model.cluster_sizes_)
    m = model.cluster_sizes_
    np.testing.assert_allclose(loaded.sigmas_, sigmas * np.sqrt(2 * (m - 1) / (2 * m - 1)))


@pytest.fixture(scope="module")
def plane():
    """Clusters in a plane, of which the common bandwidth is too wide for the small one."""
    rng = np.random.default_rng(3)
    parts = [(-40.0, 3.0, 120), (0.0, 3.0, 120), (40.0, 0.5, 14)]
    rows = [rng.uniform(-80.0, 80.0, (1500, 2))]
    rows += [[at, 0.0] + sigma * rng.normal(size=(size, 2)) for at, sigma, size in parts]
    return np.vstack(rows), np.repeat(np.arange(-1, 3), [1500, 120, 120, 14])


def test_in_a_plane_narrower_clusters_are_found_too(plane):
    X, truth = plane
    model = CRLM().fit(X)
    assert model.n_clusters_ == 3
    assert np.array_equal(model.bandwidths_[:2], np.full(2, model.sigma_max_))
    assert model.bandwidths_[2] <= 0.71 * model.sigma_max_
    assert CRLM(model.sigma_max_).fit(X).n_clusters_ == 2
    assert scores.f_measure(truth, model.labels_) > 0.85
    assert np.array_equal(model.predict(X), model.labels_)
    assert CRLM(max_clusters=2).fit(X).n_clusters_ == 2
    done = []
    CRLM(progress=lambda *step: done.append(step)).fit(X)
    assert done == sorted(done)  # one search as far as anyone sees
    streamed = CRLM(memory_limit="40MB").fit(X)
    assert np.array_equal(streamed.labels_, model.labels_)


def test_in_a_plane_weights_are_copies_too():
    rng = np.random.default_rng(18)
    rows = [rng.uniform(-80, 80, (800, 3))]
    sizes, sigmas = [100, 100, 20, 15, 10, 20, 15], [4, 4, 1, 0.5, 0.3, 1, 0.5]
    for size, sigma in zip(sizes, sigmas, strict=True):
        rows.append(rng.uniform(-60, 60, 3) + sigma * rng.normal(size=(size, 3)))
    X = np.vstack(rows)
    w = rng.integers(0, 4, len(X))
    weighted, repeated = CRLM().fit(X, sample_weight=w), CRLM().fit(np.repeat(X, w, axis=0))
    assert (weighted.bandwidths_ < weighted.sigma_max_).any()
    assert np.array_equal(np.repeat(weighted.labels_, w), repeated.labels_)


def test_clear_clusters_have_the_common_bandwidth():
    model = GMMUB.draw(k=3, d=30, sigmas=[1, 2, 3], weights=0.03, D=60, sigma_max=6.5, rng=0)
    found = CRLM().fit(model.sample(1500, rng=0)[0])
    assert found.sigma_estimate_.evidence == "clear"
    assert (found.bandwidths_ == found.sigma_max_).all()


def test_once_there_are_clusters_the_rest_is_asked_as_many_times_more_gently():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(3)
    X = X[np.concatenate([rng.choice(np.flatnonzero(y == j), 30, False) for j in range(10)])]
    model = CRLM().fit(X)
    alpha, k = model.alpha, model.n_clusters_
    assert model.sigma_estimate_.evidence == "moderate"
    assert alpha < model.p_values_.max() <= k * alpha
    assert (model.p_values_[: (model.p_values_ <= alpha).argmin()] <= alpha).all()
    assert (CRLM(model.sigma_max_).fit(X).p_values_ <= alpha).all()  # the paper's loop, asked once
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_however_many_clusters_there_are_p_stays_small_and_background_background(alpha):
    X, _ = load_digits(return_X_y=True)
    model = CRLM(alpha=alpha).fit(X[:900])
    assert model.n_clusters_ > 3
    assert model.p_values_.max() <= max(alpha, 0.1)
    assert (model.labels_ < 0).mean() > 0.1


def test_own_bandwidths_follow_the_rows_of_a_lattice():
    rng = np.random.default_rng(29)
    rows = [rng.integers(0, 4, (700, 8))]
    for _ in range(3):
        moved = rng.integers(-1, 2, (80, 8)) * (rng.random((80, 8)) < 0.5)
        rows.append(np.clip(rng.integers(0, 4, 8) + moved, 0, 3))
    X = np.unique(np.vstack(rows).astype(float), axis=0)
    w = rng.integers(50, 70, len(X))  # so that losses differ
    model = CRLM().fit(X, sample_weight=w)
    assert model._has_own_bandwidths
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        again = CRLM().fit(X[order], sample_weight=w[order])
        assert np.array_equal(again.labels_, model.labels_[order])
