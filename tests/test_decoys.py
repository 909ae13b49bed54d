"""Decoys have the columns of the data and no clusters; what they show is no evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crlm import CRLM, GMMUB
from crlm.background.decoys import column_decoys, normal_decoys, stretched_decoys
from crlm.background.inflation import _Shown, inflation
from crlm.background.significance import Background
from crlm.errors import WeakEvidenceWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning"),
    pytest.mark.filterwarnings("ignore::crlm.errors.TooLargeWarning"),
]

DRAWS = {
    "exponential": lambda rng: rng.exponential(size=(1000, 5)),
    "lognormal": lambda rng: rng.lognormal(size=(1000, 12)),
    "chi2": lambda rng: rng.chisquare(1, size=(1000, 12)),
    "0 and 1": lambda rng: (rng.random((1000, 12)) < 0.3).astype(float),
}


def learn(X):
    points = np.ascontiguousarray(X, dtype=np.float64)
    return Background.learn(points, np.ones(len(points), dtype=np.int64))


def first(points, step=1, **kind):
    return column_decoys(np.ascontiguousarray(points, dtype=np.float64), step, **kind)(0)


@pytest.mark.parametrize("kind", DRAWS)
def test_columns_that_look_like_clusters_are_none(kind):
    deceived = 0
    for seed in range(4):
        X = DRAWS[kind](np.random.default_rng(seed))
        found = learn(X)
        deceived += found.surprise >= found.needed
        assert found.alone
    assert deceived >= 2  # without decoys there would have been clusters
    model = CRLM().fit(X)
    assert model.n_clusters_ == 0
    assert model.sigma_estimate_.evidence == "weak"


@pytest.mark.parametrize("kind", ["exponential", "0 and 1"])
def test_a_cluster_among_such_columns_is_found_without_them(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = DRAWS[kind](rng).astype(float)
        X[:40] = X[5] + 0.05 * rng.normal(size=(40, X.shape[1]))
        labels = CRLM().fit_predict(X)
        assert labels.max() == 0
        assert ((labels == 0) == (np.arange(len(X)) < 40)).mean() > 0.99


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("more", [0, 3])
def test_a_cluster_along_the_one_column_that_counts_is_found(share, more):
    """A decoy of one column is that column; only its smoothing takes the cluster out."""
    rng = np.random.default_rng(0)
    n_members = round(600 * share)
    x = rng.uniform(-20.0, 20.0, 600)
    x[:n_members] = 3.0 + 0.3 * rng.normal(size=n_members)
    X = np.column_stack([x, 1e-3 * rng.normal(size=(600, more))])
    assert not learn(X).alone
    assert CRLM().fit(X).n_clusters_ == 1


def test_decoys_of_the_model_show_little():
    for seed in range(5):
        model = GMMUB.draw(k=3, d=10, sigmas=1, weights=0.03, D=30, sigma_max=2.1, rng=seed)
        found = learn(model.sample(500, rng=seed)[0])
        assert found.inflation.severe < 1.5
        assert found.inflation.simple < 1.2
        assert found.surprise > 5.0 * found.inflation.severe * found.needed
        assert not found.alone


def test_inflation_of_many_rows_is_read_at_a_glance(monkeypatch):
    asked = []

    def counted(points, step=1, **kind):
        draw = column_decoys(points, step, **kind)

        def one(seed):
            asked.append(len(decoy := draw(seed)))
            return decoy

        return one

    monkeypatch.setattr("crlm.background.inflation.column_decoys", counted)
    model = GMMUB.draw(k=3, d=10, sigmas=1, weights=0.03, D=30, sigma_max=2.1, rng=0)
    assert not learn(model.sample(2000, rng=0)[0]).alone
    assert asked == [500, 500, 500]
    asked.clear()
    assert learn(np.random.default_rng(0).lognormal(size=(1200, 12))).alone
    assert asked == 6 * [300] + 6 * [1200]  # three more where three show much
    asked.clear()
    assert learn(np.random.default_rng(0).normal(size=(1200, 12))).alone
    assert asked == []  # nobody asked for clusters there


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.integers(1, 6))
def test_decoys_follow_neither_the_order_of_rows_nor_copies_of_columns(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d)) + rng.choice([0.0, 1.0], d) * rng.random((n, d))
    before = X.copy()
    decoy = first(X)
    assert decoy.shape == X.shape
    assert np.array_equal(X, before)
    assert np.array_equal(first(X[rng.permutation(n)]), decoy) or _equal_columns(X)
    # Each column as often as one likes, anywhere after the first
    which = np.concatenate([np.arange(d), rng.integers(d, size=4)])
    if not _equal_columns(X):
        assert np.array_equal(first(X[:, which]), decoy[:, which])
    low, high = X.min(axis=0), X.max(axis=0)
    assert ((decoy >= low) & (decoy <= high)).all()


def _equal_columns(X):
    """Columns that are equal by chance; fewer may be so in another order of the rows."""
    return len(np.unique(X, axis=1).T) < X.shape[1]


def test_decoys_keep_few_values_and_the_tails_but_no_cluster():
    rng = np.random.default_rng(0)
    counts, skewed, bump = rng.poisson(2.0, 2000), rng.lognormal(size=2000), rng.random(2000)
    bump[:200] = 0.5 + 1e-3 * rng.random(200)
    decoy = first(np.stack([counts, skewed, bump], axis=1))
    assert set(decoy[:, 0]) <= set(counts.tolist())
    quantiles = [0.0, 0.02, 0.16, 0.5, 0.84, 0.98, 1.0]
    for own, other in ((skewed, decoy[:, 1]), (bump, decoy[:, 2])):
        expected = pytest.approx(np.quantile(own, quantiles), rel=0.3, abs=0.02)
        assert np.quantile(other, quantiles) == expected
    assert (np.abs(decoy[:, 2] - 0.5005) < 5e-4).sum() < 30
    assert np.abs(np.corrcoef(decoy.T) - np.eye(3)).max() < 0.1


@pytest.mark.parametrize("is_flat", [False, True])
def test_a_value_that_many_rows_share_is_as_common_in_decoys(is_flat):
    rng = np.random.default_rng(0)
    X = rng.normal(5, 1, (500, 3)) * (rng.random((500, 3)) < 0.3)  # 70 % zeros
    X[:, 1] = np.clip(rng.normal(size=500), -1, 1)  # a sixth at each end
    decoy = column_decoys(X, is_flat=is_flat)(0)
    for common in (0.0, -1.0, 1.0):
        in_decoy, in_data = ((of == common).sum(axis=0) for of in (decoy, X))
        assert np.array_equal(in_decoy, in_data)
    assert not np.isin(decoy[:, 0][decoy[:, 0] != 0.0], X[:, 0]).all()  # the rest is smoothed


@pytest.mark.parametrize("n", [300, 800])
def test_columns_of_which_most_are_zeros_are_no_clusters(n):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(5, 1, (n, 10)) * (rng.random((n, 10)) < 0.3)
        with pytest.warns(WeakEvidenceWarning):
            assert CRLM().fit(X).n_clusters_ == 0


def test_every_decoy_is_another_one_and_a_step_takes_fewer_points():
    X = np.random.default_rng(0).normal(size=(100, 3))
    for decoys in (column_decoys, normal_decoys):
        draw = decoys(X)
        assert not np.array_equal(draw(0), draw(1))
        assert decoys(X, 4)(0).shape == (25, 3)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.integers(1, 6))
def test_normal_decoys_follow_rows_in_any_order(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d)) + rng.choice([0.0, 1.0]) * rng.random((n, d))
    decoy = normal_decoys(X)(0)
    assert decoy.shape == X.shape
    assert np.array_equal(normal_decoys(X[rng.permutation(n)])(0), decoy)
    assert np.array_equal(normal_decoys(X * 8.0)(0), decoy * 8.0)


def test_normal_decoys_have_the_covariance_and_nothing_else():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.exponential(size=(2000, 5)), axis=1)
    X[:200] = X[0] + 0.01 * rng.normal(size=(200, 5))
    decoy = normal_decoys(X)(0)
    assert np.cov(decoy.T) == pytest.approx(np.cov(X.T), rel=0.2, abs=0.2)
    skew = (((decoy - decoy.mean(axis=0)) / decoy.std(axis=0)) ** 3).mean(axis=0)
    assert np.abs(skew).max() < 0.25
    assert not learn(X).alone
    assert learn(decoy).surprise < learn(X).surprise / 10.0


def test_the_rest_is_not_asked_of_a_sample_with_a_crowded_middle_either():
    """Around one of many rows there are more points than around one of the references."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 300)) / np.sqrt(rng.chisquare(5, size=(8000, 1)) / 5.0)
    found = learn(X)
    assert found.by_all < found.surprise < found.needed
    assert CRLM(0.6264308486522229).fit(X).n_clusters_ == 0


