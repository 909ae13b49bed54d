"""The program as a person or a script meets it: words, streams, files, exit codes."""

from __future__ import annotations

import errno
import json
import logging
import os
import pty
import shlex
import signal
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

import crlm
from crlm import cli, scores, tables
from crlm.cli import clusters, main
from crlm.cli.common import number
from crlm.errors import CRLMError, MissingExtraError

COMMANDS = (
    *(
        "bench",
        "check",
        "completion",
        "demo",
        "embed",
        "export",
        "fit",
        "info",
        "predict",
        "sample",
    ),
    "sigma",
)


@pytest.fixture(scope="module")
def toy():
    """Two clusters in background, and the truth."""
    model = crlm.GMMUB.draw(
        k=2, d=30, sigmas=[1, 2], weights=[0.05, 0.04], D=60, sigma_max=5, rng=0
    )
    return model.sample(800, rng=1)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, toy):
    """An empty folder with toy.npy, in which every test runs."""
    monkeypatch.chdir(tmp_path)
    np.save("toy.npy", toy[0])
    return tmp_path


def shell(*argv, **options):
    """The program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "crlm", *argv],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        **options,
    )


def environment(**more):
    source = str(Path(crlm.__file__).parents[1])
    # Buffered, as people run it: a stream that fails once fails again when Python flushes it.
    settings = {"PYTHONPATH": source, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": ""}
    return os.environ | settings | more


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# crlm, help, version


def test_alone_it_prints_its_help(run):
    code, out, _ = run()
    assert code == 0
    assert all(name in out for name in COMMANDS)


def test_version(run):
    assert run("--version") == (0, f"crlm {crlm.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_flag_and_shows_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Examples:\n    crlm {command}" in out
    for parameter in cli.root.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize("argv", [[], *([name, "--help"] for name in COMMANDS), ["fit"], ["ft"]])
def test_help_and_usage_errors_import_nothing_heavy(argv):
    script = (
        "import sys; from crlm.cli import main; main(sys.argv[1:]);"
        "print('heavy:', {'numpy', 'scipy', 'sklearn', 'rich', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *argv],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert "heavy: set()" in done.stdout


def test_module_is_the_program():
    done = shell("fit", "toy.npy", "-q", "-o", "labels.npy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path("labels.npy").exists()


# fit


def test_fit_prints_a_table_and_what_to_do_next(run):
    code, out, err = run("fit", "toy.npy")
    assert code == 0
    assert "toy.npy  800 × 30 float64" in out
    assert "evidence: clear" in out
    assert "  #  size      σ\u0302       p  loss  nearest other centre (÷√2d)\n" in out
    assert "  background  734 rows (91.8 %)  — expected: CRLM leaves noise unassigned\n" in out
    assert err == ("Wrote toy.crlm.npz\nNext:  crlm report toy.crlm.npz\n")


def test_fit_finds_the_truth(run, toy):
    run("fit", "toy.npy", "-o", "labels.csv")
    labels = pd.read_csv("labels.csv")
    assert labels["row"].tolist() == list(range(800))
    assert scores.f_measure(toy[1], labels["label"].to_numpy()) == 1.0


def test_fit_gives_the_estimators_answer(run, toy):
    flags = [
        "-s",
        "0.12",
        "-k",
        "1",
        "-m",
        "3",
        "-G",
        "auto",
        "--metric",
        "cosine",
        "--memory",
        "1GB",
        "--threads",
        "1",
    ]
    run("fit", "toy.npy", *flags, "-o", "l.npy")
    model = crlm.CRLM(0.12, max_clusters=1, min_cluster_size=3, G="auto", metric="cosine")
    np.testing.assert_array_equal(np.load("l.npy"), model.fit(toy[0]).labels_)
    assert model.n_clusters_ == 1


def test_fit_json_is_one_object_with_everything(run, toy):
    code, out, err = run("fit", "toy.npy", "--json", "-o", "a.csv", "-o", "b.parquet")
    record = json.loads(out)
    model = crlm.CRLM().fit(toy[0])
    assert (code, err) == (0, "")
    assert record["schema"] == "crlm.fit/1"
    assert (record["data"], record["n"], record["d"]) == ("toy.npy", 800, 30)
    assert record["sigma_max"] == model.sigma_max_
    assert (record["evidence"], record["radius"], record["G"]) == ("clear", model.radius_, 4.0)
    assert [c["size"] for c in record["clusters"]] == model.cluster_sizes_.tolist()
    assert [c["sigma"] for c in record["clusters"]] == model.sigmas_.tolist()
    assert [c["loss"] for c in record["clusters"]] == model.losses_.tolist()
    assert [c["weight"] for c in record["clusters"]] == model.weights_.tolist()
    assert [c["p_value"] for c in record["clusters"]] == model.p_values_.tolist()
    assert (record["alpha"], record["p_values"]) == (0.01, model.p_values_.tolist())
    assert record["n_duplicates"] == 0
    estimate = record["sigma_estimate"]
    for name in ("suggested", "evidence", "peaks", "gap", "score", "alternatives"):
        assert estimate[name] == getattr(model.sigma_estimate_, name)
    assert estimate["plateau"] == list(model.sigma_estimate_.plateau)
    assert record["background"] + sum(model.cluster_sizes_) == 800
    assert record["files"] == ["a.csv", "b.parquet"]


def test_fit_json_has_null_for_what_is_not_a_number(run):
    _, out, _ = run("fit", "toy.npy", "-k", 1, "--json", "-s", 5)
    record = json.loads(out, parse_constant=pytest.fail)
    assert record["clusters"][0]["separation"] is None
    assert record["evidence"] is None
    assert record["sigma_estimate"] is None
    _, out, _ = run("fit", "toy.npy", "--json", "-s", 5, "--alpha", "none")
    record = json.loads(out, parse_constant=pytest.fail)
    assert (record["alpha"], record["p_values"]) == (None, [None, None])


def test_fit_to_stdout_keeps_the_talk_on_stderr(run):
    code, out, err = run("fit", "toy.npy", "-o", "-")
    assert code == 0
    assert out.startswith("row,label,distance,p_value,posterior\n0,")
    assert len(out.splitlines()) == 801
    assert "nearest other centre" in err


def test_quiet_says_nothing(run):
    assert run("fit", "toy.npy", "-q", "-o", "l.csv") == (0, "", "")


def test_next_repeats_the_flags_and_quotes_the_name(run):
    Path("toy.npy").rename("my toy.npy")
    _, _, err = run("fit", "my toy.npy", "-s", "5", "--no-model")
    assert err == "Next:  crlm fit 'my toy.npy' -s 5 --no-model -o labels.csv\n"
    _, _, err = run("fit", "my toy.npy", "-s", "5")
    assert err.endswith("Next:  crlm report 'my toy.crlm.npz'\n")


def test_dropped_rows_are_background_and_rows_stay_aligned(run, toy):
    X = toy[0].copy()
    bad = [0, 17, 203, 799]
    X[bad, 3] = np.nan
    np.save("emb.npy", X)
    code, out, _ = run("fit", "emb.npy", "--drop-invalid", "-o", "l.npy")
    labels = np.load("l.npy")
    assert code == 0
    assert "dropped     4 rows with NaN or inf" in out
    assert (labels[bad] == -1).all()
    rest = np.delete(np.arange(800), bad)
    np.testing.assert_array_equal(labels[rest], crlm.CRLM().fit(X[rest]).labels_)
    _, out, _ = run("fit", "emb.npy", "--drop-invalid", "--json")
    assert json.loads(out)["dropped"] == 4


def test_cosine_drops_rows_of_zeros_on_demand(run, toy):
    X = toy[0].copy()
    X[[3, 9]] = 0
    X[5, 2] = np.nan
    np.save("emb.npy", X)
    flags = ["--metric", "cosine", "-s", "0.05", "--drop-invalid"]
    _, out, _ = run("fit", "emb.npy", *flags, "-o", "l.npy")
    assert "  dropped     3 rows with NaN, inf or only zeros (label −1): row 3, 5, 9\n" in out
    labels, rest = np.load("l.npy"), np.delete(np.arange(800), [3, 5, 9])
    assert (labels[[3, 5, 9]] == -1).all()
    model = crlm.CRLM(0.05, metric="cosine").fit(X[rest])
    np.testing.assert_array_equal(labels[rest], model.labels_)
    _, out, _ = run("fit", "emb.npy", "-s", "1", "--drop-invalid")
    assert "  dropped     1 row with NaN or inf (label −1): row 5\n" in out


def test_any_number_of_clusters_may_be_asked_for(run):
    run("fit", "toy.npy", "-q", "-o", "a.npy")
    assert run("fit", "toy.npy", "-q", "-k", "9" * 23, "-o", "b.npy") == (0, "", "")
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))


def test_background_is_expected_only_beside_clusters(run):
    np.save("pair.npy", [[0.0], [0.1], [50.0]])
    line = ["fit", "pair.npy", "--alpha", "none", "-s"]
    assert "  background  1 row (33.3 %)  — expected: CRLM" in run(*line, 1)[1]
    assert "  background  0 rows (0.0 %)\n" in run(*line, 99)[1]
    assert "  background  3 rows (100.0 %)\n" in run(*line, 0.01)[1]


def test_sizes_have_thousands_separators(run):
    np.save("many.npy", np.append(np.tile([0.0, 0.1], 1000), [900.0])[:, None])
    assert "  0  2,000  " in run("fit", "many.npy", "-s", 1, "--alpha", "none")[1]


NOISE = np.random.default_rng(0).normal(size=(400, 8))


def test_too_few_rows_have_no_next_step(run):
    np.save("few.npy", np.eye(3)[:1])
    _, out, err = run("fit", "few.npy")
    assert "no cluster" in out
    assert "Too few rows differ to tell a cluster from background." in err
    assert "Next:" not in err


def test_no_permission_is_no_bug(run, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", refuse)
    code, _, err = run("info", "toy.npy")
    assert code == 3
    assert "error: no permission for " in err
    assert "unexpected" not in err


def test_a_ball_of_most_rows_is_told_of_in_flags(run):
    np.save("noise.npy", NOISE)
    _, _, err = run("fit", "noise.npy", "-s", "0.9")
    assert "if you expect one cluster of most rows, --alpha none and --max-clusters=1." in err


@pytest.mark.parametrize("given", [["-s", "0.01"], ["-s0.01"], ["--sigma-max", "0.01"]])
def test_after_no_cluster_at_a_bandwidth_all_of_them_are_next(run, given):
    """And without a test, for which there is no best one, a wider one."""
    _, _, err = run("fit", *given, "toy.npy", "-k", "3")
    assert err.endswith("Next:  crlm fit toy.npy -k 3 --sigma-max auto\n")
    _, _, err = run("fit", *given, "toy.npy", "-k", "3", "--alpha", "none")
    assert err.endswith("Next:  crlm fit toy.npy -k 3 --alpha none --sigma-max 0.02\n")
    assert "labels" not in err


def test_balls_are_tested_unless_alpha_is_none(run, toy):
    for alpha, word in ((None, "none"), (0.3, "0.3")):
        run("fit", "toy.npy", "-q", "-s", "9", "--alpha", word, "-o", "l.npy", "--force")
        expected = crlm.CRLM(9, alpha=alpha).fit(toy[0]).labels_
        np.testing.assert_array_equal(np.load("l.npy"), expected)


def test_table_has_p_values_of_what_was_tested(run):
    tested = run("fit", "toy.npy", "-s", "5")[1].splitlines()[4]
    assert tested.split()[3] == "<1e-16"
    not_tested = run("fit", "toy.npy", "-s", "5", "--alpha", "none")[1].splitlines()[4]
    assert not_tested.split()[3] == "-"


def test_bandwidth_is_said_with_its_rule_its_evidence_and_its_limits(run, toy):
    def line(*argv):
        return run("fit", *argv)[1].splitlines()[1]

    estimate = crlm.CRLM().fit(toy[0]).sigma_estimate_
    low, high = map(number, estimate.plateau)
    assert f"(from the data; evidence: clear, as good from {low} to {high}; peaks" in line(
        "toy.npy"
    )
    assert "(by the paper's histogram; evidence: clear; peaks" in line("toy.npy", "-s", "histogram")
    assert line("toy.npy", "-s", 5) == "σ_max 5.00  (as given)"
    # Limits are in units of the bandwidth used, which is smaller where the ball is deeper.
    low, high = (number(end * 2 / 3) for end in estimate.plateau)
    assert f"as good from {low} to {high}" in line("toy.npy", "-G", 9)
    np.save("noise.npy", NOISE)
    assert line("noise.npy").endswith("(a guess from the data; evidence: weak)")


def test_copies_are_counted(run, toy):
    np.save("copies.npy", np.vstack([toy[0], toy[0][:5]]))
    words = "  copies      5 rows are exact copies of an earlier row"
    assert f"{words}; the test counts them once\n" in run("fit", "copies.npy")[1]
    assert f"{words}\n" in run("fit", "copies.npy", "--alpha", "none")[1]
    assert json.loads(run("fit", "copies.npy", "--json")[1])["n_duplicates"] == 5
    assert "copies" not in run("fit", "toy.npy")[1]


@pytest.mark.parametrize(
    ("flags", "words", "after"),
    [
        ([], "Nothing differs from background alone at alpha = 0.01.", "explore noise.crlm.npz"),
        (["--alpha", "0.001"], "from background alone at alpha = 0.001.", "explore noise.crlm.npz"),
        (["--no-model"], "its spread), --alpha none and --max-clusters=1.", "--alpha none"),
        (["-s", "0.01"], "With σ_max 0.0100 nothing differs from", "--sigma-max auto"),
        (["-s", "100"], "try another --sigma-max (auto looks at all)", "--sigma-max auto"),
        (["-s", "histogram"], "try another --sigma-max", "--sigma-max auto"),
        (["--alpha", "none", "-s", "0.01"], "try a larger --sigma-max or", "--sigma-max 0.02"),
    ],
)
def test_after_no_cluster_come_the_reason_and_a_way_out(run, flags, words, after):
    np.save("noise.npy", NOISE)
    code, out, err = run("fit", "noise.npy", *flags)
    assert (code, "  no cluster\n" in out) == (0, True)
    assert "warning: no cluster found: every row is background. " in err
    assert words in err
    assert err.splitlines()[-1].endswith(after)
    assert err.splitlines()[-1].count("--alpha") <= 1


def test_a_cluster_cut_at_half_of_the_rows_is_told_of_in_flags(run):
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(600, 10)), rng.uniform(-10, 10, size=(400, 10))]
    np.save("half.npy", np.vstack(rows))
    for command in ("fit", "check"):
        err = run(command, "half.npy")[2]
        assert "cluster 0 holds about half of the rows" in err
        assert "--sigma-max (0.8 times its spread), --alpha none and --max-clusters=1 show" in err


def test_clusters_that_are_too_small_are_not_called_background(run):
    _, _, err = run("fit", "toy.npy", "-m", "100")
    assert "What differs from background alone at alpha = 0.01 has fewer than 100 rows." in err
    assert err.endswith("Next:  crlm fit toy.npy\n")


def test_next_names_files_that_are_free(run):
    Path("labels.csv").touch()
    assert run("fit", "toy.npy", "--no-model")[2].endswith("--no-model -o labels-2.csv\n")
    Path("labels-2.csv").touch()
    assert run("sample", "x.npy", "-n", 9)[2].endswith("crlm fit x.npy -o labels-3.csv\n")


def test_verbose_tells_how_the_engine_does_it(run):
    expected = run("fit", "toy.npy", "-q", "-o", "-")[1]
    log = logging.getLogger("crlm")
    before = log.level, list(log.handlers)
    code, out, err = run("fit", "toy.npy", "-q", "-v", "-o", "-")
    assert (code, out) == (0, expected)
    assert err.strip()
    assert (log.level, log.handlers) == before


def test_verbose_shows_info_and_no_less(run, monkeypatch):
    def log_and_fit(self, X):
        log = logging.getLogger("crlm")
        log.info("chose %s", "the way")
        log.debug("a detail")
        log.warning("a doubt")
        return fit(self, X)

    fit = crlm.CRLM.fit
    monkeypatch.setattr(crlm.CRLM, "fit", log_and_fit)
    lines = run("fit", "toy.npy", "-v")[2].splitlines()
    assert lines[:2] == ["chose the way", "a doubt"]
    assert "a detail" not in lines
    assert "chose the way" not in run("fit", "toy.npy")[2]


def test_vectors_that_were_chosen_are_named(run, toy):
    pd.DataFrame({"name": "a", "emb": list(toy[0]), "w": 1.0}).to_parquet("x.parquet")
    note = (
        "note: x.parquet: the rows are the vectors of column 'emb'; left out 'name', 'w'\n"
        "Next:  crlm fit x.parquet --no-model -o labels.csv\n"
    )
    assert run("fit", "x.parquet", "--no-model")[2] == note
    assert run("fit", "x.parquet", "-q") == (0, "", "")
    _, out, err = run("fit", "x.parquet", "--json")
    assert (json.loads(out)["columns"], json.loads(out)["vector"]) == (None, "emb")
    assert err == note.splitlines(keepends=True)[0]
    _, out, err = run("info", "x.parquet")
    assert err == note.splitlines(keepends=True)[0]
    assert "\nvectors  of column emb\n" in out
    assert json.loads(run("info", "x.parquet", "--json")[1])["vector"] == "emb"


def test_columns_that_were_used_are_in_json(run):
    Path("rows.csv").write_text("x,y\n1,2\n3,4\n")
    record = json.loads(run("fit", "rows.csv", "-s", 1, "--json")[1])
    assert (record["columns"], record["vector"]) == (["x", "y"], None)


def test_row_numbers_as_coordinate_are_a_warning(run):
    Path("rows.csv").write_text("id,x,y\n1,2,3\n2,4,6\n")
    words = (
        "warning: rows.csv: column 'id' seems to number the rows, but is used as a coordinate. "
        "Leave it out: --columns x,y\n"
    )
    assert words in run("fit", "rows.csv", "-s", 1)[2]
    assert run("info", "rows.csv")[2] == words
    assert run("info", "rows.csv", "--columns", "x,y")[2] == ""


def test_info_tells_what_is_in_columns_that_no_fit_takes(run):
    Path("iris.csv").write_text("x,y,species\n1,2,a\n3,?,b\n5,6,c\n")
    code, out, err = run("info", "iris.csv")
    assert code == 0
    assert out.splitlines() == [
        "iris.csv  3 rows, 3 columns",
        "numbers: x",
        "numbers, and text in 1 row: y",
        "text: species",
    ]
    assert err.startswith("note: iris.csv has text in column 'species'")
    facts = json.loads(run("info", "iris.csv", "--json")[1])
    assert (facts["kind"], facts["n"]) == ("table", 3)
    assert facts["kinds"] == ["numbers", "numbers, and text in 1 row", "text"]
    pd.DataFrame({"x": [1.0], "name": ["a"], "on": [date(2020, 1, 1)]}).to_parquet("a.parquet")
    facts = json.loads(run("info", "a.parquet", "--json")[1])
    assert facts["kinds"] == ["numbers", "text", "date32[day]"]
    assert run("info", "iris.csv", "--columns", "species")[0] == 3  # which was asked for


def test_header_is_what_one_says_it_is(run):
    Path("years.csv").write_text("2020,2021,2022\n1.5,2,3\n4,5,1\n")
    _, out, err = run("info", "years.csv")
    assert "years.csv  3 × 3 float64" in out
    assert "warning: years.csv: the first line (2020, 2021, 2022) was read as data." in err
    _, out, err = run("info", "years.csv", "--header")
    assert ("years.csv  2 × 3 float64" in out, err) == (True, "")
    assert "columns  2020, 2021, 2022\n" in out
    assert json.loads(run("fit", "years.csv", "-s", 1, "--json", "--no-header")[1])["n"] == 3


def test_many_clusters_are_cut_in_the_table_but_not_in_json(run):
    points = np.repeat(np.arange(25.0) * 100, 3)[:, None] + np.tile([0, 0.1, 0.2], 25)[:, None]
    np.save("many.npy", points)
    _, out, _ = run("fit", "many.npy", "-s", "1", "--alpha", "none")
    assert "... and 5 more (all of them: --json)" in out
    _, out, _ = run("fit", "many.npy", "-s", "1", "--alpha", "none", "--json")
    assert len(json.loads(out)["clusters"]) == 25


def test_no_cluster_is_a_warning_and_an_error_only_on_demand(run):
    np.save("far.npy", np.arange(10.0)[:, None] * 100)
    code, out, err = run("fit", "far.npy", "-s", "1")
    assert code == 0
    assert "no cluster" in out
    assert "warning: no cluster found: every row is background." in err
    assert run("fit", "far.npy", "-s", "1", "--fail-if-empty")[0] == 4


def test_cluster_of_most_rows_is_a_warning(run):
    _, _, err = run("fit", "toy.npy", "-s", "200", "--alpha", "none")
    assert "warning: cluster 0 holds 100 % of rows. σ_max is probably too large; " in err


def test_weak_evidence_is_one_plain_line(run):
    np.save("noise.npy", NOISE)
    for flags in ([], ["-s", "histogram"]):  # nothing found is said once, not twice
        _, _, err = run("fit", "noise.npy", "-q", *flags)
        assert err.startswith("warning: no cluster found: every row is background.")
        assert err.count("\n") == 1
    _, _, err = run("fit", "noise.npy", "-q", "--alpha", "none")
    assert err.startswith("warning: evidence for --sigma-max is weak: no gap. Using the best guess")
    assert err.count("\n") == 1


def test_a_least_size_beyond_the_rows_is_told(run):
    code, out, err = run("fit", "toy.npy", "--no-model", "-m", "100000")
    assert code == 0
    assert "no cluster" in out
    assert "rows, so that none can have 100,000. Try a smaller --min-cluster-size." in err
    assert "Next:  crlm fit toy.npy --no-model\n" in err


def test_weak_evidence_is_an_error_on_demand(run):
    np.save("noise.npy", NOISE)
    assert run("fit", "noise.npy", "-q", "--alpha", "none")[0] == 0
    assert run("fit", "noise.npy", "-q", "--alpha", "none", "--strict")[0] == 4
    assert run("fit", "toy.npy", "-q", "--strict")[0] == 0


def test_warnings_of_other_libraries_are_not_shown(run, monkeypatch):
    def warn_and_fit(self, X):
        warnings.warn("noise of another library", FutureWarning, stacklevel=1)
        return fit(self, X)

    fit = crlm.CRLM.fit
    monkeypatch.setattr(crlm.CRLM, "fit", warn_and_fit)
    assert run("fit", "toy.npy", "-q") == (0, "", "")


def test_csv_with_columns_and_npz_with_key(run, toy):
    frame = pd.DataFrame(toy[0][:, :3], columns=["x", "y", "z"]).assign(name="a")
    frame.to_csv("rows.csv", index=False)
    np.savez("two.npz", A=toy[0], B=toy[0][:, :5])
    assert "rows.csv  800 × 2 float64" in run("fit", "rows.csv", "--columns", "x, z", "-s", 1)[1]
    assert "two.npz  800 × 5 float64" in run("fit", "two.npz", "--key", "B", "-s", 1)[1]


@pytest.mark.parametrize("dtype", [">f8", "float16", "int32", "uint8", "bool", "longdouble"])
def test_any_type_of_number_fits(run, toy, dtype):
    np.save("typed.npy", toy[0].astype(dtype))
    assert run("fit", "typed.npy", "-q", "-s", "5")[0] == 0


def test_streams_without_greek_get_plain_letters():
    done = subprocess.run(
        [sys.executable, "-m", "crlm", "fit", "toy.npy"],
        capture_output=True,
        env=environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
        check=True,
    )
    assert b"sigma_max" in done.stdout
    assert b"sigma-hat" in done.stdout
    assert b"?" not in done.stdout
    head, *rows = (line for line in done.stdout.splitlines()[3:] if b"background" not in line)
    assert {len(line) for line in rows} == {len(head)}
    assert head.endswith(b"  loss  nearest other centre (/ sqrt 2d)")


def test_bar_is_drawn_on_a_terminal_only():
    main_end, program_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "crlm", "fit", "toy.npy"],
        stdout=subprocess.DEVNULL,
        stderr=program_end,
        env=environment(TERM="xterm"),
    ) as process:
        assert process.wait() == 0
    os.close(program_end)
    assert b"Distances" in os.read(main_end, 10_000)
    os.close(main_end)
    assert "Distances" not in shell("fit", "toy.npy").stderr


# Errors: what, where, how to mend it, and the exit code

BROKEN = np.full((40, 2), np.nan)
BROKEN[[0, 1]] = 1.0

ERRORS = {
    "unknown command": ("ft", 2, "No such command 'ft'. Did you mean 'fit'? Try 'crlm --help'."),
    "unknown flag": ("fit toy.npy --sigmax 1", 2, "No such option '--sigmax'"),
    "no data": ("fit", 2, "Missing argument 'DATA'. Try 'crlm fit --help'."),
    "sigma text": ("fit toy.npy -s x", 2, "'x' is not 'auto', 'histogram' or a number."),
    "sigma": (
        "fit toy.npy -s -1",
        2,
        "--sigma-max must be a positive number (1e-150 to 1e150), 'auto' or 'histogram', got -1.0",
    ),
    "sigma nan": ("fit toy.npy -s nan", 2, "--sigma-max must be a positive number"),
    "G text": ("fit toy.npy -G x", 2, "'x' is neither 'auto' nor a number."),
    "alpha": (
        "fit toy.npy --alpha 1",
        2,
        "--alpha must be a number between 0 and 1, or none for no test, got 1.0.",
    ),
    "alpha in percent": ("fit toy.npy --alpha 5%", 2, "nor a number. One percent is 0.01."),
    "alpha text": ("fit toy.npy --alpha no", 2, "'no' is neither 'none' nor a number."),
    "G": ("fit toy.npy -G 1", 2, "G must be a number greater than 1"),
    "k": (
        "fit toy.npy -k 0",
        2,
        "--max-clusters must be a whole number of at least 1, got 0. "
        "Leave it out to take as many as there are.",
    ),
    "m": ("fit toy.npy -m 0", 2, "--min-cluster-size must be a whole number"),
    "threads": (
        "fit toy.npy --threads 0",
        2,
        "--threads must be a whole number of at least 1, got 0. Leave it out to use every core.",
    ),
    "model and none": (
        "fit toy.npy --model m.crlm.npz --no-model",
        2,
        "--model and --no-model do not go together. Leave one of them out.",
    ),
    "metric": ("fit toy.npy --metric l1", 2, "'l1' is not one of 'euclidean', 'cosine'"),
    "memory text": ("fit toy.npy --memory lots", 2, "--memory must be 'auto', a number of bytes"),
    "memory": ("fit toy.npy --memory 1KB", 5, "over the memory limit of 1 kB. Pass --memory "),
    "missing": ("fit tyo.npy", 3, "no such file: tyo.npy. Did you mean toy.npy?"),
    "folder": ("fit empty", 3, "empty is a folder without images (.bmp, .gif, "),
    "suffix": ("fit notes.txt", 3, "notes.txt: cannot read '.txt' files. Supported: .npy"),
    "invalid": (
        "fit nan.npy",
        3,
        "nan.npy has 38 rows with NaN or inf (first: 2, 3, 4). Drop them with --drop-invalid",
    ),
    "all invalid": ("fit all.npy --drop-invalid", 3, "every one of the 38 rows has NaN or inf"),
    "text column": (
        "fit rows.csv",
        3,
        "rows.csv has text in column 'name' (line 2: 'bob'). Take the numeric ones: --columns x,y",
    ),
    "too large": ("fit large.npy", 3, "Divide X by a constant"),
    "too large where": (
        "fit large.npy",
        3,
        "error: large.npy has a value of 1e+200 (row 0); squares",
    ),
    "too large after dropped rows": (
        "fit late.npy --drop-invalid",
        3,
        "error: late.npy has a value of 1e+200 (row 3); squares",
    ),
    "backwards": ("fit toy.npy --columns 5:2", 3, "toy.npy: the columns 5:2 run backwards; '5'"),
    "column twice": ("fit toy.npy --columns 0,1,1", 3, "--columns 0,1,1 takes '1' twice."),
    "header": ("fit toy.npy --header", 3, "--header is about .csv and .tsv files, but toy.npy is"),
    "link": ("fit link.npy", 3, "link.npy is a link to gone.npy, which does not exist."),
    "zeros": (
        "fit zeros.npy --metric cosine",
        3,
        "zeros.npy has 1 row of only zeros (first: 2). --metric cosine needs a direction, and "
        "zeros have none. Drop them with --drop-invalid",
    ),
    "nothing but zeros": (
        "fit none.npy --metric cosine --drop-invalid",
        3,
        "none.npy: every one of the 4 rows has NaN, inf or only zeros.",
    ),
    "long name": ("fit toy.npy -o " + "x" * 300 + ".csv", 2, ".csv: File name too long"),
    "exists": ("fit toy.npy -o notes.csv", 2, "notes.csv exists. Replace it with --force"),
    "twice": ("fit toy.npy -o l.csv -o ./l.csv", 2, "l.csv is named twice as output"),
    "itself": ("fit toy.npy -o toy.npy --force", 2, "toy.npy is the data itself; labels would"),
    "bad output": ("fit toy.npy -o l.txt", 2, "its suffix must be one of .csv, .npy, .parquet"),
    "no folder": ("fit toy.npy -o no/l.csv", 2, "there is no folder no. Make it: mkdir -p no"),
    "under a file": ("fit toy.npy -o toy.npy/l.csv", 2, "toy.npy is a file, not a folder"),
    "two on stdout": ("fit toy.npy --json -o -", 2, "--json and -o - both want the standard"),
    "sample exists": ("sample toy.npy", 2, "toy.npy exists. Replace it with --force"),
    "sample suffix": ("sample x.txt", 2, "must be one of .npy, .npz, .csv, .parquet"),
    "sample labels": ("sample x.npy --labels y.txt", 2, "must be one of .csv, .npy, .parquet"),
    "sample same": ("sample x.npy --labels x.npy", 2, "x.npy is named twice as output"),
    "sample list": ("sample x.npy --sigmas 1,a", 2, "'1,a' is not a list of numbers"),
    "sample k": ("sample x.npy -k 1 --sigmas 1,2", 2, "-k 1 is less than the 2 values"),
    "sample nothing": (
        "sample x.npy -n 0",
        2,
        "Invalid value for '-n': 0 is not in the range x>=1",
    ),
    "sample less": ("sample x.npy -k -1", 2, "Invalid value for '-k': -1 is not in the range x>=0"),
    "sample seed": ("sample x.npy --seed -1", 2, "-1 is not in the range x>=0"),
    "sample weights": ("sample x.npy --weights 0.9,0.9", 2, "weights"),
    "sample narrow": ("sample x.npy --D 5", 2, "D"),
    "info missing": ("info tyo.npy", 3, "Did you mean toy.npy?"),
    "demo exists": ("demo --out notes.png", 2, "notes.png exists. Replace it with --force"),
    "demo suffix": ("demo --out notes.bmp", 2, "must be one of .png, .pdf, .svg"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_error_is_a_sentence_with_its_exit_code(run, folder, case):
    Path("notes.txt").write_text("hello")
    Path("notes.csv").write_text("old")
    Path("notes.png").write_text("old")
    Path("rows.csv").write_text("name,x,y\nbob,1,2\neve,3,4\n")
    np.save("nan.npy", BROKEN)
    np.save("all.npy", BROKEN[2:])
    np.save("large.npy", np.full((5, 2), 1e200))
    np.save("late.npy", [[np.nan, 1], [1, 1], [1, np.inf], [1e200, 1]])
    np.save("zeros.npy", [[0, 1], [1, 0], [0, 0]])
    np.save("none.npy", np.zeros((4, 2)))
    Path("link.npy").symlink_to("gone.npy")
    Path("empty").mkdir()
    before = names_in(folder)
    line, expected, words = ERRORS[case]
    code, out, err = run(*line.split())
    assert err.startswith("error: ")
    assert words in err
    assert (code, out) == (expected, "")
    assert err.count("\n") == 1
    assert names_in(folder) == before


@pytest.mark.parametrize(
    "argv", [["fit", ""], ["info", ""], ["sample", ""], ["fit", "toy.npy", "-o", ""]]
)
def test_empty_name_is_wrong_usage(run, folder, argv):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "the name of the file is empty. Try 'crlm" in err
    assert names_in(folder) == ["toy.npy"]


def test_file_without_permission_is_unusable_data(run, monkeypatch):
    # Root may read anything, so the answers of the system are put in its mouth.
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    Path("x.csv").write_text("1,2\n3,4\n")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(Path, "open", refuse)
    expected = (3, "", "error: cannot read x.csv: Permission denied\n")
    assert run("fit", "x.csv", "--no-model") == expected
    assert run("info", "x.csv") == expected


def test_a_table_beside_the_data_without_permission_is_named(run, monkeypatch):
    opened = Path.open

    def refuse(self, *args, **more):
        if self.name == "m.csv":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(self, *args, **more)

    Path("m.csv").write_text("a\n1\n")
    monkeypatch.setattr(Path, "open", refuse)
    code, _, err = run("fit", "toy.npy", "--meta", "m.csv", "--no-model")
    assert (code, err) == (3, "error: cannot read m.csv: Permission denied\n")


@pytest.mark.parametrize("command", ["sigma", "embed"])
def test_a_folder_without_permission_is_not_an_empty_one(run, monkeypatch, command):
    listed = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    Path("locked").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    code, _, err = run(command, "locked")
    assert code == 3
    assert "locked: Permission denied" in err or "no permission for locked." in err


def test_debug_shows_the_traceback(capsys):
    for argv in (["fit", "tyo.npy", "--debug"], ["--debug", "fit", "tyo.npy"]):
        assert main(argv) == 3
        err = capsys.readouterr().err
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("error: no such file")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RuntimeError("boom"), 1, "unexpected error: RuntimeError: boom; run again with --debug"),
        (MemoryError("Unable to allocate 9 TiB"), 5, "out of memory. Unable to allocate 9 TiB"),
        (MissingExtraError("x", package="p", extra="e"), 3, "pip install 'crlm[e]'"),
        (CRLMError("some new kind"), 2, "some new kind"),
        (KeyboardInterrupt(), 130, "interrupted; no file was left half written"),
        (SystemExit(143), 143, ""),
    ],
)
def test_whatever_a_fit_raises_has_an_exit_code(run, folder, monkeypatch, error, code, words):
    def fail(self, X):
        raise error

    monkeypatch.setattr(crlm.CRLM, "fit", fail)
    found, out, err = run("fit", "toy.npy", "-o", "l.csv")
    assert (found, out) == (code, "")
    assert words in err
    assert names_in(folder) == ["toy.npy"]


def test_full_disk_keeps_the_old_file(run, folder, monkeypatch):
    def fail(file, *_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("l.csv").write_text("old")
    monkeypatch.setitem(tables.ROW_WRITERS, ".csv", fail)
    code, _, err = run("fit", "toy.npy", "-o", "l.csv", "--force")
    assert code == 5
    assert err == "error: disk full while writing l.csv. Nothing was changed; make room.\n"
    assert Path("l.csv").read_text() == "old"
    assert names_in(folder) == ["l.csv", "toy.npy"]


def test_second_file_that_fails_takes_the_first_with_it(run, folder, monkeypatch):
    def fail(file, *_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(tables.ROW_WRITERS, ".csv", fail)
    monkeypatch.setitem(tables.LABEL_WRITERS, ".csv", fail)
    for argv in (["fit", "toy.npy", "-o", "ok.npy", "-o", "m.csv"], ["sample", "x.npy"]):
        more = ["--labels", "m.csv"] if argv[0] == "sample" else []
        code, _, err = run(*argv, *more)
        assert code == 5
        assert err == "error: disk full while writing m.csv. Nothing was changed; make room.\n"
        assert names_in(folder) == ["toy.npy"]


def test_limit_on_the_size_of_files_is_a_full_disk(folder):
    for line, words in {
        "fit toy.npy -q": "error: cannot write toy.crlm.npz: File too large for the limit of "
        "this shell or disk (ulimit -f). Nothing was changed.\n",
        "fit toy.npy -q --no-model -o l.csv": "error: cannot write l.csv: File too large for the "
        "limit of this shell or disk (ulimit -f). Nothing was changed.\n",
        "fit toy.npy -q --no-model -o - > out": "error: file too large (ulimit -f) while writing "
        "to the standard output.\n",
    }.items():
        done = in_shell(f"ulimit -f 1; {PROGRAM} {line}")
        assert (done.returncode, done.stderr) == (5, words)
    assert names_in(folder) == ["out", "toy.npy"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("flags", [[], ["-o", "-"], ["--json"]])
def test_full_disk_behind_stdout(flags):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crlm", "fit", "toy.npy", *flags],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1] == "error: disk full while writing to the standard output."


def test_reader_that_leaves_early_is_no_error():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "crlm", "fit", "toy.npy", "-q", "-o", "-"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


PROGRAM = f"exec {shlex.quote(sys.executable)} -m crlm"


def in_shell(line):
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment(), check=False
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("fit toy.npy -v -o l.npy", 0),
        ("fit toy.npy -o l.npy -o -", 0),
        ("fit tyo.npy --debug", 3),
        ("fit", 2),
    ],
)
def test_stream_that_nobody_hears_changes_nothing_else(line, code):
    heard = in_shell(f"{PROGRAM} {line}")
    assert heard.returncode == code
    labels = Path("l.npy").read_bytes() if code == 0 else b""
    for closed in (" >&-", " 2>&-", " <&- >&- 2>&-", " 2>/dev/full"):
        Path("l.npy").unlink(missing_ok=True)
        done = in_shell(f"{PROGRAM} {line} {closed}")
        assert done.returncode == code, closed
        assert done.stdout == ("" if " >&-" in closed else heard.stdout)
        assert done.stderr == ("" if " 2>" in closed else heard.stderr)
        assert code != 0 or Path("l.npy").read_bytes() == labels


def test_labels_for_a_closed_stdout_alone_are_refused_before_the_work(run, folder):
    run("fit", "toy.npy")
    for line in (
        "fit toy.npy -q --no-model -o -",
        "predict toy.crlm.npz toy.npy -o -",
        "export toy.crlm.npz --to -",
    ):
        done = in_shell(f"{PROGRAM} {line} >&-")
        assert done.returncode == 2
        assert "the standard output (-), which is closed. Leave it open, or give" in done.stderr
        assert in_shell(f"{PROGRAM} {line} > /dev/null").returncode == 0


# Signals


EARLY = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
runpy.run_module("crlm", run_name="__main__")
"""


