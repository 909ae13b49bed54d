"""`crlm check`: words for people, JSON for programs, a picture."""

import json

import numpy as np
import pytest

from crlm import CRLM, GMMUB
from crlm.cli.certificates import certificate_lines, certificate_record, findings
from crlm.display import AdmissibleRegionDisplay

NUMBERS = ["--n", 1000, "--d", 20, "--weight", 0.01, "--sigma", 1, "--sigma-max", 2.5, "--D", 60]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = GMMUB.draw(k=2, d=30, sigmas=[1, 2], weights=[0.05, 0.04], D=60, sigma_max=5, rng=0)
    np.save("toy.npy", truth.sample(800, rng=1)[0])


def test_numbers_show_three_kinds_side_by_side(run):
    code, out, _ = run("check", *NUMBERS)
    assert code == 0
    assert "0.99952" in out
    assert "662" in out
    assert "580,957" in out
    assert "not valid for G above 2.62" in out
    assert "Largest term: size" in out


def test_numbers_as_json(run):
    code, out, _ = run("check", *NUMBERS, "--json")
    record = json.loads(out)
    assert (code, record["schema"]) == (0, "crlm.check/1")
    sharp = record["kinds"]["sharp"]
    assert sharp["points_needed"] == 662
    assert sharp["failure"] == pytest.approx(0.000479244453579, rel=1e-6)
    assert sharp["interval"]["a3"] == 2.0
    assert record["kinds"]["printed"]["interval"]["lower"] is None


def test_assumptions_that_fail_are_named(run):
    numbers = [word if word != 2.5 else 1.5 for word in NUMBERS]
    out = run("check", *numbers)[1]
    assert "corrected: does not apply, A3 not met." in out
    assert "none" in out


def test_a_picture_of_the_admissible_region(run):
    pytest.importorskip("matplotlib")
    small = ["--n", 100, "--d", 5, "--weight", 0.1, "--sigma", 1, "--D", 60]
    code, _, err = run("check", *small, "--plot", "region.png")
    assert code == 0
    assert "Wrote region.png" in err
    code, _, err = run("check", *small, "--plot", "region.png")
    assert code == 2
    assert "exists" in err


def test_the_region_has_a_band_for_every_kind_and_the_lines_of_the_figures():
    pytest.importorskip("matplotlib")
    shown = AdmissibleRegionDisplay.from_numbers(
        100, 20, 0.1, 1.0, 60.0, sigma_max=2.5, dimensions=[20.0]
    )
    names = {text.get_text() for text in shown.ax_.get_legend().get_texts()}
    assert {"sharp", "corrected", "printed", "A3", "A1", "this setting"} <= names


def test_data_are_certified_in_half_a_screen_worst_first(run):
    code, out, _ = run("check", "toy.npy", "-s", 5)
    assert code == 0
    assert "Certified" in out
    assert "uniform in a ball is plausible" in out
    assert len(out.splitlines()) <= 20
    assert "an estimate, no guarantee" in " ".join(out.split())


def test_data_as_json(run):
    record = json.loads(run("check", "toy.npy", "-s", 5, "--json")[1])
    assert record["theorem_d"] == "holds"
    verdicts = [c["verdict"] for c in record["conditions"]]
    assert verdicts == sorted(verdicts, key=["fails", "undecided", "holds"].index)


def test_what_fails_comes_first_and_with_its_fix():
    X = np.concatenate([np.linspace(0, 3, 30), np.linspace(50, 90, 10)])[:, None]
    certificate = CRLM(0.5, alpha=None).fit(X).certificate_
    assert certificate.theorem_d == "fails"
    assert findings(certificate)[0].verdict == "fails"
    text = "\n".join(certificate_lines(certificate))
    assert "Not certified" in text
    assert "cover asks for a larger --sigma-max" in text  # and others for a smaller one
    assert "so that no bandwidth satisfies all" in " ".join(text.split())
    assert "fails: try" not in text
    fixes = [c["fix"] for c in certificate_record(certificate)["conditions"]]
    assert fixes[0] is not None


def test_what_fails_in_one_direction_says_which():
    X = np.concatenate([np.linspace(0, 1, 8), np.linspace(2.2, 3, 8), [90.0, 95.0]])[:, None]
    certificate = CRLM(0.6, alpha=None).fit(X).certificate_
    fails = {f.name for f in findings(certificate) if f.verdict == "fails"}
    assert fails
    assert "cover" not in fails
    text = " ".join(certificate_lines(certificate))
    assert "fails: try a smaller --sigma-max" in text


def test_a_background_that_is_no_ball_takes_the_bound_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 60))
    X = np.concatenate([X, 40 + 0.01 * rng.normal(size=(20, 60))])
    text = "\n".join(certificate_lines(CRLM(0.05).fit(X).certificate_))
    assert "does not apply (see background)" in text
    assert "not uniform in a ball, as hardly any real one is; a cube, for one" in " ".join(
        text.split()
    )


def clear_clusters():
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-10, 10, size=(500, 10))]
    rows += [c + rng.normal(size=(100, 10)) for c in ([4] * 10, [-4] * 10, [4, -4] * 5)]
    return np.vstack(rows)


def test_clear_clusters_without_a_proof_are_told_to_be_usual_first_with_p_and_evidence(run):
    np.save("clear.npy", clear_clusters())
    out = run("check", "clear.npy")[1]
    head, first, second, *_ = out.splitlines()
    assert "3 clusters  p <1e-16  evidence " in head
    assert f"{first} {second}".startswith("Not certified, as usual on real data: the theorems ask")
    assert "p-values and evidence say whether clusters are there." in f"{first} {second}"


def test_a_certificate_prints_in_a_few_lines():
    for data, words in (
        (
            np.load("toy.npy"),
            ["2 clusters among 800 rows of 30 columns, sigma_max ", "Certified: "],
        ),
        (
            clear_clusters(),
            ["3 clusters among 800 rows of 10", "Not certified, as", "fails: cover "],
        ),
    ):
        found = CRLM().fit(data).certificate_
        text = str(found)
        assert len(text.splitlines()) <= 6
        for word in words:
            assert word in text
        assert repr(found).startswith("Certificate(n=800")
    nothing = CRLM(0.1).fit(np.arange(9.0)[:, None]).certificate_
    assert str(nothing).splitlines()[1:] == [
        "No cluster, so there is nothing to certify.",
        "Background: too few rows to test whether it is uniform.",
    ]


def test_nothing_found_is_nothing_to_certify():
    lines = certificate_lines(CRLM(0.1).fit(np.arange(9.0)[:, None]).certificate_)
    assert lines[0] == "No cluster, so there is nothing to certify."
    assert "too few rows" in lines[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["check"], ["give a file to check", "--n, --d, --weight, --sigma, --D missing"]),
        (["check", "toy.npy", "--n", "5"], ["DATA and --n do not go together"]),
        (["check", "missing.npy"], ["missing.npy"]),
    ],
)
def test_wrong_usage_is_explained(run, argv, words):
    code, _, err = run(*argv)
    assert code in (2, 3)
    for word in words:
        assert word in err
