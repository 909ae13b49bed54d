"""Every way to search against brute force, to the last bit, on data meant to break float32."""

import contextlib
import re
import threading
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.linalg import _umath_linalg

from crlm import search as crlm_search
from crlm.errors import MemoryLimitError
from crlm.loss import fixed_point, robust_loss, sq_cutoff
from crlm.search import distance, first_ball, kernel, neighbourhood, pairs_within, plan
from crlm.search.balls import farthest
from crlm.search.blocks import Blocks
from crlm.search.estimate import seconds_of_blocks, seconds_of_dense, seconds_of_tree
from crlm.search.filter import frame
from crlm.search.order import cut_into_runs
from crlm.search.pairs import Found, assemble
from crlm.search.parallel import in_parallel
from crlm.search.plan import leading_directions, make_plan, near_share
from crlm.search.ranked import RankedPairs
from crlm.search.tiles import Tiles
from crlm.search.whole import MISSING, Whole
from strategies import data_sets

GB = 10**9
ENGINES = ["tree", "stored", "stream", "dense"]


def brute_force(X, cutoff):
    X = np.array(X, dtype=np.float64, order="C")
    sq = ((X[:, None] - X[None]) ** 2).sum(-1)
    i, j = np.nonzero((sq < cutoff) & ~np.eye(len(X), dtype=bool))
    return i.tolist(), j.tolist(), sq[i, j].tolist()


def as_lists(pairs):
    """Rows, neighbours and squared distances by row, each pair in both its rows."""
    halves = []
    for half in (pairs, pairs.turned_round()):
        i = pairs.order[np.repeat(np.arange(len(pairs.order)), np.diff(half.indptr))]
        halves.append((i, pairs.order[half.indices], half.sq_dist))
    i, j, sq_dist = map(np.concatenate, zip(*halves, strict=True))
    by_row = np.lexsort((j, i))
    return i[by_row].tolist(), j[by_row].tolist(), sq_dist[by_row].tolist()


@contextlib.contextmanager
def planned(always):
    """Plan with directions and boxes even for few rows, or never."""
    with mock.patch.object(plan, "_SMALL", 1 if always else 4096):
        yield


SIEVES = ("NumPy", "floats", "wholes")


@contextlib.contextmanager
def sieve(kind):
    """With the compiled loops, if there are any, on numbers of a kind, or with NumPy."""
    with (
        mock.patch.object(kernel, "IN_USE", kind != "NumPy"),
        mock.patch.object(kernel, "WHOLES_IN_USE", kind == "wholes"),
    ):
        yield


WAYS = [(always, kind) for always in (False, True) for kind in SIEVES]


def all_ways(X, cutoff):
    for always, kind in WAYS:
        with planned(always), sieve(kind):
            for n_jobs, block in [(1, None), (2, 1), (2, 7), (1, 16)]:
                yield pairs_within(
                    X, cutoff, memory_limit=GB, n_jobs=n_jobs, _block=block, _engine="stored"
                )
    for block in (None, 1, 7):  # rows of a slab
        yield pairs_within(X, cutoff, memory_limit=GB, n_jobs=2, _block=block, _engine="tree")


@given(data_sets(max_n=40, dtypes=["float64", "float32"]))
@settings(max_examples=150)
def test_every_plan_block_size_and_thread_count_gives_the_pairs_of_brute_force(data):
    X, sigma_max, G = data
    cutoff = sq_cutoff(sigma_max, X.shape[1], G)
    expected = brute_force(X, cutoff)
    for pairs in all_ways(np.ascontiguousarray(X), cutoff):
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
    "more columns than directions": lattice(60, 300),
    "one column": lattice(60, 1),
    "one row": lattice(1, 5),
    "two rows": lattice(2, 5),
}


def awkward_cutoffs(X):
    sq = np.square(X - X[0]).sum(1)
    found = {float(np.median(sq)), float(sq[sq > 0].min(initial=1.0)), float(sq[-1])}
    return sorted(c for c in found if c > 0)


