"""Algorithms 1 and 2: the oracle, and the laws that labels obey."""

from functools import partial
from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from crlm import CRLM
from crlm.greedy import Ball, find_clusters, mean_shift_step
from crlm.loss import sq_cutoff
from crlm.search import neighbourhood
from strategies import data_sets, small_lattices

GB = 10**9

paper = partial(CRLM, alpha=None)  # Algorithm 2 to the letter: no ball is judged


def labels_of(X, sigma_max, G=4.0, **kwargs):
    return paper(sigma_max, G=G, n_jobs=1, **kwargs).fit(X).labels_


def as_points(X):
    return np.ascontiguousarray(X, dtype=np.float64)


def balls_of(X, sigma_max, *, accept=lambda ball: True, weights=None):
    X = as_points(X)
    weights = np.ones(len(X), dtype=np.int64) if weights is None else np.asarray(weights)
    near = neighbourhood(X, sigma_max, 4.0, weights, memory_limit=GB)
    return list(find_clusters(X, near, sigma_max, weights, accept))


@given(data_sets(), st.sampled_from([1, 2, 3, 60]))
@settings(max_examples=1500, deadline=None)
def test_labels_equal_algorithm_2_as_printed(data, k):
    X, sigma_max, G = data
    expected = reference.crlm(X, k, sigma_max, G)
    assert np.array_equal(labels_of(X, sigma_max, G, max_clusters=k), expected)


@given(small_lattices())
@settings(max_examples=1000, deadline=None)
def test_labels_equal_algorithm_2_where_nearly_everything_ties(data):
    X, sigma_max, G = data
    assert np.array_equal(labels_of(X, sigma_max, G), reference.crlm(X, len(X), sigma_max, G))


@given(data_sets())
@settings(max_examples=200, deadline=None)
def test_centres_and_members_equal_algorithm_1_as_printed(data):
    X, sigma_max, G = data
    model = paper(sigma_max, G=G, max_clusters=1, min_cluster_size=1).fit(X)
    i, C = reference.ocrlm(as_points(X), sigma_max, G)
    assume(len(C) > 1)
    assert model.center_indices_.tolist() == [i]
    assert np.flatnonzero(model.labels_ == 0).tolist() == C.tolist()


def test_point_at_exactly_the_cutoff_is_left_out():
    X = np.array([[0.0], [1.0], [2.0]])  # d = 1, G = 4, sigma_max = 1: the cutoff is 2
    assert labels_of(X, 1.0).tolist() == [0, 0, 0]  # the centre is the middle point
    assert labels_of(X[[0, 2]], 1.0).tolist() == [-1, -1]  # 2 is not less than 2


def test_rejected_ball_is_passed_over_and_its_points_can_join_a_later_one():
    # A coincident pair (loss -8) comes before the triple (loss -4.78).
    X = np.array([[50.0], [50.0], [-1.9], [0.0], [1.9]])
    assert labels_of(X, 1.0).tolist() == [0, 0, 1, 1, 1]
    assert labels_of(X, 1.0, min_cluster_size=3).tolist() == [-1, -1, 0, 0, 0]
    # The points of a rejected ball stay in play: {0, 0} is too small for 5, but both its
    # points belong to the ball of five around 1.5.
    X = np.array([[0.0], [0.0], [1.5], [3.4], [3.45]])
    assert paper(1.0, min_cluster_size=5).fit(X).labels_.tolist() == [0, 0, 0, 0, 0]


def test_true_ties_go_to_the_lowest_row():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert paper(1.0).fit(X).center_indices_.tolist() == [0, 2]
    assert paper(1.0).fit(X[::-1]).center_indices_.tolist() == [0, 2]


def test_mean_and_sigma_hat_divide_by_d_times_one_less_than_the_count():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    (cluster,) = balls_of(X, 5.0)
    assert cluster.mu_hat.tolist() == [1.0, 1.0]
    assert cluster.sigma_hat == pytest.approx(np.sqrt((2 + 2 + 4) / (2 * (3 - 1))))


def test_one_point_alone_has_its_own_place_as_mean_and_sigma_max_as_spread():
    X = np.array([[3.0, 4.0]])
    mu_hat, sigma_hat = mean_shift_step(
        X, Ball(0, np.array([0]), 1, -4.0), 7.0, np.ones(1, dtype=np.int64)
    )
    assert (mu_hat.tolist(), sigma_hat) == ([3.0, 4.0], 7.0)
    model = paper(7.0, min_cluster_size=1).fit(X)
    assert model.n_clusters_ == 0  # Algorithm 2 breaks at |C| = 1


def test_a_large_common_offset_costs_the_sigmas_no_digits():
    X = np.random.default_rng(0).normal(size=(50, 20))
    plain, far = paper(3.0).fit(X), paper(3.0).fit(X + 2.0**30)
    assert far.sigmas_ == pytest.approx(plain.sigmas_, rel=1e-6)


def test_find_clusters_is_lazy_and_leaves_stopping_to_the_caller():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    points, weights = as_points(X), np.ones(5, dtype=np.int64)
    near = neighbourhood(points, 0.5, 4.0, weights, memory_limit=GB)
    first = list(islice(find_clusters(points, near, 0.5, weights, lambda ball: True), 1))
    assert [c.ball.members.tolist() for c in first] == [[0, 1]]
    assert near.alive.tolist() == [False, False, True, True, True]