def test_interrupt_while_the_program_is_imported_shows_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", EARLY],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_interrupt_before_the_command_runs_shows_no_traceback(run, monkeypatch):
    def interrupt(session):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "terminable", interrupt)
    assert run("fit", "toy.npy") == (130, "", "interrupted; no file was left half written\n")


STUCK = """
import signal, sys
from contextlib import contextmanager
import crlm.cli.fit
from crlm.cli import main

@contextmanager
def stuck(wanted):
    def progress(done, total):
        print("fitting", flush=True)
        signal.pause()
    yield progress

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.modules["crlm.cli.fit"].progress_bar = stuck
sys.exit(main(["fit", "toy.npy", "-o", "old.csv", "-o", "new.csv", "--force"]))
"""


@pytest.mark.parametrize(
    ("signum", "code", "words"),
    [(signal.SIGINT, 130, "interrupted; no file was left half written"), (signal.SIGTERM, 143, "")],
)
def test_signal_during_a_fit_leaves_no_partial_file(folder, signum, code, words):
    Path("old.csv").write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout.readline() == "fitting\n"
        process.send_signal(signum)
        out, err = process.communicate()
    assert process.returncode == code
    assert (out, err.strip()) == ("", words)
    assert Path("old.csv").read_text() == "old"
    assert names_in(folder) == ["old.csv", "toy.npy"]