@pytest.mark.parametrize("X", AWKWARD.values(), ids=AWKWARD.keys())
def test_pairs_are_exact_on_the_radius_of_awkward_lattices(X):
    for cutoff in awkward_cutoffs(X):
        expected = brute_force(X, cutoff)
        for pairs in all_ways(X, cutoff):
            assert as_lists(pairs) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("X", AWKWARD.values(), ids=AWKWARD.keys())
def test_losses_of_every_engine_are_exact_on_awkward_lattices(X, engine):
    n, d = X.shape
    for cutoff in awkward_cutoffs(X):
        sigma_max = float(np.sqrt(cutoff / (4.0 * d)))
        for always, kind in WAYS:
            with planned(always), sieve(kind):
                near = neighbourhood(
                    X, sigma_max, 4.0, np.ones(n, np.int64), memory_limit=GB, _engine=engine
                )
            assert near.L.tolist() == reference_losses(X, sigma_max, 4.0).tolist()


def reference_losses(X, sigma_max, G, weights=1):
    X = np.array(X, dtype=np.float64, order="C")
    sq = ((X[:, None] - X[None]) ** 2).sum(-1)
    return (fixed_point(robust_loss(sq, sigma_max, X.shape[1], G)) * weights).sum(axis=1)


@given(data_sets(dtypes=["float64", "float32"]), st.booleans(), st.data())
@settings(max_examples=150)
def test_every_engine_answers_the_three_questions_alike(data, weighted, more):
    X, sigma_max, G = data
    n = len(X)
    rng = np.random.default_rng(more.draw(st.integers(0, 1000)))
    weights = rng.integers(1, 5, n) if weighted else np.ones(n, np.int64)
    counted = rng.random(n) < 0.7 if more.draw(st.booleans()) else np.ones(n, bool)
    of = X, sigma_max, G, weights, counted
    always, kind = more.draw(st.sampled_from(WAYS))
    with planned(always), sieve(kind):
        near = [
            neighbourhood(*of, memory_limit=GB, n_jobs=jobs, _engine=e, _block=block)
            for e, jobs, block in zip(ENGINES, (2, 1, 2, 2), (None, None, 7, None), strict=True)
        ]
        pairs = pairs_within(X, sq_cutoff(sigma_max, X.shape[1], G), memory_limit=GB)
    near.append(RankedPairs.of(pairs).near(sigma_max, X.shape[1], G, weights, counted))
    expected = reference_losses(X, sigma_max, G, weights)
    for _ in range(3):
        i = int(rng.integers(n))
        assert all(np.array_equal(g.L[g.alive], expected[near[0].alive]) for g in near)
        m = [(counted[near[0].ball(j)].sum() - counted[j]) for j in np.flatnonzero(near[0].alive)]
        assert all(np.array_equal(g.m[g.alive], m) for g in near)
        balls = [g.ball(i).tolist() if g.alive[i] else [] for g in near]
        assert all(ball == balls[0] for ball in balls)
        for graph in near:
            graph.remove(np.array(balls[0], dtype=np.intp))
        alive = near[0].alive
        expected = reference_losses(X, sigma_max, G, weights * alive)


@pytest.mark.parametrize("far", [1e100, 1e130, 1e140])
def test_squares_that_overflow_are_measured_and_not_lost(far):
    rng = np.random.default_rng(0)
    X = np.vstack([1e-8 * rng.normal(size=(40, 8)), np.full((8, 8), far), [[2 * far] * 8]])
    weights = np.ones(len(X), np.int64)
    near = [neighbourhood(X, 1e-8, 4.0, weights, memory_limit=GB, _engine=e) for e in ENGINES]
    assert all(np.array_equal(graph.L, near[0].L) for graph in near)


def test_an_outlier_in_a_block_does_not_make_every_pair_doubtful():
    X = np.vstack([np.random.default_rng(0).normal(size=(60, 5)), [[1e9] * 5]])
    weights = np.ones(len(X), np.int64)
    near = neighbourhood(X, 1.0, 4.0, weights, memory_limit=GB, _engine="dense")
    assert np.array_equal(near.L, reference_losses(X, 1.0, 4.0))


