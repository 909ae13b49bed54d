"""How far rows keep to themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm.closure import Closure
from crlm.references import References


def closure_of(X, outside=None):
    references = References.choose(X, np.ones(len(X), dtype=np.int64))
    n = len(references.rows)
    return references, Closure(references, np.ones(n, dtype=bool) if outside is None else outside)


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
    own = rng.random(len(X)) < 0.8
    profile = closure._profile(np.where(own, log_d, np.inf))
    for m in range(2, own.sum() + 1):
        ball = own & (log_d <= np.sort(log_d[own])[m - 1])
        k = min(closure.n_neighbours, m - 1)
        assert profile[m - 1] == pytest.approx(literal(references, k, ball))
    some = rng.random(len(X)) < 0.5
    if some.sum() >= 3:
        k = min(closure.n_neighbours, some.sum() - 1)
        assert closure.of(some) == pytest.approx(literal(references, k, some))


@pytest.mark.parametrize("seed", range(3))
def test_excess_follows_the_rows(seed):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.normal(size=(300, 3)).round(1), axis=0)  # many equal distances
    outside = np.linalg.norm(X, axis=1) > 0.8
    order = rng.permutation(len(X))
    log_R = np.linspace(-2.0, 1.5, 60)
    own = rng.random(len(X)) < 0.9
    references, closure = closure_of(X, outside)
    there = closure.excess(references.log_distances[7], log_R, own)
    references, closure = closure_of(X[order], outside[order])
    row = int(np.flatnonzero(order == 7)[0])
    here = closure.excess(references.log_distances[row], log_R, own[order])
    assert np.array_equal(here, there)
    assert np.isfinite(there).any()


def test_a_cluster_keeps_to_itself_more_than_a_ball_of_background():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(400, 6)), [2.0, 0, 0, 0, 0, 0] + 0.4 * rng.normal(size=(50, 6))]
    )
    is_background = np.arange(450) < 400
    references, closure = closure_of(X, is_background)
    center = 400 + int(np.square(X[400:] - X[400:].mean(axis=0)).sum(axis=1).argmin())
    log_d, log_R = references.log_distances[center], np.linspace(-1.0, 1.5, 200)
    best = log_R[closure.excess(log_d, log_R, np.ones(450, dtype=bool)).argmax()]
    found = log_d < best
    assert (found & ~is_background).sum() >= 45
    assert (found & is_background).sum() <= 25
    assert closure.of(~is_background) > 0.75
    elsewhere = references.log_distances[0]
    assert closure.of(elsewhere < np.sort(elsewhere)[50]) < closure.of(~is_background)
