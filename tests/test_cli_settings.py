"""Settings from flags, variables and files; colour, quiet and completion."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crlm
from crlm import CRLM
from crlm.cli import root
from crlm.cli.completion import LINES

REPORTING = ("bench", "check", "embed", "export", "fit", "info", "predict", "sample", "sigma")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = crlm.GMMUB.draw(k=2, d=8, sigmas=[1, 1], weights=[0.2, 0.1], D=60, sigma_max=5, rng=0)
    np.save("toy.npy", truth.sample(150, rng=1)[0])
    return tmp_path


def fitted(run, *flags):
    """Settings of the model that a fit makes."""
    code, _, err = run("fit", "toy.npy", "-q", *flags)
    assert code == 0, err
    document = json.loads(run("info", "toy.crlm.npz", "--json")[1])
    return document["settings"], document["parameters"]


def test_flags_win_over_variables_over_files_over_defaults(run, monkeypatch):
    assert fitted(run)[1]["sigma_max"] == "auto"
    Path("crlm.toml").write_text("sigma-max = 3\nalpha = 0.5\n")
    settings, parameters = fitted(run)
    assert (parameters["sigma_max"], parameters["alpha"]) == (3.0, 0.5)
    assert settings["origins"] == {"sigma_max": "file", "alpha": "file"}
    monkeypatch.setenv("CRLM_SIGMA_MAX", "4")
    settings, parameters = fitted(run)
    assert (parameters["sigma_max"], parameters["alpha"]) == (4.0, 0.5)
    assert settings["origins"] == {"sigma_max": "environment", "alpha": "file"}
    settings, parameters = fitted(run, "-s", 5)
    assert (parameters["sigma_max"], parameters["alpha"]) == (5.0, 0.5)
    assert settings["origins"] == {"sigma_max": "flag", "alpha": "file"}
    assert settings["values"]["G"] == 4.0


def test_table_of_a_command_wins_over_the_rest_of_the_file(run):
    Path("crlm.toml").write_text("alpha = 0.5\n[fit]\nalpha = 0.25\n[sigma]\nalpha = 0.75\n")
    assert fitted(run)[1]["alpha"] == 0.25
    assert json.loads(run("sigma", "toy.npy", "--json")[1])["alpha"] == 0.75
    assert json.loads(run("info", "toy.npy", "--json")[1])["n"] == 150


def test_file_may_be_pyproject_or_named(run):
    Path("pyproject.toml").write_text("[tool.crlm]\nmin_cluster_size = 7\n[tool.other]\nx = 1\n")
    assert fitted(run)[1]["min_cluster_size"] == 7
    Path("mine.toml").write_text("min-cluster-size = 9\ncolumns = ['0:5']\n")
    settings, parameters = fitted(run, "--config", "mine.toml")
    assert parameters["min_cluster_size"] == 9
    assert settings["values"]["columns"] == ["0:5"]
    assert CRLM.load("toy.crlm.npz").n_features_in_ == 6
    assert fitted(run, "--config", os.devnull)[1]["min_cluster_size"] == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("sigma_mx = 1", "crlm.toml: no command has a setting 'sigma_mx'. Did you mean"),
        ("[fit]\nseeds = 1", "crlm.toml: fit has no setting 'seeds'. Did you mean 'seed'?"),
        ("[fti]\nseed = 1", "crlm.toml: there is no command 'fti'. Did you mean 'fit'?"),
        ("force = true", "crlm.toml: no command has a setting 'force'."),
        ("alpha = ", "crlm.toml is no TOML file"),
        ("alpha = [1]", "crlm.toml: alpha is one value, got [1]."),
        ("sigma-max = true", "'true' is not 'auto', 'histogram' or a number. It was set in"),
        ("threads = 1.5", "'1.5' is not a valid integer. It was set in crlm.toml."),
        ("landmarks = 1.5", "'1.5'"),
        ("verbose = 7", "crlm.toml: verbose is true or false, got 7."),
        ("seed = 1e400", "'inf' is not a valid integer range"),
        ("sample = 2020-01-01", "'2020-01-01' is not a valid integer range"),
        ("alpha = 'x'", "'x' is neither 'none' nor a number. It was set in crlm.toml."),
        ("seed = 'x'", "'x' is not a valid integer range. It was set in crlm.toml."),
        ("alpha = 7", "--alpha must be a number between 0 and 1"),
    ],
)
def test_wrong_file_is_wrong_usage(run, content, words):
    Path("crlm.toml").write_text(content)
    code, out, err = run("fit", "toy.npy")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_columns_in_a_file_may_be_a_list_of_numbers(run):
    Path("crlm.toml").write_text("columns = [0, 2]\n")
    assert run("fit", "toy.npy", "-q")[0] == 0
    assert CRLM.load("toy.crlm.npz").n_features_in_ == 2
    assert run("sigma", "toy.npy", "--threads", 10**22)[0] == 0
    Path("some.csv").write_text('"a,b",c\n1,2\n3,4\n')
    Path("crlm.toml").write_text('columns = ["a,b", "c"]\n')
    assert run("info", "some.csv")[0] == 0


def test_wrong_variable_is_named(run, monkeypatch):
    monkeypatch.setenv("CRLM_SEED", "x")
    code, _, err = run("fit", "toy.npy")
    assert (code, "It was set by the variable CRLM_SEED." in err) == (2, True)
    assert run("fit", "toy.npy", "-q", "--seed", 1)[0] == 0


def test_missing_file_of_settings_is_an_error(run):
    code, _, err = run("fit", "toy.npy", "--config", "gone.toml")
    assert (code, "cannot read gone.toml: No such file" in err) == (2, True)


def test_none_is_a_word_in_files(run):
    Path("crlm.toml").write_text("alpha = 'none'\nsigma-max = 'histogram'\nG = 'auto'\n")
    _, parameters = fitted(run)
    assert [parameters[name] for name in ("alpha", "sigma_max", "G")] == [None, "histogram", "auto"]


def test_variables_leave_toy_data_alone(run, monkeypatch):
    monkeypatch.setenv("CRLM_SIGMA_MAX", "auto")
    assert run("sample", "x.npy", "-q", "-n", 50)[0] == 0


# What all commands have


def test_the_variable_of_the_paper_s_data_is_no_data_of_an_export(run, monkeypatch):
    run("fit", "toy.npy", "-q")
    monkeypatch.setenv("CRLM_DATA", "elsewhere")
    code, _, err = run("export", "toy.crlm.npz", "--to", "labels.csv")
    assert (code, Path("labels.csv").exists()) == (0, True), err


def test_every_command_has_the_common_options():
    for name, command in root.commands.items():
        options = {
            option for param in command.params for option in param.opts + param.secondary_opts
        }
        common = {"--quiet", "--no-progress", "--debug", "--no-color", "--config", "--threads"}
        assert common <= options, name


def test_every_command_that_reports_has_json():
    for name in REPORTING:
        assert any("--json" in param.opts for param in root.commands[name].params), name


def test_quiet_is_quiet_everywhere(run):
    for line in ("sigma toy.npy", "info toy.npy", "check toy.npy", "fit toy.npy", "sample a.npy"):
        _, _, err = run(*line.split(), "-q")
        assert err == "", line


def test_threads_change_no_label(run):
    for n in (1, 2):
        run("fit", "toy.npy", "-q", "--threads", n, "-o", f"{n}.npy")
        assert run("sigma", "toy.npy", "-q", "--threads", n)[0] == 0
    np.testing.assert_array_equal(np.load("1.npy"), np.load("2.npy"))


def on_terminal(*argv, **variables):
    """What a person sees on stderr."""
    main_end, program_end = pty.openpty()
    source = str(Path(crlm.__file__).parents[1])
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "crlm", *argv],
        stderr=program_end,
        stdout=subprocess.DEVNULL,
        env=environment | {"PYTHONPATH": source} | variables,
        check=False,
    )
    os.close(program_end)
    seen = os.read(main_end, 10_000).decode()
    os.close(main_end)
    return seen


def test_colour_is_for_terminals_that_want_it(run):
    assert "\x1b[" in on_terminal("fit", "gone.npy")
    assert "\x1b[" not in on_terminal("fit", "gone.npy", NO_COLOR="1")
    assert "\x1b[" not in on_terminal("fit", "gone.npy", "--no-color")
    assert "\x1b[" in on_terminal("fit", "gone.npy", "--color", NO_COLOR="1")
    assert "\x1b[" not in run("fit", "gone.npy")[2]
    assert "\x1b[31m\x1b[1merror:\x1b[0m no such file" in run("fit", "gone.npy", "--color")[2]


# Completion


@pytest.mark.parametrize("shell", LINES)
def test_completion_prints_a_script_that_its_shell_accepts(run, shell):
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert f"_CRLM_COMPLETE={shell}_complete" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=out, text=True, check=True)


def complete(words, **variables):
    source = str(Path(crlm.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "crlm"],
        capture_output=True,
        text=True,
        env=os.environ
        | {"PYTHONPATH": source, "_CRLM_COMPLETE": "bash_complete", "COMP_WORDS": words}
        | {"COMP_CWORD": str(len(words.split()) - (not words.endswith(" "))), **variables},
        check=True,
    )
    return done.stdout.splitlines()


def test_commands_and_flags_are_completed():
    assert complete("crlm pre") == ["plain,predict"]
    assert complete("crlm fit --sig") == ["plain,--sigma-max"]
    assert complete("crlm fit x.npy --metric co") == ["plain,cosine"]
    assert complete("crlm fit to") == ["file,to"]


def test_a_real_bash_completes_after_the_documented_line():
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    Path("bin").mkdir()
    program = Path("bin/crlm")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m crlm "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(crlm completion bash)"; COMP_WORDS=(crlm comp); COMP_CWORD=1; '
        '_crlm_completion crlm; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(crlm.__file__).parents[1]),
        },
        check=True,
    )
    assert done.stdout == "completion\n"


def test_a_named_model_counts_more_than_a_setting_for_none(run, monkeypatch):
    monkeypatch.setenv("CRLM_NO_MODEL", "1")
    assert run("fit", "toy.npy", "--model", "m.crlm.npz")[0] == 0
    assert Path("m.crlm.npz").exists()