def test_fractional_weights_give_the_same_losses_in_every_engine():
    X = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.random.default_rng(1).uniform(0, 3, 50)
    near = [neighbourhood(X, 0.7, 4.0, weights, memory_limit=GB, _engine=e) for e in ENGINES]
    assert all(np.array_equal(graph.L, near[0].L) for graph in near)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m", [None, 1, 5, 30])
@pytest.mark.parametrize("d", [30, 500])
def test_filter_never_exceeds_the_true_squared_distance(d, m, dtype):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(300, d)) * np.exp(rng.normal(0, 4, (300, 1)))).astype(dtype)
    f = frame(X, sq_cutoff(1.0, d), None if m is None else leading_directions(X, m))
    right = f.right(X)
    V = f.left(right) @ right.T
    a = np.ldexp(X.astype(np.longdouble) - f.center, -f.exponent)
    true = np.square(a[:, None] - a[None]).sum(-1)
    assert (true + 2.0**-60 >= V).all()


def test_filter_is_sharp_enough_to_discard_what_is_clearly_too_far():
    X = np.random.default_rng(0).normal(size=(200, 100))
    true = np.square(X[:, None] - X[None]).sum(-1)
    for basis in (None, leading_directions(X, 100)):
        f = frame(X, 150.0, basis)
        right = f.right(X)
        kept = (f.left(right) @ right.T < f.cutoff).sum()
        assert kept <= (true < 150.0 * 1.001).sum()


