"""Landmarks: a seeded subset of candidate centres, everything else as in the exact search."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm import CRLM, GMMUB, CertificateDisplay, scores, theory
from crlm.errors import InputError, ParameterError
from crlm.landmarks.groups import group_rows, merge_groups
from crlm.landmarks.keys import copy_marks, keys, likely_bar
from crlm.landmarks.sieve import make_sieve
from crlm.landmarks.source import ArraySource, IterableSource
from crlm.landmarks.survey import make_pool, survey
from strategies import data_sets, small_lattices

TRUTH = GMMUB.draw(
    k=3, d=20, sigmas=[1, 1.5, 2], weights=[0.05, 0.03, 0.02], D=60, sigma_max=5, rng=0
)
X, Y = TRUTH.sample(1500, rng=1)


def fitted(X, sigma_max=5.0, **parameters):
    return CRLM(sigma_max, **parameters).fit(X)


def same_partition(a, b):
    """Whether two labellings differ at most in the numbers of the clusters."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    one_to_one = len(pairs) == len({i for i, _ in pairs}) == len({j for _, j in pairs})
    return one_to_one and np.array_equal(a < 0, b < 0)


def same_fit(a, b):
    names = ("labels_", "center_indices_", "losses_", "p_values_", "cluster_sizes_")
    more = ("cluster_centers_", "sigmas_", "weights_", "ball_centers_", "landmark_indices_")
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in names + more)


# Against the exact search


@given(data_sets(max_n=40))
@settings(max_examples=60)
def test_with_every_row_a_landmark_the_labels_are_those_of_algorithm_2(case):
    X, sigma_max, G = case
    exact = CRLM(sigma_max, G=G, alpha=None).fit(X)
    model = CRLM(sigma_max, G=G, alpha=None, n_landmarks=len(X)).fit(X)
    assert model.labels_.tolist() == exact.labels_.tolist()
    assert model.center_indices_.tolist() == exact.center_indices_.tolist()
    assert model.losses_.tolist() == exact.losses_.tolist()
    scale = float(np.abs(X.astype(float)).max()) or 1.0
    np.testing.assert_allclose(
        model.cluster_centers_, exact.cluster_centers_, rtol=1e-12, atol=1e-12 * scale
    )
    np.testing.assert_allclose(model.sigmas_, exact.sigmas_, rtol=1e-7, atol=1e-7 * sigma_max)


@given(small_lattices(), st.integers(1, 10), st.integers(0, 5))
def test_labels_are_those_of_algorithm_2_with_only_the_landmarks_as_centres(case, m, seed):
    X, sigma_max, G = case
    model = CRLM(sigma_max, G=G, alpha=None, n_landmarks=m, random_state=seed).fit(X)
    expected = algorithm_2_among(X.astype(float), model.landmark_indices_, sigma_max, G)
    assert model.labels_.tolist() == expected.tolist()


def algorithm_2_among(X, landmarks, sigma_max, G):
    """Algorithm 2 in floating point that is exact here, centres among some rows."""
    d = X.shape[1]
    sq = ((X[:, None] - X[None]) ** 2).sum(-1)
    labels, alive = np.full(len(X), -1), np.ones(len(X), dtype=bool)
    loss = np.rint(np.minimum(sq / (d * sigma_max**2) - G, 0) * 2.0**30)
    j = 0
    while len(left := landmarks[alive[landmarks]]):
        i = left[loss[left][:, alive].sum(axis=1).argmin()]
        C = np.flatnonzero(alive & (sq[i] < d * G * sigma_max**2))
        if len(C) == 1:
            break
        labels[C], alive[C], j = j, False, j + 1
    return labels