def test_handlers_and_warning_filters_are_given_back(run):
    def state():
        handlers = [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)]
        return handlers, list(warnings.filters), warnings.showwarning

    before = state()
    run("fit", "toy.npy", "-q")
    run("fit", "tyo.npy")
    assert state() == before


# sample, info, demo


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet"])
def test_sample_can_be_read_back_and_fitted(run, suffix):
    flags = ["-n", "500", "-d", "12", "--sigmas", "1,2", "--weights", "0.1", "--seed", "3"]
    code, out, err = run("sample", f"x{suffix}", *flags, "--labels", "y.npy")
    assert (code, out) == (0, "")
    assert f"Next:  crlm fit x{suffix} -o labels.csv" in err
    run("sample", "again.npy", *flags)
    np.testing.assert_array_equal(tables.read_table(f"x{suffix}").X, np.load("again.npy"))
    assert set(np.load("y.npy")) == {-1, 0, 1}
    assert run("fit", f"x{suffix}", "-q")[0] == 0


def test_sample_npz_holds_the_truth(run):
    run("sample", "x.npz", "-n", 100, "--labels", "y.csv")
    with np.load("x.npz") as archive:
        assert archive["X"].shape == (100, 64)
        np.testing.assert_array_equal(archive["y"], pd.read_csv("y.csv")["label"])
        assert archive.files == ["X", "y"]