@given(data_sets(dtypes=["float64", "float32"]), st.data())
def test_the_farthest_row_is_among_those_that_may_be(data, more):
    X = np.ascontiguousarray(data[0])
    center = X[more.draw(st.integers(0, len(X) - 1))].astype(np.float64) / 3.0
    kept = np.array(more.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    kept[0] = True
    sq = np.square(X - center).sum(axis=1)
    assert sq[farthest(X, center)].max() == sq.max()
    rows = farthest(X, center, kept)
    assert kept[rows].all()
    assert sq[rows].max() == sq[kept].max()


def test_the_farthest_row_is_one_of_many_and_found_where_squares_overflow():
    X = np.random.default_rng(0).normal(size=(1000, 10)).astype(np.float32)
    assert len(farthest(X, np.zeros(10))) == 1
    assert len(farthest(X * np.float32(1e30), np.zeros(10))) == 1000


def test_rows_at_distance_zero_are_known_from_the_pairs():
    X = np.random.default_rng(0).integers(0, 6, (200, 3)).astype(np.float64)
    _, which, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    pairs = pairs_within(X, 2.0, memory_limit=GB)
    assert np.array_equal(pairs.coincident(), np.flatnonzero(counts[which.ravel()] > 1))


def candidates(X, cutoff, ends):
    """Pairs that pass the filter and its further looks, as rows."""
    f = frame(X, cutoff).along(leading_directions(X, ends[-1]), ends)
    runs = cut_into_runs(np.zeros((len(X), 0)), 16)
    tiles = runs if f.dtype is np.float32 and kernel.compiled() else None
    blocks = Blocks.prepare(X, cutoff, plan.Plan(f, runs, tiles=tiles), 2)
    found = [pair for b in range(runs.n_runs) for pair in blocks.later_pairs(b)]
    return {(int(i), int(j)) for pair in found for i, j in zip(*pair, strict=True)}


def near_in(X, cutoff):
    i, j, _ = brute_force(X, cutoff)
    return {(a, b) for a, b in zip(i, j, strict=True) if a < b}


@pytest.mark.parametrize("X", [X for X in AWKWARD.values() if min(X.shape) > 4])
def test_further_looks_lose_no_pair_on_the_radius_of_awkward_lattices(X):
    for cutoff in awkward_cutoffs(X):
        for ends in [(1, 2), (1, 3, 5), (2, 5)]:
            for kind in SIEVES:
                with sieve(kind):
                    assert near_in(X, cutoff) <= candidates(X, cutoff, ends)


@given(data_sets(max_n=40, dtypes=["float64", "float32"]), st.data())
def test_further_looks_lose_no_near_pair(data, more):
    X, sigma_max, G = data
    d = X.shape[1]
    ends = more.draw(st.sets(st.integers(1, d), min_size=min(2, d), max_size=4))
    cutoff = sq_cutoff(sigma_max, d, G)
    with sieve(more.draw(st.sampled_from(SIEVES))):
        found = candidates(np.ascontiguousarray(X), cutoff, tuple(sorted(ends)))
    assert near_in(X, cutoff) <= found


@pytest.mark.parametrize("kind", SIEVES)
def test_further_looks_are_as_sharp_as_one_at_all_directions(kind):
    X = np.random.default_rng(0).normal(size=(200, 100))
    with sieve(kind):
        assert candidates(X, 150.0, (10, 40, 100)) <= near_in(X, 150.0 * 1.001)
        assert len(candidates(X, 150.0, (10, 80))) <= 1.001 * len(candidates(X, 150.0, (80,)))


@given(st.data())
def test_sums_of_whole_numbers_stay_in_32_bits_and_discard_no_near_pair(data):
    w = data.draw(st.sampled_from([1, 2, 3, 8, 129]))
    some = st.floats(-1, 1, width=32) | st.sampled_from([-1.0, 0.0, 1.0])
    c = data.draw(arrays(np.float32, (data.draw(st.integers(2, 8)), w), elements=some))
    exact = c.astype(np.float64)
    norms = np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
    V = np.square(exact[:, None] - exact).sum(axis=-1)
    cutoff = float(data.draw(st.sampled_from(sorted({*V.ravel(), 1e-3, 50.0})))) + 1e-9
    whole = Whole.of(float(norms.max()), w, cutoff)
    assume(whole is not None)
    columns = whole.columns(c, np.square(norms).astype(np.float32), norms)
    t = columns[:, -1].astype(np.int64)
    q = np.ascontiguousarray(columns[:, :-1]).view(np.int16).astype(np.int64)
    steps = np.cumsum(q[:, None] * q, axis=-1)
    sums = t[:, None, None] + t[:, None] + steps
    assert np.abs(sums).max() < 2**31
    assert (sums[:, :, -1] > whole.limit(cutoff))[cutoff > V].all()
    assert (t + MISSING).max() <= whole.limit(cutoff)


@pytest.mark.skipif(not kernel.has_wholes(), reason="nothing was compiled, or not for these")
def test_whole_numbers_are_used_unless_one_row_is_far_away():
    X = np.random.default_rng(0).normal(size=(100, 20))
    for far, dtype in [(1.0, np.int32), (1e6, np.float32)]:
        X[7] *= far
        p = make_plan(X, frame(X, 30.0), 0.1)
        assert Tiles.prepare(X, p, 1).sums.tiles.dtype == dtype


def embeddings(n, d):
    """Rows that no few directions tell apart, and a cutoff that takes in 0.1 % of pairs."""
    X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sq = np.square(X[:500, None] - X[None, :500]).sum(-1)
    return X, float(np.quantile(sq[sq > 0], 1e-3))


def test_rows_that_no_few_directions_tell_apart_are_looked_at_again():
    X, cutoff = embeddings(12_000, 240)
    p = make_plan(X, frame(X, cutoff), 1e-3)
    assert len(p.frame.ends) > 1
    assert p.frame.width < 160
    sigma_max, weights = float(np.sqrt(cutoff / (4 * 240))), np.ones(len(X), np.int64)
    ways = [
        neighbourhood(X, sigma_max, 4.0, weights, memory_limit=GB, _engine=engine)
        for engine in ("stored", "dense")
    ]
    assert (ways[0].L == ways[1].L).all()


@pytest.mark.parametrize(("n", "d"), [(7000, 300), (12_000, 600), (5000, 1100)])
def test_looks_are_along_directions_that_there_are(n, d):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))).astype(np.float32)
    sq = np.square(X[:300, None] - X[None, :300]).sum(-1)
    cutoff = float(np.quantile(sq[sq > 0], 1e-3))
    f = make_plan(X, frame(X, cutoff), 1e-3).frame
    assert f.ends[-1] == (d if f.basis is None else f.basis.shape[1])
    with pytest.raises(AssertionError, match="not there"):
        f.along(np.eye(d)[:, :2], (1, 3))


