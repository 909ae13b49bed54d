"""Each cluster has the bandwidth that suits it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from crlm import CRLM, GMMUB, scores
from crlm.assign import assign
from crlm.background.closure import Closure
from crlm.background.inflation import Inflation
from crlm.background.references import Around, References
from crlm.background.significance import Background
from crlm.bandwidth import extent
from crlm.bandwidth.extent import own_balls
from crlm.bandwidth.own import _mean_closure, keep_more
from crlm.errors import TooSmallWarning
from crlm.loss import fixed_point, robust_loss, sq_cutoff

pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")

D = 20


def ones(n):
    return np.ones(n, dtype=np.int64)


def all_free(background):
    return free(len(background.references.rows))


def free(n):
    return np.ones(n, dtype=bool)


def clusters_of(parts, n=800):
    """Uniform background and, behind it, clusters: (centre, sigma, points) each."""
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-70.0, 70.0, (n, D))]
    rows += [center + sigma * rng.normal(size=(size, D)) for center, sigma, size in parts]
    sizes = [size for _, _, size in parts]
    return np.vstack(rows), np.repeat(np.arange(-1, len(parts)), [n, *sizes])


def balls_in(X, alpha=0.01):
    """Rows of each of the balls that own_balls yields, as masks, and the balls."""
    background = Background.learn(X, ones(len(X)))
    found = list(own_balls(background, alpha, all_free(background), lambda own: True))
    log_D = background.references.log_distances
    return [log_D[own.center] < own.log_radius for own in found], found


def test_balls_reach_as_far_as_their_clusters_and_no_farther():
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60), (np.full(D, -20.0), 3.0, 60)])
    inside, found = balls_in(X)
    assert sorted(rows.sum() for rows in inside) == [60, 60]
    for rows in inside:
        assert len(set(y[rows])) == 1
        assert y[rows][0] >= 0
    radii = sorted(own.log_radius for own in found)
    assert radii[1] - radii[0] > math.log(2.0)


def test_a_radius_is_half_way_to_the_next_row_but_only_a_little_beyond_the_last(digits):
    X, _ = clusters_of([(np.full(D, 20.0), 1.0, 60)])
    (inside,), (own,) = balls_in(X)
    assert np.array_equal(np.flatnonzero(inside), np.arange(800, 860))
    log_d = Background.learn(X, ones(len(X))).references.log_distances[own.center]
    last = log_d[inside].max()
    assert log_d[~inside].min() - last > 1.0  # nothing is near
    assert own.log_radius == pytest.approx(last + math.log(2.0) / 32.0)
    X, _ = digits
    inside, found = balls_in(X)
    log_D = Background.learn(X, ones(len(X))).references.log_distances
    for rows, own in zip(inside, found, strict=True):
        last, beyond = log_D[own.center][rows].max(), log_D[own.center][~rows].min()
        step = min(0.5 * (beyond - last), math.log(2.0) / 32.0)
        assert own.log_radius == pytest.approx(last + step, abs=1e-12)


def test_a_tight_cluster_does_not_swallow_its_neighbour():
    near, far = np.zeros(D), np.zeros(D)
    far[0] = 30.0
    X, y = clusters_of([(near, 0.01, 100), (far, 0.5, 200)])
    inside, _ = balls_in(X)
    taken = np.zeros(len(X), dtype=bool)
    for rows, j in zip(inside, (0, 1), strict=True):
        assert np.array_equal(rows & ~taken, y == j)
        taken |= rows


def chosen(of_both, of_one, core=1.0, surprise=9.0, least=0, shared=0):
    """Which balls are clusters, of two groups of ten with a ball of both around the first row.

    `shared` rows of the first group are in the balls of the second one, too.
    """
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(10, 5)), rng.normal(size=(10, 5)) + 20.0])
    first, group = np.arange(20) == 0, np.arange(20) < 10
    inside = first[:, None] | (group[:, None] == group)
    inside[10:, 10 - shared : 10] = True
    balls = extent._Balls(
        inside,
        np.where(first, 3.0, 1.0),
        np.where(first, of_both, of_one),
        np.full(20, surprise),
        np.full(20, core),
        np.arange(20, dtype=np.uint64),
    )
    closure = Closure(References.choose(X, ones(20)))
    found = extent._chosen(balls, closure, 5.0, free(20), lambda i: inside[i].sum() >= least)
    return [np.flatnonzero(inside[i]).tolist() for i in found]


EACH, BOTH = [list(range(10)), list(range(10, 20))], [list(range(20))]


def test_a_ball_gives_way_to_smaller_ones_that_are_together_clearly_stronger():
    assert chosen(4.0, 3.5) == EACH  # two times 12.25 is more than one and a half times 16
    assert chosen(4.0, 3.4) == BOTH
    assert chosen(2.8, 3.0) == EACH
    assert chosen(3.0, 3.0) == EACH  # as strong: the narrower ones first
    assert chosen(0.0, 0.0) == []
    assert chosen(4.0, 3.5, least=11) == BOTH  # the others are too small to be clusters
    assert chosen(4.0, 3.5, least=21) == []
    assert chosen(4.0, 3.5, shared=5) == BOTH  # nor are they apart


def test_a_ball_of_which_others_took_more_than_a_third_is_none(monkeypatch):
    """Six rows and, far away, four; a ball of the six, and one of all around one of the four."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(6, 5)), rng.normal(size=(4, 5)) + 20.0])
    rows = np.arange(10)
    inside = np.where(rows[:, None] == 9, True, rows < 6)
    strength = np.select([rows == 0, rows == 9], [3.0, 2.0], 0.0)
    same = np.ones(10)
    balls = extent._Balls(inside, same, strength, 9.0 * same, same, rows.astype(np.uint64))
    closure = Closure(References.choose(X, ones(10)))
    assert list(extent._chosen(balls, closure, 5.0, free(10), lambda i: True)) == [0]
    monkeypatch.setattr(extent, "_MOST", 0.4)
    assert list(extent._chosen(balls, closure, 5.0, free(10), lambda i: True)) == [0, 9]
    assert list(extent._chosen(balls, closure, 5.0, rows > 0, lambda i: True)) == [9]