def test_where_c1_and_c2_hold_the_clusters_are_the_exact_ones():
    exact = fitted(X)
    margins = exact.certificate_.conditions.margins
    assert margins["C1"].verdict == margins["C2"].verdict == "holds"
    for seed in range(8):
        model = fitted(
            X,
            n_landmarks="auto",
            min_weight=0.02,
            random_state=seed,
            alpha=None,
            min_cluster_size=5,
        )
        # Numbers too: these clusters differ so much in size that any landmark gives their order.
        assert np.array_equal(model.labels_, exact.labels_)
    assert len(model.landmark_indices_) < len(X) / 2


def test_with_every_row_a_landmark_the_p_values_are_the_exact_ones():
    few = np.vstack([X[Y == -1][:300], X[Y == 0][:5], X[Y == 1][:4]])
    exact, model = fitted(few, 15.0), fitted(few, 15.0, n_landmarks=309)
    assert exact.n_clusters_ == 2
    assert (exact.p_values_ > 1e-7).all()
    assert np.array_equal(model.p_values_, exact.p_values_)
    assert np.array_equal(model.labels_, exact.labels_)


def test_with_the_test_for_clusters_they_are_the_exact_ones_too():
    exact, model = fitted(X), fitted(X, n_landmarks=400)
    assert same_partition(model.labels_, exact.labels_)
    assert scores.f_measure(Y, model.labels_) == 1.0
    assert (model.p_values_ <= 0.01).all()
    background = X[Y == -1]
    assert fitted(background, n_landmarks=400).n_clusters_ == 0


def test_copies_of_a_row_are_no_cluster():
    background = X[Y == -1][:700]
    copied = np.vstack([background, np.repeat(background[:2], 40, axis=0)])
    model = fitted(copied, n_landmarks=len(copied))
    assert model.n_clusters_ == 0 == fitted(copied).n_clusters_


# Laws


@given(data_sets(max_n=60), st.integers(1, 40), st.integers(1, 30), st.booleans())
@settings(max_examples=60)
def test_blocks_and_threads_change_no_bit(case, m, rows, refine):
    X, sigma_max, G = case
    parameters = {"G": G, "alpha": None, "n_landmarks": m, "random_state": 3, "refine": refine}
    whole = CRLM(sigma_max, n_jobs=1, **parameters).fit(X)
    blocks = CRLM(sigma_max, n_jobs=2, **parameters).fit(
        lambda: (X[at : at + rows] for at in range(0, len(X), rows))
    )
    assert same_fit(whole, blocks)


@given(data_sets(max_n=40), st.booleans())
@settings(max_examples=60)
def test_predict_on_the_training_data_gives_the_labels(case, refine):
    X, sigma_max, G = case
    model = CRLM(sigma_max, G=G, alpha=None, n_landmarks=10, refine=refine).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.predict(iter(np.array_split(X, 3))), model.labels_)


@pytest.mark.filterwarnings("ignore::crlm.errors.TooSmallWarning")  # one row of half a point
@given(data_sets(max_n=30, dtypes=["float64"]), st.integers(0, 3))
@settings(max_examples=40)
def test_whole_weights_count_as_in_the_exact_search(case, seed):
    X, sigma_max, G = case
    weights = np.random.default_rng(seed).integers(0, 4, len(X))
    if not weights.any():
        return
    exact = CRLM(sigma_max, G=G, alpha=None).fit(X, sample_weight=weights)
    model = CRLM(sigma_max, G=G, alpha=None, n_landmarks=len(X)).fit(X, sample_weight=weights)
    assert model.labels_.tolist() == exact.labels_.tolist()
    assert model.cluster_sizes_.tolist() == exact.cluster_sizes_.tolist()
    halves = CRLM(sigma_max, G=G, alpha=None, n_landmarks=len(X)).fit(X, sample_weight=weights / 2)
    assert halves.background_weight_ == pytest.approx(model.background_weight_) or (
        halves.labels_.tolist() != model.labels_.tolist()
    )


