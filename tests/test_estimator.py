"""CRLM as users meet it: inputs of every kind, attributes, predict, reprs."""

from functools import partial

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import crlm.estimator
from crlm import CRLM, GMMUB, estimate_sigma, scores
from crlm.errors import WeakEvidenceWarning
from crlm.search import neighbourhood
from strategies import data_sets


@pytest.fixture(scope="module")
def toy():
    model = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    return model.sample(1500, rng=1)


@pytest.fixture(scope="module")
def fitted(toy):
    return CRLM(7.0).fit(toy[0])


def test_fitted_attributes_describe_one_and_the_same_partition(toy, fitted):
    X, truth = toy
    assert scores.f_measure(truth, fitted.labels_) == 1.0
    assert fitted.n_clusters_ == 3
    assert fitted.labels_.dtype == np.int64
    for j in range(3):
        members = X[fitted.labels_ == j]
        assert fitted.cluster_sizes_[j] == len(members)
        assert fitted.cluster_centers_[j] == pytest.approx(members.mean(axis=0))
        sq_dev = np.square(members - members.mean(axis=0)).sum()
        assert fitted.sigmas_[j] ** 2 == pytest.approx(sq_dev / (30 * (len(members) - 1)))
        assert fitted.labels_[fitted.center_indices_[j]] == j
        assert np.array_equal(fitted.ball_centers_[j], X[fitted.center_indices_[j]])
    assert fitted.weights_ == pytest.approx(fitted.cluster_sizes_ / 1500)
    assert fitted.background_weight_ == pytest.approx((fitted.labels_ == -1).mean())
    assert fitted.radius_ == pytest.approx(7.0 * np.sqrt(30 * 4))
    assert (fitted.sigma_max_, fitted.G_, fitted.sigma_estimate_) == (7.0, 4.0, None)
    assert fitted.n_features_in_ == 30


def test_no_cluster_is_an_answer_with_empty_attributes_of_the_right_shape():
    model = CRLM(1e-3).fit(np.random.default_rng(0).normal(size=(20, 3)))
    assert model.n_clusters_ == 0
    assert set(model.labels_) == {-1}
    assert model.cluster_centers_.shape == model.ball_centers_.shape == (0, 3)
    assert model.background_weight_ == 1.0
    assert model.predict([[0.0, 0.0, 0.0]]).tolist() == [-1]
    assert model.predict_proba([[0.0, 0.0, 0.0]]).tolist() == [[1.0]]


@given(data_sets())
@settings(max_examples=200, deadline=None)
def test_predict_on_the_training_data_gives_the_labels(data):
    X, sigma_max, G = data
    model = CRLM(sigma_max, G=G, alpha=None).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


@given(data_sets(max_d=8, dtypes=["float64", "float32"]))
@settings(max_examples=100, deadline=None)
def test_predict_on_the_training_data_gives_the_labels_for_cosine_too(data):
    X, sigma_max, _ = data
    X = X + 0.5  # no row of zeros
    model = CRLM(min(sigma_max, 0.3), metric="cosine", alpha=None).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


def test_predict_takes_the_first_ball_in_the_order_found(fitted):
    new = fitted.ball_centers_ + 0.01
    assert fitted.predict(new).tolist() == [0, 1, 2]
    assert fitted.predict(np.full((1, 30), 1e6)).tolist() == [-1]


def test_posterior_is_certain_at_the_centres_and_in_the_background(toy, fitted):
    X, _ = toy
    proba = fitted.predict_proba(X)
    assert proba.shape == (1500, 4)
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(proba.argmax(axis=1), np.where(fitted.labels_ < 0, 3, fitted.labels_))
    far = fitted.predict_proba(np.full((1, 30), 1e9))
    assert far[0, 3] == pytest.approx(1.0)


def test_a_cluster_of_copies_has_no_spread_and_still_a_posterior():
    X = np.vstack([np.zeros((5, 4)), np.random.default_rng(0).normal(0, 50, (20, 4))])
    model = CRLM(1.0, max_clusters=1, alpha=None).fit(X)
    assert model.sigmas_.tolist() == [0.0]
    assert model.predict_proba(X[:1]) == pytest.approx(np.array([[1.0, 0.0]]))


