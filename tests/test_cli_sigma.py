"""`crlm sigma`: a picture of the distances, a verdict in words, JSON for programs."""

import io
import json
import re
import shlex

import numpy as np
import pytest

from crlm import CRLM, GMMUB, estimate_sigma
from crlm.cli import main
from crlm.cli.common import number
from crlm.cli.sigma import bars

BARS = "▁▂▃▄▅▆▇█"


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(k=2, d=30, sigmas=[1, 2], weights=[0.05, 0.04], D=60, sigma_max=5, rng=0)
    return truth.sample(800, rng=1)[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, toy):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    np.save("toy.npy", toy)
    np.save("noise.npy", np.random.default_rng(0).normal(size=(400, 8)))


def drawing(out):
    """Lines of the bars, the axis and the mark."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if "▲" in line)
    return lines[at - 7 : at - 1], lines[at - 1], lines[at]


def test_clusters_are_said_with_their_evidence_and_the_next_command(run, toy, tmp_path):
    estimate = estimate_sigma(toy)
    low, high = map(number, estimate.plateau)
    code, out, err = run("sigma", "toy.npy")
    assert code == 0
    assert out.startswith("toy.npy  800 × 30 float64\n\n319,600 pairs by distance / √(2d)")
    peaks = ", ".join(map(number, estimate.peaks))
    assert f"\nclusters      2, the surest with p <1e-16; spread {peaks}\n" in out
    assert f"\ngap           the next row is {number(estimate.gap)} times as far as the" in out
    assert f"\nplateau       as good for σ_max from {low} to {high}: its exact value is no" in out
    others = ", ".join(map(number, estimate.alternatives))
    assert f"\nalternatives  {others}: at least half as many rows in clusters\n" in out
    assert out.endswith(f"\nSuggested σ_max {number(estimate.suggested)}   evidence: clear\n")
    assert err == "Next:  crlm fit toy.npy\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["noise.npy", "toy.npy"]


@pytest.mark.parametrize(("scale", "words"), [(1e-149, "so narrow"), (1e-165, "differ by more")])
def test_what_no_fit_takes_is_not_suggested(run, scale, words):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((150, 4)), 0.5 + 1e-6 * rng.normal(size=(30, 4))])
    np.save("near.npy", np.column_stack([X * scale, np.ones(180)]))
    for command in ("sigma", "fit"):
        code, _, err = run(command, "near.npy")
        assert code == 3
        assert "near.npy has " in err
        assert words in err


def test_next_command_is_a_fit_of_the_same_rows(run, toy):
    X = toy.copy()
    X[3, 0] = np.nan
    np.savez("two words.npz", A=X, B=toy)
    line = ["two words.npz", "--key", "A", "--drop-invalid", "--alpha", "0.1"]
    _, _, err = run("--debug", "sigma", *line, "--strict")
    words = "crlm --debug fit 'two words.npz' --key A --drop-invalid --alpha 0.1"
    assert err == f"Next:  {words}\n"
    assert "  0    35  " in run(*shlex.split(words)[1:])[1]


def test_pure_background_is_said_to_be_nothing_else(run):
    code, out, err = run("sigma", "noise.npy", "--alpha=0.05")
    assert code == 0
    assert "\nNothing differs from background alone at alpha = 0.05, at any σ_max.\n" in out
    assert "is a guess   evidence: weak\n" in out
    assert not re.search(r"clusters  |plateau|Suggested|gap  ", out)
    assert err == "Next:  crlm explore noise.npy --alpha=0.05\n"


def test_bandwidth_that_matters_is_said_to(run, monkeypatch, toy):
    weaker = estimate_sigma(toy)._replace(
        evidence="moderate", plateau=(5.0, 6.0), gap=1.01, alternatives=[], score=2.5
    )
    monkeypatch.setattr("crlm.bandwidth.sigma.estimate_sigma", lambda X, alpha, metric: weaker)
    _, out, _ = run("sigma", "toy.npy")
    assert "the surest with p = 0.0032; spread" in out
    assert "\ngap           none: around the surest cluster the rows go on without a break\n" in out
    assert "as good for σ_max from 5.00 to 6.00: its value matters\n" in out
    assert "alternatives" not in out


def test_strict_is_an_error_only_when_the_evidence_is_weak(run):
    assert run("sigma", "toy.npy", "--strict")[0] == 0
    assert run("sigma", "noise.npy", "--strict")[0] == 4
    assert run("sigma", "noise.npy", "--strict", "--json")[0] == 4


@pytest.mark.parametrize(
    "flags", [[], ["--metric", "cosine"], ["--alpha", "none"], ["--alpha", "0.2"]]
)
def test_suggestion_is_what_fit_takes(run, flags):
    suggested = json.loads(run("sigma", "toy.npy", "--json", *flags)[1])["suggested"]
    assert suggested == json.loads(run("fit", "toy.npy", "--json", *flags)[1])["sigma_max"]


def test_json_is_one_object_with_everything(run, toy):
    code, out, err = run("sigma", "toy.npy", "--json")
    record = json.loads(out, parse_constant=pytest.fail)
    estimate = CRLM().fit(toy).sigma_estimate_
    assert (code, err) == (0, "")
    assert (record["schema"], record["data"]) == ("crlm.sigma/1", "toy.npy")
    assert (record["n"], record["d"], record["dropped"]) == (800, 30, 0)
    assert (record["metric"], record["alpha"]) == ("euclidean", 0.01)
    for name in ("suggested", "evidence", "peaks", "gap", "score", "alternatives"):
        assert record[name] == getattr(estimate, name)
    assert record["plateau"] == list(estimate.plateau)
    assert record["histogram"]["edges"] == estimate.edges.tolist()
    assert record["histogram"]["counts"] == estimate.counts.tolist()
    assert record["curve"]["sigma_max"] == estimate.sigmas.tolist()
    assert record["curve"]["n_clusters"] == estimate.n_clusters.tolist()
    assert record["curve"]["net"] == estimate.net.tolist()
    record = json.loads(run("sigma", "noise.npy", "--json")[1], parse_constant=pytest.fail)
    assert (record["evidence"], record["plateau"]) == ("weak", [None, None])


@pytest.mark.parametrize("width", [40, 80, 133])
def test_picture_is_as_wide_as_the_terminal(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    rows, axis, mark = drawing(run("sigma", "toy.npy")[1])
    assert {len(rows[-1]), len(axis)} == {width - 1}
    assert len(mark) < width
    assert set("".join(rows)) <= {" ", *BARS}


def test_mark_is_between_the_clusters_and_the_background(run):
    rows, _, mark = drawing(run("sigma", "toy.npy")[1])
    at = mark.index("▲")
    assert mark[at:] == f"▲ σ_max {number(estimate_sigma(np.load('toy.npy')).suggested)}"
    lowest = rows[-1]
    assert lowest[at] == " "
    assert lowest[:at].strip()
    assert lowest[at:].strip()


def test_mark_far_right_has_its_words_on_the_left(run):
    X = np.vstack([np.zeros((1, 2)), np.full((1, 2), 1e-9), np.ones((1, 2))])
    np.save("three.npy", X)
    _, axis, mark = drawing(run("sigma", "three.npy")[1])
    assert re.fullmatch(r" *σ_max \S+ ▲", mark)
    assert len(mark) <= len(axis)


def test_bars_grow_with_the_logarithm_and_no_pair_is_lost():
    assert bars([0, 1, 10**9, 0], 1) == [" ▁█ "]
    tall = bars([10, 100, 1000], 4)
    heights = [sum(row[j] != " " for row in tall) for j in range(3)]
    assert heights == sorted(heights)
    assert heights[2] == 4


def test_rows_that_are_all_the_same_have_no_distance(run):
    np.save("same.npy", np.ones((5, 2)))
    code, out, _ = run("sigma", "same.npy")
    assert code == 0
    assert "\nNo two different rows, so there is no distance to look at.\n" in out
    assert "evidence: weak" in out


def test_streams_without_blocks_get_plain_letters(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    assert main(["sigma", "toy.npy"]) == 0
    stream.flush()
    out = stream.buffer.getvalue().decode("ascii")
    assert "?" not in out
    assert re.search(r"^ +[.:#]+$", out, re.M)
    assert "^ sigma_max" in out


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("sigma", 2, "Missing argument 'DATA'. Try 'crlm sigma --help'."),
        ("sigma tyo.npy", 3, "no such file: tyo.npy. Did you mean toy.npy?"),
        ("sigma toy.npy --alpha 0", 2, "--alpha must be a number between 0 and 1, or none for"),
        ("sigma nan.npy", 3, "nan.npy has 1 row with NaN or inf (first: 0). Drop them with"),
        ("sigma nan.npy --drop-invalid", 3, "nan.npy has a value of 1e+200 (row 2); squares"),
        ("sigma zero.npy --metric cosine", 3, "zero.npy has 1 row of only zeros (first: 1)."),
    ],
)
def test_error_is_a_sentence_with_its_exit_code(run, line, code, words):
    np.save("nan.npy", [[np.nan, 1], [1, 1], [1e200, 1]])
    np.save("zero.npy", [[1.0, 1], [0, 0]])
    found, out, err = run(*line.split())
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert words in err
    assert err.count("\n") == 1
