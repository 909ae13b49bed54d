"""Every engine against brute force, to the last bit, on data meant to break float32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm.errors import MemoryLimitError
from crlm.loss import sq_cutoff
from crlm.search import first_ball, pairs_within
from crlm.search.blocks import search_blocks
from crlm.search.filter import frame
from strategies import data_sets

GB = 10**9


def brute_force(X, cutoff):
    X = np.array(X, dtype=np.float64, order="C")
    sq = ((X[:, None] - X[None]) ** 2).sum(-1)
    i, j = np.nonzero((sq < cutoff) & ~np.eye(len(X), dtype=bool))
    return i.tolist(), j.tolist(), sq[i, j].tolist()


def as_lists(pairs):
    rows = np.repeat(np.arange(len(pairs.indptr) - 1), np.diff(pairs.indptr))
    return rows.tolist(), pairs.indices.tolist(), pairs.sq_dist.tolist()


def all_engines(X, cutoff):
    for n_jobs in (1, 2):
        yield pairs_within(X, cutoff, memory_limit=GB, n_jobs=n_jobs, _engine="tree")
        for block in (1, 7, 1024):
            yield pairs_within(
                X, cutoff, memory_limit=GB, n_jobs=n_jobs, _engine="blocks", _block=block
            )


@given(data_sets(max_n=40, dtypes=["float64", "float32"]))
@settings(max_examples=150, deadline=None)
def test_every_engine_block_size_and_thread_count_gives_the_pairs_of_brute_force(data):
    X, sigma_max, G = data
    cutoff = sq_cutoff(sigma_max, X.shape[1], G)
    expected = brute_force(X, cutoff)
    for pairs in all_engines(np.ascontiguousarray(X), cutoff):
        assert as_lists(pairs) == expected


def lattice(n, d, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, (n, d)).astype(np.float64)


AWKWARD = {
    "a common offset of a million times the spread": lattice(80, 5) + 1e6 * 7,
    "an offset that float32 cannot see past": lattice(80, 5) + 2.0**40,
    "values near 1e-20": lattice(80, 5) * 1e-20,
    "values near 1e20": lattice(80, 5) * 1e20,
    "values near 1e-140": lattice(80, 5) * 1e-140,
    "values near 1e140": lattice(80, 5) * 1e140,
    "one huge outlier": np.vstack([lattice(80, 5), np.full(5, 1e30)]),
    "one tiny cluster in a huge cloud": np.vstack([lattice(40, 5), lattice(40, 5) * 1e12]),
    "all rows equal": np.ones((50, 5)),
    "high dimension": lattice(40, 3000),
    "one row": lattice(1, 5),
    "two rows": lattice(2, 5),
}


@pytest.mark.parametrize("X", AWKWARD.values(), ids=AWKWARD.keys())
def test_engines_are_exact_on_the_radius_of_awkward_lattices(X):
    sq = np.square(X - X[0]).sum(1)
    for cutoff in {float(np.median(sq)), float(sq[sq > 0].min(initial=1.0)), float(sq[-1])}:
        if cutoff > 0:
            expected = brute_force(X, cutoff)
            for pairs in all_engines(X, cutoff):
                assert as_lists(pairs) == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 3, 30, 500])
def test_filter_never_exceeds_the_true_squared_distance(d, dtype):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(300, d)) * np.exp(rng.normal(0, 4, (300, 1)))).astype(dtype)
    f = frame(X, sq_cutoff(1.0, d))
    right = f.right(X)
    V = f.left(right) @ right.T
    a = np.ldexp(X.astype(np.longdouble) - f.center, -f.exponent)
    true = np.square(a[:, None] - a[None]).sum(-1)
    assert (true + 2.0**-60 >= V).all()


def test_filter_is_sharp_enough_to_discard_what_is_clearly_too_far():
    X = np.random.default_rng(0).normal(size=(200, 100))
    f = frame(X, 150.0)
    right = f.right(X)
    kept = (f.left(right) @ right.T < f.cutoff).sum()
    true = np.square(X[:, None] - X[None]).sum(-1)
    assert kept <= (true < 150.0 * 1.001).sum()


def test_pairs_do_not_depend_on_strides_or_writability_of_the_input():
    base = lattice(60, 20)
    expected = as_lists(pairs_within(base[::2, ::2].copy(), 40.0, memory_limit=GB))
    frozen = base[::2, ::2].copy()
    frozen.flags.writeable = False
    assert as_lists(pairs_within(frozen, 40.0, memory_limit=GB)) == expected


def test_progress_counts_up_to_its_total():
    seen = []
    search_blocks(
        lattice(100, 20),
        10.0,
        memory_limit=GB,
        n_jobs=2,
        block=10,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(i, 10) for i in range(1, 11)]


def test_an_exception_from_progress_ends_the_search_at_once():
    class Stop(Exception):  # noqa: N818
        pass

    calls = []

    def stop(done, total):
        calls.append(done)
        raise Stop

    with pytest.raises(Stop):
        search_blocks(lattice(500, 20), 10.0, memory_limit=GB, n_jobs=2, block=10, progress=stop)
    assert len(calls) == 1


@pytest.mark.parametrize("engine", ["tree", "blocks"])
def test_pairs_beyond_the_memory_limit_are_refused_before_they_are_stored(engine):
    X = np.random.default_rng(0).normal(size=(6000, 4))
    with pytest.raises(MemoryLimitError, match="over the memory limit of 100 MB"):
        pairs_within(X, 4.0, memory_limit=100_000_000, _engine=engine)


def test_the_limit_that_the_error_suggests_is_enough_and_the_smaller_sigma_too():
    X = np.random.default_rng(0).normal(size=(6000, 4))
    with pytest.raises(MemoryLimitError) as caught:
        pairs_within(X, 4.0, memory_limit=100_000_000)
    words = str(caught.value)
    limit = int(words.split("memory_limit='")[1].split("MB'")[0]) * 10**6
    factor = float(words.split("use at most ")[1].split(" times")[0])
    assert pairs_within(X, 4.0, memory_limit=limit).n_pairs > 0
    assert pairs_within(X, 4.0 * factor**2, memory_limit=100_000_000).n_pairs > 0


@given(data_sets(max_n=40, dtypes=["float64", "float32"]), st.integers(0, 8))
@settings(max_examples=150, deadline=None)
def test_first_ball_is_the_lowest_centre_within_the_radius(data, k):
    X, sigma_max, G = data
    X = np.ascontiguousarray(X)
    cutoff = sq_cutoff(sigma_max, X.shape[1], G)
    centers = X[np.random.default_rng(k).integers(0, len(X), k)]
    A, B = X.astype(np.float64), centers.astype(np.float64)
    near = ((A[:, None] - B[None]) ** 2).sum(-1) < cutoff
    expected = [int(np.argmax(row)) if row.any() else -1 for row in near]
    assert first_ball(X, centers, cutoff).tolist() == expected