def test_looks_that_do_not_fit_in_memory_are_left_out():
    search = partial(crlm_search._Search, *embeddings(12_000, 240))
    many, one = (search(limit, 1, None)._plan for limit in (GB, 50_000_000))
    assert len(many.frame.ends) > len(one.frame.ends) == 1


@pytest.mark.parametrize(("d", "m"), [(5, 5), (40, 7), (300, 256)])
def test_directions_are_orthonormal_and_the_widest_comes_first(d, m):
    X = np.random.default_rng(0).normal(size=(400, d)) * np.linspace(10, 1, d)
    Q = leading_directions(X, m)
    assert Q.shape == (d, m)
    assert pytest.approx(np.eye(m), abs=1e-12) == Q.T @ Q
    assert np.var(X @ Q, axis=0)[0] == np.var(X @ Q, axis=0).max()


@pytest.mark.parametrize("n_axes", [0, 1, 3])
def test_runs_hold_every_row_once_and_lie_in_their_boxes(n_axes):
    C = np.random.default_rng(0).normal(size=(1000, 3))[:, :n_axes]
    runs = cut_into_runs(C, 64)
    assert sorted(runs.order) == list(range(1000))
    for b in range(runs.n_runs):
        rows = C[runs.rows(b)]
        assert 0 < len(rows) <= 64
        assert (rows >= runs.low[b]).all()
        assert (rows <= runs.high[b]).all()


def n_filtered(X, cutoff):
    """Pairs that the filter looks at, counted."""
    p = make_plan(X, frame(X, cutoff), near_share(X, cutoff))
    runs = p.tiles or p.runs
    sizes = np.array([len(runs.rows(b)) for b in range(runs.n_runs)])
    near = [runs.sq_gaps(b, b) < p.reach for b in range(runs.n_runs)]
    return sum(sizes[b] * sizes[b:][near[b]].sum() for b in range(runs.n_runs))


def test_work_in_low_dimension_grows_about_as_n():
    counts = []
    for n in (8192, 32768):
        X = np.random.default_rng(0).uniform(size=(n, 2))
        counts.append(n_filtered(X, 30 / (np.pi * n)))
    assert counts[1] < 4 * 1.3 * counts[0]


def test_few_directions_do_where_the_spectrum_falls_off():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5000, 400)) / np.arange(1, 401)).astype(np.float32)
    sq = np.square(X[:500, None] - X[None, :500]).sum(-1)
    cutoff = float(np.quantile(sq[sq > 0], 1e-3))
    assert make_plan(X, frame(X, cutoff), 1e-3).frame.width < 100
    assert near_share(X, cutoff) == pytest.approx(1e-3, rel=0.5)


def test_progress_counts_up_to_its_total():
    seen = []
    list(in_parallel(str, range(5), 2, lambda done, total: seen.append((done, total))))
    assert seen == [(i, 5) for i in range(1, 6)]


@pytest.mark.parametrize("engine", ENGINES)
def test_time_and_bytes_are_told_before_the_search_starts(engine, caplog):
    said = []

    def first_call(done, total):
        said.extend(caplog.messages)
        raise KeyboardInterrupt

    weights = np.ones(2000, np.int64)
    with caplog.at_level("INFO", logger="crlm"), pytest.raises(KeyboardInterrupt):
        neighbourhood(
            lattice(2000, 4),
            0.1,
            4.0,
            weights,
            memory_limit=GB,
            progress=first_call,
            _engine=engine,
        )
    assert re.search(rf"^{engine}: .*; about .*(second|s|min|h) and \d+ MB$", said[-1])