LENGTHS = {
    "t": lambda rng: 1.0 / np.sqrt(rng.chisquare(5, size=(1500, 1)) / 5.0),
    "lognormal": lambda rng: rng.lognormal(sigma=0.5, size=(1500, 1)),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_stretched_decoys_are_as_far_from_the_middle_as_the_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 30)) * LENGTHS[kind](rng)
    X[:100] = X.mean(axis=0) + 0.01 * rng.normal(size=(100, 30))  # but for a cluster
    X[:100] += X[100]
    decoy = stretched_decoys(X)(0)
    shares = np.linspace(0.02, 0.98, 25)
    far = [np.quantile(np.linalg.norm(of - of.mean(axis=0), axis=1), shares) for of in (X, decoy)]
    assert far[1] == pytest.approx(far[0], rel=0.12)
    assert learn(decoy).surprise < learn(X).surprise / 10.0


@pytest.mark.parametrize("seed", [2, 5])
def test_where_decoys_have_a_crowded_middle_nothing_is_left_out_of_the_background(seed):
    """With the growth of the rest, the middle of Student's t in many dimensions is a cluster."""
    rng = np.random.default_rng(seed)
    found = learn(rng.normal(size=(1500, 500)) * LENGTHS["t"](rng))
    assert found.surprise > found.needed > found.by_all
    assert not found.with_rest
    assert found.alone


