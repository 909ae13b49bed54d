"""How far rows keep to themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm.background.closure import Closure, strengths
from crlm.background.references import References


def closure_of(X):
    references = References.choose(X, np.ones(len(X), dtype=np.int64))
    return references, Closure(references)


def literal(references, k, members, n_neighbours):
    """Share of the k nearest (or as near) of each member that are members.

    Near are those whose distance is short for how far their own neighbours are.
    """
    inside = total = 0
    far = np.sort(references.log_distances, axis=1)[:, n_neighbours]
    for i in np.flatnonzero(members):
        log_d = references.log_distances[i] - far / 2
        log_d = np.rint((log_d - far.min() / 2) * 2**16)
        log_d[i] = np.inf
        near = log_d <= np.sort(log_d)[k - 1]
        inside, total = inside + (near & members).sum(), total + near.sum()
    return inside / total


@settings(max_examples=30, deadline=None)
@given(st.integers(8, 60), st.integers(1, 4), st.integers(2, 30), st.integers(0, 10**6))
def test_closures_are_what_they_say_on_lattices_too(n, d, values, seed):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(0, values, (n, d)).astype(float), axis=0)
    if len(X) < 8:
        return
    references, closure = closure_of(X)
    log_d = references.log_distances[rng.integers(len(X))]
    profile = closure.profile(log_d)
    in_order = np.sort(log_d)
    for m in range(1, len(X) + 1):
        if m < len(X) and in_order[m] == in_order[m - 1]:
            continue  # no ball has just these
        ball = log_d <= in_order[m - 1]
        expected = literal(references, closure.n_neighbours, ball, closure.n_neighbours)
        assert profile[m - 1] == pytest.approx(expected)
    some = rng.random(len(X)) < 0.5
    if some.sum() >= 3:
        k = min(closure.n_neighbours, some.sum() - 1)
        expected = literal(references, k, some, closure.n_neighbours)
        assert closure.of(some) == pytest.approx(expected)


@pytest.mark.parametrize("units", [1.0, 2.0**-30, 1024.0, 3.7])
@pytest.mark.parametrize("seed", range(3))
def test_profiles_follow_the_rows_and_the_units(seed, units):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.normal(size=(300, 3)).round(1), axis=0)  # many equal distances
    order = rng.permutation(len(X))
    references, closure = closure_of(X)
    there = closure.profile(references.log_distances[7])
    references, closure = closure_of(units * X[order])
    here = closure.profile(references.log_distances[np.flatnonzero(order == 7)[0]])
    assert np.array_equal(here, there)


@pytest.mark.parametrize("units", [2.0**-30, 0.5, 2.0**20])
def test_ratios_of_distances_are_the_same_in_other_powers_of_two(units):
    X = np.random.default_rng(0).normal(size=(200, 5))
    here, there = closure_of(X), closure_of(units * X)
    log_d, other = (references.log_distances[0, 1:] for references, _ in (here, there))
    assert np.array_equal(log_d - log_d[0], other - other[0])
    assert np.array_equal(here[1]._scaled, there[1]._scaled)


def test_no_row_is_the_neighbour_of_nearly_all():
    """In many dimensions the rows nearest to the middle are, by plain distances."""
    X = np.random.default_rng(0).normal(size=(400, 100))
    references, closure = closure_of(X)
    asked = np.bincount(closure._to, minlength=len(X))
    k = closure.n_neighbours
    plain = references.log_distances <= references.log_r[:, [k]]
    assert plain.sum(axis=0).max() > 10 * k
    assert asked.max() < plain.sum(axis=0).max() / 2
    assert (asked == 0).mean() < (plain.sum(axis=0) == 1).mean() / 2  # nobody's but their own


def test_strength_is_in_standard_errors():
    assert strengths(np.array([0.9]), np.array([0.5]), np.array([25])) == pytest.approx(4.0)
    assert np.isfinite(strengths(np.ones(2), np.array([0.0, 1.0]), np.array([5, 5]))).all()


def test_a_cluster_keeps_to_itself_more_than_a_ball_of_background():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(400, 6)), [2.0, 0, 0, 0, 0, 0] + 0.4 * rng.normal(size=(50, 6))]
    )
    is_background = np.arange(450) < 400
    references, closure = closure_of(X)
    center = 400 + int(np.square(X[400:] - X[400:].mean(axis=0)).sum(axis=1).argmin())
    usual = np.median([closure.profile(log_d) for log_d in references.log_distances[:400]], axis=0)
    more = closure.profile(references.log_distances[center]) - usual
    assert more[49] > 0.15
    assert 25 <= int(np.argmax(more)) + 1 <= 75
    assert closure.of(~is_background) > 0.75
    elsewhere = references.log_distances[0]
    assert closure.of(elsewhere < np.sort(elsewhere)[50]) < closure.of(~is_background)