@given(data_sets(dtypes=["float64", "int64"]))
@settings(max_examples=200, deadline=None)
def test_losses_never_decrease_along_the_clusters(data):
    X, sigma_max, G = data
    losses = paper(sigma_max, G=G).fit(X).losses_
    assert (np.diff(losses) >= 0).all()


@given(data_sets(dtypes=["float64", "float32"]), st.randoms())
@settings(max_examples=200, deadline=None)
def test_labels_follow_the_rows_when_rows_are_shuffled(data, random):
    X, sigma_max, G = data
    model = paper(sigma_max, G=G).fit(X)
    losses = np.array([reference_loss(X, i, sigma_max, G) for i in range(len(X))])
    assume(len(np.unique(losses)) == len(losses))  # absent true ties
    order = np.array(random.sample(range(len(X)), len(X)))
    shuffled = paper(sigma_max, G=G).fit(X[order])
    # Ties may still appear once a cluster is gone; the first cluster cannot have one.
    assert np.array_equal(shuffled.labels_ == 0, (model.labels_ == 0)[order])


def reference_loss(X, i, sigma_max, G):
    sq = np.square(X.astype(float) - X[i]).sum(1)
    return np.rint(np.minimum(sq / (X.shape[1] * sigma_max**2) - G, 0) * 2.0**30).sum()


@given(data_sets(dtypes=["float64", "float32"]), st.integers(-40, 40))
@settings(max_examples=200, deadline=None)
def test_scaling_by_a_power_of_two_changes_no_label(data, exponent):
    X, sigma_max, G = data
    scaled = paper(np.ldexp(sigma_max, exponent), G=G).fit(np.ldexp(X, exponent))
    assert np.array_equal(scaled.labels_, labels_of(X, sigma_max, G))


def separated(seed, d=20):
    """Clusters and a background with a wide margin at the radius of sigma_max = 3."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(0, 1, (15, d)), rng.normal(40, 1, (10, d))])
    far = rng.normal(0, 1, (20, d))
    far *= (np.arange(20)[:, None] + 5) * 60 / np.linalg.norm(far, axis=1, keepdims=True)
    X = np.concatenate([X, far])
    return X[rng.permutation(len(X))]


@pytest.mark.parametrize("seed", range(10))
def test_moving_turning_and_scaling_separated_data_changes_no_label(seed):
    X = separated(seed)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0]
    labels = labels_of(X, 3.0)
    assert set(labels) == {-1, 0, 1}
    for moved in (X + 1234.5, X @ rotation, X @ rotation + rng.normal(0, 1e4, X.shape[1])):
        assert np.array_equal(labels_of(moved, 3.0), labels)
    assert np.array_equal(labels_of(0.0371 * X, 0.0371 * 3.0), labels)


@pytest.mark.parametrize("seed", range(20))
def test_every_label_follows_its_row_when_no_losses_tie(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(0, 1, (20, 6)), rng.normal(12, 2, (15, 6)), rng.normal(0, 40, (60, 6))]
    )
    order = rng.permutation(len(X))
    for sigma_max in (2.5, 4.5, 9.0):
        model, shuffled = paper(sigma_max).fit(X), paper(sigma_max).fit(X[order])
        # The two rows of a pair have equal losses, a true tie; larger balls have none here.
        large = np.flatnonzero(model.cluster_sizes_ >= 3)
        labels = model.labels_[order]
        assert np.array_equal(
            shuffled.labels_[np.isin(labels, large)], labels[np.isin(labels, large)]
        )


@given(data_sets(max_n=30, dtypes=["float64", "float32", "int64"]), st.data())
@settings(max_examples=200, deadline=None)
def test_a_whole_sample_weight_is_that_many_copies(data, more):
    X, sigma_max, G = data
    w = np.array(more.draw(st.lists(st.integers(0, 4), min_size=len(X), max_size=len(X))))
    assume(w.any())
    weighted = paper(sigma_max, G=G).fit(X, sample_weight=w)
    repeated = paper(sigma_max, G=G).fit(np.repeat(X, w, axis=0))
    assert np.array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    assert np.array_equal(weighted.losses_, repeated.losses_)
    assert np.array_equal(weighted.cluster_sizes_, repeated.cluster_sizes_)
    assert weighted.cluster_centers_ == pytest.approx(repeated.cluster_centers_)
    assert weighted.sigmas_ == pytest.approx(repeated.sigmas_, abs=1e-9 * sigma_max)
    assert weighted.background_weight_ == pytest.approx(repeated.background_weight_)


@given(data_sets(), st.floats(3.0, 1e3))
@settings(max_examples=200, deadline=None)
def test_a_point_far_from_all_others_changes_nothing(data, factor):
    X, sigma_max, G = data
    X = X.astype(np.float64)
    radius = sq_cutoff(sigma_max, X.shape[1], G) ** 0.5
    far = X.max(axis=0) + factor * radius
    with_far = paper(sigma_max, G=G).fit(np.vstack([X, far]))
    assert with_far.labels_.tolist() == [*labels_of(X, sigma_max, G), -1]