def test_sample_repeats_short_lists(run):
    assert run("sample", "x.npy", "-k", 4, "-n", 50, "-d", 100, "--sigmas", "1,2")[0] == 0
    assert run("sample", "none.npy", "-k", 0, "-n", 50)[0] == 0


def test_info_tells_shape_range_and_invalid_rows(run):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    X[2, 0] = np.inf
    pd.DataFrame(X, columns=list("abc")).to_parquet("x.parquet")
    code, out, _ = run("info", "x.parquet")
    assert code == 0
    assert out.splitlines() == [
        "x.parquet  4 × 3 float32  (48 bytes)",
        "columns  a, b, c",
        "range    0.00 to 11.0",
        "invalid  1 row with NaN or inf (first: 2)",
    ]


def test_info_json(run):
    _, out, _ = run("info", "toy.npy", "--json")
    facts = json.loads(out)
    assert facts["schema"] == "crlm.info/1"
    assert (facts["n"], facts["d"], facts["dtype"]) == (800, 30, "float64")
    assert facts["columns"] is None
    X = np.load("toy.npy")
    assert (facts["min"], facts["max"]) == (X.min(), X.max())


def test_info_of_nothing_but_nan_has_no_range(run):
    np.save("nan.npy", np.full((3, 2), np.nan))
    facts = json.loads(run("info", "nan.npy", "--json")[1])
    assert (facts["min"], facts["invalid_rows"]) == (None, 3)
    assert "range    – to –" in run("info", "nan.npy")[1]