def test_a_cluster_has_a_significant_core_that_is_not_too_small_a_part_of_it():
    assert chosen(4.0, 3.5, core=0.2) == EACH
    assert chosen(4.0, 3.5, core=0.19) == []
    assert chosen(4.0, 3.5, surprise=5.0) == EACH
    assert chosen(4.0, 3.5, surprise=4.9) == []


def test_a_ball_much_weaker_than_the_strongest_is_none(monkeypatch):
    X, _ = clusters_of([(np.full(D, 20.0), 1.0, 150), (np.full(D, -20.0), 1.0, 5)])
    assert [rows.sum() for rows in balls_in(X)[0]] == [150]
    monkeypatch.setattr(extent, "_STRONG", 0.0)
    first, *others = (rows.sum() for rows in balls_in(X)[0])
    assert first == 150
    assert others


def test_a_ball_whose_rows_have_their_neighbours_elsewhere_is_no_cluster(monkeypatch):
    X, y = clusters_of([(np.full(D, 20.0), 1.0, 60), (np.full(D, -20.0), 1.0, 60)])
    assert len(balls_in(X)[0]) == 2
    true = Closure.of
    monkeypatch.setattr(
        Closure, "of", lambda self, rows: 0.66 if rows[y == 0].any() else true(self, rows)
    )
    ((rows,), _) = balls_in(X)
    assert set(y[rows]) == {1}


def test_p_values_are_those_of_the_most_significant_ball_around_a_row_of_the_cluster(digits):
    X, _ = digits
    background = Background.learn(X, ones(len(X)))
    references = background.references
    m = np.arange(2, len(X) // 2 + 1)
    inside, found = balls_in(X)
    assert found
    taken = np.zeros(len(X), dtype=bool)
    for rows, own in zip(inside, found, strict=True):
        log_p = [
            background.log_p(Around(references.log_r[[i]]), m, references.log_r[i, m], 0.0).min()
            for i in np.flatnonzero(rows)
        ]
        assert own.p_value == pytest.approx(math.exp(min(log_p)))
        assert own.p_value <= 0.01
        assert not taken[own.center]
        taken |= rows


def test_rows_along_a_line_have_one_bandwidth():
    rng = np.random.default_rng(0)
    x = rng.uniform(-20.0, 20.0, 600)
    x[:30] = 3.0 + 0.3 * rng.normal(size=30)
    model = CRLM().fit(np.column_stack([x, 1e-3 * rng.normal(size=(600, 3))]))
    assert model.sigma_estimate_.evidence == "moderate"
    assert (model.bandwidths_ == model.sigma_max_).all()


def lattice(seed):
    """Three crowded places on a lattice: many equal distances, and equal balls around rows."""
    rng = np.random.default_rng(seed)
    places = [rng.integers(-3, 4, 6) + rng.integers(-1, 2, (50, 6)) for _ in range(3)]
    return np.unique(np.vstack([rng.integers(-4, 5, (400, 6)), *places]), axis=0).astype(float)


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_balls_on_a_lattice_follow_the_rows_and_the_units(seed):
    X = lattice(seed)
    here = balls_in(X)[0]
    assert len(here) > 1
    order = np.random.default_rng(seed).permutation(len(X))
    for units in (1.0, 4.0, 2.0**20, 3.7):
        there = balls_in(units * X[order])[0]
        assert len(here) == len(there)
        for rows, shuffled in zip(here, there, strict=True):
            assert np.array_equal(rows[order], shuffled)


def many_small(k, size, d, sigma, n):
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, (k, d))
    rows = [center + sigma * rng.normal(size=(size, d)) for center in centers]
    y = np.repeat(np.arange(-1, k), [n, *[size] * k])
    return np.vstack([rng.uniform(-10, 10, (n, d)), *rows]), y


