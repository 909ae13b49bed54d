"""The model: its points follow its density, and its density is right in any dimension."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import distance

from crlm import model_checks, model_draw
from crlm.errors import InputError, ParameterError
from crlm.model import BACKGROUND, GMMUB

TWO_CLUSTERS = {
    "means": [[0.0, 0.0], [9.0, 0.0]],
    "sigmas": [1.0, 0.5],
    "weights": [0.2, 0.3],
    "D": 20.0,
}
DRAWN = {"k": 4, "d": 30, "sigmas": 1.0, "weights": 0.1, "D": 60.0, "sigma_max": 5.0, "rng": 0}


def two_clusters(**changes):
    return GMMUB(**TWO_CLUSTERS | changes)


def background_only(d, D=3.0, center=0.0):
    return GMMUB(np.empty((0, d)), 1.0, 0.0, D, center)


# -- the frozen record -------------------------------------------------------------------


def test_properties_describe_the_model():
    model = two_clusters()
    assert (model.k, model.d) == (2, 2)
    assert model.background_weight == pytest.approx(0.5)
    assert repr(model) == "GMMUB(k=2, d=2, D=20, background_weight=0.5)"


def test_single_numbers_are_broadcast():
    model = two_clusters(sigmas=2, weights=0.25, center=1)
    np.testing.assert_array_equal(model.sigmas, [2.0, 2.0])
    np.testing.assert_array_equal(model.weights, [0.25, 0.25])
    np.testing.assert_array_equal(model.center, [1.0, 1.0])


@pytest.mark.parametrize("name", ["means", "sigmas", "weights", "center"])
def test_arrays_are_float64_and_read_only(name):
    array = getattr(two_clusters(sigmas=2, weights=0.25), name)
    assert array.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_fields_cannot_be_assigned():
    with pytest.raises(dataclasses.FrozenInstanceError):
        two_clusters().D = 1.0


def test_callers_arrays_are_copied_and_stay_writeable():
    means = np.zeros((1, 2))
    model = GMMUB(means, 1.0, 0.1, 5.0)
    means[0] = 7.0
    np.testing.assert_array_equal(model.means, [[0.0, 0.0]])


def test_replace_makes_a_changed_copy():
    assert dataclasses.replace(two_clusters(), D=7.0).D == 7.0


def test_weights_of_exactly_one_leave_no_background():
    model = GMMUB(np.zeros((10, 1)), 1.0, 0.1, 5.0)  # ten times 0.1, summed naively, is not 1
    assert model.background_weight == 0.0
    assert (model.sample(500, rng=0)[1] != BACKGROUND).all()


def test_weights_may_exceed_one_by_rounding():
    model = GMMUB(np.zeros((2, 1)), 1.0, [0.5, 0.5 + 9e-10], 5.0)
    assert model.background_weight == 0.0
    assert len(model.sample(10, rng=0)[0]) == 10


def test_importing_the_model_does_not_import_scikit_learn():
    code = "import sys; from crlm import GMMUB; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- sampling ----------------------------------------------------------------------------


def test_sample_has_promised_shapes_and_dtypes():
    X, y = two_clusters().sample(50, rng=0)
    assert (X.shape, X.dtype) == ((50, 2), np.float64)
    assert (y.shape, y.dtype) == ((50,), np.int64)
    assert set(y) == {BACKGROUND, 0, 1}


def test_sample_of_no_point_is_empty():
    X, y = two_clusters().sample(0, rng=0)
    assert X.shape == (0, 2)
    assert y.shape == (0,)


def test_equal_seeds_give_equal_points():
    (X, y), (X_again, y_again) = two_clusters().sample(20, 3), two_clusters().sample(20, 3)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)


def test_different_seeds_give_different_points():
    assert not np.array_equal(two_clusters().sample(20, 3)[0], two_clusters().sample(20, 4)[0])


def test_generator_equals_its_seed_and_advances():
    rng = np.random.default_rng(3)
    first, second = two_clusters().sample(20, rng)[0], two_clusters().sample(20, rng)[0]
    np.testing.assert_array_equal(first, two_clusters().sample(20, 3)[0])
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("d", [1, 2, 7, 100, 4096])
def test_radius_of_background_follows_the_volume(d):
    X, _ = background_only(d, D=3.0, center=5.0).sample(2000 if d < 1000 else 300, rng=1)
    r = np.linalg.norm(X - 5.0, axis=1)
    assert stats.kstest((r / (3.0 * math.sqrt(d))) ** d, "uniform").pvalue > 0.01


def test_direction_of_background_is_isotropic():
    d, D = 4, 3.0
    X, _ = background_only(d, D).sample(40_000, rng=2)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.06)
    # a ball of radius B has the covariance B^2 / (d + 2) I
    np.testing.assert_allclose(np.cov(X.T), D**2 * d / (d + 2) * np.eye(d), atol=0.15)


def test_angle_of_background_in_the_plane_is_uniform():
    X, _ = background_only(2).sample(3000, rng=3)
    angle = np.arctan2(X[:, 1], X[:, 0])
    assert stats.kstest(angle, "uniform", args=(-math.pi, 2 * math.pi)).pvalue > 0.01


def test_clusters_have_their_means_and_sigmas():
    X, y = two_clusters().sample(40_000, rng=4)
    for j, mu, sigma in [(0, [0.0, 0.0], 1.0), (1, [9.0, 0.0], 0.5)]:
        cluster = X[y == j]
        np.testing.assert_allclose(cluster.mean(axis=0), mu, atol=4 * sigma / 80)
        np.testing.assert_allclose(np.cov(cluster.T), sigma**2 * np.eye(2), atol=0.05 * sigma**2)
        assert stats.kstest(cluster[:, 1] / sigma, "norm").pvalue > 0.01


def test_labels_follow_the_weights():
    _, y = two_clusters().sample(20_000, rng=5)
    counts = [(y == label).sum() for label in (0, 1, BACKGROUND)]
    assert stats.chisquare(counts, 20_000 * np.array([0.2, 0.3, 0.5])).pvalue > 0.01


def test_labels_are_independent_of_their_neighbours():
    _, y = two_clusters().sample(20_000, rng=6)
    same = (y[1:] == y[:-1]).mean()
    assert same == pytest.approx(0.2**2 + 0.3**2 + 0.5**2, abs=0.015)


# -- densities ---------------------------------------------------------------------------


def density_on_grid(model, half_width, n):
    """Midpoints of a grid over a cube around the centre, and the volume of one cell."""
    step = 2 * half_width / n
    axis = -half_width + step * (np.arange(n) + 0.5)
    grid = np.stack(np.meshgrid(*[axis] * model.d, indexing="ij"), axis=-1).reshape(-1, model.d)
    return np.exp(model.log_prob(grid + model.center)), step**model.d


@pytest.mark.parametrize(
    ("model", "n", "rtol"),
    [
        (GMMUB([[-1.0], [2.5]], [0.5, 0.2], [0.3, 0.2], 3.0, center=0.5), 100_000, 1e-4),
        (GMMUB([[-1.0, 0.0], [2.0, 1.0]], [0.5, 0.2], [0.3, 0.2], 3.0, [0.5, 0.0]), 1000, 1e-3),
    ],
    ids=["d=1", "d=2"],
)
def test_density_integrates_to_one(model, n, rtol):
    density, cell = density_on_grid(model, half_width=8.0, n=n)
    assert density.sum() * cell == pytest.approx(1.0, rel=rtol)


def test_log_prob_equals_the_textbook_formula_in_three_dimensions():
    model = GMMUB([[1.0, 0.0, -1.0]], 0.7, 0.3, 2.0)
    X = np.array([[1.0, 0.5, 0.0], [-3.0, 0.0, 0.0], [3.0, 3.0, 0.0]])  # the last is outside
    ball = np.array([1, 1, 0]) / (4 / 3 * math.pi * (2 * math.sqrt(3)) ** 3)
    gaussian = stats.multivariate_normal(model.means[0], 0.49 * np.eye(3)).pdf(X)
    np.testing.assert_allclose(model.log_prob(X), np.log(0.3 * gaussian + 0.7 * ball))


def test_background_density_in_4096_dimensions_follows_the_recursion_of_volumes():
    d, D = 4096, 2.0
    sq_radius = D**2 * d  # V_d = V_{d-2} * 2 pi r^2 / d, and V_0 = 1
    log_volume = sum(math.log(2 * math.pi * sq_radius / m) for m in range(2, d + 1, 2))
    assert background_only(d, D).log_prob(np.zeros((1, d)))[0] == pytest.approx(-log_volume)


def test_4096_dimensions_neither_underflow_nor_overflow():
    model = GMMUB.draw(k=2, d=4096, sigmas=[0.1, 1.0], weights=0.3, D=60, sigma_max=5, rng=0)
    X, y = model.sample(60, rng=1)
    responsibilities = model.responsibilities(X)
    assert np.isfinite(model.log_prob(X)).all()
    np.testing.assert_array_equal(responsibilities.argmax(axis=1) % 3, y % 3)
    np.testing.assert_allclose(responsibilities.max(axis=1), 1.0)


def test_distances_survive_a_large_offset():
    # |x|^2 - 2 x mu + |mu|^2 would lose every digit of the distance here
    offset = np.array([2.0**40, 0.0])
    near = GMMUB([[0.0, 0.0]], 1.0, 0.5, 5.0)
    far = GMMUB([offset], 1.0, 0.5, 5.0, center=offset)
    X = np.array([[0.5, 0.25], [-3.0, 1.0]])
    np.testing.assert_array_equal(far.log_prob(X + offset), near.log_prob(X))


def test_tiny_sigma_does_not_underflow():
    model = GMMUB([[0.0]], 1e-170, 0.5, 1.0)
    assert model.log_prob([[0.0]])[0] == pytest.approx(170 * math.log(10), rel=0.01)


def test_log_prob_is_minus_infinity_where_nothing_reaches():
    assert background_only(2).log_prob([[100.0, 0.0]])[0] == -np.inf
    assert two_clusters().log_prob([[1e300, 0.0]])[0] == -np.inf


def test_rim_of_the_ball_belongs_to_the_background():
    model = background_only(1, D=2.0)
    inside, outside = model.log_prob([[2.0], [np.nextafter(2.0, 3.0)]])
    assert inside == pytest.approx(-math.log(4.0))
    assert outside == -np.inf


@settings(deadline=None, max_examples=50)
@given(
    points=st.lists(st.tuples(*[st.floats(-100, 100)] * 2), min_size=1, max_size=5),
    weights=st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)),
    extend=st.booleans(),
)
def test_responsibilities_are_probabilities_that_add_up_to_one(points, weights, extend):
    model = two_clusters(weights=weights)
    responsibilities = model.responsibilities(points, extend_background=extend)
    assert responsibilities.shape == (len(points), 3)
    assert ((responsibilities >= 0) & (responsibilities <= 1)).all()
    np.testing.assert_allclose(responsibilities.sum(axis=1), 1.0)


def test_responsibilities_follow_from_bayes_rule():
    model = GMMUB([[0.0], [3.0]], [1.0, 2.0], [0.2, 0.3], 10.0)
    joint = np.array([0.2 * stats.norm(0, 1).pdf(1.5), 0.3 * stats.norm(3, 2).pdf(1.5), 0.5 / 20])
    np.testing.assert_allclose(model.responsibilities([[1.5]])[0], joint / joint.sum())


def test_far_point_is_a_clusters_unless_the_background_is_extended():
    far = [[100.0, 0.0]]
    np.testing.assert_allclose(two_clusters().responsibilities(far), [[1, 0, 0]], atol=1e-12)
    extended = two_clusters().responsibilities(far, extend_background=True)
    np.testing.assert_allclose(extended, [[0, 0, 1]], atol=1e-12)


def test_extending_the_background_changes_nothing_inside_the_ball():
    X, _ = background_only(2, D=20.0).sample(100, rng=0)
    plain, extended = (two_clusters().responsibilities(X, extend_background=e) for e in (0, 1))
    np.testing.assert_array_equal(plain, extended)


def test_row_of_zero_density_is_background():
    np.testing.assert_array_equal(two_clusters().responsibilities([[1e300, 0.0]]), [[0, 0, 1]])
    np.testing.assert_array_equal(background_only(1).responsibilities([[99.0]]), [[1]])


def test_component_of_weight_zero_is_never_responsible():
    model = two_clusters(weights=[0.0, 1.0])
    np.testing.assert_array_equal(model.responsibilities([[0.0, 0.0]]), [[0, 1, 0]])


@pytest.mark.parametrize("entries", [1, 7, 64])
def test_block_size_changes_nothing(monkeypatch, entries):
    X, _ = two_clusters().sample(33, rng=0)
    log_prob, responsibilities = two_clusters().log_prob(X), two_clusters().responsibilities(X)
    monkeypatch.setattr(model_checks, "BLOCK_ENTRIES", entries)
    np.testing.assert_allclose(two_clusters().log_prob(X), log_prob, rtol=1e-14)
    np.testing.assert_allclose(two_clusters().responsibilities(X), responsibilities, rtol=1e-14)


def test_no_block_is_larger_than_the_limit(monkeypatch):
    monkeypatch.setattr(model_checks, "BLOCK_ENTRIES", 60)
    blocks = list(model_checks.finite_blocks(np.zeros((100, 3)), k=19))
    assert {len(block) for _, block in blocks[:-1]} == {3}
    assert sum(len(block) for _, block in blocks) == 100


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, bool])
def test_any_real_dtype_of_points_is_accepted_and_left_alone(dtype):
    X = np.array([[0, 1], [1, 1]], dtype=dtype, order="F")
    X.flags.writeable = False
    np.testing.assert_array_equal(
        two_clusters().log_prob(X), two_clusters().log_prob([[0.0, 1.0], [1.0, 1.0]])
    )


def test_no_point_gives_empty_results():
    assert two_clusters().log_prob(np.empty((0, 2))).shape == (0,)
    assert two_clusters().responsibilities(np.empty((0, 2))).shape == (0, 3)


def test_model_without_clusters_is_uniform():
    model = background_only(3)
    X, y = model.sample(100, rng=0)
    assert (y == BACKGROUND).all()
    assert np.ptp(model.log_prob(X)) == 0
    np.testing.assert_array_equal(model.responsibilities(X), np.ones((100, 1)))
    assert model.background_weight == 1.0


# -- drawing a model ---------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(
    k=st.integers(0, 6),
    d=st.sampled_from([2, 5, 50, 500]),
    G=st.floats(1.1, 9.0),
    slack=st.floats(6.0, 20.0),
    seed=st.integers(0, 2**32),
)
def test_drawn_models_satisfy_a1_a2_and_a3_strictly(k, d, G, slack, seed):
    sigma_max, sigmas = 2.5, np.linspace(0.1, 1.2, k)
    D = slack * sigma_max * math.sqrt(G)
    model = GMMUB.draw(k, d, sigmas, 0.1, D, sigma_max, seed, G=G)
    R = sigma_max * math.sqrt(d * G)
    assert model.k == k
    assert 2 * sigma_max * math.sqrt(G) < D  # A1
    assert (np.linalg.norm(model.means, axis=1) + 2 * R < D * math.sqrt(d)).all()  # A1
    assert (distance.pdist(model.means) > 2 * R).all()  # A2
    assert (sigma_max > 2 * model.sigmas).all()  # A3


def test_drawn_means_come_near_the_least_separation_but_not_below():
    seeds = range(60)
    models = [GMMUB.draw(5, 2, 1.0, 0.1, D=30.0, sigma_max=2.5, rng=seed) for seed in seeds]
    nearest = min(distance.pdist(model.means).min() for model in models)
    gap = 2 * 2.5 * math.sqrt(2 * 4.0)
    assert gap < nearest < 1.05 * gap


@pytest.mark.parametrize(
    ("mu", "fits"),
    [(1.0, True), (3.0, False), (2.99, True), (0.0, False), (0.01, True)],
)
def test_mean_on_the_rim_or_at_the_least_separation_is_refused(mu, fits):
    # radius 5 and gap 2: A1 wants |mu| < 3, and A2 more than 2 from the mean at -2
    others = np.array([[-2.0]])
    assert model_draw.fits(np.array([[mu]]), others, radius=5.0, gap=2.0) is fits


def test_drawn_means_fill_the_ball_that_a1_allows():
    seeds = range(300)
    means = np.vstack([GMMUB.draw(1, 3, 1.0, 0.1, 50.0, 3.0, seed).means for seed in seeds])
    radius = (50.0 - 2 * 3.0 * 2.0) * math.sqrt(3)
    volume = (np.linalg.norm(means, axis=1) / radius) ** 3
    assert stats.kstest(volume, "uniform").pvalue > 0.01


def test_drawing_is_determined_by_the_seed():
    first, again, other = (GMMUB.draw(**DRAWN | {"rng": rng}).means for rng in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_drawing_keeps_the_other_parameters():
    model = GMMUB.draw(**DRAWN | {"sigmas": [0.5, 1.0, 1.5, 2.0], "weights": [0.1, 0.2, 0.0, 0.3]})
    np.testing.assert_array_equal(model.sigmas, [0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(model.weights, [0.1, 0.2, 0.0, 0.3])
    assert model.D == 60.0
    assert (model.center == 0).all()


# -- messages ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"means": [[np.nan, 0.0], [0.0, 0.0]]}, "means contains NaN or infinity.*Replace"),
        ({"means": [["a", "b"]]}, "means cannot be read as numbers.*Give numbers"),
        ({"means": [0.0, 1.0]}, r"means has shape \(2,\).*must be \(k, d\).*single mean"),
        ({"means": np.empty((2, 0))}, r"means has shape \(2, 0\).*d of at least 1"),
        ({"sigmas": [1.0, np.inf]}, "sigmas contains NaN or infinity"),
        ({"sigmas": [1.0] * 3}, r"sigmas has shape \(3,\), but means has 2 rows. Give 2 numbers"),
        ({"sigmas": [1.0, 0.0]}, "sigmas contains 0;.*greater than 0. Give"),
        ({"weights": [0.1]}, r"weights has shape \(1,\), but means has 2 rows. Give 2 numbers"),
        ({"weights": [0.1, -0.2]}, "weights contains -0.2;.*Use 0 or more"),
        ({"weights": [0.6, 0.7]}, "weights add up to 1.3, but.*at most 1.*Divide them"),
        ({"weights": [0.5, 0.5 + 1e-8]}, "weights add up to 1.00000001, but"),
        ({"D": 0.0}, "D = 0.0, but it must be a single number greater than 0"),
        ({"D": [1.0, 2.0]}, r"D = \[1.0, 2.0\], but it must be a single number"),
        ({"D": np.nan}, "D contains NaN"),
        ({"center": [0.0] * 3}, r"center has shape \(3,\), but means has 2 columns. Give 2"),
    ],
)
def test_bad_parameter_is_refused_with_a_remedy(changes, words):
    with pytest.raises(ParameterError, match=words):
        two_clusters(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"D": 20.0}, r"A1 cannot hold: D = 20 .*sqrt\(G\) = 20. Make D larger"),
        ({"D": 21.0}, "A2 cannot be met: no place.*mean 2 of 4 in 1000 tries.*Make D larger"),
        ({"sigmas": 2.5}, "A3 cannot hold: sigma_max = 5 .*sigmas, 5. Make sigma_max larger"),
        ({"k": 2.5}, "k = 2.5, but it must be a whole number of at least 0"),
        ({"d": 0}, "d = 0, but it must be a whole number of at least 1"),
        ({"sigma_max": -1.0}, "sigma_max = -1.0, but.*greater than 0"),
        ({"G": 1.0}, "G = 1.0, but.*greater than 1"),
        ({"sigmas": [1.0, 1.0]}, "sigmas has shape.*means has 4 rows"),
        ({"weights": 0.3}, "weights add up to 1.2"),
        ({"rng": None}, "rng = None would give different points.*rng=0.*reproduced"),
    ],
)
def test_model_that_cannot_be_drawn_is_refused_with_a_remedy(changes, words):
    with pytest.raises(ParameterError, match=words):
        GMMUB.draw(**DRAWN | changes)


@pytest.mark.parametrize(
    ("n", "rng", "words"),
    [
        (-1, 0, "n = -1, but it must be a whole number of at least 0"),
        (5, None, "rng = None would give different points.*rng=0.*reproduced"),
        (5, -3, "rng = -3 is no seed. Give a whole number"),
        (5, "seed", "rng = 'seed' is no seed. Give a whole number"),
    ],
)
def test_bad_sample_is_refused_with_a_remedy(n, rng, words):
    with pytest.raises(ParameterError, match=words):
        two_clusters().sample(n, rng)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([0.0, 1.0], r"X has shape \(2,\), but.*d = 2.*reshape\(1, -1\)"),
        ([[0.0, 1.0, 2.0]], r"X has shape \(1, 3\), but the model has dimension d = 2"),
        ([["a", "b"]], "X has dtype <U1; densities need real numbers. Try"),
        ([[0.0, 0.0], [np.nan, 0.0]], "X contains NaN or infinity, first in row 1. Drop"),
    ],
)
@pytest.mark.parametrize("method", ["log_prob", "responsibilities"])
def test_points_without_a_density_are_refused_with_a_remedy(method, X, words):
    with pytest.raises(InputError, match=words):
        getattr(two_clusters(), method)(X)


def test_first_bad_row_is_counted_across_blocks(monkeypatch):
    monkeypatch.setattr(model_checks, "BLOCK_ENTRIES", 6)
    X = np.zeros((10, 2))
    X[8, 1] = np.inf
    with pytest.raises(InputError, match="first in row 8"):
        two_clusters().log_prob(X)
