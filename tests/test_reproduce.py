"""`crlm reproduce`: work is done once, checks can fail, and files say what was found."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from crlm.baselines import KMeans, TensorDecomposition
from crlm.cli import main
from crlm.model import GMMUB
from crlm.reproduce import NAMES, convergence, faces, find_k, load, region, runner, running_time
from crlm.reproduce.best import best, mean_error_of
from crlm.reproduce.drawing import ORDER, STYLES, in_order, new_figure
from crlm.reproduce.runner import run
from crlm.reproduce.study import Check, Claim, Page, Plan, Study, slope


def small_study(calls, holds=True):
    def work(cell, plan):
        calls.append(cell["i"])
        return [{"square": np.int64(cell["i"] ** 2), "nothing": float("nan")}]

    def report(rows, plan):
        figure, axes = new_figure()
        axes[0, 0].plot([row["square"] for row in rows])
        return Page([Claim("a", "b", "yes")], [Check("all is well", "1", holds)], [],
                    {"small": figure})  # fmt: skip

    return Study("small", "A small one", "fig:small", lambda plan: [{"i": i} for i in range(4)],
                 work, report)  # fmt: skip


def test_a_study_writes_page_numbers_and_figures(tmp_path):
    page = run(small_study([]), Plan(), tmp_path)
    folder = tmp_path / "small"
    assert page.checks[0].holds
    assert {path.name for path in folder.iterdir()} == {
        "cells.jsonl", "small.csv", "small.json", "small.md", "small.png", "small.svg"
    }  # fmt: skip
    record = json.loads((folder / "small.json").read_text())
    assert record["rows"][3] == {"i": 3, "square": 9, "nothing": None}
    with (folder / "small.csv").open() as file:
        assert [row["square"] for row in csv.DictReader(file)] == ["0", "1", "4", "9"]
    assert "holds: all is well" in (folder / "small.md").read_text()
    assert (folder / "small.png").read_bytes()[1:4] == b"PNG"


def test_cells_that_are_done_are_not_done_again(tmp_path):
    calls = []
    run(small_study(calls), Plan(), tmp_path)
    run(small_study(calls), Plan(), tmp_path)
    assert calls == [0, 1, 2, 3]


def test_stopped_work_goes_on_where_it_was_left_even_after_half_a_line(tmp_path):
    first, calls = [], []
    run(small_study(first), Plan(), tmp_path)
    diary = tmp_path / "small" / "cells.jsonl"
    lines = diary.read_text().splitlines(keepends=True)
    diary.write_text("".join(lines[:3]) + lines[3][:10])
    run(small_study(calls), Plan(), tmp_path)
    assert calls == [2, 3]
    assert diary.read_text() == "".join(lines)


@pytest.mark.parametrize("other", [Plan(seed=1), Plan(full=True)])
def test_another_seed_or_size_starts_anew(tmp_path, other):
    calls = []
    run(small_study(calls), Plan(), tmp_path)
    run(small_study(calls), other, tmp_path)
    assert calls == [0, 1, 2, 3] * 2


def test_changed_code_libraries_or_data_start_anew(tmp_path, monkeypatch):
    calls = []
    study, data = small_study(calls)._replace(data=("kimia216",)), tmp_path / "data"
    (data / "kimia216").mkdir(parents=True)
    run(study, Plan(data=data), tmp_path)
    run(study, Plan(data=data), tmp_path)
    assert calls == [0, 1, 2, 3]
    (data / "kimia216.zip").write_bytes(b"other images")
    run(study, Plan(data=data), tmp_path)
    assert len(calls) == 8
    monkeypatch.setattr(runner, "_code_mark", lambda: 1)
    run(study, Plan(data=data), tmp_path)
    assert len(calls) == 12
    monkeypatch.setattr(runner.metadata, "version", lambda name: "9")
    run(study, Plan(data=data), tmp_path)
    assert len(calls) == 16


def test_the_mark_of_the_code_sees_every_module(tmp_path, monkeypatch):
    (tmp_path / "baselines").mkdir()
    module = tmp_path / "baselines" / "tensor.py"
    monkeypatch.setattr(runner, "PACKAGE", tmp_path)
    marks = set()
    for text in ("a = 1", "a = 2"):
        module.write_text(text)
        marks.add(runner._code_mark.__wrapped__())
    module.rename(tmp_path / "tensor.py")
    marks.add(runner._code_mark.__wrapped__())
    assert len(marks) == 3


COMPARISONS = ["running_time", "kimia216", "shapes1070", "faces", "convergence"]


@pytest.mark.parametrize("name", COMPARISONS)
def test_methods_can_be_chosen_and_ours_always_runs(name, monkeypatch):
    for module, loader in (("kimia216", "features"), ("shapes1070", "features"),
                           ("faces", "images")):  # fmt: skip
        monkeypatch.setattr(f"crlm.reproduce.{module}.{loader}", lambda source: None)

    def methods(*names):
        plan = Plan(methods=frozenset(names) if names else None)
        return {cell.get("method", "CRLM") for cell in load(name).cells(plan)}

    ours = methods("CRLM")
    assert "CRLM" in ours
    assert methods("DBSCAN") == ours | {"DBSCAN"}
    assert methods() > methods("DBSCAN")


def test_a_comparison_with_nobody_has_a_page_too(tmp_path, monkeypatch, capsys):
    sizes = [{"d": d, "k": k, "n": n, "runs": 2} for d, k in convergence.PANELS for n in (300, 600)]
    monkeypatch.setattr(
        "crlm.reproduce.convergence.CONVERGENCE",
        convergence.CONVERGENCE._replace(cells=lambda plan: sizes),
    )
    main(["reproduce", "convergence", "--methods", "crlm", "--out", str(tmp_path)])
    page = (tmp_path / "convergence" / "convergence.md").read_text()
    assert "holds: in all nine panels CRLM's error is the supervised one" in page
    assert "--methods CRLM" in page
    assert "DBSCAN" not in page


def test_a_check_that_does_not_hold_gives_exit_code_1_and_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("crlm.reproduce.load", lambda name: small_study([], holds=False))
    assert main(["reproduce", "loss", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "0 of 1 check hold" in out
    assert "error: 1 check does not hold: all is well." in err
    assert "**does not hold**" in (tmp_path / "small" / "small.md").read_text()


def test_quick_studies_run_from_the_command_line_and_their_checks_hold(tmp_path, capsys):
    names = ["loss", "example2d", "gaussian_norm"]
    assert main(["reproduce", *names, "--out", str(tmp_path)]) == 0
    assert "4 of 4 checks hold" in capsys.readouterr().out
    index = (tmp_path / "index.md").read_text()
    for name in names:
        assert f"[{name}]({name}/{name}.md)" in index
        assert (tmp_path / name / f"{name}.svg").exists()


def test_json_has_every_check(tmp_path, capsys):
    assert main(["reproduce", "loss", "--out", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "crlm.reproduce/1"
    assert [check["holds"] for check in record["studies"][0]["checks"]] == [True, True, True]


def test_missing_data_give_exit_code_3_and_the_other_studies_still_run(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv("CRLM_DATA", raising=False)
    assert main(["reproduce", "kimia216", "loss", "--out", str(tmp_path)]) == 3
    out, err = capsys.readouterr()
    assert "loss: 3 of 3 checks hold" in out
    assert re.search(r"error: kimia216: the data set kimia216 is needed.*CRLM_DATA", err)


def test_the_list_names_every_study_and_its_place_in_the_paper(capsys):
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    paper_places = ("fig:loglog", "fig:find_k", "Kimia216", "ImageNet", "tab:alg")
    assert all(any(place in line for line in lines) for place in paper_places)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["reproduce"], "name what to reproduce"),
        (["reproduce", "nothing"], "there is no study 'nothing'. Choose from: loss,"),
        (["reproduce", "loss", "--methods", "TD,x"], "no method 'x'. Choose from: CRLM, CRLM(), k"),
    ],
)
def test_wrong_names_are_told_with_the_right_ones(argv, words, capsys):
    assert main(argv) == 2
    assert words in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "loss", "--out", str(tmp_path / "file")]) == 2
    assert "cannot make the folder" in capsys.readouterr().err


def test_every_study_has_its_name_and_docs_have_them_all():
    page = (Path(__file__).parent.parent / "docs" / "paper.md").read_text()
    for name in NAMES:
        assert load(name).name == name
        assert f"`{name}`" in page, name


# What the studies measure


def test_a_method_is_taken_at_its_best_setting_and_a_refusal_is_no_number():
    X = np.vstack([np.zeros((20, 3)), np.full((5, 3), 9.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    found = best(KMeans(), X, 1, lambda trial: -len(np.unique(trial.labels)))
    assert found.setting == "2 groups"
    least = best(KMeans(), X, 2, lambda trial: -len(np.unique(trial.labels)))
    assert (least.value, least.usual) == (-2.0, -3.0)  # a group for the background is usual
    refused = best(TensorDecomposition(), X, 4, lambda trial: 0.0)
    assert np.isnan(refused.value)
    assert refused.setting.startswith("does not apply")


def test_faces_say_who_is_ahead_with_the_truth_and_without_it():
    at = faces.Lead(100, "raw", 0.9, 0.97, "CL", 0.96, "SC", 0.8)
    assert faces._claim(100, [at]).agree == "yes"
    assert faces._claim(100, [at._replace(value=0.98)]).agree == "no, ahead: CL at its best"
    assert faces._claim(100, [at._replace(blind_value=0.95)]).agree == "no, ahead: SC by rule"


def test_error_of_a_trial_is_by_its_own_means_or_those_of_its_labels():
    X = np.array([[0.0], [2.0], [9.0], [11.0]])
    (trial, *_) = KMeans(background=False).trials(X, 2)
    assert mean_error_of(trial, X, np.array([[1.0], [10.0]])) == 0.0
    near = trial._replace(means=np.array([[1.0], [7.0]]), labels=np.array([-1, -1, -1, -1]))
    assert mean_error_of(near, X, np.array([[1.0], [10.0]])) == 1.5


def test_convergence_rows_equal_the_supervised_error_where_the_conditions_hold():
    cell = {"d": 10, "k": 2, "n": 800, "runs": 3}
    rows = convergence.work(cell, Plan(seed=3))
    assert all(row["conditions"] for row in rows)
    for row in rows:
        assert row["error"] == pytest.approx(row["supervised"], rel=1e-12)


def test_conditions_see_a_background_point_near_a_cluster():
    model = GMMUB.draw(1, 10, 1.0, 0.1, D=300, sigma_max=10, rng=0)
    X, y = model.sample(200, rng=1)
    assert convergence.conditions_hold(model, X, y)
    X[np.flatnonzero(y < 0)[0]] = model.means[0] + 5.0
    assert not convergence.conditions_hold(model, X, y)


def test_the_region_found_contains_the_sharp_one_and_ends():
    setting = region.Setting(500, 20, 50.0, weights=(0.1,), sigmas=(1.0,))
    found = region.experiment(setting, 2, Plan())
    sharp = setting.interval("sharp", 4.0)
    assert found["low"] <= sharp.lower < sharp.upper <= found["high"]
    X, y = setting.model.sample(500, rng=0)
    assert region._average_F([(X, y)], 4.0 * found["high"], 1) < region.GOOD


def test_expected_number_of_clusters_is_binomial():
    assert find_k.expected(1) == 0.0
    one = 1 - 0.99**100 - 100 * 0.01 * 0.99**99
    assert find_k.expected(100) == pytest.approx(3 * one)


def test_every_method_has_one_style_and_a_printed_order_names_known_methods():
    colors = [color for color, _, _ in STYLES.values()]
    assert len(set(colors)) == len(colors)
    assert in_order(["k-means", "CRLM"]) == ["CRLM", "k-means"]
    assert set(running_time.PRINTED) <= set(ORDER)


def test_slope_is_the_exponent_of_a_power_law():
    n = np.array([100.0, 300.0, 1000.0])
    assert slope(n, 7.0 * n**-0.5) == pytest.approx(-0.5)