def test_the_seed_decides_the_draw_and_nothing_else_does():
    first = fitted(X, n_landmarks=100, alpha=None)
    again = fitted(X[:1000], n_landmarks=100, alpha=None, random_state=0)
    other = fitted(X, n_landmarks=100, alpha=None, random_state=np.random.default_rng(5))
    assert same_fit(first, fitted(X, n_landmarks=100, alpha=None, random_state=None))
    kept = first.landmark_indices_[first.landmark_indices_ < 1000]
    assert set(kept) <= set(again.landmark_indices_)  # a row's key does not depend on n
    assert not np.array_equal(first.landmark_indices_, other.landmark_indices_)


def test_the_draw_is_even():
    n, m, draws = 50, 10, 400
    counts = np.zeros(n)
    for seed in range(draws):
        counts[np.argsort(keys(seed, 0, n))[:m]] += 1
    expected = draws * m / n
    chi2 = float(((counts - expected) ** 2 / (expected * (1 - m / n))).sum())
    assert 20 < chi2 < 90  # 49 degrees of freedom
    for seed in range(50):
        bar = likely_bar(10_000, 100)
        assert 100 <= (keys(seed, 0, 10_000) <= bar).sum() <= 400


def test_marks_of_rows_tell_lattice_points_apart():
    grid = np.stack(np.meshgrid(*[np.arange(-8.0, 8.0)] * 3), axis=-1).reshape(-1, 3)
    assert len(np.unique(copy_marks(grid))) == len(grid)
    assert np.array_equal(copy_marks(grid), copy_marks(grid.astype(np.float32)))
    assert copy_marks(np.array([[0.0]]))[0] == copy_marks(np.array([[-0.0]]))[0]


def by_landmarks(groups):
    """What is known of each group, by the landmarks near its rows."""
    entries = [slice(*ends) for ends in pairwise(groups.indptr.tolist())]
    marks = [groups.marks[slice(*ends)].tolist() for ends in pairwise(groups.mark_ptr.tolist())]
    return {
        tuple(groups.landmarks[part].tolist()): (groups.losses[part].tolist(), int(weight), own)
        for part, weight, own in zip(entries, groups.weights, marks, strict=True)
    }


def test_groups_add_up_in_any_order():
    pool = make_pool(survey(X, 0, 0, 2048), 200, 2048)
    sieve, middle = make_sieve(pool, 5.0, 4.0), np.zeros(20)
    cuts = [0, 100, 101, 800, 1500]
    parts = [group_rows(X[a:b], a, sieve, middle) for a, b in pairwise(cuts)]
    one, two = merge_groups([group_rows(X, 0, sieve, middle)]), merge_groups(parts[::-1])
    assert by_landmarks(one) == by_landmarks(two)
    n_marks = sum(len(marks) for *_, marks in by_landmarks(one).values())
    assert sum(one.weights) * 2.0**-30 == n_marks  # no two rows are equal
    # One group for each cluster, and one for each landmark that is alone
    assert one.n_groups <= 200 + 3


# How many landmarks


def test_auto_misses_a_cluster_no_more_often_than_delta():
    weight, delta = 0.02, 0.05
    rng = np.random.default_rng(0)
    centers = rng.uniform(-300, 300, (3, 10))
    X = np.vstack(
        [rng.uniform(-300, 300, (940, 10)), *(c + rng.normal(size=(20, 10)) for c in centers)]
    )
    y = np.repeat([-1, 0, 1, 2], [940, 20, 20, 20])

    def missed(n_draws, **parameters):
        found = 0
        for seed in range(n_draws):
            model = CRLM(2.5, alpha=None, min_cluster_size=10, random_state=seed, **parameters)
            found += scores.f_measure(y, model.fit(X).labels_) == 1.0
        return 1.0 - found / n_draws

    assert missed(200, n_landmarks="auto", min_weight=weight, delta=delta) <= delta
    assert missed(40, n_landmarks=60) > delta  # the draw does matter


