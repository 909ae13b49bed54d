"""CRLM on dask: the same fits, whatever the chunks and whoever dies."""

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import crlm
from crlm.errors import InputError, MemoryLimitError, ParameterError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from crlm.dask import CRLM  # noqa: E402

TRUTH = crlm.GMMUB.draw(k=2, d=10, sigmas=1, weights=0.05, D=60, sigma_max=2.5, rng=0)
X = TRUTH.sample(900, rng=1)[0].astype(np.float32)
SAME = ("cluster_centers_", "sigmas_", "losses_", "p_values_", "center_indices_", "cluster_sizes_")


def parameters(landmarks):
    return {"sigma_max": 2.5, "n_landmarks": landmarks, "alpha": None, "min_cluster_size": 10}


EXPECTED = {m: crlm.CRLM(**parameters(m)).fit(X) for m in (None, 300)}


def assert_as_in_memory(model, expected):
    for name in SAME:
        found = getattr(model, name)
        assert np.array_equal(found, getattr(expected, name), equal_nan=True), name
    assert np.array_equal(model.labels_.compute(), expected.labels_)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process that can be killed."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        warnings.catch_warnings(),
        dask.config.set({"distributed.admin.log-format": "%(message)s"}),
    ):
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(silence_logs=50, **options) as workers,
            distributed.Client(workers) as client,
        ):
            yield client


def collections():
    rows = da.from_array(X, chunks=((1, 0, 398, 501), (10,)))
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    mixed = [X[:300].astype(np.float64), X[300:310], X[310:]]
    return {
        "odd and empty chunks": rows,
        "chunks along columns": da.from_array(X, chunks=(250, 3)),
        "unknown chunks": da.from_array(X, chunks=(250, 10))[da.ones(900, chunks=250) > 0],
        "dataframe": dd.from_pandas(frame, npartitions=3),
        "different dtypes": da.concatenate(
            [da.from_delayed(dask.delayed(x), x.shape, meta=mixed[1][:0]) for x in mixed]
        ),
    }


@pytest.mark.parametrize("landmarks", [None, 300])
@pytest.mark.parametrize("kind", list(collections()))
def test_collections_of_all_kinds_give_the_fit_of_the_array(kind, landmarks):
    Z = collections()[kind]
    with dask.config.set(scheduler="synchronous"):
        model = CRLM(**parameters(landmarks)).fit(Z)
        assert_as_in_memory(model, EXPECTED[landmarks])
        if isinstance(Z, da.Array):
            assert str(model.labels_.chunks[0]) == str(Z.chunks[0])
        assert np.array_equal(model.predict(Z).compute(), EXPECTED[landmarks].labels_)


@pytest.mark.parametrize("kind", list(collections()))
def test_better_centres_are_those_of_the_array(kind):
    expected = crlm.CRLM(**parameters(300), refine=True).fit(X)
    assert not np.array_equal(expected.center_indices_, EXPECTED[300].center_indices_)
    with dask.config.set(scheduler="synchronous"):
        model = CRLM(**parameters(300), refine=True).fit(collections()[kind])
        assert_as_in_memory(model, expected)


def test_one_worker_and_two_give_the_same(cluster):
    Z = da.from_array(X, chunks=(217, 10))
    for landmarks in (None, 300):
        assert_as_in_memory(CRLM(**parameters(landmarks)).fit(Z), EXPECTED[landmarks])
    cluster.cluster.scale(1)
    assert_as_in_memory(CRLM(**parameters(300)).fit(Z), EXPECTED[300])
    cluster.cluster.scale(2)
    cluster.wait_for_workers(2)


