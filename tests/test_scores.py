"""The scores: hand-made tables, brute force, and laws that hold for any labels."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from crlm.errors import InputError
from crlm.scores import (
    BACKGROUND,
    f_measure,
    matched_accuracy,
    mean_error,
    purity,
    rand_index,
)

law = settings(deadline=None)  # the first call of a score imports and is slow

LABEL_SCORES = [f_measure, matched_accuracy, rand_index, purity]
label = st.integers(BACKGROUND, 3)
two_labellings = st.lists(st.tuples(label, label), min_size=1, max_size=40).map(
    lambda rows: tuple(np.array(rows).T)
)

# Truth: clusters a = 0 (4 rows), b = 1 (3 rows), background (3 rows).
# Found: 7 has 3 rows of a and 1 of b, 8 has 2 of b and 1 of the background, -1 has the rest.
TRUTH = [0, 0, 0, 0, 1, 1, 1, -1, -1, -1]
FOUND = [7, 7, 7, -1, 7, 8, 8, 8, -1, -1]


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (f_measure, (2 * 3 / (4 + 4) + 2 * 2 / (3 + 3)) / 2),
        (matched_accuracy, (3 + 2 + 2) / 10),
        (purity, (3 + 2 + 2) / 10),
        # pairs together in both 3 + 1 + 1, in truth only 12 - 5, in the answer only 12 - 5
        (rand_index, (45 - 7 - 7) / 45),
    ],
)
def test_score_of_a_hand_made_table(score, expected):
    assert score(TRUTH, FOUND) == pytest.approx(expected)


def test_paper_like_table_shows_why_f_measure_is_the_one_to_trust():
    truth = np.repeat([0, BACKGROUND], [10, 990])
    nothing_found = np.full(1000, BACKGROUND)
    assert f_measure(truth, nothing_found) == 0.0
    for score in (matched_accuracy, purity, rand_index):
        assert score(truth, nothing_found) > 0.98


def test_matching_is_best_in_sum_not_greedy():
    # The largest overlap (3) would leave the second true cluster with nothing.
    truth = [0] * 5 + [1] * 2
    found = [0, 0, 0, 1, 1, 0, 0]
    assert matched_accuracy(truth, found) == pytest.approx((2 + 2) / 7)
    assert f_measure(truth, found) == pytest.approx((2 * 2 / 7 + 2 * 2 / 7) / 2)


def test_true_cluster_without_a_match_counts_zero():
    assert f_measure([0, 0, 1, 1, 2, 2], [0, 0, -1, -1, -1, -1]) == pytest.approx(1 / 3)


def test_merged_clusters_match_only_one():
    assert f_measure([0, 0, 1, 1], [4, 4, 4, 4]) == pytest.approx((2 * 2 / 6) / 2)


def test_found_clusters_in_excess_do_not_change_f_measure():
    assert f_measure([0, 0, -1, -1, -1], [0, 0, 1, 1, 2]) == 1.0


def test_background_is_not_matched_with_a_cluster_in_f_measure():
    assert f_measure([0, 0, 0], [-1, -1, -1]) == 0.0
    assert matched_accuracy([0, 0, 0], [-1, -1, -1]) == 1.0


def test_f_measure_without_true_clusters_asks_whether_any_was_found():
    assert f_measure([-1, -1, -1], [-1, -1, -1]) == 1.0
    assert f_measure([-1, -1, -1], [-1, 0, -1]) == 0.0


def test_singletons_are_pure_but_not_right():
    assert purity([0, 0, 1, 1], [0, 1, 2, 3]) == 1.0
    assert purity([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25
    assert f_measure([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("score", LABEL_SCORES)
def test_no_row_and_one_row_score_one(score):
    assert score([], []) == 1.0
    assert score([3], [0]) == 1.0


# -- laws --------------------------------------------------------------------------------


@law
@given(two_labellings)
def test_scores_are_floats_between_zero_and_one(labels):
    for score in LABEL_SCORES:
        value = score(*labels)
        assert type(value) is float
        assert 0.0 <= value <= 1.0


@law
@given(two_labellings)
def test_perfect_labels_score_one(labels):
    truth, _ = labels
    for score in LABEL_SCORES:
        assert score(truth, truth) == 1.0


@law
@given(two_labellings, st.permutations([10, 20, 30, 40]))
def test_renaming_clusters_changes_nothing(labels, names):
    truth, found = labels
    renamed = np.where(found == BACKGROUND, BACKGROUND, np.array(names)[found])
    for score in LABEL_SCORES:
        assert score(truth, renamed) == pytest.approx(score(truth, found))
        assert score(renamed, truth) == pytest.approx(score(found, truth))


@law
@given(two_labellings, st.randoms(use_true_random=False))
def test_shuffling_rows_changes_nothing(labels, random):
    truth, found = labels
    order = list(range(len(truth)))
    random.shuffle(order)
    for score in LABEL_SCORES:
        assert score(truth[order], found[order]) == pytest.approx(score(truth, found))


@law
@given(two_labellings)
def test_rand_index_and_matched_accuracy_are_symmetric(labels):
    truth, found = labels
    assert rand_index(truth, found) == rand_index(found, truth)
    assert matched_accuracy(truth, found) == pytest.approx(matched_accuracy(found, truth))


@law
@given(two_labellings)
def test_f_measure_is_symmetric_for_equal_numbers_of_clusters(labels):
    truth, found = labels
    sizes = {len(set(y) - {BACKGROUND}) for y in labels}
    if len(sizes) == 1:
        assert f_measure(truth, found) == pytest.approx(f_measure(found, truth))


def f_measure_by_brute_force(truth, found):
    """Average F over the true clusters, the best over all ways to name the found ones."""
    true_names, found_names = (sorted(set(y) - {BACKGROUND}) for y in (truth, found))
    if not true_names:
        return float(not found_names)
    F = [
        [metrics.f1_score(truth == j, found == found_name) for found_name in found_names]
        for j in true_names
    ]
    F = np.pad(F, [(0, 0), (0, len(true_names))])  # columns of zeros: left without a match
    matchings = itertools.permutations(range(F.shape[1]), len(true_names))
    return max(F[range(len(true_names)), list(matching)].mean() for matching in matchings)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=15).map(
        lambda rows: tuple(np.array(rows).T)
    )
)
def test_f_measure_equals_brute_force_over_three_clusters(labels):
    assert f_measure(*labels) == pytest.approx(f_measure_by_brute_force(*labels))


@pytest.mark.parametrize("seed", range(3))
def test_f_measure_equals_brute_force_over_four_clusters(seed):
    truth, found = np.random.default_rng(seed).integers(-1, 4, size=(2, 40))
    assert f_measure(truth, found) == pytest.approx(f_measure_by_brute_force(truth, found))


@law
@given(two_labellings)
def test_matched_accuracy_equals_brute_force(labels):
    truth, found = labels
    names = range(BACKGROUND, 4)
    best = max(
        np.mean(truth == np.array(renamed)[found - BACKGROUND])
        for renamed in itertools.permutations(names)
    )
    assert matched_accuracy(truth, found) == pytest.approx(best)


@law
@given(two_labellings)
def test_rand_index_equals_scikit_learns(labels):
    assert rand_index(*labels) == pytest.approx(metrics.rand_score(*labels))


@law
@given(two_labellings)
def test_purity_is_at_least_the_matched_accuracy(labels):
    assert purity(*labels) >= matched_accuracy(*labels)


def test_rand_index_is_exact_for_ten_million_rows():
    n = 10**7
    truth = np.zeros(n, dtype=np.int8)
    found = truth.copy()
    found[0] = 1  # exactly n - 1 pairs differ: those with the first row
    assert rand_index(truth, found) == 1 - 2 / n


def test_hundreds_of_clusters_are_scored_at_once():
    rng = np.random.default_rng(0)
    truth = rng.integers(-1, 600, 50_000)
    found = np.where(rng.random(50_000) < 0.3, rng.integers(-1, 600, 50_000), (truth + 7) % 601)
    start = time.perf_counter()
    assert f_measure(truth, np.where(found == 600, -1, found)) > 0.5
    assert matched_accuracy(truth, found) == pytest.approx(0.7, abs=0.02)
    assert time.perf_counter() - start < 10  # 0.1 s as a rule; a loop over pairs takes minutes


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_any_integer_dtype_is_accepted(dtype):
    assert f_measure(np.array(TRUTH, dtype=dtype), FOUND) == f_measure(TRUTH, FOUND)


def test_unsigned_labels_have_no_background():
    truth = np.array([0, 0, 1, 255], dtype=np.uint8)
    assert f_measure(truth, [0, 0, 1, 2]) == 1.0
    assert f_measure(truth, [0, 0, 1, -1]) == pytest.approx(2 / 3)


# -- means -------------------------------------------------------------------------------


def test_mean_error_of_hand_made_means():
    means = [[0.0, 0.0], [10.0, 0.0]]
    assert mean_error(means, means[::-1]) == 0.0
    assert mean_error(means, [[10.0, 2.0], [3.0, 4.0]]) == pytest.approx((5 + 2) / 2)


def test_mean_error_takes_the_best_subset_of_the_estimates():
    assert mean_error([[0.0], [1.0]], [[9.0], [1.5], [-0.5], [50.0]]) == 0.5


def test_mean_error_is_matched_best_in_sum_not_greedy():
    # The nearest pair, 0 and 1, would leave 3 to be matched with -2.5.
    assert mean_error([[0.0], [3.0]], [[1.0], [-2.5]]) == pytest.approx((2.5 + 2.0) / 2)


def test_missing_estimate_has_no_finite_error():
    assert mean_error([[0.0], [1.0]], [[0.0]]) == math.inf
    assert mean_error([[0.0]], np.empty((0, 1))) == math.inf


def test_no_true_mean_has_no_error():
    assert mean_error(np.empty((0, 2)), np.empty((0, 2))) == 0.0
    assert mean_error(np.empty((0, 2)), [[1.0, 2.0]]) == 0.0


@law
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2**32))
def test_mean_error_equals_the_papers_search_over_permutations(k, extra, seed):
    rng = np.random.default_rng(seed)
    means, means_hat = rng.normal(size=(k, 3)), rng.normal(size=(k + extra, 3))
    best = min(
        np.linalg.norm(means - means_hat[list(p)], axis=1).mean()
        for p in itertools.permutations(range(k + extra), k)
    )
    assert mean_error(means, means_hat) == pytest.approx(best)


# -- messages ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y_true", "y_pred", "words"),
    [
        ([0, 1], [0], "y_true has 2 labels and y_pred 1;.*Check that the same rows"),
        ([[0, 1]], [0], r"y_true has shape \(1, 2\); give one label per row"),
        (0, [0], r"y_true has shape \(\); give one label per row"),
        ([0], [[0]], r"y_pred has shape \(1, 1\); give one label per row"),
        ([0.0], [0], r"y_true has dtype float64; labels must be whole numbers.*astype\(int\)"),
        ([0], [True], r"y_pred has dtype bool;.*np.where\(mask, 0, -1\)"),
        (["a"], [0], "y_true has dtype <U1;.*return_inverse=True"),
    ],
)
@pytest.mark.parametrize("score", LABEL_SCORES)
def test_bad_labels_are_refused_with_a_remedy(score, y_true, y_pred, words):
    with pytest.raises(InputError, match=words):
        score(y_true, y_pred)


@pytest.mark.parametrize(
    ("means", "means_hat", "words"),
    [
        ([0.0], [[0.0]], r"means has shape \(1,\); give one row per mean.*\[\[...\]\]"),
        ([[0.0]], [0.0], r"means_hat has shape \(1,\); give one row per mean"),
        ([[0.0]], [[0.0, 1.0]], "means has 1 columns and means_hat 2;.*same features"),
        ([[0.0]], [[np.nan]], "means_hat contains NaN or infinity;.*Drop such rows"),
    ],
)
def test_bad_means_are_refused_with_a_remedy(means, means_hat, words):
    with pytest.raises(InputError, match=words):
        mean_error(means, means_hat)
