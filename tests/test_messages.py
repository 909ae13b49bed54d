"""Every message of the library is raised once here, and its words are checked.

Those of the command line and of files are in test_cli.py and test_tables.py, those of the model
and the scores in test_model.py and test_scores.py.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from crlm import CRLM, estimate_sigma
from crlm.display import ClusterMapDisplay, SigmaHistogramDisplay
from crlm.errors import (
    CRLMError,
    InputError,
    MemoryLimitError,
    MissingExtraError,
    ParameterError,
    TooLargeWarning,
    TooSmallWarning,
    WeakEvidenceWarning,
)

X = np.arange(12.0).reshape(6, 2)
NAN = np.array([[0.0, 1.0], [np.nan, 2.0], [3.0, np.inf]])


def fit(data=X, weight=None, **parameters):
    return lambda: CRLM(**{"sigma_max": 1.0, **parameters}).fit(data, sample_weight=weight)


MESSAGES = [
    (fit(sigma_max=-1), ParameterError, ["sigma_max must be", "got -1", "0.8 times the spread"]),
    (fit(sigma_max=True), ParameterError, ["sigma_max must be", "got True"]),
    (fit(sigma_max=np.nan), ParameterError, ["sigma_max must be", "got nan"]),
    (fit(sigma_max=np.inf), ParameterError, ["sigma_max must be", "got inf"]),
    (fit(sigma_max="wide"), ParameterError, ["a positive number", "'auto' or", "got 'wide'"]),
    (fit(sigma_max=None), ParameterError, ["sigma_max must be", "got None"]),
    (fit(sigma_max=1e-200), ParameterError, ["sigma_max must be", "got 1e-200"]),
    (lambda: CRLM(1.0).path(X, 3.0), ParameterError, ["sigmas must be a list", "geomspace"]),
    (
        lambda: CRLM(1.0, n_landmarks=3).path(X, [1.0]),
        ParameterError,
        ["every row as a centre", "n_landmarks=3", "Leave n_landmarks out"],
    ),
    (fit(alpha=1.0), ParameterError, ["alpha must be", "between 0 and 1", "got 1.0", "0.01"]),
    (fit(alpha="low"), ParameterError, ["alpha must be", "or None", "got 'low'"]),
    (fit(G=1.0), ParameterError, ["G must be a number greater than 1", "got 1.0", "takes 4"]),
    (fit(G="big"), ParameterError, ["G must be", "or 'auto'", "got 'big'"]),
    (fit(max_clusters=0), ParameterError, ["max_clusters must be", "at least 1", "got 0", "None"]),
    (fit(max_clusters=2.0), ParameterError, ["max_clusters must be a whole number", "got 2.0"]),
    (fit(min_cluster_size=0), ParameterError, ["min_cluster_size must be", "got 0", "2 is the"]),
    (fit(min_cluster_size=True), ParameterError, ["min_cluster_size", "got True"]),
    (fit(metric="manhattan"), ParameterError, ["'euclidean' or 'cosine'", "got 'manhattan'"]),
    (fit(metric=["cosine"]), ParameterError, ["metric must be", "got ['cosine']"]),
    (fit(n_jobs=0), ParameterError, ["n_jobs must be", "got 0", "None or -1 uses every core"]),
    (fit(memory_limit="lots"), ParameterError, ["such as '2GB'", "got 'lots'"]),
    (fit(memory_limit="0GB"), ParameterError, ["memory_limit must be", "got '0GB'"]),
    (fit(memory_limit=-5), ParameterError, ["memory_limit must be", "got -5"]),
    (fit(progress=True), ParameterError, ["progress(done, total)", "got True"]),
    (fit(refine=1), ParameterError, ["refine must be True or False", "got 1"]),
    (fit(min_weight=0), ParameterError, ["min_weight must be", "got 0"]),
    (fit(delta=2), ParameterError, ["delta must be", "between 0 and 1", "got 2"]),
    (fit(random_state="x"), ParameterError, ["random_state must be None", "got 'x'"]),
    (
        fit(memory_limit="1MB"),
        MemoryLimitError,
        ["memory limit of 1 MB", "memory_limit='"],
    ),
    (fit(NAN), InputError, ["2 rows with NaN or inf", "first: 1, 2", "np.isfinite(X)"]),
    (fit(NAN[:2]), InputError, ["1 row with NaN or inf", "first: 1)"]),
    (fit(sigma_max=10**400), ParameterError, ["1e-150 to 1e150"]),
    (fit(X * 1e-200), InputError, ["no value larger than 1.1e-199", "Multiply X"]),
    (fit(np.ma.masked_less(X, 2.0)), InputError, ["2 masked values", "np.ma.compress_rows(X)"]),
    (fit({1.0, 2.0}), InputError, ["X is a set", "a list of rows or a dataframe"]),
    (fit({"a": [1.0, 2.0]}), InputError, ["X is a dict", "pandas.DataFrame(X)"]),
    (
        fit(np.zeros(9, dtype=[("x", "f8"), ("y", "f8")])),
        InputError,
        ["structured array with the fields 'x', 'y'", "structured_to_unstructured(X)"],
    ),
    (fit(X, memory_limit="1kB"), MemoryLimitError, ["memory limit of 1 kB", "Pass memory_limit"]),
    (fit(np.array([[1e151], [0.0]])), InputError, ["value of 1e+151", "row 0", "Divide X"]),
    (
        fit(np.array([[1e149] * 20, [0.0] * 20]), sigma_max=1e-10),
        InputError,
        ["times as large as the radius", "larger sigma_max"],
    ),
    (fit(X[:0]), InputError, ["0 sample(s)", "minimum of 1", "no rows", "a filter"]),
    (fit(X[:, :0]), InputError, ["0 feature(s)", "minimum of 1", "no columns"]),
    (fit(X[0]), InputError, ["Expected 2D array, got 1D: an array of", "reshape(-1, 1)"]),
    (fit([1.0, 2.0]), InputError, ["Expected 2D array, got 1D: an array of", "reshape(-1, 1)"]),
    (fit(None), InputError, ["rows by columns, got None", "Pass an array"]),
    (fit(np.zeros((5, 8, 8))), InputError, ["shape (5, 8, 8)", "X.reshape(len(X), -1)"]),
    (fit([[1.0, 2.0], [3.0]]), InputError, ["rows of different lengths", "crlm embed"]),
    (fit(np.array([["a"], ["b"]])), InputError, ["shape (2, 1), <U1", "X.astype(float)"]),
    (fit(X.astype("M8[D]")), InputError, ["datetime64", "np.timedelta64(1, 'D')"]),
    (fit(X.astype("m8[s]")), InputError, ["timedelta64", "np.timedelta64(1, 's')"]),
    (fit(np.array([[{}], [1]], dtype=object)), TypeError, ["has {} in row 0, column 0", "float"]),
    (
        fit(np.array([[None, 1], [2, "x"]], dtype=object)),
        InputError,
        ["has 'x' in row 1, column 1", "encode"],
    ),
    (fit([[10**400, 1], [2, 3]]), InputError, ["in row 0, column 0 (int too large"]),
    (fit(weight=[10**400] * 6), InputError, ["one finite number >= 0"]),
    (fit([]), InputError, ["X has no rows", "a filter"]),
    (fit(pd.DataFrame(index=range(4))), InputError, ["a dataframe without columns"]),
    (fit("rows.npy"), InputError, ["X is the name 'rows.npy', not data", "np.load"]),
    (fit(Path("rows.npy")), InputError, ["X is the name 'rows.npy'"]),
    (lambda: estimate_sigma(row for row in X), InputError, ["generator", "np.array(list(X))"]),
    (fit([{"a": 1.0}] * 9), InputError, ["a list of 9 dicts", "pandas.DataFrame(X)"]),
    (fit(sparse.csr_matrix(X)), InputError, ["sparse matrix of shape (6, 2)", "TruncatedSVD"]),
    (fit(X * 1j), InputError, ["Complex data not supported", "np.hstack([X.real, X.imag])"]),
    (fit(X - X, metric="cosine"), InputError, ["6 rows of X are all zeros", "first: 0, 1, 2"]),
    (
        fit(pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]})),
        InputError,
        ["1 of 2 columns that are not numbers: 'name'", "select the numeric columns"],
    ),
    (
        fit(pl.DataFrame({f"t{i}": ["x"] for i in range(9)})),
        InputError,
        ["9 of 9 columns", "'t4', ..."],
    ),
    (
        fit(pl.DataFrame({"a": [1, 2]}).cast(pl.Int128)),
        InputError,
        ["whole numbers of 128 bits", "in columns: 'a'", "Cast them to Int64"],
    ),
    (fit(weight=[1, 2]), InputError, ["each of the 6 rows", "an array of shape (2,)"]),
    (fit(weight=[1.0, -1.0, *[1.0] * 4]), InputError, ["1 of them is not", "row 1 has -1"]),
    (
        fit(weight=[np.nan] * 6),
        InputError,
        ["6 of them are not", "row 0 has nan"],
    ),
    (fit(weight="heavy"), InputError, ["got 'heavy'", "how many points a row stands for"]),
    (fit(weight=[[1], [2, 3]]), InputError, ["rows of different lengths"]),
    (fit(weight=np.ones(6) * 1j), InputError, ["one finite number >= 0", "complex128"]),
    (
        fit(weight=np.ma.masked_less(np.arange(6.0), 2)),
        InputError,
        ["one finite number >= 0", "some are masked", "filled(0)"],
    ),
    (
        fit(weight=np.zeros(6)),
        InputError,
        ["zero for every row", "nothing to fit", "leave sample_weight out"],
    ),
    (
        fit(weight=np.full(6, 1e9)),
        InputError,
        ["count for 6e+09 points", "64 bits", "divide sample_weight"],
    ),
    (lambda: estimate_sigma([1.0, 2.0]), InputError, ["Expected 2D", "X.reshape(-1, 1)"]),
    (lambda: estimate_sigma(X, metric="dot"), ParameterError, ["metric must be", "got 'dot'"]),
    (lambda: estimate_sigma([["a", "b"]]), InputError, ["a table of numbers", "shape (1, 2)"]),
    (
        lambda: SigmaHistogramDisplay.from_estimator(CRLM(1.0).fit(X)),
        InputError,
        ["holds no histogram", "crlm.estimate_sigma(X)"],
    ),
    (
        lambda: ClusterMapDisplay.from_estimator(CRLM(1.0).fit(X), X[:2]),
        InputError,
        ["X is 2 x 2", "fitted on 6 x 2"],
    ),
]


@pytest.mark.parametrize(("trigger", "kind", "words"), MESSAGES)
def test_message_names_what_was_given_and_how_to_fix_it(trigger, kind, words):
    with pytest.raises(kind) as caught:
        trigger()
    for word in words:
        assert word in str(caught.value)


def test_missing_extra_names_the_command_that_installs_it():
    error = MissingExtraError("reading parquet", package="pyarrow", extra="parquet")
    assert "reading parquet needs pyarrow" in str(error)
    assert "pip install 'crlm[parquet]'" in str(error)


def test_every_error_can_be_caught_as_one_of_ours_and_as_pythons_own():
    for ours, pythons in [
        (ParameterError, ValueError),
        (InputError, ValueError),
        (MemoryLimitError, MemoryError),
        (MissingExtraError, ImportError),
    ]:
        assert issubclass(ours, CRLMError)
        assert issubclass(ours, pythons)


def test_a_refused_fit_leaves_an_earlier_one_untouched():
    model = CRLM(1.0).fit(X)
    labels = model.labels_.copy()
    with pytest.raises(InputError):
        model.fit(NAN)
    assert np.array_equal(model.labels_, labels)
    assert model.predict(X).tolist() == labels.tolist()


def test_too_few_rows_are_told_apart_from_nothing_found():
    with pytest.warns(WeakEvidenceWarning, match="fewer than 8 rows differ.*alpha=None"):
        CRLM().fit(X)
    with pytest.warns(WeakEvidenceWarning, match="fewer than 8 rows differ"):
        CRLM().fit(np.ones((50, 3)))
    with pytest.warns(WeakEvidenceWarning, match="at no bandwidth do the data differ"):
        CRLM().fit(np.random.default_rng(0).normal(size=(50, 3)))


def test_clusters_too_small_for_the_caller_are_mentioned():
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(300, 10)), 0.05 * rng.normal(size=(30, 10))])
    assert CRLM(min_cluster_size=30).fit(data).n_clusters_ == 1
    with pytest.warns(TooSmallWarning, match=r"min_cluster_size = 100 points\. .*smaller") as seen:
        model = CRLM(min_cluster_size=100).fit(data)
    assert model.n_clusters_ == 0
    assert seen[0].filename == __file__
    few = r"min_cluster_size = 100 points around any of 330 landmarks\..*or more n_landmarks"
    with pytest.warns(TooSmallWarning, match=few) as seen:
        CRLM(min_cluster_size=100, n_landmarks=1000).fit(data)
    assert seen[0].filename == __file__


@pytest.mark.parametrize("settings", [{}, {"sigma_max": 0.1}, {"n_landmarks": 20}])
def test_a_cluster_larger_than_the_data_is_told_to_be_impossible(settings):
    """Whatever the evidence, and with a given bandwidth too."""
    data = np.random.default_rng(0).normal(size=(50, 3))
    beyond = r"min_cluster_size = 1,000 is more than all 50 points.*smaller"
    with pytest.warns(TooSmallWarning, match=beyond) as seen:
        CRLM(min_cluster_size=1000, **settings).fit(data)
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("settings", [{}, {"sigma_max": 0.1}, {"n_landmarks": 400}])
def test_weights_that_sum_to_one_are_told_to_be_too_light(settings):
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(300, 10)), 0.05 * rng.normal(size=(30, 10))])
    with pytest.warns(TooSmallWarning, match="= 2 is more than all 1 points, by weight.*larger w"):
        CRLM(**settings).fit(data, sample_weight=np.full(330, 1 / 330))
    assert CRLM(**settings).fit(data, sample_weight=np.full(330, 0.1)).n_clusters_ == 1


def test_the_column_that_drowns_the_others_is_named():
    data = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 1.0, 1e5]
    with pytest.warns(WeakEvidenceWarning, match=r"Column 2 \(from 0\) makes 100.0 %"):
        CRLM().fit(data)
    with pytest.warns(WeakEvidenceWarning, match="Column 'income' makes 100.0 %"):
        CRLM().fit(pd.DataFrame(data, columns=["height", "age", "income"]))


def test_a_few_columns_that_drown_the_others_are_named():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 10)) * np.where(np.isin(np.arange(10), [2, 7]), 20.0, 1.0)
    with pytest.warns(WeakEvidenceWarning, match=r"Columns 2 and 7 \(from 0\) make 9\d\.\d %"):
        CRLM().fit(data)
    with pytest.warns(WeakEvidenceWarning) as seen:
        CRLM().fit(data[:, :9])  # of which two are more than a fifth
    assert "Column" not in str(seen[0].message)
    data = rng.normal(size=(777, 30))
    for constant in (0.0, 1.7123456789e18):  # whose mean is rounded
        data[:, 2] = constant
        with pytest.warns(WeakEvidenceWarning) as seen:
            CRLM().fit(data)
        assert "Column" not in str(seen[0].message)


def test_chains_are_sent_to_another_program_where_they_can_be_seen():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    for d, is_told in ((1, False), (2, True), (3, True), (4, False)):
        with pytest.warns(WeakEvidenceWarning) as seen:
            CRLM().fit(np.random.default_rng(d).normal(size=(300, d)))
        assert ("Chains and rings are for HDBSCAN." in str(seen[0].message)) == is_told
    with pytest.warns(WeakEvidenceWarning, match="for HDBSCAN"):
        CRLM().fit(ring)


def test_a_cluster_of_most_rows_is_told_to_be_beyond_the_test():
    """Nine in ten rows are in it, and there is hardly a background to compare it with."""
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(900, 10)), rng.uniform(-30, 30, size=(100, 10))])
    three = r"pass sigma_max \(0.8 times its spread\), alpha=None and max_clusters=1\."
    with pytest.warns(WeakEvidenceWarning, match=three):
        CRLM().fit(data)
    found = CRLM(0.8, alpha=None, max_clusters=1).fit(data)  # as the message says
    assert found.cluster_sizes_[0] > 880
    with pytest.warns(
        TooLargeWarning, match=r"than half of.* alpha=None and max_clusters=1"
    ) as seen:
        model = CRLM(2.2).fit(data)
    assert model.n_clusters_ == 0
    assert seen[0].filename == __file__
    copies = np.vstack([np.zeros((900, 10)), rng.uniform(-10, 10, size=(100, 10))])
    assert not CRLM(0.5).fit(copies).n_clusters_  # one row, and no warning
    found = CRLM(2.2, alpha=None, max_clusters=1).fit(data)  # as the message says
    assert found.cluster_sizes_.tolist() == [900]


def test_a_cluster_that_may_be_cut_at_half_of_the_rows_says_so():
    def drawn(n):
        rng = np.random.default_rng(0)
        return np.vstack([rng.normal(size=(n, 10)), rng.uniform(-10, 10, size=(1000 - n, 10))])

    data = drawn(600)
    said = str(CRLM().fit(data)).splitlines()[-1]
    assert "cluster 0 holds about half of the rows, the most that can be tested" in said
    assert said.endswith(
        "sigma_max (0.8 times its spread), alpha=None and max_clusters=1 show more."
    )
    whole = CRLM(0.8, alpha=None, max_clusters=1).fit(data)  # as it says
    assert whole.cluster_sizes_[0] > 590
    assert "half" not in str(whole)
    for n in (200, 450):
        assert "half" not in str(CRLM().fit(drawn(n)))


def test_clusters_of_light_rows_are_told_to_be_too_small():
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(300, 10)), 0.05 * rng.normal(size=(30, 10))])
    with pytest.warns(TooSmallWarning, match="min_cluster_size = 2 points, by weight.*larger w"):
        model = CRLM().fit(data, sample_weight=np.full(330, 0.05))
    assert model.sigma_estimate_.evidence == "clear"


@pytest.mark.parametrize("scale", [1e-165, 1e-300])
def test_rows_that_hardly_differ_beside_a_large_column_are_told_of(scale):
    rows = np.column_stack([tight_among_others() * scale, np.ones(180)])
    for use in (CRLM().fit, CRLM(alpha=None).fit, CRLM("histogram").fit, CRLM().path):
        with pytest.raises(InputError, match=r"differ by more than .*X - X.min\(axis=0\)"):
            use(rows)
    with pytest.raises(InputError, match="no two rows that differ by more than"):
        estimate_sigma(rows)
    with pytest.raises(InputError, match=r"sigma_max would be .*X - X.min\(axis=0\)"):
        CRLM(n_landmarks=50).fit(lambda: [rows])  # of blocks nobody knows how far they differ
    X_ = (rows - rows.min(axis=0)) / scale  # as the message says
    assert CRLM().fit(X_).n_clusters_ == 1


def test_a_bandwidth_that_was_read_from_data_is_no_smaller_than_one_may_be_given():
    rows = tight_among_others() * 1e-149
    rows[0] = 1e-148
    for use in (CRLM().fit, CRLM(alpha=None).fit, CRLM(n_landmarks=50).fit, CRLM().path):
        with pytest.raises(InputError, match=r"so narrow that sigma_max would be \S+e-15\d;"):
            use(rows)


def tight_among_others():
    rng = np.random.default_rng(0)
    return np.vstack([rng.random((150, 4)), 0.5 + 1e-6 * rng.normal(size=(30, 4))])


def test_whole_numbers_that_float64_cannot_tell_apart_are_no_copies():
    near = np.arange(60)[:, None] + np.array([2**62, 2**61, 2**60])
    for X_ in (near, near.astype(np.uint64)):
        with pytest.raises(InputError, match=r"beyond 2\*\*53 \(column 0\).*X - X.min\(axis=0\)"):
            CRLM(5.0).fit(X_)
    frame = pd.DataFrame({"id": 2**60 + np.arange(20), "b": np.zeros(20)})
    with pytest.raises(InputError, match=r"beyond 2\*\*53 \(column 0\)"):
        CRLM(5.0).fit(frame)
    with pytest.raises(InputError, match=r"beyond 2\*\*53 \(column 0\)"):
        CRLM(5.0).fit(frame.set_axis([0, 1], axis=1))  # where 0 is no row
    objects = frame.astype(object)
    for table in (objects, objects.to_numpy(), frame.assign(id=frame["id"].astype(object))):
        with pytest.raises(InputError, match=r"beyond 2\*\*53 \(column 0\)"):
            CRLM(5.0).fit(table)
    assert CRLM(5.0, alpha=None).fit(frame.assign(b=np.arange(20.0))).n_duplicates_ == 0
    CRLM(5.0, alpha=None).fit(near - near.min(axis=0))  # as the message says
    times = 1_700_000_000_000_000_000 + 10**9 * np.arange(60)[:, None]  # which stay apart
    assert CRLM(1e9, alpha=None).fit(times).n_duplicates_ == 0


@pytest.mark.parametrize("cell", ["x", [1, 2], {}])
def test_objects_in_a_dataframe_that_are_no_numbers_are_shown(cell):
    for first in (1, cell):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([first, cell], dtype=object)})
        with pytest.raises(InputError, match=r"not numbers: 'b'|in row [01] of column 'b'"):
            CRLM().fit(frame)
    numbers = pd.DataFrame({"a": pd.Series([1, 2.5, 3], dtype=object)})
    assert CRLM(5.0, alpha=None).fit(numbers).n_clusters_ == 1


@pytest.mark.parametrize("kind", ["Int64", "Float32", "boolean", "int64[pyarrow]", object])
@pytest.mark.parametrize("use", [CRLM(1.0).fit, CRLM(1.0, n_landmarks=3).fit, estimate_sigma])
def test_what_pandas_has_for_nothing_is_a_missing_number(kind, use):
    frame = pd.DataFrame(X > 3).astype(kind)
    frame.iloc[2, 1] = pd.NA
    with pytest.raises(InputError, match=r"1 row with NaN or inf \(first: 2\)"):
        use(frame)


def test_two_columns_of_one_name_are_told_apart_from_a_bug():
    frame = pd.DataFrame(np.eye(3), columns=["a", "a", "b"])
    with pytest.raises(InputError, match="two columns of one name"):
        CRLM().fit(frame)
