"""Clusters are more than chance; background alone has none."""

import itertools

import numpy as np
import pytest

from crlm import CRLM, GMMUB, estimate_sigma, scores
from crlm.background.growth import Growth, levels, tail
from crlm.background.references import (
    MAX_REFERENCES,
    Around,
    References,
    _sort_logs,
    first_of_equals,
)
from crlm.background.rest import _without
from crlm.background.sides import span
from crlm.background.significance import Background
from crlm.errors import WeakEvidenceWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning"),
    pytest.mark.filterwarnings("ignore::crlm.errors.TooLargeWarning"),
]


def ones(n):
    return np.ones(n, dtype=np.int64)


def background(kind, n, d, seed):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    if kind == "ball":
        return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
    if kind == "box":
        return rng.uniform(size=(n, d))
    if kind == "t5":
        return X / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5)
    if kind == "sphere":
        X = X / np.sqrt(np.arange(1, d + 1))
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    return X


def log_r(X):
    return References.choose(X, ones(len(X))).log_r


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("values", [1, 2, 5, 10**6])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_copies_are_told_from_rows_that_look_like_them(d, values, dtype):
    rng = np.random.default_rng([d, values])
    X = rng.integers(0, values, (300, d)).astype(dtype)
    X = np.concatenate([X, rng.permutation(X), -X * 0.0])  # copies, and zeros of both signs
    seen, expected = set(), []
    for row in map(tuple, X.tolist()):  # 0.0 == -0.0, and both hash alike
        expected.append(row not in seen)
        seen.add(row)
    assert first_of_equals(X).tolist() == expected


# ---- growth ---------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_count_grows_as_the_power_of_the_dimension(d):
    growth = Growth.learn(log_r(background("box", 1500, d, 0)))
    small = growth.levels < 30  # beyond, edges lower it
    assert growth.delta[small, 2:4].mean() == pytest.approx(d, rel=0.15)


def test_a_uniform_background_has_one_growth_and_a_sphere_of_unequal_axes_many():
    one = Growth.learn(log_r(background("ball", 1000, 20, 0)))
    many = Growth.learn(log_r(background("sphere", 1000, 20, 0)))
    middle = (one.levels > 20) & (one.levels < 200)
    assert one.kappa[middle].min() > 4 * many.kappa[middle].max()


def test_more_points_in_a_ball_are_more_surprising_and_a_wider_ball_is_less():
    near = log_r(background("ball", 600, 5, 1))
    growth = Growth.learn(near)
    rows = np.zeros(6, dtype=np.intp)
    m = np.array([4, 6, 9, 13, 19, 28])
    by_count = growth.surprise(Around(near), rows, m, near[0, 4])
    assert (np.diff(by_count) >= 0).all()
    assert by_count[-1] > by_count[0] + 5
    by_radius = growth.surprise(
        Around(near), rows, np.full(6, 10), near[0, 10] + np.linspace(-1, 0, 6)
    )
    assert (np.diff(by_radius) <= 0).all()
    assert by_radius[0] > by_radius[-1]


@pytest.mark.parametrize("w", [1.0, 1.5])
@pytest.mark.parametrize("severe", [False, True])
def test_a_ball_is_as_surprising_among_others_as_alone(severe, w):
    rng = np.random.default_rng(0)
    near = log_r(np.concatenate([background("box", 300, 3, 0), rng.normal(0.5, 0.01, (30, 3))]))
    growth, m = Growth.learn(near), np.array([2, 10, 25, 100, 400])
    rows = np.arange(len(near))[:, None]
    together = growth.surprise(
        Around(near), rows, m, near[:, [2, 10, 25, 100, 150]], w, severe=severe
    )
    for row in (0, 7, 305, 329):
        for j, log_R in enumerate(near[row, [2, 10, 25, 100, 150]]):
            alone = growth.surprise(
                Around(near), np.array([row]), m[j : j + 1], log_R, w, severe=severe
            )
            assert alone[0] == together[row, j]
    assert together.max() > 20.0
    assert (together == 0.0).any()
    assert np.isneginf(together[:, -1]).all()  # more than half of all


