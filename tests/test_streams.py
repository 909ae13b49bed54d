"""Data in blocks: the same labels from memory, files and functions, killed or not."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from crlm import CRLM, GMMUB, stream, theory
from crlm.cli import main
from crlm.errors import InputError, MemoryLimitError, OutputError, ParameterError
from crlm.landmarks import checkpoint as checkpoints
from crlm.landmarks.source import ArraySource, FileSource, IterableSource

TRUTH = GMMUB.draw(k=2, d=12, sigmas=1, weights=0.03, D=60, sigma_max=2.5, rng=0)
X = TRUTH.sample(2500, rng=1)[0].astype(np.float32)
NAMES = [f"c{j}" for j in range(12)]


def model(**parameters):
    return CRLM(2.5, alpha=None, n_landmarks=400, min_cluster_size=10, **parameters)


def write_parquet(path, X, vectors=False, **options):
    columns = {"v": list(X)} if vectors else {name: X[:, j] for j, name in enumerate(NAMES)}
    pd.DataFrame(columns).to_parquet(path, **options)


def assert_same(a, b):
    for name in ("labels_", "cluster_centers_", "sigmas_", "losses_", "landmark_indices_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_every_way_to_give_the_same_rows_gives_the_same_fit(tmp_path):
    whole = model().fit(X)
    assert whole.n_clusters_ == 2
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    write_parquet(tmp_path / "X.parquet", X, row_group_size=333)
    write_parquet(tmp_path / "V.parquet", X, vectors=True)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(X, [100, 100, 1999])):
        write_parquet(tmp_path / "parts" / f"{number:03}.parquet", part)
    ways = [
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        np.load(tmp_path / "X.npy", mmap_mode="r")[:],
        stream(tmp_path / "X.npy", rows=77),
        stream(str(tmp_path / "F.npy")),
        stream(tmp_path / "X.parquet", rows=131),
        stream(tmp_path / "X.parquet", columns=["c0:c11"]),
        stream(tmp_path / "V.parquet", columns=["v"]),
        stream(tmp_path / "parts", rows=50),
        stream(lambda: iter([X[:1], X[1:1], X[1:2000], X[2000:]])),
        [X[:999], X[999:]],
        lambda: [pd.DataFrame(X[:7]), pl.DataFrame(X[7:])],
        [X[:800].astype(np.float64), X[800:]],
    ]
    for way in ways:
        assert_same(model().fit(way), whole)
        assert np.array_equal(whole.predict(way), whole.labels_)


def test_a_map_that_was_written_to_is_not_read_from_its_file(tmp_path):
    np.save(tmp_path / "X.npy", X)
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[:1000] += 500
    assert_same(model().fit(changed), model().fit(np.array(changed)))


def test_the_threads_and_the_size_of_blocks_change_no_bit(tmp_path):
    whole = model(n_jobs=1).fit(X)
    for rows in (1000, 4097):
        for n_jobs in (1, 2, 3):
            assert_same(model(n_jobs=n_jobs).fit(ArraySource(np.tile(X, (1, 1)), rows)), whole)


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    peaks = []
    for n in (100_000, 400_000):
        big = rng.uniform(-100, 100, (n, 8)).astype(np.float32)
        big[:500] = rng.normal(size=(500, 8))
        np.save(tmp_path / "big.npy", big)
        del big
        source = FileSource(np.load(tmp_path / "big.npy", mmap_mode="r"), rows=10_000)
        tracemalloc.start()
        found = CRLM(2.5, alpha=None, n_landmarks=200, min_cluster_size=50, n_jobs=1).fit(source)
        peaks.append(tracemalloc.get_traced_memory()[1] - found.labels_.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 10_000_000


# Checkpoints


class SlowSource(IterableSource):
    """Blocks that take a while to come."""

    def __init__(self, seconds):
        super().__init__(lambda: (X[at : at + 50] for at in range(0, len(X), 50)), "slow")
        self._seconds = seconds

    def blocks(self, start=0):
        for block in super().blocks(start):
            time.sleep(self._seconds)
            yield block


class CountedSource(ArraySource):
    """Rows, and how many blocks of them were asked for."""

    def __init__(self, fail_at=None):
        super().__init__(X, 50)
        self.n_read, self._fail_at = 0, fail_at

    def blocks(self, start=0):
        for block in super().blocks(start):
            self.n_read += 1
            if self.n_read == self._fail_at:
                raise KeyboardInterrupt
            yield block


class Unreadable(ArraySource):
    """Rows that nobody may ask for."""

    def mark(self):
        return ArraySource(self._X).mark()

    def blocks(self, start=0):
        raise AssertionError


def fit_slowly(folder):
    checkpoints.EVERY_SECONDS = 0.0
    found = model(n_jobs=1).fit(SlowSource(0.004), checkpoint=folder / "state")
    np.save(folder / "done.npy", found.labels_)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_killed_at_random_moments_and_resumed_the_labels_are_the_same(tmp_path):
    expected = model().fit(X).labels_
    rng, fork = np.random.default_rng(0), multiprocessing.get_context("fork")
    n_killed, resumed, finished = 0, 0, False
    while not finished:
        resumed += (tmp_path / "state").exists()
        child = fork.Process(target=fit_slowly, args=(tmp_path,))
        child.start()
        child.join(rng.uniform(0.05, 0.5) if n_killed < 20 else None)
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
            child.join()
            n_killed += 1
        else:
            assert child.exitcode == 0
            assert np.array_equal(np.load(tmp_path / "done.npy"), expected)
            finished = n_killed == 20
        if not finished:
            (tmp_path / "done.npy").unlink(missing_ok=True)
    assert resumed >= 5  # else this shows nothing
    assert [path.name for path in tmp_path.iterdir()] == ["done.npy"]


@pytest.mark.parametrize("stop_at", [3, 30, 60, 80, 110, 149, 170, 220, 280])
def test_stopped_in_any_pass_a_fit_goes_on_where_it_was(tmp_path, monkeypatch, stop_at):
    refine = stop_at > 3 * 50
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(CountedSource, "mark", lambda self: "the same")
    with pytest.raises(KeyboardInterrupt):
        model(refine=refine).fit(CountedSource(stop_at), checkpoint=tmp_path / "state")
    assert (tmp_path / "state").exists()
    rest = CountedSource()
    found = model(refine=refine).fit(rest, checkpoint=tmp_path / "state")
    assert_same(found, model(refine=refine).fit(X))
    assert rest.n_read == (6 if refine else 3) * 50 - (
        stop_at - 1
    )  # nothing that was done is read again
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_is_kept_holds_the_whole_fit(tmp_path):
    path = tmp_path / "state"
    first = model().fit(ArraySource(X, 100), checkpoint=path, keep_checkpoint=True)
    assert_same(model().fit(Unreadable(X, 100), checkpoint=path), first)
    assert not path.exists()


def test_little_memory_is_resumed_too(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    rng = np.random.default_rng(0)
    cloud = np.vstack([rng.uniform(-30, 30, (2300, 3)), rng.normal(0, 0.1, (200, 3))])
    expected = CRLM(1.5, n_landmarks=600).fit(cloud)
    for stop_at in (70, 100, 130, 160, 190):
        read = []

        def blocks(stop_at=stop_at, read=read):
            for at in range(0, len(cloud), 50):
                read.append(at)
                if len(read) == stop_at:
                    raise KeyboardInterrupt
                yield cloud[at : at + 50]

        fit = CRLM(1.5, n_landmarks=600, memory_limit=120_000)
        with pytest.raises(KeyboardInterrupt):
            fit.fit(IterableSource(blocks), checkpoint=tmp_path / "state")
        assert_same(fit.fit(IterableSource(blocks), checkpoint=tmp_path / "state"), expected)
        assert not list(tmp_path.iterdir())


def test_killed_while_it_writes_a_command_goes_on_and_clears_up(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    line = ["fit", "X.npy", "--landmarks", 400, "--refine", "-s", 2.5, "--resume", "-q"]
    line += ["-o", "labels.csv"]
    code = (
        "import os, crlm.tables as t, crlm.cli\n"
        "together = t.write_together\n"
        "def half(jobs):\n"
        "    def die(file): file.write(b'half'); os.kill(os.getpid(), 9)\n"
        "    together([(path, die) for path, _ in jobs])\n"
        f"t.write_together = half\ncrlm.cli.main({[str(word) for word in line]!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    names = {path.name for path in tmp_path.iterdir()}
    assert {"X.npy", "labels.csv.resume"} < names
    assert len(names) == 3  # one that is half written
    monkeypatch.setattr(FileSource, "blocks", None)  # nothing is read again
    assert run(*line)[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"X.npy", "X.crlm.npz", "labels.csv"}


def test_a_checkpoint_of_another_fit_or_none_at_all_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "state"
    source = IterableSource(lambda: (X[at : at + 50] for at in range(0, len(X), 50)))

    def interrupt(done, total):
        if done > 0.5 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model(progress=interrupt).fit(ArraySource(X, 100), checkpoint=path)
    with pytest.raises(InputError, match=r"another fit: it differs in the data\. Use the same"):
        model().fit(source, checkpoint=path)
    with pytest.raises(InputError, match=r"differs in the data"):
        model().fit(ArraySource(X + 1, 100), checkpoint=path)
    with pytest.raises(InputError, match=r"differs in random_state"):
        model(random_state=1).fit(ArraySource(X, 50), checkpoint=path)
    model(n_jobs=1, memory_limit="1GB").fit(ArraySource(X, 50), checkpoint=path)
    model().fit(X, sample_weight=np.full(len(X), 2), checkpoint=path, keep_checkpoint=True)
    with pytest.raises(InputError, match=r"differs in sample_weight"):
        model().fit(X, checkpoint=path)
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="not a checkpoint of this version of crlm"):
        model().fit(source, checkpoint=path)
    with pytest.raises(OutputError, match="cannot write the checkpoint"):
        model().fit(source, checkpoint=tmp_path / "nowhere" / "state")


# Errors


def with_nan(row):
    bad = X.copy()
    bad[row, 3] = np.nan
    return bad


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: np.array_split(with_nan(1400), 5), ["block 2 of X", "row 1,000", "NaN or inf"]),
        (lambda: [X[:10], X[10:, :7]], ["block 1 of X", "7 columns", "12"]),
        (lambda: [X[:10], np.array([["a"] * 12])], ["block 1 of X", "table of numbers"]),
        (lambda: [], ["X has no rows"]),
        (lambda: [X[:0]], ["X has no rows"]),
    ],
)
def test_a_bad_block_is_named(data, words):
    with pytest.raises(InputError) as caught:
        model().fit(data)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("later", "words"), [(2000, "only 2,000"), (2600, "at least 2,600")])
def test_data_that_change_between_passes_are_refused(later, words):
    lengths = iter([len(X), later])

    def blocks():
        return [np.resize(X, (next(lengths), 12))]

    with pytest.raises(InputError, match=words):
        model().fit(blocks)


def test_what_cannot_be_read_twice_or_in_blocks_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="which can be gone through once"):
        model().fit(iter([X]))
    with pytest.raises(ParameterError, match="need landmarks"):
        CRLM(2.5).fit(stream(lambda: [X]))
    with pytest.raises(ParameterError, match="need landmarks"):
        CRLM(2.5).fit(X, checkpoint=tmp_path / "state")
    with pytest.raises(ParameterError, match="sample_weight needs an X whose number of rows"):
        model().fit(lambda: [X], sample_weight=np.ones(len(X)))
    with pytest.raises(ParameterError, match="cannot be read in blocks"):
        stream(tmp_path / "rows.csv")
    with pytest.raises(InputError, match=r"a folder without \.parquet files"):
        stream(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        stream(tmp_path / "rows.parquet")
    (tmp_path / "rows.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="not a readable parquet file"):
        stream(tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_landmarks": 0}, ["n_landmarks must be a whole number", "got 0"]),
        ({"n_landmarks": "many"}, ["got 'many'"]),
        ({"n_landmarks": "auto", "min_weight": 0}, ["min_weight must be", "got 0"]),
        ({"n_landmarks": "auto", "delta": 2}, ["delta must be", "got 2"]),
        ({"n_landmarks": 5, "random_state": -1}, ["random_state must be", "got -1"]),
    ],
)
def test_messages_about_landmarks(parameters, words):
    with pytest.raises(ParameterError) as caught:
        CRLM(2.5, **parameters).fit(X)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("wrong", [{"min_weight": 1.5}, {"min_weight": 0.1, "delta": 0}])
def test_the_number_of_candidates_needs_shares(wrong):
    with pytest.raises(ParameterError, match="between 0 and 1, got"):
        theory.plan_candidates(**wrong)


def test_more_pairs_than_fit_are_refused_in_words():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(3000, 2))
    with pytest.raises(MemoryLimitError, match="Use a smaller sigma_max or fewer landmarks"):
        CRLM(0.2, alpha=None, n_landmarks=500, memory_limit="1MB").fit(cloud)


def test_little_memory_costs_a_pass_and_changes_no_label():
    rng = np.random.default_rng(0)
    cloud = np.vstack([rng.uniform(-30, 30, (2300, 3)), rng.normal(0, 0.1, (200, 3))])
    plenty = CRLM(1.5, n_landmarks=600).fit(cloud)
    seen = []
    little = CRLM(1.5, n_landmarks=600, memory_limit=120_000).fit(
        IterableSource(lambda: [seen.append(1), cloud][1:])
    )
    assert plenty.n_clusters_ >= 1
    assert len(seen) == 5  # the groups that did not fit, the counts and the fewer groups
    assert_same(little, plenty)
    assert np.array_equal(little.p_values_, plenty.p_values_)


# The command


def test_crlm_fit_reads_files_in_blocks_and_resumes(tmp_path, capsys, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    write_parquet(tmp_path / "Y.parquet", X)
    monkeypatch.chdir(tmp_path)
    common = ["--landmarks", "400", "-s", "2.5", "-m", "10", "--alpha", "none", "--resume", "-q"]
    for data, out in (("X.npy", "a.npy"), ("Y.parquet", "b.npy")):
        assert main(["fit", data, *common, "-o", out]) == 0
        assert np.array_equal(np.load(out), model().fit(X).labels_)
    written = ["X.crlm.npz", "X.npy", "Y.crlm.npz", "Y.parquet", "a.npy", "b.npy"]
    assert sorted(p.name for p in tmp_path.iterdir()) == written
    assert main(["fit", "X.npy", "--resume"]) == 2
    assert "--resume is for fits with --landmarks" in capsys.readouterr().err
    assert main(["fit", "X.npy", "--refine"]) == 2
    assert "--refine is for fits with --landmarks" in capsys.readouterr().err
    np.save(tmp_path / "bad.npy", with_nan(2000))
    assert main(["fit", "bad.npy", "--landmarks", "auto"]) == 3
    assert "error: block 0 of bad.npy" in capsys.readouterr().err
    assert main(["fit", "bad.npy", *common, "--drop-invalid", "-o", "c.npy"]) == 0
    assert np.load("c.npy")[2000] == -1


@pytest.mark.parametrize("name", ["X.npy", "X.parquet"])
def test_a_model_with_landmarks_serves_every_command(tmp_path, run, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    write_parquet(tmp_path / "X.parquet", X)
    where = ["-o", "fit.npy", "--model", "m.crlm.npz"]
    assert run("fit", name, "--landmarks", 400, "-s", 2.5, *where)[0] == 0
    labels = np.load("fit.npy")
    assert run("predict", "m.crlm.npz", name, "-o", "new.npy")[0] == 0
    assert np.array_equal(np.load("new.npy"), labels)
    assert run("export", "m.crlm.npz", "--to", "old.csv")[0] == 0
    assert np.array_equal(np.loadtxt("old.csv", delimiter=",", skiprows=1, usecols=1), labels)
    assert "landmarks 400 (flag)" in run("info", "m.crlm.npz")[1]
    assert run("report", "m.crlm.npz", "-o", "r.html")[0] == 0
    assert "No certificate: 400 of 2,500" in (tmp_path / "r.html").read_text(encoding="utf-8")
    code, out, _ = run("check", "m.crlm.npz")
    assert code == 0
    assert "No certificate: 400 of 2,500 rows" in out
    assert f"Checked again on {name}: all is as the model says." in out
    found = json.loads(run("check", "m.crlm.npz", "--json")[1])
    assert (found["verified"], found["theorem_d"], found["n_landmarks"]) == (True, None, 400)
    np.save("X.npy", X[::-1])
    write_parquet(tmp_path / "X.parquet", X[::-1])
    code, _, err = run("check", "m.crlm.npz")
    assert code == 3
    assert f"{name} was changed since the model was fitted: some of 2,500 rows differ" in err


def test_parquet_files_of_other_columns_are_refused_in_blocks_too(tmp_path):
    write_parquet(tmp_path / "a.parquet", X[:1000])
    pd.DataFrame(X[1000:], columns=[*NAMES[:-1], "other"]).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has other columns than a\.parquet"):
        stream(tmp_path)


def test_parquet_files_of_two_precisions_are_read_as_one(tmp_path):
    rows = X.astype(np.float64) + 1e-9
    write_parquet(tmp_path / "a.parquet", rows[:1000].astype(np.float32))
    write_parquet(tmp_path / "b.parquet", rows[1000:])
    whole = np.concatenate([rows[:1000].astype(np.float32), rows[1000:]])
    cosine = model(metric="cosine").set_params(sigma_max=0.05)
    assert_same(clone(cosine).fit(stream(tmp_path)), clone(cosine).fit(whole))


def test_a_folder_of_parquet_files_serves_every_command(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        pd.DataFrame(part, columns=NAMES).assign(name="row").to_parquet(f"rows/{i}.parquet")
    for more in ([], ["--landmarks", 400]):
        assert run("fit", "rows", "--columns", ",".join(NAMES), "-s", 2.5, *more)[0] == 0
        assert run("predict", "rows.crlm.npz", "rows", "-o", "p.npy", "--force")[0] == 0
        assert np.array_equal(np.load("p.npy"), CRLM.load("rows.crlm.npz").labels_)
        assert "Checked again on rows" in run("check", "rows.crlm.npz")[1]
        assert run("report", "rows.crlm.npz", "-o", "r.html", "--force")[0] == 0
    for path in (tmp_path / "rows").iterdir():
        pd.read_parquet(path).drop(columns="name").to_parquet(path)
    pd.DataFrame(X[:, :3], columns=NAMES[:3]).to_parquet("rows/3.parquet")
    code, _, err = run("fit", "rows", "-s", 2.5, "--no-model")
    assert code == 3
    assert "3.parquet has other columns than 0.parquet" in err


def test_crlm_fit_says_that_no_landmark_lies_in_a_cluster(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    seen = "The distances show some, but none of {} lies in one. Try more of them: {}."
    _, _, err = run("fit", "X.npy", "--landmarks", 2)
    assert seen.format("2 landmarks", "--landmarks auto") in err
    assert "Next:  crlm fit X.npy --landmarks auto" in err
    _, _, err = run("fit", "X.npy", "--landmarks", "auto", "--min-weight", "0.9")
    assert seen.format("2 landmarks", "a smaller --min-weight") in err
    assert "Next:  crlm fit X.npy --landmarks auto --min-weight 0.09" in err
    _, _, err = run("fit", "X.npy", "--landmarks", 2, "-s", 2.5)
    assert "With σ_max 2.50 around 2 landmarks nothing differs from background alone" in err
    assert "try another --sigma-max (auto looks at all), more --landmarks, a larger" in err
    _, _, err = run("fit", "X.npy", "--landmarks", 2, "-s", 2.5, "--alpha", "none")
    assert "try more --landmarks, a larger --sigma-max, or a smaller --min-cluster-size." in err


def test_crlm_fit_names_flags_where_python_names_parameters(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    code, _, err = run("fit", "X.npy", "--landmarks", 0)
    assert code == 2
    assert "--landmarks must be a whole number of at least 1, or 'auto', got 0. Leave it out" in err
    assert "None" not in err
