"""Laws of `CRLM()` where they are easily broken: ties, few directions, limits, far-off scales."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from crlm import CRLM, estimate_sigma
from crlm.background.references import References
from crlm.background.significance import Background

pytestmark = pytest.mark.filterwarnings("ignore:evidence for sigma_max is weak")


def fit(X, **settings):
    return CRLM(n_jobs=1, **settings).fit(X)


def lattice(seed):
    """Rows of whole numbers, some of them crowded; none twice."""
    rng = np.random.default_rng(seed)
    n, d, n_values = rng.integers(20, 300), rng.integers(1, 7), rng.choice([3, 5, 8, 15, 30])
    X = rng.integers(0, n_values, (n, d)).astype(float)
    for _ in range(rng.integers(0, 3)):
        size = rng.integers(5, max(6, n // 4))
        near = X[rng.integers(n)] + rng.integers(0, max(2, n_values // 8), (size, d))
        X[rng.choice(n, size, replace=False)] = near
    return np.unique(X, axis=0)


def background(X):
    return Background.learn(X, np.ones(len(X), dtype=np.int64))


@pytest.mark.parametrize("seed", [331, 202, 846, *range(12)])
def test_equal_distances_are_the_same_in_any_order(seed):
    X = lattice(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = background(X), background(X[order])
    assert one.surprise == other.surprise
    if one.growth is not None:
        for name in ("delta", "slope", "kappa", "trend"):
            assert np.array_equal(getattr(one.growth, name), getattr(other.growth, name)), name
    assert fit(X).n_clusters_ == fit(X[order]).n_clusters_


def uniform_and_cluster(rng, d, width):
    return np.concatenate([rng.random((150, d)), 0.5 + width * rng.normal(size=(30, d))])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("beside", ["nothing", "zeros", "a copy"])
def test_columns_that_add_no_direction_change_nothing(seed, beside):
    rng = np.random.default_rng(seed)
    X = uniform_and_cluster(rng, 2 if beside == "a copy" else 1, 0.005)
    if beside == "zeros":
        X = np.column_stack([X, np.zeros(len(X))])
    if beside == "a copy":
        X = np.column_stack([X, X[:, 0]])
    twice = np.hstack([X, X]) / np.sqrt(2.0)
    n_directions = {background(x).references.fastest for x in (X, twice)}
    assert n_directions == {2 if beside == "a copy" else 1}
    assert np.array_equal(fit(X).labels_, fit(twice).labels_)


def test_near_copies_in_front_do_not_hide_that_the_rest_is_flat():
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    near = [0.5, 0.3] + 1e-8 * rng.normal(size=(20, 2))
    X = np.concatenate([near, rng.uniform(-1.0, 1.0, (200, 2))]) @ plane + 5.0
    weights = np.ones(len(X), dtype=np.int64)
    assert References.choose(X, weights).is_flat
    assert References.choose(X[::-1], weights).is_flat
    assert not References.choose(rng.normal(size=(50, 5)), weights[:50]).is_flat


@pytest.mark.parametrize("seed", [34, 58])
def test_a_share_of_each_weight_is_as_many_times_the_least_size(seed):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    sizes = rng.choice([8, 12, 20, 40, 70], 10)
    some = [rng.choice(np.flatnonzero(y == j), size, replace=False) for j, size in enumerate(sizes)]
    X = X[np.concatenate(some)]
    light = CRLM(n_jobs=1).fit(X, sample_weight=np.full(len(X), 0.07))  # 2 are 29 rows
    assert light.n_clusters_ > 0
    assert np.array_equal(light.labels_, fit(X, min_cluster_size=29).labels_)


@pytest.mark.parametrize("scale", [1e-170, 1e-155])
def test_a_guess_is_a_radius_that_can_be_used(scale):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60).astype(float), scale * rng.random(60)])
    assert fit(X).n_clusters_ == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_guess_follows_the_units(seed):
    X = np.random.default_rng(seed).integers(0, 9, (40, 2)).astype(float)
    one = fit(X, alpha=None)
    for exponent in (-40, 1, 2, 3, 30):
        other = fit(np.ldexp(X, exponent), alpha=None)
        assert other.sigma_max_ == np.ldexp(one.sigma_max_, exponent)
        assert np.array_equal(other.labels_, one.labels_)


def test_a_limit_does_not_hide_what_is_beyond_doubt():
    """Only the second of the two clusters is, and both are more than chance."""
    rng = np.random.default_rng(1)
    X = np.concatenate(
        [
            rng.random((9000, 2)),
            0.5 + 0.006 * rng.normal(size=(36, 2)),
            rng.random((400, 2)) * 3.0 + [2.0, 0.0],
            [3.5, 1.5] + 0.004 * rng.normal(size=(10, 2)),
        ]
    )
    sigma_max = 0.02 / np.sqrt(8.0)
    both = fit(X, sigma_max=sigma_max)
    assert both.n_clusters_ == 2
    first = fit(X, sigma_max=sigma_max, max_clusters=1)
    assert np.array_equal(first.labels_, np.where(both.labels_ == 0, 0, -1))


@pytest.mark.parametrize("seed", range(6))
def test_a_limit_takes_the_first_of_the_same_clusters(seed):
    X = load_digits().data
    rng = np.random.default_rng(seed)
    X = X[rng.choice(len(X), 200, replace=False)]
    every = fit(X, alpha=0.2).labels_
    for limit in (1, 2, 3):
        expected = np.where(every < limit, every, -1)
        assert np.array_equal(fit(X, alpha=0.2, max_clusters=limit).labels_, expected)


def test_a_cluster_of_half_of_the_rows_is_found_by_a_path_too():
    """References over-count it: more than half of them are in it, but not of the rows."""
    d = 40
    rng = np.random.default_rng(0)
    around = rng.normal(size=(1500, d))
    around *= 0.9 / np.linalg.norm(around, axis=1, keepdims=True)
    X = np.concatenate([np.zeros((1, d)), around, rng.normal(size=(1499, d)) * 0.5 + 2.0])
    sigma = 1.0 / np.sqrt(4.0 * d)
    assert fit(X, sigma_max=sigma).cluster_sizes_.tolist() == [1501]
    path = CRLM(n_jobs=1).path(X, [sigma])
    assert [len(members) for members in path.members[0]] == [1501]


def test_alternatives_have_clusters():
    n_seen = 0
    for seed in range(100, 120):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(1, 4)), int(rng.integers(100, 900))
        X = rng.random((n, d))
        size = int(rng.integers(5, 60))
        X[:size] = 0.5 + rng.choice([0.02, 0.05, 0.1, 0.15]) * rng.normal(size=(size, d))
        estimate = estimate_sigma(X, alpha=float(rng.choice([0.01, 0.2, 0.9])))
        at = np.searchsorted(estimate.sigmas, estimate.alternatives)
        assert (estimate.n_clusters[at] > 0).all()
        n_seen += estimate.evidence != "weak"
    assert n_seen > 3


def test_a_path_does_not_ask_decoys_again(monkeypatch):
    import crlm.background.inflation

    asked = []
    ask = crlm.background.inflation.inflation

    def counting(*args):
        asked.append(args)
        return ask(*args)

    monkeypatch.setattr(crlm.background.inflation, "inflation", counting)
    X = uniform_and_cluster(np.random.default_rng(0), 5, 0.01)
    assert CRLM(n_jobs=1).path(X).n_clusters.max() == 1
    assert len(asked) == 1


@pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")
@pytest.mark.parametrize("exponent", [-100, -37, 1, 11, 100])
def test_the_guess_follows_powers_of_two_where_a_radius_is_on_a_step(exponent):
    guess = CRLM(alpha=None).fit(np.eye(8))
    moved = CRLM(alpha=None).fit(np.ldexp(np.eye(8), exponent))
    assert moved.sigma_max_ == np.ldexp(guess.sigma_max_, exponent)
    assert np.array_equal(moved.labels_, guess.labels_)
