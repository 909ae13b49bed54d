"""Clusters with so few of the rows that they do not show in a sample."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from crlm import CRLM, estimate_sigma
from crlm.background.references import References
from crlm.background.significance import Background
from crlm.bandwidth.rare import rare_path
from crlm.errors import MemoryLimitError, WeakEvidenceWarning


def in_a_ball(rng, n, d, radius):
    z = rng.normal(size=(n, d))
    return (
        radius * z / np.linalg.norm(z, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)
    )


def rare(seed, n=8000, d=10, sizes=(4, 5), D=20.0):
    """Background in a ball, and a few rows close together."""
    rng = np.random.default_rng(seed)
    background = in_a_ball(rng, n - sum(sizes), d, D * np.sqrt(d))
    centers = in_a_ball(rng, len(sizes), d, 0.7 * D * np.sqrt(d))
    tight = [c + rng.normal(size=(size, d)) for c, size in zip(centers, sizes, strict=True)]
    truth = np.repeat(np.arange(-1, len(sizes)), [len(background), *sizes])
    order = rng.permutation(n)
    return np.vstack([background, *tight])[order], truth[order]


def same_sets(labels, truth):
    """Whether two labellings have the same clusters, whatever their numbers."""

    def sets(of):
        return {frozenset(np.flatnonzero(of == j)) for j in range(of.max() + 1)}

    return sets(labels) == sets(truth)


@pytest.mark.parametrize(
    ("n", "d", "sizes"), [(8000, 10, (4, 5)), (20_000, 20, (10,)), (8000, 60, (4, 4, 5))]
)
def test_a_thousandth_of_the_rows_is_found(n, d, sizes):
    X, truth = rare(0, n, d, sizes)
    model = CRLM().fit(X)
    assert same_sets(model.labels_, truth)
    assert (model.p_values_ <= 0.01).all()
    estimate = model.sigma_estimate_
    assert estimate.rare
    assert estimate.evidence == "clear"
    assert len(estimate.peaks) == len(sizes)
    assert all(0.6 < peak < 1.4 for peak in estimate.peaks)  # of standard deviation 1
    assert estimate.plateau[0] <= model.sigma_max_ <= estimate.plateau[1]
    assert estimate.gap > 1.5


def test_what_is_suggested_is_what_a_fit_takes():
    X, _ = rare(1)
    estimate, taken = estimate_sigma(X), CRLM().fit(X).sigma_estimate_
    assert estimate.rare
    assert estimate.suggested == taken.suggested
    np.testing.assert_array_equal(estimate.net, taken.net)


def test_labels_follow_rows_and_units():
    X, _ = rare(2)
    labels = CRLM().fit(X).labels_
    assert labels.max() == 1
    order = np.random.default_rng(5).permutation(len(X))
    assert same_sets(CRLM().fit(X[order]).labels_, labels[order])
    for scale in (2.0**-70, 2.0**60):
        np.testing.assert_array_equal(CRLM().fit(X * scale).labels_, labels)
    np.testing.assert_array_equal(CRLM(n_jobs=1).fit(X).labels_, labels)
    np.testing.assert_array_equal(CRLM(memory_limit="200MB").fit(X).labels_, labels)
    twice = np.hstack([X, X])
    np.testing.assert_array_equal(CRLM().fit(twice).labels_, labels)


def test_copies_of_rows_are_no_rare_cluster():
    X, truth = rare(3)
    background = np.flatnonzero(truth < 0)
    copies = np.repeat(X[background[:3]], 20, axis=0)
    model = CRLM().fit(np.vstack([X, copies]))
    assert same_sets(model.labels_[: len(X)], truth)
    assert (model.labels_[len(X) :] < 0).all()
    assert model.n_duplicates_ == 60


@pytest.mark.parametrize("d", [2, 5, 30])
@pytest.mark.parametrize("kind", ["ball", "normal", "box"])
def test_nothing_is_found_in_many_rows_of_background(kind, d):
    rng = np.random.default_rng([d, len(kind)])
    n = 5000
    X = in_a_ball(rng, n, d, 1.0) if kind == "ball" else rng.normal(size=(n, d))
    X = rng.uniform(size=(n, d)) if kind == "box" else X
    with pytest.warns(WeakEvidenceWarning):
        model = CRLM().fit(X)
    assert model.n_clusters_ == 0
    assert not model.sigma_estimate_.rare


def test_skewed_columns_are_no_clusters_however_many_rows_there_are():
    # An arm of 2,048 exponential rows is one of its decoys too; nine times as many rows make it
    # nine times as surprising.
    X = np.random.default_rng(4).standard_exponential((18_000, 12))
    with pytest.warns(WeakEvidenceWarning):
        assert CRLM().fit(X).n_clusters_ == 0


def test_a_rare_cluster_is_found_in_skewed_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_exponential((12_000, 20))
    X = np.vstack([X, X.mean(axis=0) + 0.1 * rng.normal(size=(15, 20))])
    labels = CRLM().fit(X).labels_
    assert set(np.flatnonzero(labels == 0)) == set(range(12_000, 12_015))
    assert labels.max() == 0


def test_a_sample_is_not_looked_at_from_near():
    X, _ = rare(1)
    weights = np.ones(len(X), dtype=np.int64)
    assert References.choose(X, weights).is_sample
    assert not References.choose(X[:2000], weights[:2000]).is_sample
    assert not References.choose(X, weights, n=50_000).is_sample


@pytest.mark.parametrize("d", [3, 6])
def test_a_quick_look_counts_what_is_there(d):
    """Sizes, surprises and the sum against their definitions, with all distances."""
    X, _ = rare(4, n=2500, d=d, sizes=(6, 8), D=60.0)
    references = References.choose(X, np.ones(len(X), dtype=np.int64))
    path = rare_path(X, references, 0.01)
    D = cdist(X, X)
    near = np.sort(D[np.triu_indices(len(X), 1)])
    near = near[near < path._near.R0]
    assert 24 < len(near) / len(X) < 40
    delta = np.log(4.0) / np.log(path._near.R0 / near[len(near) // 4])
    contrast = 1.0 if d == 3 else 2.0
    found = path.clusters()
    assert max(len(balls) for balls in found) >= 2
    for balls, R, net in zip(found, path.radii, path.net(found), strict=True):
        total, gone = 0.0, set()
        for ball in balls:
            members = set(np.flatnonzero(D[ball.center] < R)) - gone
            gone |= members
            assert set(ball.members) == members
            N, q = (D[ball.center] < path._near.R0).sum() - 1, (R / path._near.R0) ** delta
            expected = -stats.binom.logsf(len(members) - 2, N, min(1.0, contrast * q))
            assert ball.surprise == pytest.approx(expected, rel=1e-6)
            assert ball.surprise >= np.log(len(X) / 0.01)
            total += max(0.0, len(members) - 2.0 * min(len(members) - 1.0, q * N))
        assert net == pytest.approx(total)


def test_no_ball_that_is_surprising_is_passed_over():
    X, _ = rare(5, n=2500, d=6, sizes=(6, 8))
    path = rare_path(X, References.choose(X, np.ones(len(X), dtype=np.int64)), 0.01)
    D = np.sort(cdist(X, X), axis=1)[:, 1:]
    near = np.sort(cdist(X, X)[np.triu_indices(len(X), 1)])
    near = near[near < path._near.R0]
    delta = np.log(4.0) / np.log(path._near.R0 / near[len(near) // 4])
    N = (D < path._near.R0).sum(axis=1)
    m = np.arange(2, 65)
    q = np.minimum(1.0, 2.0 * (D[:, 1:64] / path._near.R0) ** delta)
    surprise = np.where(D[:, 1:64] < path._near.R0, -stats.binom.logsf(m - 1, N[:, None], q), 0.0)
    rows = np.flatnonzero((surprise >= np.log(len(X) / 0.01)).any(axis=1))
    assert set(rows) <= set(path._some.tolist())
    assert len(rows) >= 10


def test_without_memory_for_the_pairs_the_sample_has_the_word(monkeypatch):
    def refuse(*args, **kwargs):
        raise MemoryLimitError("too many pairs")

    monkeypatch.setattr("crlm.bandwidth.near.pairs_within", refuse)
    X, _ = rare(1)
    with pytest.warns(WeakEvidenceWarning):
        assert CRLM().fit(X).n_clusters_ == 0


def test_decoys_of_a_right_background_take_nothing_off():
    X = in_a_ball(np.random.default_rng(6), 4000, 10, 1.0)
    inflation = Background.learn(X, np.ones(len(X), dtype=np.int64)).inflation
    assert (inflation.few, inflation.each) == (1.0, 0.0)


def test_arms_are_as_much_more_surprising_as_they_have_more_rows():
    X = np.random.default_rng(1).standard_exponential((8192, 8))
    background = Background.learn(X, np.ones(len(X), dtype=np.int64))
    inflation = background.inflation
    assert inflation.severe > 1.5  # which is that of balls of many points:
    assert inflation.few < inflation.severe
    assert inflation.each > 0.1
    surprise, m = np.array([100.0, 100.0]), np.array([10, 1000])
    of_few, of_many = background._deflated(surprise, m, severe=True)
    assert of_few > 50.0 > 0.0 > of_many
    few_rows = Background.learn(X[:2000], np.ones(2000, dtype=np.int64))
    np.testing.assert_allclose(
        few_rows._deflated(surprise, m, severe=True), 100.0 / few_rows.inflation.severe
    )


def test_the_command_and_the_report_say_that_all_rows_were_looked_at(run, tmp_path):
    X, _ = rare(1)
    data, model, report = (tmp_path / name for name in ("X.npy", "X.crlm.npz", "X.html"))
    np.save(data, X)
    code, out, _ = run("sigma", data)
    assert code == 0
    assert "rows          all were looked at: in a sample these clusters do not show" in out
    assert run("fit", data)[0] == 0
    assert run("report", model, "-o", report)[0] == 0
    assert "The bars are of a sample, in which clusters with so few" in report.read_text()


def test_a_saved_model_remembers_it(tmp_path):
    X, _ = rare(1)
    model = CRLM().fit(X)
    model.save(tmp_path / "model.crlm.npz")
    assert CRLM.load(tmp_path / "model.crlm.npz").sigma_estimate_.rare