def test_auto_is_the_fewest_that_keep_the_promise():
    for weight, delta, k in [(0.01, 0.01, None), (0.1, 0.05, 2), (0.3, 0.2, 1), (0.001, 0.01, 20)]:
        m = theory.plan_candidates(weight, delta, k)
        clusters = min(k or 10**9, int(1 / weight))
        assert clusters * (1 - weight) ** m <= delta < clusters * (1 - weight) ** (m - 1)
    model = fitted(X, n_landmarks="auto", min_weight=0.01, max_clusters=3, alpha=None)
    assert len(model.landmark_indices_) == theory.plan_candidates(0.01, 0.01, 3)


def test_more_landmarks_than_rows_are_all_rows():
    assert fitted(X[:50], n_landmarks=99, alpha=None).landmark_indices_.tolist() == list(range(50))


# Going on


def test_update_counts_new_rows_as_if_they_had_been_there():
    first, rest = X[:1000], X[1000:]
    for landmarks in (300, None):
        model = fitted(first, n_landmarks=landmarks, alpha=None, max_clusters=3)
        labels = model.update(rest)
        everything = np.concatenate([model.labels_, labels])
        assert np.array_equal(labels, model.predict(rest))
        for j in range(3):
            members = X[everything == j]
            assert model.cluster_sizes_[j] == len(members)
            np.testing.assert_allclose(model.cluster_centers_[j], members.mean(axis=0), atol=1e-12)
            spread = np.square(members - members.mean(axis=0)).sum() / (20 * (len(members) - 1))
            assert model.sigmas_[j] == pytest.approx(spread**0.5, rel=1e-12)
        assert model.weights_.sum() + model.background_weight_ == pytest.approx(1.0)
        assert model.background_weight_ == pytest.approx((everything < 0).mean())


def test_update_does_not_depend_on_blocks():
    one, two = (fitted(X[:1000], n_landmarks=300, alpha=None) for _ in range(2))
    one.update(X[1000:])
    two.update(iter([X[1000:1001], X[1001:1300], X[1300:]]))
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)
    assert np.array_equal(one.sigmas_, two.sigmas_)


def test_tight_clusters_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(0)
    points = 1e6 + rng.normal(size=(200, 5)) * 1e-4
    background = 1e6 + rng.uniform(-100, 100, (300, 5))
    model = CRLM(1.0, alpha=None, n_landmarks=500).fit(np.vstack([points, background]))
    spread = np.square(points - points.mean(axis=0)).sum() / (5 * 199)
    assert model.sigmas_[0] == pytest.approx(spread**0.5, rel=1e-6)


def test_auto_bandwidth_comes_from_the_rows_drawn():
    model = CRLM(n_landmarks=300).fit(X)
    assert model.sigma_estimate_.evidence != "weak"
    assert scores.f_measure(Y, model.labels_) == 1.0
    assert 3.0 < model.sigma_max_ < 40.0


def test_cosine_and_g_auto_go_through_the_passes():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 15))
    A[:50] = A[0] + 0.01 * A[:50]
    exact = CRLM(0.02, metric="cosine", G="auto", alpha=None, min_cluster_size=10).fit(A)
    model = CRLM(0.02, metric="cosine", G="auto", alpha=None, min_cluster_size=10, n_landmarks=400)
    blocks = IterableSource(lambda: np.array_split(A, 7))
    assert exact.n_clusters_ == 1
    assert np.array_equal(model.fit(blocks).labels_, exact.labels_)
    assert model.G_ == exact.G_


def test_progress_is_told_and_ends_at_the_total():
    seen = []
    model = CRLM(5.0, alpha=None, n_landmarks=50, progress=lambda a, b: seen.append((a, b)))
    model.fit(ArraySource(X, 100))
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert len(set(totals)) == 1
    assert done[-1] == totals[0]


def test_what_is_in_a_model_goes_on_working():
    model = fitted(X, n_landmarks=200, alpha=None, max_clusters=3)
    assert model.certificate_ is None
    assert model.n_duplicates_ is None
    assert "3 clusters" in repr(model)
    assert model.predict_proba(X[:5]).shape == (5, 4)