def test_clusters_of_one_radius_stay_where_they_keep_to_themselves_more():
    """Clusters of five have too few rows to be told by thirteen neighbours each."""
    X, y = many_small(30, 5, 10, 1.0, 400)
    model = CRLM().fit(X)
    assert model.sigma_estimate_.evidence == "moderate"
    assert (model.bandwidths_ == model.sigma_max_).all()
    assert scores.f_measure(y, model.labels_) > 0.95
    members = [np.flatnonzero(model.labels_ == j) for j in range(model.n_clusters_)]
    background = Background.learn(X, ones(len(X)))
    own = [np.flatnonzero(rows) for rows in balls_in(X)[0]]
    closure = Closure(background.references)
    kept = [_mean_closure(closure, background.references, sets) for sets in (members, own)]
    assert kept[0] > kept[1] + 0.15
    assert keep_more(background.references, members, own)
    assert not keep_more(background.references, own, members)
    assert not keep_more(background.references, [], own)


def test_clusters_of_one_radius_must_keep_wholly_to_themselves_to_stay():
    """As fragments of a class do not, which have more closure than the whole with its fringe."""
    X, y = many_small(2, 40, 10, 1.0, 400)
    references = Background.learn(X, ones(len(X))).references
    closure = Closure(references)
    from_first = np.argsort(np.linalg.norm(X - X[y == 0].mean(axis=0), axis=1))
    wide, fringed, whole = (from_first[:size] for size in (110, 43, 40))
    kept = [_mean_closure(closure, references, [rows]) for rows in (wide, fringed, whole)]
    assert kept[0] + 0.15 < kept[1] < 0.95 < kept[2]
    assert keep_more(references, [whole], [wide])
    assert not keep_more(references, [fringed], [wide])


def test_clusters_of_one_radius_stay_where_no_ball_is_one():
    """Four rows, of 29 columns, beside 109 of a background with a crowded middle."""
    rng = np.random.default_rng(156)
    d, n = int(rng.integers(4, 30)), int(rng.integers(30, 600))
    parts = [rng.normal(size=(n, d))]
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(3, 12))
        parts.append(rng.normal(size=d) * 0.8 + rng.uniform(0.02, 0.7) * rng.normal(size=(size, d)))
    X = np.vstack(parts)
    assert X.shape == (113, 29)
    assert balls_in(X)[0] == []
    model = CRLM().fit(X)
    assert model.sigma_estimate_.evidence == "moderate"
    assert np.flatnonzero(model.labels_ == 0).tolist() == [109, 110, 111, 112]


def test_what_decoys_show_is_taken_off(monkeypatch, digits):
    X, _ = digits
    background = Background.learn(X, ones(len(X)))
    (first, *_) = own_balls(background, 0.01, all_free(background), lambda own: True)
    twice = replace(background)
    object.__setattr__(twice, "inflation", Inflation(1.0, 2.0))
    (half, *_) = own_balls(twice, 0.01, all_free(twice), lambda own: True)
    log_n = math.log(len(X))
    assert log_n - math.log(first.p_value) == pytest.approx(2.0 * (log_n - math.log(half.p_value)))


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
    assert (model.p_values_ <= model.alpha).all()


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
    assert np.array_equal(CRLM().fit_predict(X * 3.7), model.labels_)


def test_losses_are_those_of_the_balls(digits, model):
    X, _ = digits
    for j, bandwidth in enumerate(model.bandwidths_.tolist()):
        members = X[model.labels_ == j]
        sq_dist = np.square(members - model.ball_centers_[j]).sum(axis=1)
        loss = fixed_point(robust_loss(sq_dist, bandwidth, 64)).sum() * 2.0**-30
        assert model.losses_[j] == pytest.approx(loss)


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


def test_the_least_size_is_that_of_the_ball_which_is_the_cluster(digits, model):
    """A ball that is too small takes no rows, so that one around another row may have them."""
    X, _ = digits
    sizes = np.sort(model.cluster_sizes_)
    assert sizes[0] > CRLM(model.sigma_max_).fit(X).cluster_sizes_.min()
    assert np.array_equal(CRLM(min_cluster_size=int(sizes[0])).fit_predict(X), model.labels_)
    larger = CRLM(min_cluster_size=int(sizes[0]) + 1).fit(X)
    assert larger.cluster_sizes_.tolist() == [60, 92]
    assert np.array_equal(larger.predict(X), larger.labels_)
    with pytest.warns(TooSmallWarning, match="smaller min_cluster_size"):
        assert CRLM(min_cluster_size=150).fit(X).n_clusters_ == 0


def test_a_limit_takes_the_first_clusters():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(57)
    sizes = rng.choice([5, 10, 20, 40, 70], 10)
    rows = [rng.choice(np.flatnonzero(y == j), sizes[j], False) for j in range(10)]
    X = X[np.concatenate(rows)]
    all_of_them = CRLM().fit(X)
    assert all_of_them.n_clusters_ > 1
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