# With three partitions: survey, groups, tally and labels read each of them once.
@pytest.mark.parametrize("call", [2, 5, 8, 11])
def test_a_worker_killed_in_any_phase_changes_no_label(cluster, tmp_path, call):
    folder = str(tmp_path)

    def fragile(block):
        """Count the calls in files, and at one of them die."""
        mine = len(os.listdir(folder)) + 1  # noqa: PTH208
        with open(f"{folder}/{mine}-{os.getpid()}", "w"):  # noqa: PTH123
            pass
        if mine == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    Z = da.from_array(X, chunks=(300, 10)).map_blocks(fragile, meta=X[:0])
    assert_as_in_memory(CRLM(**parameters(300)).fit(Z), EXPECTED[300])
    assert len(list(tmp_path.iterdir())) > call  # it did die, and others went on


def test_a_bad_partition_is_named():
    bad = X.copy()
    bad[500, 2] = np.nan
    text = pd.DataFrame(X).astype({3: str})
    cases = {
        "partition 1 of X (its first row is row 300 of all): X has 1 row with NaN": da.from_array(
            bad, chunks=(300, 10)
        ),
        "of all): X has 1 of 10 columns that are not numbers: 3": dd.from_pandas(
            text, npartitions=2
        ),
        "X has no rows": da.zeros((0, 3)),
        "1 dimensions": da.zeros(5),
    }
    for words, Z in cases.items():
        for landmarks in (None, 300):
            with pytest.raises(InputError) as caught, dask.config.set(scheduler="synchronous"):
                CRLM(**parameters(landmarks)).fit(Z)
            assert words in str(caught.value)


def test_what_dask_cannot_do_is_refused(tmp_path):
    Z = da.from_array(X, chunks=(300, 10))
    with pytest.raises(ParameterError, match="no checkpoint"):
        CRLM(**parameters(300)).fit(Z, checkpoint=tmp_path / "state")
    with pytest.raises(ParameterError, match="sample_weight with landmarks"):
        CRLM(**parameters(300)).fit(Z, sample_weight=np.ones(900))
    with pytest.raises(MemoryLimitError, match="Use n_landmarks='auto'"):
        CRLM(2.5, memory_limit=1000).fit(Z)
    wrong = da.Array(Z.dask, Z.name, chunks=((300, 300, 299), (10,)), meta=X[:0])
    with (
        pytest.raises(InputError, match=r"X\.compute_chunk_sizes"),
        dask.config.set(scheduler="synchronous"),
    ):
        CRLM(**parameters(300)).fit(wrong)


def test_without_dask_the_extra_is_named():
    code = "import sys; sys.modules['dask'] = None; import crlm.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: crlm.dask needs dask" in done.stderr
    assert "pip install 'crlm[dask]'" in done.stderr


def test_the_test_for_clusters_is_the_same(cluster):
    whole = crlm.CRLM(n_landmarks=300).fit(X)
    model = CRLM(n_landmarks=300).fit(da.from_array(X, chunks=(400, 10)))
    assert model.sigma_max_ == whole.sigma_max_
    assert_as_in_memory(model, whole)
    assert repr(model) == "CRLM(n_landmarks=300): 2 clusters"
    assert np.array_equal(model.predict(X), whole.labels_)
    assert_local = CRLM(n_landmarks=300).fit(X)
    assert np.array_equal(assert_local.labels_, whole.labels_)


@pytest.mark.parametrize("kind", ["unknown chunks", "dataframe"])
def test_a_model_is_saved_as_if_it_had_been_fitted_in_memory(kind, tmp_path):
    Z = collections()[kind]
    with dask.config.set(scheduler="synchronous"):
        CRLM(**parameters(300)).fit(Z).save(tmp_path / "a.crlm.npz")
        page = CRLM(**parameters(300)).fit(Z).report(tmp_path / "a.html", X)
    EXPECTED[300].save(tmp_path / "b.crlm.npz")
    assert (tmp_path / "a.crlm.npz").read_bytes() == (tmp_path / "b.crlm.npz").read_bytes()
    assert "No certificate: 300 of 900 rows" in page.read_text(encoding="utf-8")
    assert np.array_equal(CRLM.load(tmp_path / "a.crlm.npz").predict(X), EXPECTED[300].labels_)