@pytest.mark.parametrize("n_values", [4, 1000])
def test_points_struck_out_leave_the_others_sorted(n_values):
    X = np.random.default_rng(0).integers(0, n_values, (200, 4)).astype(np.float64)  # ties or none
    references = References.choose(X, ones(len(X)))
    taken = np.arange(len(references.rows)) % 7 == 0
    log_D = references.log_distances
    struck, room = log_D[np.ix_(~taken, taken)], np.empty(log_D.size)
    left = np.sort(log_D[np.ix_(~taken, ~taken)], axis=1)
    assert np.array_equal(_without(references.log_r, taken, struck, room), left)
    room[:] = references.log_r.ravel()  # in place, too
    assert np.array_equal(_without(room.reshape(log_D.shape), taken, struck, room), left)


def test_the_surprise_of_a_tight_ball_is_finite_and_grows_as_it_gets_tighter():
    log_q = -np.geomspace(1e-3, 1e5, 400)
    for w in (1.0, 7.5):
        tails = tail(np.array([40]), np.array([160.0]), log_q, w, np.array([2.0]))
        assert np.isfinite(tails).all()
        assert (np.diff(tails) >= 0.0).all()


@pytest.mark.parametrize("n_values", [7, 10**6])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_sides_are_told_by_all_that_are_no_farther(d, n_values):
    X = np.random.default_rng(d).integers(0, n_values, (60, d)).astype(np.float64)  # ties or none
    X = np.unique(X, axis=0)
    log_r, sides = References.choose(X, ones(len(X))).around
    assert sides.n_directions == d
    r = np.sqrt(np.square(X[:, None] - X).sum(axis=-1))
    for i, m in [(0, 1), (3, 4), (5, len(X) - 1), (len(X) - 1, 3)]:
        near = (r[i] <= np.exp(log_r[i, m]) * (1 + 1e-6)) & (np.arange(len(X)) != i)
        offset = np.linalg.norm((X[near] - X[i]).mean(axis=0)) / r[i, near].max()
        expected = max(offset**2 - d / (d + 2) / near.sum(), 0.0) ** 0.5
        assert sides.tilt[i, m] == pytest.approx(expected, abs=1e-5)
        offsets = X[near] - X[i]
        extents = np.linalg.eigvalsh(offsets.T @ offsets)
        uneven = d * np.square(extents).sum() / extents.sum() ** 2 - 1.0
        by_chance = 3.0 * (d - 1) * (d + 2) ** 2 / (d * (d + 4)) / near.sum()
        directions = d / (1.0 + max(uneven - by_chance, 0.0))
        assert sides.directions[i, m] == pytest.approx(directions, abs=1e-5)


@pytest.mark.parametrize(
    ("k", "n_planes", "most"),
    [(1, 1, 4 / 3), (2, 1, 4 / 3), (3, 1, 4 / 3), (2, 2, 1.45), (3, 2, 1.56), (3, 3, 1.85)],
)
def test_what_planes_cut_off_a_shell_is_told_by_the_tilt(k, n_planes, most):
    """One plane 4/3 of it at most; in a corner more, but twice only where nothing is cut off."""
    side = np.linspace(-1.0, 1.0, {1: 20_001, 2: 801, 3: 101}[k])
    grid = np.stack(np.meshgrid(*[side] * k), axis=-1).reshape(-1, k)
    grid = grid[np.square(grid).sum(axis=1) < 1.0]
    for near in itertools.product(np.linspace(0.0, 1.0, 6), repeat=n_planes):
        left = (grid[:, :n_planes] <= near).all(axis=1)
        tilt = np.linalg.norm(grid[left].mean(axis=0))
        assert 1.0 - left.mean() <= most * tilt + 1e-4  # what the grid rounds


@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_that_hide_among_each_other_show_against_the_rest(seed):
    """Most rows are in clusters, so that all rows together grow as if these were no clusters."""
    rng = np.random.default_rng(seed)
    means = 3.0 * rng.normal(size=(4, 4))
    wide = [1.6 * rng.uniform(0.5, 1.5) * rng.normal(size=(20, 4)) + mean for mean in means]
    X = np.vstack([*wide, 3.0 * rng.normal(size=(40, 4))])
    background = Background.learn(X, ones(len(X)))
    around, overall = background.references.around, background.overall
    of_all, _ = overall.best(around, background.needed, overall.surprises(around))
    assert of_all < background.needed <= background.surprise
    assert not background.alone
    assert CRLM().fit(X).n_clusters_ > 0