def test_the_figure_of_a_certificate_says_that_landmarks_make_none():
    with pytest.raises(ParameterError, match="landmarks, which makes no certificate"):
        CertificateDisplay.from_estimator(fitted(X, n_landmarks=400))


# Better centres


@given(data_sets(max_n=40))
@settings(max_examples=40)
def test_with_every_row_a_landmark_there_is_no_better_centre(case):
    X, sigma_max, G = case
    plain = CRLM(sigma_max, G=G, alpha=None, n_landmarks=len(X)).fit(X)
    assert same_fit(CRLM(sigma_max, G=G, alpha=None, n_landmarks=len(X), refine=True).fit(X), plain)


@given(small_lattices(), st.integers(1, 10), st.integers(0, 5))
def test_better_centres_are_algorithm_2_among_the_rows_nearest_to_the_means(case, m, seed):
    X, sigma_max, G = case
    parameters = {"G": G, "alpha": None, "n_landmarks": m, "random_state": seed}
    first = CRLM(sigma_max, **parameters).fit(X)
    model = CRLM(sigma_max, refine=True, **parameters).fit(X)
    nearest = set()
    for j, mean in enumerate(first.cluster_centers_):
        members = np.flatnonzero(first.labels_ == j)
        nearest.add(int(members[np.square(X[members] - mean).sum(axis=1).argmin()]))
    tried = nearest | set(first.center_indices_.tolist())
    assert set(model.center_indices_.tolist()) <= tried
    if first.n_clusters_:
        assert model.losses_[0] <= first.losses_[0]


def test_where_c1_and_c2_hold_better_centres_are_the_exact_ones():
    exact = fitted(X)
    plain, model = fitted(X, n_landmarks=300), fitted(X, n_landmarks=300, refine=True)
    assert not np.array_equal(plain.center_indices_, exact.center_indices_)
    for name in ("labels_", "center_indices_", "losses_", "ball_centers_"):
        assert np.array_equal(getattr(model, name), getattr(exact, name)), name
    assert (model.p_values_ <= 0.01).all()


def test_better_centres_find_the_members_that_a_small_radius_cuts_off():
    rng = np.random.default_rng(0)
    cloud = np.vstack([rng.uniform(-300, 300, (2000, 3)), rng.normal(0, 1, (60, 3))])
    truth = np.repeat([-1, 0], [2000, 60])
    parameters = {"max_clusters": 1, "n_landmarks": 400}
    exact = scores.f_measure(truth, fitted(cloud, 0.75, max_clusters=1).labels_)
    plain = [fitted(cloud, 0.75, random_state=s, **parameters).labels_ for s in range(5)]
    better = [
        fitted(cloud, 0.75, random_state=s, refine=True, **parameters).labels_ for s in range(5)
    ]
    F = [np.mean([scores.f_measure(truth, y) for y in found]) for found in (plain, better)]
    assert F[0] < F[1] - 0.01 < exact


def test_a_row_without_weight_is_no_better_centre():
    w = np.ones(len(X), dtype=int)
    model = fitted(X, n_landmarks=300, refine=True)
    w[model.center_indices_] = 0
    again = CRLM(5.0, n_landmarks=300, refine=True).fit(X, sample_weight=w)
    assert not set(again.center_indices_) & set(model.center_indices_)
    assert same_partition(again.labels_, model.labels_)


@pytest.mark.parametrize("n_heavy", [2, 20])
def test_rows_without_weight_make_no_cluster(n_heavy):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(600, 8)), 1.0 + 0.02 * rng.normal(size=(40, 8))])
    weights = (np.arange(640) < 600 + n_heavy).astype(int)
    weighted = CRLM(0.3, n_landmarks=640, random_state=0).fit(points, sample_weight=weights)
    without = CRLM(0.3).fit(points[: 600 + n_heavy])
    assert len(without.p_values_) == (n_heavy > 2)
    assert np.array_equal(weighted.p_values_, without.p_values_)


