"""How far rows keep to themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm.closure import Closure
from crlm.references import References


def closure_of(X):
    references = References.choose(X, np.ones(len(X), dtype=np.int64))
    return references, Closure(references)


def literal(references, k, members):
    """Share of the k nearest (or as near) of each member that are members."""
    inside = total = 0
    for i in np.flatnonzero(members):
        log_d = references.log_distances[i].copy()
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
        assert profile[m - 1] == pytest.approx(literal(references, closure.n_neighbours, ball))
    some = rng.random(len(X)) < 0.5
    if some.sum() >= 3:
        k = min(closure.n_neighbours, some.sum() - 1)
        assert closure.of(some) == pytest.approx(literal(references, k, some))


@pytest.mark.parametrize("seed", range(3))
def test_profiles_follow_the_rows(seed):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.normal(size=(300, 3)).round(1), axis=0)  # many equal distances
    order = rng.permutation(len(X))
    references, closure = closure_of(X)
    there = closure.profile(references.log_distances[7])
    references, closure = closure_of(X[order])
    here = closure.profile(references.log_distances[np.flatnonzero(order == 7)[0]])
    assert np.array_equal(here, there)


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
