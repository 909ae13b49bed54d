"""Tight groups: rows that keep wholly to themselves are clusters, however few and wherever."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from crlm import CRLM, scores
from crlm.background.references import References
from crlm.bandwidth.near import near_rows
from crlm.bandwidth.tight import _MOST, WHOLLY, _whole


def hidden(n, seed, sizes=(12, 20, 40), widths=(0.6, 1.2, 2.0)):
    """A crowd along sixteen directions of many, and a few rows like one of its own."""
    rng = np.random.default_rng(seed)
    crowd = rng.normal(size=(n, 16)) @ rng.normal(size=(16, 64)) + 0.5 * rng.normal(size=(n, 64))
    groups = [
        row + width * rng.normal(size=(size, 64))
        for row, width, size in zip(crowd[rng.choice(n, 3)], widths, sizes, strict=True)
    ]
    order = rng.permutation(n + sum(sizes))
    return np.vstack([crowd, *groups])[order], np.repeat([-1, 0, 1, 2], [n, *sizes])[order]


def copies_in_a_crowd(size=16):
    """Handwritten digits, and rows that are nearly one of them."""
    rng = np.random.default_rng(0)
    digits = load_digits().data[:900]
    like_one = digits[17] + 0.8 * rng.normal(size=(size, 64))
    X = np.vstack([digits, like_one])
    return X, np.arange(len(X)) >= len(digits)


@pytest.mark.parametrize("n", [1500, 3000, 4000])
def test_a_dozen_rows_are_found_among_however_many(n):
    X, y = hidden(n, 1)
    model = CRLM().fit(X)
    assert model.sigma_estimate_.evidence == "moderate"
    assert scores.f_measure(y, model.labels_) > 0.93
    assert model.n_clusters_ == 3
    assert (model.p_values_ < 1e-6).all()


def test_rows_that_are_nearly_copies_are_no_part_of_the_crowd_around_them():
    X, tight = copies_in_a_crowd()
    model = CRLM().fit(X)
    found = np.unique(model.labels_[tight])
    assert found.tolist() == [0]
    inside = model.labels_ == 0
    assert inside[tight].all()
    assert inside.sum() <= tight.sum() + 1  # and the row that they are like
    assert model.n_clusters_ > 1
    assert np.array_equal(model.predict(X), model.labels_)


def test_tight_groups_follow_rows_and_units():
    X, _ = copies_in_a_crowd()
    labels = CRLM().fit(X).labels_
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(CRLM().fit(X[order]).labels_, labels[order])
    assert np.array_equal(CRLM().fit(X * 2.0**-20).labels_, labels)
    assert np.array_equal(CRLM(memory_limit="100MB", n_jobs=1).fit(X).labels_, labels)


def test_a_class_whose_parts_keep_to_themselves_is_not_cut_up():
    rng = np.random.default_rng(0)
    crowd = rng.normal(size=(600, 16)) @ rng.normal(size=(16, 64))
    group = crowd[0] + rng.normal(size=(60, 64))
    model = CRLM().fit(np.vstack([crowd, group]))
    assert ((model.labels_[600:] == model.labels_[600]).mean()) > 0.95


@pytest.mark.parametrize("n", [7, 12, 20])
def test_groups_with_nothing_near_them_are_whole(n):
    digits, rng = load_digits().data, np.random.default_rng(0)
    far = 3.0 * digits[5] - 2.0 * digits.mean(axis=0) + 0.05 * rng.normal(size=(n, 64))
    labels = CRLM().fit(np.vstack([digits, far])).labels_
    assert labels[-1] >= 0
    assert np.array_equal(np.flatnonzero(labels == labels[-1]), np.arange(len(digits), len(labels)))


@pytest.mark.parametrize("n", [100, 258, 300])
def test_a_group_is_all_of_it_or_none(n):
    digits, rng = load_digits().data, np.random.default_rng(0)
    labels = CRLM().fit(np.vstack([digits, digits[5] + 0.1 * rng.normal(size=(n, 64))])).labels_
    assert len(np.unique(labels[-n:])) == 1


def test_rows_that_squares_cannot_tell_apart_are_no_tight_group():
    digits, rng = load_digits().data, np.random.default_rng(0)
    X = np.vstack([digits[:300] - digits[3], 1e-170 * rng.normal(size=(12, 64))])
    assert np.isfinite(CRLM().fit(X).bandwidths_).all()


def by_definition(X, row, R0):
    """Sizes of the balls around a row that keep wholly to themselves."""
    D = cdist(X, X)
    found = []
    by_distance = np.sort(np.delete(D[row], row))
    n_near = int((by_distance < R0).sum())
    by_distance = np.append(by_distance, np.inf)
    for m in range(2, min(_MOST, n_near) + 1):
        if by_distance[m - 1] >= by_distance[m]:
            continue
        inside = np.flatnonzero(D[row] <= by_distance[m - 1])
        # How many are as near to a row as another, at most: that is among its m nearest.
        order = np.sort(D[inside], axis=1)
        kept = sum(
            np.count_nonzero(np.searchsorted(sorted_, D[i, others], side="right") - 1 <= m)
            for i, sorted_ in zip(inside, order, strict=True)
            for others in [inside[(inside != i) & (D[i, inside] < R0)]]  # farther is no neighbour
        )
        if kept >= WHOLLY * m * (m + 1):
            found.append(m)
    return found


@given(st.integers(0, 10_000), st.booleans())
def test_balls_keep_to_themselves_as_defined(seed, lattice):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 70)), int(rng.integers(1, 4))
    X = 3.0 * rng.normal(size=(n, d))
    X[: n // 3] = X[0] + rng.normal(size=(n // 3, d)) * 10.0 ** rng.uniform(-2, 0)
    X = np.unique(np.rint(2.0 * X), axis=0) if lattice else X
    near = near_rows(X, References.choose(X, np.ones(len(X), dtype=np.int64)))
    for row in (0, 1, len(X) // 2, len(X) - 1):
        assert _whole(near, row).sizes.tolist() == by_definition(X, row, near.R0)