def test_nothing_is_estimated_when_nobody_listens():
    weights = np.ones(100, np.int64)
    with mock.patch("crlm.search.estimate._slowness", side_effect=AssertionError):
        neighbourhood(lattice(100, 4), 1.0, 4.0, weights, memory_limit=GB)


def test_estimates_grow_with_the_pairs():
    with mock.patch("crlm.search.estimate._slowness", return_value=1.0):
        assert seconds_of_dense(2000, 50, 1) == 4 * seconds_of_dense(1000, 50, 1)
        assert seconds_of_dense(1000, 50, 2) < seconds_of_dense(1000, 50, 1)
        assert seconds_of_tree(2000, 2, 1e-3, 1) == 4 * seconds_of_tree(1000, 2, 1e-3, 1)
        X = lattice(8000, 20)
        few, all_rows = (
            make_plan(part, frame(part, 1.0), near_share(part, 1.0)) for part in (X[:5000], X)
        )
        assert seconds_of_blocks(few, 1e-3, 1) < seconds_of_blocks(all_rows, 1e-3, 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupt_leaves_no_thread_of_any_engine_running(engine, n_jobs):
    def stop(done, total):
        raise KeyboardInterrupt

    before = threading.active_count()
    X, ways = lattice(3000, 5), {"memory_limit": GB, "n_jobs": n_jobs, "_block": 64}
    with pytest.raises(KeyboardInterrupt):
        neighbourhood(X, 1.0, 4.0, np.ones(3000, np.int64), progress=stop, _engine=engine, **ways)
    assert threading.active_count() == before


def test_work_that_is_given_up_leaves_no_thread_running():
    def nothing(place):
        none = np.zeros(0, dtype=np.int32)
        return Found(place, np.zeros(1, np.int32), none, none.astype(np.float64))

    def refuse(n_pairs):
        raise MemoryLimitError

    before = threading.active_count()
    with pytest.raises(MemoryLimitError) as caught:
        assemble(in_parallel(nothing, range(20), 2), np.arange(20), refuse)
    assert threading.active_count() == before
    assert caught.tb is not None  # which holds what was given up


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_from_progress_ends_the_search_at_once(n_jobs):
    calls = []

    def stop(done, total):
        calls.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pairs_within(
            lattice(500, 20), 10.0, memory_limit=GB, n_jobs=n_jobs, _block=10, progress=stop
        )
    assert len(calls) == 1


def test_pairs_beyond_the_memory_limit_are_refused_with_a_limit_that_is_enough():
    X = np.random.default_rng(0).normal(size=(6000, 4))
    with pytest.raises(MemoryLimitError, match="over the memory limit of 100 MB") as caught:
        pairs_within(X, 4.0, memory_limit=100_000_000)
    limit = int(str(caught.value).split("memory_limit='")[1].split("MB'")[0]) * 10**6
    assert pairs_within(X, 4.0, memory_limit=limit).n_pairs > 1_000_000


def test_less_memory_changes_the_engine_and_not_the_losses(caplog):
    X = np.vstack([lattice(100, 30) * 0.01, lattice(5000, 30) * 100])
    weights = np.ones(len(X), np.int64)
    seen, losses = [], []
    for limit in (GB, 60_000_000, 47_000_000):
        caplog.clear()
        with caplog.at_level("INFO", logger="crlm"):
            near = neighbourhood(X, 1.0, 4.0, weights, memory_limit=limit, n_jobs=1)
        seen.append(caplog.messages[-1].split(":")[0])
        losses.append(near.L)
    assert seen[0] == "stored"
    assert np.array_equal(losses[0], losses[1])
    assert np.array_equal(losses[0], losses[2])


def test_pairs_that_outgrow_the_estimate_are_streamed_instead(caplog):
    X = np.random.default_rng(0).normal(size=(3000, 20))
    weights = np.ones(len(X), np.int64)
    expected = neighbourhood(X, 0.6, 4.0, weights, memory_limit=GB).L
    with caplog.at_level("INFO", logger="crlm"):
        near = neighbourhood(X, 0.6, 4.0, weights, memory_limit=50_000_000, _engine="stored")
    assert "more pairs than expected" in caplog.text
    assert np.array_equal(near.L, expected)


def test_rows_beyond_all_measure_are_in_no_ball():
    X = np.array([[0.0], [1.0], [1e140], [-1e140]])
    assert first_ball(X, X[:1], np.array([1e-20])).tolist() == [0, -1, -1, -1]
    assert first_ball(X, X[2:3], np.array([4.0])).tolist() == [-1, -1, 0, -1]


@given(data_sets(max_n=40, dtypes=["float64", "float32"]), st.integers(0, 8))
@settings(max_examples=150)
def test_first_ball_is_the_lowest_centre_within_its_radius(data, k):
    X, sigma_max, G = data
    X = np.ascontiguousarray(X)
    rng = np.random.default_rng(k)
    cutoffs = sq_cutoff(sigma_max, X.shape[1], G) * 4.0 ** rng.integers(-1, 2, k)
    centers = X[rng.integers(0, len(X), k)]
    A, B = X.astype(np.float64), centers.astype(np.float64)
    near = ((A[:, None] - B[None]) ** 2).sum(-1) < cutoffs
    expected = [int(np.argmax(row)) if row.any() else -1 for row in near]
    assert first_ball(X, centers, cutoffs).tolist() == expected


LARGER = {
    "clusters in a cloud": lambda rng: np.vstack(
        [rng.normal(size=(4800, 20)) * 9, rng.normal(size=(200, 20))]
    ),
    "many near pairs": lambda rng: rng.normal(size=(5000, 3)),  # more than a list holds
    "no few directions": lambda rng: rng.normal(size=(5001, 120)),
    "few values": lambda rng: rng.integers(0, 3, (4999, 9)).astype(float),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", LARGER.values(), ids=LARGER.keys())
def test_compiled_or_not_the_pairs_are_the_same(make, dtype):
    X = make(np.random.default_rng(0)).astype(dtype)
    sq = np.square(X[:400, None] - X[None, 400:800]).sum(axis=-1)
    cutoff = float(np.quantile(sq, 0.02))
    lists = []
    for kind in SIEVES:
        with sieve(kind):
            pairs = pairs_within(X, cutoff, memory_limit=GB, n_jobs=2, _engine="stored")
            lists.append(as_lists(pairs))
    assert lists[0] == lists[1] == lists[2]
    assert len(lists[0][0]) > 1000


@pytest.mark.skipif(not kernel.LIBRARY.exists(), reason="nothing was compiled")
def test_what_was_compiled_is_used():
    assert kernel.compiled() is not None


def test_a_library_that_is_none_is_passed_over(tmp_path):
    broken, foreign = tmp_path / "_kernel.so", tmp_path / "other.so"
    broken.write_bytes(b"not a library")
    foreign.write_bytes(Path(_umath_linalg.__file__).read_bytes())  # without our names
    for path in (broken, foreign, tmp_path / "missing.so"):
        assert kernel.load(path) is None


@pytest.mark.skipif(kernel.compiled() is None, reason="nothing was compiled")
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 100, 128, 129, 136, 137, 300, 1025])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_distances_are_those_of_the_definition_to_the_bit(d, dtype):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(60, d)) * 10.0 ** rng.uniform(-9, 9, d)).astype(dtype)
    i, j = rng.integers(0, 60, (2, 500))
    expected = distance.sq_distances(X[i], X[j])
    assert np.array_equal(distance.sq_distances_of_pairs(X, i, X, j), expected)
    with sieve("NumPy"):
        assert np.array_equal(distance.sq_distances_of_pairs(X, i, X, j), expected)