def walks(rng, n=400):
    return np.cumsum(rng.normal(size=(n, 60)), axis=1)


def rotated(rng):
    """Normal draws whose standard deviations fall as 1, 1/3, 1/5 along directions of no column."""
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    return rng.normal(size=(400, 40)) / np.arange(1, 80, 2) @ rotation


CORRELATED = {"walks": walks, "rotated": rotated}


@pytest.mark.parametrize("kind", CORRELATED)
def test_columns_that_hang_together_are_no_clusters(kind):
    deceived = 0
    for seed in range(8):
        found = learn(CORRELATED[kind](np.random.default_rng(seed)))
        deceived += found.surprise >= found.needed
        assert found.alone
    assert deceived >= 2


def test_a_cluster_of_random_walks_is_found_among_them():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = walks(rng)
        X[:40] = X[0] + 0.1 * walks(rng, 40)
        labels = CRLM().fit_predict(X)
        assert (labels[:40] == 0).sum() >= 35
        assert (labels[40:] == -1).all()


@pytest.mark.parametrize("kind", ["uniform", "normal", "exponential"])
def test_smoothed_columns_have_no_edges(kind):
    """Of kinks in two columns crowds would come, where one edge crosses another."""
    rng = np.random.default_rng(1)
    draw = {"uniform": rng.random, "normal": rng.standard_normal, "exponential": rng.exponential}
    column = np.sort(draw[kind](size=(4000, 1)), axis=0)
    decoy = np.sort(first(column, is_flat=True), axis=0)
    gaps = np.diff(decoy[200:-200, 0])  # the inverse of the density
    assert np.abs(np.log(gaps[1:] / gaps[:-1])).max() < 0.02
    assert np.abs(decoy - column)[200:-200].max() < 0.03 * np.ptp(column)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-310, 5e-324])
@pytest.mark.parametrize("is_flat", [False, True])
def test_a_column_may_be_tiny_beside_others(scale, is_flat):
    X = np.random.default_rng(0).random((300, 3))
    X[:, 1] *= scale
    decoy = first(X, is_flat=is_flat)
    assert ((decoy >= X.min(axis=0)) & (decoy <= X.max(axis=0))).all()


@pytest.mark.parametrize(("more", "severe"), [(3.0, 1.0), (8.0, 11.0 / np.log(300))])
def test_three_decoys_may_be_high_by_chance(monkeypatch, more, severe):
    """Six are not, and the test stays as it is; or they are, and the worst of them counts."""
    shown = iter([8.0, 7.0, 11.0, more, more, more])

    def show(points, margin):
        return _Shown(300, next(shown), 5.0, 5.0, 0.0)

    monkeypatch.setattr("crlm.background.inflation._shown", show)
    flat = learn(np.random.default_rng(0).random((300, 2)))
    assert inflation(flat.references, 99.0, flat.needed).severe == pytest.approx(severe)
    assert next(shown, None) is None


def test_a_square_is_as_good_as_its_decoys():
    """What decoys show is on average what the best ball of a background does."""
    shown = [learn(np.random.default_rng(seed).random((1000, 2))) for seed in range(8)]
    assert sum(background.inflation.severe > 1.0 for background in shown) <= 2


@pytest.mark.parametrize("d", [1, 8, 30, 31, 90])
def test_normal_decoys_have_the_covariance_with_few_columns_and_with_many(d):
    """Of sixty rows: by a root of it where there are up to thirty columns, or else by all rows."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d)) @ rng.normal(size=(d, d))
    X = np.hstack([X, X[:, :1], np.full((60, 1), 7.0)])  # a copy and a constant
    draw = normal_decoys(X)
    decoys = np.concatenate([draw(number) for number in range(400)])
    expected = np.cov(X.T, bias=True)
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    assert np.abs(decoys.T @ decoys / len(decoys) - expected).max() < 0.04 * scale.max()
    assert np.array_equal(decoys[:, 0], decoys[:, -2])
    assert not decoys[:, -1].any()


def test_columns_may_come_in_any_order_for_normal_decoys():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    order = rng.permutation(6)
    some, others = normal_decoys(X)(0), normal_decoys(X[:, order])(0)
    np.testing.assert_allclose(others, some[:, order], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_normal_decoys_of_copied_columns_are_copies_on_a_lattice_too(seed):
    rng = np.random.default_rng(seed)
    X = np.rint(rng.normal(size=(60, 5)))  # many rows are equally far from the middle
    decoy = normal_decoys(X)(0)
    copies = normal_decoys(np.hstack([X] * 4) / 2.0)(0)
    np.testing.assert_allclose(copies, np.hstack([decoy] * 4) / 2.0, atol=1e-12)