def test_a_column_that_is_there_twice_spans_no_more():
    X = np.random.default_rng(0).normal(size=(100, 4))
    assert span(X[:, :3]).shape == (3, 3)
    assert span(np.hstack([X[:, :2], X[:, :2]])).shape == (4, 2)
    assert span(X) is None
    few = np.vstack([np.hstack([X[:16, :2], X[:16, :2]]), X])  # the first rows do not tell
    assert span(few) is None


def test_in_a_plane_too_the_answer_follows_the_rows_and_copies_of_columns():
    rng = np.random.default_rng(3)
    X = np.unique(
        np.vstack([rng.integers(0, 300, (600, 2)), rng.integers(150, 162, (60, 2))]), axis=0
    )
    X = X.astype(np.float64)
    model, order = CRLM().fit(X), rng.permutation(len(X))
    assert model.n_clusters_ == 1
    shuffled = CRLM().fit(X[order])
    assert shuffled.sigma_max_ == model.sigma_max_
    assert np.array_equal(shuffled.labels_, model.labels_[order])
    assert np.array_equal(shuffled.p_values_, model.p_values_)
    assert np.array_equal(CRLM().fit(np.hstack([X, X]) / np.sqrt(2.0)).labels_, model.labels_)


def test_edges_and_corners_of_a_square_are_no_clusters():
    """Where less than twice the density is allowed; without the tilt most of these have some."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.vstack([rng.uniform(size=(1500, 2)), 0.5 + 0.01 * rng.normal(size=(40, 2))])
        found += CRLM().fit(X).n_clusters_
    assert found == 6


def test_evidence_is_weak_where_all_rows_do_not_show_what_a_sample_does():
    rng = np.random.default_rng(196)
    X = rng.uniform(-20.0, 20.0, (6144, 2))
    X[:24] = [6.0, 8.0] + 0.4 * rng.normal(size=(24, 2))
    references = References.choose(X, ones(len(X)))
    assert (references.rows < 24).sum() == 16  # of every third row, twice as many as are due
    with pytest.warns(WeakEvidenceWarning, match="among all rows") as caught:
        model = CRLM().fit(X)
    assert caught[0].filename == __file__
    assert model.sigma_estimate_.evidence == "weak"
    assert model.sigma_estimate_.n_clusters.any()
    assert model.n_clusters_ == 0


def test_evidence_is_not_weak_where_all_rows_show_what_a_sample_does_not(monkeypatch):
    rng = np.random.default_rng(11)
    X = np.vstack([rng.uniform(0.0, 100.0, (4000, 3)), 50.0 + rng.normal(size=(10, 3))])
    near = CRLM().fit(X)
    assert near.sigma_estimate_.rare
    monkeypatch.setattr(
        "crlm.bandwidth.rare.rare_path", lambda *_: None
    )  # as if there were no memory
    assert estimate_sigma(X).evidence == "weak"
    model = CRLM().fit(X)  # without a warning
    assert model.n_clusters_ == near.n_clusters_ == 1
    assert model.sigma_estimate_.evidence == "moderate"


def test_tails_of_tight_clusters_are_left_out_of_the_background():
    """A draw of experiments/selection.py on which 82 clusters were found instead of three."""
    rng = np.random.default_rng([2024, 2, 1, 11])
    d, n, k = int(rng.choice([5, 10, 30, 100])), int(rng.choice([500, 1000, 2000])), 3
    rng.integers(1, 6)
    D, size = rng.uniform(30, 80), int(rng.uniform(0.05, 0.3) * n / k)
    B = rng.normal(size=(n - k * size, d))
    B *= D * np.sqrt(d) * rng.random((len(B), 1)) ** (1 / d) / np.linalg.norm(B, axis=1)[:, None]
    parts = [B]
    for mean in 0.8 * B[rng.integers(len(B), size=k)]:
        Z = rng.normal(size=(size, d)) * rng.uniform(1.0, 2.0)
        parts.append(mean + Z / np.sqrt(rng.chisquare(5, size=(size, 1)) / 5))
    model = CRLM().fit(np.vstack(parts))
    y = np.repeat([-1, 0, 1, 2], [len(B), size, size, size])
    assert model.n_clusters_ == 3
    assert scores.f_measure(y, model.labels_) > 0.99


def test_levels_start_and_end_where_they_should():
    assert levels(2, 2).tolist() == [2]
    assert levels(3, 2).tolist() == []
    assert levels(2, 2000)[-1] > 1000


# ---- background alone -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ball", "box", "gaussian", "t5"])
@pytest.mark.parametrize("d", [2, 5, 20, 100])
def test_background_alone_has_no_cluster(kind, d):
    found = [CRLM().fit(background(kind, 400, d, seed)).n_clusters_ > 0 for seed in range(8)]
    # At alpha = 0.01 one of 8 runs has a cluster in 8 % of cases, two in 0.3 %.
    assert sum(found) <= 1


def test_background_that_looks_like_embeddings_has_no_cluster():
    found = [CRLM().fit(background("sphere", 500, 100, seed)).n_clusters_ > 0 for seed in range(8)]
    assert sum(found) <= 1


@pytest.mark.parametrize(("values", "d"), [(4, 3), (10, 2), (10, 3), (4, 6)])
def test_a_lattice_has_no_cluster_though_many_distances_are_equal(values, d):
    X = np.random.default_rng(0).integers(0, values, (400, d))
    assert CRLM().fit(X).n_clusters_ == 0


def test_most_of_the_data_are_no_cluster():
    X = background("gaussian", 300, 3, 0)
    for sigma in (0.5, 1.0, 3.0, 100.0):
        assert CRLM(sigma).fit(X).n_clusters_ == 0


def test_a_given_bandwidth_is_judged_too():
    X = background("ball", 500, 5, 3)
    for sigma in (0.05, 0.07, 0.1):
        assert CRLM(sigma).fit(X).n_clusters_ == 0
        assert CRLM(sigma, alpha=None).fit(X).n_clusters_ > 0


def test_copies_of_a_row_are_told_and_are_no_cluster():
    X = background("ball", 300, 5, 0)
    X = np.vstack([X, np.repeat(X[:1], 20, axis=0)])
    model = CRLM().fit(X)
    assert model.n_clusters_ == 0
    assert model.n_duplicates_ == 20
    assert CRLM(0.01).fit(X).n_clusters_ == 0


# ---- clusters -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(k=3, d=20, sigmas=[1, 2, 3], weights=0.02, D=60, sigma_max=7, rng=0)
    return truth.sample(1500, rng=1)


def test_p_values_of_clusters_are_small_and_missing_without_a_test(toy):
    X, truth = toy
    model = CRLM(7.0).fit(X)
    assert scores.f_measure(truth, model.labels_) == 1.0
    assert (model.p_values_ < 1e-10).all()
    assert np.isnan(CRLM(7.0, max_clusters=3, alpha=None).fit(X).p_values_).all()


def test_a_smaller_alpha_never_finds_more():
    rng = np.random.default_rng(0)
    X = np.vstack([background("ball", 400, 3, 5), 0.02 * rng.normal(size=(12, 3))])
    sigma = 0.03
    found = [CRLM(sigma, alpha=a).fit(X).n_clusters_ for a in (1e-9, 1e-6, 1e-3, 0.05, 0.5)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_a_small_cluster_in_more_rows_than_are_measured_is_found():
    rng = np.random.default_rng(0)
    X = np.vstack([background("ball", 3 * MAX_REFERENCES, 20, 0), 0.01 * rng.normal(size=(15, 20))])
    model = CRLM(0.03).fit(X)
    assert np.flatnonzero(model.labels_ == 0).tolist() == list(range(len(X) - 15, len(X)))
    assert model.p_values_[0] < 1e-6


def test_rows_of_weight_zero_are_no_evidence():
    X = np.vstack(
        [background("ball", 300, 5, 0), 1e-3 * np.random.default_rng(1).normal(size=(9, 5))]
    )
    w = ones(len(X))
    assert CRLM(1e-3).fit(X, sample_weight=w).n_clusters_ == 1
    w[-9:-1] = 0
    assert CRLM(1e-3).fit(X, sample_weight=w).n_clusters_ == 0


def test_too_few_rows_to_learn_from_give_no_cluster_and_say_so():
    X = np.array([[0.0], [0.01], [0.02], [5.0], [9.0]])
    with pytest.warns(WeakEvidenceWarning):
        assert CRLM().fit(X).n_clusters_ == 0
    assert Background.learn(X, ones(5)).growth is None


# ---- references -----------------------------------------------------------------------


def test_references_follow_their_rows_when_those_are_shuffled_shifted_or_scaled():
    X = np.round(background("gaussian", 2 * MAX_REFERENCES, 4, 0), 3)
    X = X * 2.0**-10  # so that a shift by a whole number is exact
    X = np.unique(np.round(X * 2.0**20) * 2.0**-20, axis=0)
    chosen = {tuple(row) for row in X[References.choose(X, ones(len(X))).rows]}
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = X[order][References.choose(X[order], ones(len(X))).rows]
    assert {tuple(row) for row in shuffled} == chosen
    far = X * 4.0 + 8.0
    assert {tuple((row - 8.0) / 4.0) for row in far[References.choose(far, ones(len(X))).rows]} == (
        chosen
    )


@pytest.mark.parametrize("middle", [-700.0, 0.0, 13.25, 700.0])
@pytest.mark.parametrize("spread", [0.0, 1e-8, 0.3, 1.0, 50.0])
def test_log_distances_are_sorted_as_numbers_are(spread, middle):
    quanta = np.rint(np.random.default_rng(5).normal(middle, spread, size=(40, 60)) * 2.0**30)
    log_D = quanta * 2.0**-30
    np.fill_diagonal(log_D, -np.inf)
    expected = np.sort(log_D, axis=1)
    _sort_logs(log_D, log_D)
    assert np.array_equal(log_D, expected)


def test_log_distances_at_the_ends_of_their_span_are_sorted_too():
    for quanta in (2**32 - 3, 2**32 - 2, 2**32 - 1, 2**32):
        log_D = np.array([[quanta * 2.0**-30, 0.0, -np.inf, 1.0]])
        _sort_logs(log_D, log_D)
        assert log_D.tolist() == [[-np.inf, 0.0, 1.0, quanta * 2.0**-30]]
    alone = np.array([[-np.inf]])
    _sort_logs(alone, alone)
    assert alone.tolist() == [[-np.inf]]


def test_references_of_a_lattice_follow_their_rows_too():
    rng = np.random.default_rng(0)
    X = np.unique(rng.integers(-8, 9, (3000, 6)).astype(float), axis=0)
    assert len(X) > MAX_REFERENCES
    order = rng.permutation(len(X))
    chosen = {tuple(row) for row in X[References.choose(X, ones(len(X))).rows]}
    for Z, back in ((X[order], lambda row: row), (4.0 * X + 3.0, lambda row: (row - 3.0) / 4.0)):
        rows = References.choose(Z, ones(len(Z))).rows
        assert {tuple(back(row)) for row in Z[rows]} == chosen


def test_references_of_a_lattice_follow_neither_copies_of_columns_nor_their_order():
    rng = np.random.default_rng(0)
    X = np.unique(rng.integers(-8, 9, (3000, 5)).astype(float), axis=0)
    X[:, 4] = rng.permutation(X[:, 3])  # as many of each value, so only its order tells
    X = X[first_of_equals(X)]
    chosen = References.choose(X, ones(len(X))).rows
    assert len(X) > len(chosen) == MAX_REFERENCES
    order = rng.permutation(len(X))
    assert {*order[References.choose(X[order], ones(len(X))).rows]} == {*chosen}
    assert np.array_equal(References.choose(np.hstack([X, X]), ones(len(X))).rows, chosen)
    without = X[:, :4][first_of_equals(X[:, :4])]
    turned = References.choose(without[:, ::-1].copy(), ones(len(without))).rows
    assert np.array_equal(References.choose(without, ones(len(without))).rows, turned)


def test_distances_of_a_tight_group_far_out_keep_their_digits():
    rng = np.random.default_rng(0)
    X = np.vstack([1e6 + 1e-3 * rng.normal(size=(30, 5)), rng.normal(0, 1e6, (100, 5))])
    found = References.choose(X, ones(len(X))).log_distances[:30, :30]
    true = np.linalg.norm(X[:30, None] - X[None, :30], axis=2)
    off = ~np.eye(30, dtype=bool)
    assert np.exp(found[off]) == pytest.approx(true[off], rel=1e-6)


@pytest.mark.parametrize("d", [2, 8])
def test_threads_and_blocks_do_not_tell_in_what_lies_around_the_references(d, monkeypatch):
    X = background("gaussian", 700, d, 1)
    one = References.choose(X, ones(len(X)))
    monkeypatch.setattr("crlm.background.references._BLOCK", 90)
    monkeypatch.setattr("crlm.background.references._CELLS", 1000)
    other = References.choose(X, ones(len(X)), n_jobs=3)
    assert other.center.tolist() == one.center.tolist()
    assert np.array_equal(other.log_distances, one.log_distances)
    assert np.array_equal(other.log_distances, other.log_distances.T)
    assert np.array_equal(other.around.log_r, one.around.log_r)
    if d == 2:
        assert np.array_equal(other.around.sides.tilt, one.around.sides.tilt)
        assert np.array_equal(other.around.sides.directions, one.around.sides.directions)
    some = np.arange(0, 700, 3)
    assert np.array_equal(other.log_r_of(X, some), one.log_r_of(X, some))


def test_decoys_show_the_same_to_any_number_of_threads():
    X = np.random.default_rng(0).lognormal(size=(400, 12))
    shown = [Background.learn(X, ones(len(X)), n_jobs=n_jobs).inflation for n_jobs in (1, 2, 5)]
    assert shown[0].severe > 1.0
    assert shown == [shown[0]] * 3


RIDGES = {  # with a cluster at 0.01 in some draws, had the growth no bound
    "two skewed columns": lambda rng: rng.exponential(size=(2000, 2)),
    "three skewed columns": lambda rng: rng.lognormal(size=(1000, 3)),
    "skewed columns that hang together": lambda rng: np.exp(
        0.7 * rng.normal(size=(1000, 3)) @ np.random.default_rng(1).normal(size=(3, 3))
    ),
}


@pytest.mark.parametrize("kind", RIDGES)
def test_the_crest_of_a_ridge_is_no_cluster(kind):
    """Around most rows of skewed columns the bulk comes in sight; along the crest it does not."""
    surprises = []
    for seed in range(6):
        X = RIDGES[kind](np.random.default_rng(seed))
        learnt = Background.learn(X, ones(len(X)))
        assert learnt.alone
        assert learnt.surprise < learnt.needed  # without decoys
        around = learnt.references.around
        unbounded = np.full_like(around.sides.directions, np.inf)
        wide = around._replace(sides=around.sides._replace(directions=unbounded))
        simply = learnt.overall.surprises(wide)
        surprises.append(learnt.overall.best(wide, learnt.needed, simply)[0] - learnt.needed)
    assert max(surprises) > 0.0


def test_points_along_a_line_extend_in_one_direction():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0.0, 1.0, 400), 1e-4 * rng.normal(size=400)])
    sides = References.choose(X, ones(400)).around.sides
    assert np.abs(sides.directions[:, 100:] - 1.0).max() < 0.03
    square = References.choose(background("box", 400, 2, 0), ones(400)).around.sides
    assert np.median(square.directions[:, 20:100]) > 1.9


@pytest.mark.parametrize(
    ("n", "d", "value"), [(300, 20, -9999.0), (300, 50, -99.0), (1000, 10, 1e20)]
)
def test_a_row_far_off_hides_no_cluster(n, d, value):
    """Decoys with its variance would be a line, of which nobody expects balls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:30] = X[0] + 0.1 * rng.normal(size=(30, d))
    labels = CRLM().fit_predict(X)
    assert np.array_equal(np.flatnonzero(labels == 0), np.arange(30))
    X[-1] = value
    assert np.array_equal(CRLM().fit_predict(X), labels)
    X[-1, 1:] = 0.0  # in one column
    assert np.array_equal(CRLM().fit_predict(X), labels)


def test_a_row_far_off_does_not_make_all_others_a_line():
    X = np.random.default_rng(0).normal(size=(3000, 10))
    X[7, 2] = 1e12
    references = References.choose(X, ones(len(X)))
    assert 7 not in references.rows or len(references.typical) == len(references.rows) - 1
    assert not references.is_flat
    assert not CRLM().fit(X).n_clusters_


def test_points_far_off_are_few_and_beyond_a_gap():
    def n_typical(X):
        references = References.choose(X, ones(len(X)))
        return len(references.typical)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    longest = np.linalg.norm(X - np.median(X, axis=0), axis=1).max()
    X[0] = [9.5 * longest, 0.0, 0.0]
    assert n_typical(X) == 200
    X[:2] = [[1e3, 0.0, 0.0], [0.0, 0.0, -1e6]]
    assert n_typical(X) == 198
    X[:2], X[2:102] = X[2:4], 1e6 * X[2:102]  # as many are no exception
    assert n_typical(X) == 200
    assert n_typical(rng.lognormal(sigma=2.0, size=(1000, 12))) == 1000  # nor are tails
    assert n_typical(X[:1]) == 1
    assert n_typical(np.zeros((5, 2))) == 1