def test_a_model_with_better_centres_is_saved(tmp_path):
    model = fitted(X, n_landmarks=300, refine=True)
    model.save(tmp_path / "a.crlm.npz")
    assert same_fit(CRLM.load(tmp_path / "a.crlm.npz"), model)
    with pytest.raises(ParameterError, match="refine must be True or False, got 'yes'"):
        fitted(X, n_landmarks=300, refine="yes")


def test_the_bar_moves_through_the_passes_for_better_centres():
    done = []
    fitted(X, n_landmarks=300, refine=True, progress=lambda at, total: done.append(at / total))
    assert all(a <= b for a, b in pairwise(done))
    assert done[-1] == 1.0


# On disk and in words


def same_sums(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a._tally, b._tally, strict=True))


def test_a_saved_model_goes_on_as_if_it_had_not_been(tmp_path):
    model = fitted(X, n_landmarks=400)
    model.save(tmp_path / "a.crlm.npz")
    again = CRLM.load(tmp_path / "a.crlm.npz")
    assert same_fit(again, model)
    assert again.certificate_ is again.n_duplicates_ is None
    assert np.array_equal(again.predict(X), model.labels_)
    model.update(X[:500] + 0.1)
    again.update(X[:500] + 0.1)
    assert same_sums(again, model)
    assert np.array_equal(again.sigmas_, model.sigmas_)
    again.save(tmp_path / "b.crlm.npz")  # sizes are now more than the labels count
    assert same_sums(CRLM.load(tmp_path / "b.crlm.npz"), model)


def test_blocks_and_threads_do_not_change_the_file(tmp_path):
    weights = np.arange(len(X)) % 3
    for name, data, jobs in (("a", X, 1), ("b", ArraySource(X, 130), 2)):
        model = CRLM(5.0, n_landmarks=400, n_jobs=jobs).fit(data, sample_weight=weights)
        model.n_jobs = None
        model.save(tmp_path / f"{name}.crlm.npz")
    contents = {path.read_bytes() for path in tmp_path.iterdir()}
    assert len(contents) == 1
    assert np.array_equal(CRLM.load(tmp_path / "a.crlm.npz")._sample_weight, weights)


def test_rows_that_are_not_those_of_the_fit_are_refused(tmp_path):
    model = fitted(X, n_landmarks=400)
    model.report(tmp_path / "a.html", X)
    other = X.copy()
    other[7, 3] += 1e-9
    for wrong in (other, X[::-1]):
        with pytest.raises(InputError, match="some of 1,500 rows differ"):
            model.report(tmp_path / "b.html", wrong)
    with pytest.raises(InputError, match="1,499 x 20"):
        model.report(tmp_path / "b.html", X[1:])


def test_a_report_says_why_there_is_no_certificate(tmp_path):
    text = fitted(X, n_landmarks=400).report(tmp_path / "a.html", X).read_text()
    assert "No certificate: 400 of 1,500 rows, drawn at random, were tried as centres" in text
    assert "A cluster with 1.1 % of the rows or more has one of them" in text
    assert "the model has landmarks, and a fit at another bandwidth reads all rows again" in text
    assert "--landmarks 400" in text
    assert "Each bar is a margin" not in text
    every = fitted(X, n_landmarks=1500).report(tmp_path / "b.html", X).read_text()
    assert "a fit with landmarks makes none, though every row was one" in every
    nothing = fitted(X, n_landmarks=1).report(tmp_path / "c.html", X).read_text()
    assert "Only 1 row could be centres: a cluster without a landmark is not seen" in nothing


def test_a_share_that_has_a_candidate_is_the_plan_turned_round():
    for weight in (0.2, 0.01, 0.0003):
        m = theory.plan_candidates(weight, 0.05, k=1)
        assert theory.candidate_weight(m, 0.05) <= weight < theory.candidate_weight(m - 1, 0.05)