# ---- one answer, however the numbers arrive -------------------------------------------


def lattice_like(n=200, d=6):
    """Whole numbers: exact in every dtype, so every dtype must give the same labels."""
    rng = np.random.default_rng(3)
    return np.vstack([rng.integers(0, 3, (n // 4, d)), rng.integers(0, 120, (n - n // 4, d))])


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "longdouble", "int8", "uint8", "int32", "uint64"]
)
def test_every_dtype_gives_the_same_labels(dtype):
    X = lattice_like()
    assert np.array_equal(
        CRLM(3.0, alpha=None).fit(X.astype(dtype)).labels_, CRLM(3.0, alpha=None).fit(X).labels_
    )


def test_memory_layout_changes_nothing_and_the_input_is_never_written_to(tmp_path):
    X = lattice_like().astype(np.float32)
    expected = CRLM(3.0, alpha=None).fit(X).labels_
    np.save(tmp_path / "x.npy", X)
    wide = np.zeros((400, 12), dtype=np.float32)
    wide[::2, ::2] = X
    inputs = {
        "Fortran order": np.asfortranarray(X),
        "strided view": wide[::2, ::2],
        "reversed view": np.ascontiguousarray(X[::-1])[::-1],
        "read-only memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "big-endian": X.astype(">f4"),
        "list of lists": X.tolist(),
    }
    for name, given_X in inputs.items():
        before = np.array(given_X, copy=True)
        if isinstance(given_X, np.ndarray) and given_X.flags.writeable:
            given_X.flags.writeable = False
        model = CRLM(3.0, alpha=None).fit(given_X)
        assert np.array_equal(model.labels_, expected), name
        assert np.array_equal(model.predict(given_X), expected), name
        assert np.array_equal(before, given_X), name


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dataframes_give_the_same_labels_and_keep_their_column_names(make):
    X = lattice_like().astype(np.float64)
    names = [f"f{i}" for i in range(X.shape[1])]
    table = make({name: X[:, i] for i, name in enumerate(names)})
    model = CRLM(3.0, alpha=None).fit(table)
    assert np.array_equal(model.labels_, CRLM(3.0, alpha=None).fit(X).labels_)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(nw.from_native(table).rename({"f0": "other"}).to_native())


def test_an_exact_fit_draws_no_random_number(toy):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    CRLM(7.0, random_state=generator).fit(toy[0][:100])
    assert generator.bit_generator.state == before


def test_a_row_next_to_zero_is_predicted_alone_as_among_others():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((150, 4)), 0.01 * rng.normal(size=(30, 4))])
    X[7] = 1e-160
    model = CRLM().fit(X)
    assert model.predict(X[7:8]) == model.labels_[7] == 0
    assert np.array_equal(model.predict_proba(X[7:8]), model.predict_proba(X)[7:8])
    in_blocks = CRLM(model.sigma_max_, n_landmarks=180).fit(lambda: [X[:7], X[7:8], X[8:]])
    assert np.array_equal(in_blocks.labels_, model.labels_)


NAMES = [
    [0, 1, 2],
    [0.5, 1.5, np.nan],
    [("a", 1), ("a", 2), ("b", 1)],
    pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    pd.date_range("2020-01-01", periods=3),
    [True, False, None],
    ["a", 1, 2],
]


@pytest.mark.parametrize("kind", [int, "float32", "Int64", object])
@pytest.mark.parametrize("names", NAMES, ids=str)
def test_columns_of_pandas_may_be_called_anything(names, kind):
    X = np.random.default_rng(0).integers(0, 9, (30, 3))
    frame = pd.DataFrame(X, columns=names).astype(kind)
    model = CRLM(1.0, alpha=None).fit(frame)
    assert np.array_equal(model.labels_, CRLM(1.0, alpha=None).fit(X).labels_)
    assert np.array_equal(model.predict(frame), model.labels_)
    assert not hasattr(model, "feature_names_in_")  # scikit-learn keeps words only
    assert estimate_sigma(frame).suggested == estimate_sigma(X).suggested