def test_info_does_not_depend_on_the_block(run, monkeypatch):
    whole = run("info", "toy.npy", "--json")
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1000)
    assert run("info", "toy.npy", "--json") == whole


def test_demo_draws_its_picture_again_and_again(run, folder):
    pytest.importorskip("matplotlib")
    for _ in range(2):
        code, out, err = run("demo")
        assert code == 0
        assert "F-measure against the truth  1.000" in out
        assert f"picture  {folder / 'crlm-demo.png'}" in out
        assert "Next:  crlm sample toy-2.npy && crlm fit toy-2.npy -o labels.csv" in err
    assert (folder / "crlm-demo.png").read_bytes().startswith(b"\x89PNG")
    assert names_in(folder) == ["crlm-demo.png", "toy.npy"]


def test_demo_says_that_it_replaces_its_own_picture(run):
    words = "".join(run("demo", "--help")[1].split())  # lines are broken at hyphens too
    assert "[default:crlm-demo.png,whichisreplacedifitexists]" in words
    assert "--outifitexists;crlm-demo.pngisreplacedwithout." in words


def test_demo_without_matplotlib_says_how_to_get_the_picture(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = run("demo")
    assert code == 0
    assert "F-measure" in out
    assert "note: no picture: the picture needs matplotlib" in err
    assert "pip install 'crlm[plot]'" in err
    assert names_in(folder) == ["toy.npy"]


# Small parts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (9.996, "10.0"),
        (-0.5, "−0.500"),
        (-3e-9, "−3.00e-09"),
        (1e12, "1.00e+12"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_number_has_three_digits(value, text):
    assert number(value) == text


def test_separation_is_to_the_nearest_other_centre():
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 6.0]])
    assert clusters.separations(centers, centers) == [1.0, 1.0, 3.0]
    assert np.isnan(clusters.separations(centers[:1], centers[:1])).all()