def test_thread_count_block_size_memory_limit_and_engine_change_no_bit(toy, monkeypatch):
    X, _ = toy
    expected = CRLM(7.0, n_jobs=1).fit(X)
    variants = [CRLM(7.0, n_jobs=n) for n in (2, 5, -1)]
    variants += [CRLM(7.0, memory_limit=limit) for limit in ("100MB", "20GB")]
    for model in variants:
        assert_same_fit(model.fit(X), expected)
    engines = [{"_engine": engine} for engine in ("tree", "stream", "dense")]
    for private in ({"_block": 64}, {"_block": 333}, *engines):
        monkeypatch.setattr(crlm.estimator, "neighbourhood", partial(neighbourhood, **private))
        assert_same_fit(CRLM(7.0).fit(X), expected)


def assert_same_fit(a, b):
    names = ["labels_", "losses_", "sigmas_", "cluster_centers_", "center_indices_"]
    for name in names:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_cosine_is_euclidean_on_rows_of_unit_length(toy):
    X, _ = toy
    unit = X / np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    sigma_max = 0.02
    cosine = CRLM(sigma_max, metric="cosine", alpha=None).fit(X)
    plain = CRLM(sigma_max, alpha=None).fit(unit)
    assert cosine.n_clusters_ > 0
    assert np.array_equal(cosine.labels_, plain.labels_)
    stretched = X * np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    assert np.array_equal(
        CRLM(sigma_max, metric="cosine", alpha=None).fit(stretched).labels_, plain.labels_
    )


def test_lengths_that_overflow_when_squared_still_have_a_direction():
    X = np.array([[1e140, 1e140], [2e140, 2e140], [-1e140, 1e140], [1e-140, 1e-140]])
    assert CRLM(0.01, metric="cosine", alpha=None).fit(X).labels_.tolist() == [0, 0, -1, 0]


def test_fractional_weights_count_as_parts_of_a_point():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [10.2]])
    model = CRLM(1.0, alpha=None).fit(X, sample_weight=[1.5, 1.5, 0.5, 0.5, 0.5])
    assert model.labels_.tolist() == [0, 0, -1, -1, -1]
    light = CRLM(1.0, min_cluster_size=1, alpha=None).fit(
        X, sample_weight=[1.5, 1.5, 0.5, 0.5, 0.5]
    )
    assert light.labels_.tolist() == [0, 0, 1, 1, 1]
    assert light.cluster_sizes_.tolist() == [3.0, 1.5]


def test_a_row_of_weight_zero_is_labelled_but_counts_for_nothing():
    X = np.array([[0.0], [0.5], [1.0], [50.0]])
    model = CRLM(1.0, alpha=None).fit(X, sample_weight=[1, 0, 1, 0])
    assert model.labels_.tolist() == [0, 0, 0, -1]
    assert model.cluster_centers_.tolist() == [[0.5]]
    assert model.cluster_sizes_.tolist() == [2]
    assert np.array_equal(model.predict(X), model.labels_)


def test_G_auto_takes_the_depth_from_the_number_of_points_and_the_dimension(toy):
    X, truth = toy
    model = CRLM(7.0, G="auto").fit(X)
    assert 1.0 < model.G_ < 4.0
    assert scores.f_measure(truth, model.labels_) == 1.0


def test_auto_finds_the_clusters_with_no_parameter_at_all(toy):
    X, truth = toy
    model = CRLM().fit(X)
    assert scores.f_measure(truth, model.labels_) == 1.0
    assert model.sigma_estimate_.evidence == "clear"
    assert model.sigma_max_ == model.sigma_estimate_.suggested


def test_auto_warns_and_goes_on_when_the_evidence_is_weak():
    X = np.random.default_rng(0).normal(size=(100, 10))
    with pytest.warns(WeakEvidenceWarning, match="differ from background alone"):
        model = CRLM().fit(X)
    assert model.sigma_estimate_.evidence == "weak"
    assert model.sigma_max_ > 0


def test_weak_evidence_is_put_down_to_units_if_one_column_makes_the_distances():
    X = np.random.default_rng(0).normal(size=(100, 4)) * [1.0, 1.0, 1e4, 1.0]
    with pytest.warns(WeakEvidenceWarning, match=r"Column 2 \(from 0\) makes 100.0 %"):
        CRLM().fit(X)
    with pytest.warns(WeakEvidenceWarning) as told:
        CRLM().fit(X / [1.0, 1.0, 1e4, 1.0])
    assert "Column" not in str(told[0].message)


@pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")
@pytest.mark.parametrize(
    ("X", "labels"),
    [
        (np.zeros((1, 1)), [-1]),
        (np.zeros((4, 3)), [-1, -1, -1, -1]),  # copies are no evidence
        (np.array([[0.0], [5.0]]), None),
        (np.array([[1e-140], [2e-140], [9e-140]]), None),
        (np.array([[1e140], [2e140], [9e140]]), None),
    ],
)
def test_auto_never_refuses_valid_data(X, labels):
    model = CRLM().fit(X)
    assert len(model.labels_) == len(X)
    assert labels is None or model.labels_.tolist() == labels


def test_the_metric_of_the_fit_is_the_one_that_predicts(toy, fitted):
    X, _ = toy
    model = CRLM(7.0).fit(X)
    model.metric = "cosine"
    assert np.array_equal(model.predict(X), fitted.labels_)


def test_a_fit_that_is_interrupted_leaves_the_earlier_one_whole(toy):
    X, _ = toy

    def interrupt(done, total):
        raise KeyboardInterrupt

    model = CRLM(7.0).fit(X)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.set_params(progress=interrupt).fit(X[:, :20])
    assert {**vars(model), "progress": None} == before
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_any_number_may_be_asked_for_of_clusters_and_threads(toy, fitted):
    model = CRLM(7.0, max_clusters=10**30, n_jobs=10**30).fit(toy[0])
    assert_same_fit(model, fitted)


def test_refitting_without_names_forgets_the_names_of_the_first_fit():
    model = CRLM(1.0, alpha=None).fit(pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0]}))
    model.fit(np.zeros((3, 3)))
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(np.zeros((3, 3))).tolist() == [0, 0, 0]


def test_a_row_alone_is_no_cluster_whatever_the_weights():
    X = np.array([[0.0], [10.0], [20.0]])
    for weights in ([1, 1, 1], [0.5, 1.0, 0.25]):
        assert (
            CRLM(1.0, min_cluster_size=1, alpha=None).fit(X, sample_weight=weights).n_clusters_ == 0
        )


def test_refitting_forgets_the_first_fit(toy):
    X, _ = toy
    model = CRLM(7.0).fit(X)
    assert_same_fit(model.fit(X[:500]), CRLM(7.0).fit(X[:500]))


# ---- what people see ----------------------------------------------------------------------


def test_text_repr_says_what_was_found(fitted):
    first, header, *rows = repr(fitted).splitlines()
    assert first.startswith("CRLM(sigma_max=7.0): 3 clusters, ")
    assert "of 1,500 rows" in first
    assert header.split() == ["#", "size", "sigma", "p", "loss"]
    assert [row.split()[3] for row in rows] == ["<1e-16"] * 3
    assert [int(row.split()[1]) for row in rows] == fitted.cluster_sizes_.tolist()
    assert repr(CRLM(7.0)) == "CRLM(sigma_max=7.0)"


def test_html_repr_is_a_table_without_script(fitted):
    html = fitted._repr_mimebundle_()["text/html"]
    assert html.count("<tr>") == 1 + 3
    assert "<script" not in html
    assert f"{fitted.sigmas_[0]:.4g}" in html
    assert "sk-" in CRLM()._repr_mimebundle_()["text/html"]  # scikit-learn's own, unfitted


def test_many_clusters_are_cut_short_in_the_repr():
    X = np.repeat(np.arange(30.0) * 100, 2)[:, None]
    model = CRLM(1.0, alpha=None).fit(X)
    assert model.n_clusters_ == 30
    assert "... and 20 more" in repr(model)
    assert "... and 20 more" in model._repr_mimebundle_()["text/html"]
