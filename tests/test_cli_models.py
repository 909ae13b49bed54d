"""Models, predictions and exports, as a person or a script meets them."""

from __future__ import annotations

import csv
import html
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

import crlm
from crlm import CRLM, record
from crlm.cli import main


@pytest.fixture(scope="module")
def toy():
    """Two clusters in background."""
    model = crlm.GMMUB.draw(k=2, d=12, sigmas=[1, 2], weights=[0.1, 0.08], D=60, sigma_max=5, rng=0)
    return model.sample(300, rng=1)[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, toy):
    monkeypatch.chdir(tmp_path)
    np.save("toy.npy", toy)
    return tmp_path


def rows_of(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# fit


def test_fit_writes_the_model_that_python_saves(run, toy):
    assert run("fit", "toy.npy", "-q", "-s", 5)[0] == 0
    model, again = CRLM(5.0, random_state=0).fit(toy), CRLM.load("toy.crlm.npz")
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(record.open_data(again).X, toy)


def test_model_is_beside_the_data_or_where_one_says(run, folder):
    Path("deep").mkdir()
    np.save("deep/x.npy", np.load("toy.npy"))
    run("fit", "deep/x.npy", "-q", "-s", 5)
    run("fit", "deep/x.npy", "-q", "-s", 5, "--model", "other.crlm.npz")
    assert names_in(folder / "deep") == ["x.crlm.npz", "x.npy"]
    assert record.source(CRLM.load("other.crlm.npz")).path.resolve() == folder / "deep" / "x.npy"
    code, _, err = run("fit", "toy.npy", "--model", "a.npz")
    assert (code, "the name of a model ends in .crlm.npz" in err) == (2, True)


def test_no_model_writes_none(run, folder):
    run("fit", "toy.npy", "-q", "-s", 5, "--no-model")
    assert names_in(folder) == ["toy.npy"]


def test_only_a_model_of_the_same_data_is_replaced(run):
    run("fit", "toy.npy", "-q", "-s", 5)
    assert run("fit", "toy.npy", "-q", "-s", 6)[0] == 0
    assert CRLM.load("toy.crlm.npz").sigma_max == 6.0
    pd.DataFrame(np.load("toy.npy")).to_csv("toy.csv", index=False)
    code, _, err = run("fit", "toy.csv", "-s", 5)
    assert code == 2
    assert "toy.crlm.npz exists. Replace it with --force, or choose another name." in err
    assert err.endswith("Or write none: --no-model\n")
    assert CRLM.load("toy.crlm.npz").sigma_max == 6.0
    assert run("fit", "toy.csv", "-q", "-s", 5, "--force")[0] == 0
    Path("toy.crlm.npz").write_text("mine")
    assert run("fit", "toy.npy", "-s", 5)[0] == 2
    assert Path("toy.crlm.npz").read_text() == "mine"


def test_model_of_that_name_needs_force(run):
    for code in (0, 2):
        assert run("fit", "toy.npy", "-q", "-s", 5, "--model", "a.crlm.npz")[0] == code
    assert run("fit", "toy.npy", "-q", "-s", 5, "--model", "a.crlm.npz", "--force")[0] == 0


def test_folder_without_permission_is_said_before_the_work(run, monkeypatch):
    # Root may write anywhere, so the answer of the system is put in its mouth.
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    code, _, err = run("fit", "toy.npy")
    assert code == 2
    assert "no permission to write in" in err
    assert "Name another place with --model, or write none with --no-model." in err


def test_labels_say_how_deep_and_how_sure(run, toy):
    run("fit", "toy.npy", "-q", "-s", 5, "-o", "l.csv", "-o", "l.parquet", "-o", "l.npy")
    model, rows = CRLM(5.0).fit(toy), rows_of("l.csv")
    assert [int(row["row"]) for row in rows] == list(range(300))
    label = np.array([int(row["label"]) for row in rows])
    np.testing.assert_array_equal(label, model.labels_)
    np.testing.assert_array_equal(np.load("l.npy"), model.labels_)
    distance = np.array([float(row["distance"]) for row in rows])
    centers = model.ball_centers_
    nearest = np.linalg.norm(toy[:, None] - centers, axis=2).min(axis=1) / model.radius_
    np.testing.assert_allclose(distance, nearest, rtol=1e-5)
    np.testing.assert_array_equal(distance < 1, label >= 0)
    proba = model.predict_proba(toy)
    found = [float(row["posterior"]) for row in rows]
    np.testing.assert_allclose(found, proba[np.arange(300), label], rtol=1e-5)
    for row, j in zip(rows, label, strict=True):
        assert row["p_value"] == ("" if j < 0 else f"{model.p_values_[j]:.6g}")
    table = pq.read_table("l.parquet").to_pydict()
    assert table["label"] == label.tolist()
    assert [p is None for p in table["p_value"]] == (label < 0).tolist()


def test_labels_carry_the_ids(run, toy):
    frame = pd.DataFrame(toy, columns=[f"x{j}" for j in range(12)])
    frame.insert(0, "name", [f"a,{i}" for i in range(300)])
    frame.to_csv("rows.csv", index=False)
    assert run("fit", "rows.csv", "-q", "-s", 5, "--id", "name", "-o", "l.csv")[0] == 0
    assert rows_of("l.csv")[7]["id"] == "a,7"
    assert run("export", "rows.crlm.npz", "-q", "--to", "again.csv")[0] == 0
    assert Path("again.csv").read_bytes() == Path("l.csv").read_bytes()


# info


def test_info_of_a_model(run):
    flags = ["--sample", 200, "--standardize", "--alpha", "0.05"]
    run("fit", "toy.npy", "-q", *flags)
    code, out, err = run("info", "toy.crlm.npz")
    assert (code, err) == (0, "")
    assert "toy.crlm.npz  model, format 1, made by crlm 0.1.0\n" in out
    assert "data      toy.npy  300 × 12\nfitted    200 of them; 0 rows dropped\n" in out
    assert "changed   standardize\n" in out
    assert "alpha 0.05 (flag)" in out
    assert "numpy " in out
    found = json.loads(run("info", "toy.crlm.npz", "--json")[1])
    assert (found["schema"], found["kind"], found["n"]) == ("crlm.info/1", "model", 200)
    assert found["settings"]["origins"]["sample"] == "flag"
    assert found["data_exists"] is True
    Path("toy.npy").unlink()
    assert "300 × 12  (not there now)\n" in run("info", "toy.crlm.npz")[1]


def test_info_of_a_model_made_in_python(run, toy):
    CRLM(5.0).fit(toy).save("a.crlm.npz")
    assert "data      300 × 12, fitted in Python\n" in run("info", "a.crlm.npz")[1]


# predict


def test_predict_is_the_models_own(run, toy):
    run("fit", "toy.npy", "-q", "-s", 5)
    np.save("new.npy", toy[::-1].astype(np.float32))
    assert run("predict", "toy.crlm.npz", "new.npy", "-q", "-o", "l.npy") == (0, "", "")
    model = CRLM.load("toy.crlm.npz")
    np.testing.assert_array_equal(np.load("l.npy"), model.predict(np.load("new.npy")))
    _, out, err = run("predict", "toy.crlm.npz", "new.npy")
    sizes = np.bincount(np.load("l.npy") + 1)
    assert f"  0    {sizes[1]}\n" in out
    assert f"background  {sizes[0]} rows" in out
    assert err == "Next:  crlm predict toy.crlm.npz new.npy -o labels.csv\n"
    found = json.loads(run("predict", "toy.crlm.npz", "new.npy", "--json")[1])
    assert found["schema"] == "crlm.predict/1"
    assert [found["background"], *found["counts"]] == sizes.tolist()


@pytest.mark.parametrize("flags", [["--standardize"], ["--normalize"], ["--metric", "cosine"]])
def test_predict_does_to_new_rows_what_was_done_to_the_old(run, flags):
    run("fit", "toy.npy", "-q", "--alpha", "none", "-k", 3, *flags, "-o", "a.csv")
    assert run("predict", "toy.crlm.npz", "toy.npy", "-q", "-o", "b.csv")[0] == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert len({row["label"] for row in rows_of("b.csv")}) > 1


def test_predict_does_not_depend_on_the_block(run, monkeypatch):
    run("fit", "toy.npy", "-q", "-s", 5, "-o", "a.csv")
    monkeypatch.setattr("crlm.tables.BLOCK_BYTES", 1000)
    monkeypatch.setattr("crlm.assign._CELLS", 20)
    run("predict", "toy.crlm.npz", "toy.npy", "-q", "-o", "b.csv")
    run("export", "toy.crlm.npz", "-q", "--to", "c.csv")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() == Path("c.csv").read_bytes()


def test_predict_takes_columns_by_name(run, toy):
    frame = pd.DataFrame(toy, columns=[f"x{j}" for j in range(12)])
    frame.to_csv("rows.csv", index=False)
    run("fit", "rows.csv", "-q", "-s", 5, "-o", "a.npy")
    frame[frame.columns[::-1]].assign(more=1).to_csv("new.csv", index=False)
    assert run("predict", "rows.crlm.npz", "new.csv", "-q", "-o", "b.npy")[0] == 0
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))
    frame.drop(columns="x3").to_csv("less.csv", index=False)
    code, _, err = run("predict", "rows.crlm.npz", "less.csv")
    assert (code, "less.csv has no column 'x3'" in err) == (3, True)
    np.save("narrow.npy", toy[:, :5])
    code, _, err = run("predict", "rows.crlm.npz", "narrow.npy")
    assert code == 3
    assert "narrow.npy has 5 columns, but the model was fitted to 12." in err


def test_predict_reads_a_file_in_another_way_if_that_of_the_fit_does_not_work(run, toy):
    frame = pd.DataFrame(toy, columns=[f"x{j}" for j in range(12)])
    named = frame.assign(name=[f"row {i}" for i in range(len(frame))])
    named.to_csv("rows.csv", index=False)
    run("fit", "rows.csv", "-q", "-s", 5, "--columns", "x0:x11", "--id", "name", "-o", "a.npy")
    named[named.columns[::-1]].to_csv("backwards.csv", index=False)
    frame.to_csv("nameless.csv", index=False)
    frame[frame.columns[::-1]].to_csv("both.csv", index=False)
    for name in ("backwards", "nameless", "both"):
        assert run("predict", "rows.crlm.npz", f"{name}.csv", "-q", "-o", f"{name}.npy")[0] == 0
        np.testing.assert_array_equal(np.load("a.npy"), np.load(f"{name}.npy"))
    run("fit", "rows.csv", "-q", "-s", 5, "--id", "name", "--model", "all.crlm.npz")
    assert run("predict", "all.crlm.npz", "both.csv", "-q", "-o", "all.npy")[0] == 0
    np.testing.assert_array_equal(np.load("a.npy"), np.load("all.npy"))
    code, _, err = run("predict", "rows.crlm.npz", "nameless.csv", "--id", "name")
    assert (code, "no column 'name' for --id" in err) == (3, True)


def test_predict_leaves_out_what_it_cannot_use_on_demand(run, toy):
    run("fit", "toy.npy", "-q", "-s", 5)
    X = toy.copy()
    X[[3, 299], 0] = np.nan
    np.save("new.npy", X)
    code, _, err = run("predict", "toy.crlm.npz", "new.npy", "-o", "l.csv")
    assert (code, "new.npy has 2 rows with NaN or inf (first: 3, 299)." in err) == (3, True)
    assert not Path("l.csv").exists()
    run("predict", "toy.crlm.npz", "new.npy", "-q", "--drop-invalid", "-o", "l.csv")
    rows = rows_of("l.csv")
    assert len(rows) == 300
    assert rows[3] == {"row": "3", "label": "-1", "distance": "", "p_value": "", "posterior": ""}
    found = json.loads(run("predict", "toy.crlm.npz", "new.npy", "--drop-invalid", "--json")[1])
    assert found["background"] + sum(found["counts"]) == 298
    assert found["dropped"] == 2
    _, out, err = run("predict", "toy.crlm.npz", "new.npy", "--drop-invalid")
    assert "dropped     2 rows (label −1)" in out
    assert err == "Next:  crlm predict toy.crlm.npz new.npy --drop-invalid -o labels.csv\n"


def test_what_is_proposed_after_nothing_was_found_can_be_run(run):
    np.save("noise.npy", np.random.default_rng(0).normal(size=(60, 12)))
    *_, err = run("fit", "noise.npy", "-o", "a.csv")
    assert err.endswith("Next:  crlm explore noise.crlm.npz\n")
    *_, err = run("fit", "noise.npy", "-o", "b.csv", "--no-model")
    assert err.endswith("Next:  crlm fit noise.npy -o b.csv --no-model --alpha none --force\n")
    assert run("fit", "noise.npy", "-o", "a.csv", "--alpha", "none", "--force")[0] == 0
    np.save("units.npy", np.load("noise.npy") * np.append(np.ones(11), 1e6))
    assert run("fit", "units.npy", "--no-model")[2].endswith("--no-model --standardize\n")
    *_, err = run("fit", "units.npy", "--no-model", "--metric", "cosine")
    assert "--standardize" not in err


def test_a_report_says_which_rows_its_line_of_python_is_about(run):
    np.savetxt("units.csv", np.load("toy.npy") * np.append(1e4, np.ones(11)), delimiter=",")
    run("fit", "units.csv", "-q", "--no-header", "--columns", "0:8", "--standardize")
    assert run("report", "units.crlm.npz", "-q")[0] == 0
    page = Path("units.html").read_text()
    flags = "--columns 0:8 --no-header --standardize"
    assert f"# X: the rows that crlm fit reads with {flags}\nCRLM(" in html.unescape(page)


def test_predict_with_a_model_without_clusters(run):
    np.save("noise.npy", np.random.default_rng(0).normal(size=(60, 12)))
    run("fit", "noise.npy", "-q", "-o", "a.csv")
    assert {row["label"] for row in rows_of("a.csv")} == {"-1"}
    assert {row["distance"] for row in rows_of("a.csv")} == {""}
    code, out, _ = run("predict", "noise.crlm.npz", "toy.npy")
    assert (code, "the model has no cluster" in out) == (0, True)


# export


def test_export_gives_what_fit_gave(run):
    flags = ["--sample", 150, "--seed", 3, "-s", 5, "-o", "a.csv", "-o", "a.parquet"]
    run("fit", "toy.npy", "-q", *flags)
    code, out, err = run("export", "toy.crlm.npz", "--to", "b.csv", "--to", "b.parquet")
    assert (code, out, err) == (0, "", "Wrote b.csv, b.parquet\n")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert pq.read_table("a.parquet").equals(pq.read_table("b.parquet"))
    assert run("export", "toy.crlm.npz", "--to", "-")[1] == Path("a.csv").read_text()
    found = json.loads(run("export", "toy.crlm.npz", "--to", "c.npy", "--json")[1])
    assert found["files"] == ["c.npy"]


def test_export_refuses_data_that_changed_and_takes_them_elsewhere(run, toy):
    run("fit", "toy.npy", "-q", "-s", 5)
    Path("toy.npy").rename("moved.npy")
    code, _, err = run("export", "toy.crlm.npz", "--to", "l.csv")
    assert code == 3
    assert err.endswith("If the data are elsewhere, say so: --data FILE\n")
    assert run("export", "toy.crlm.npz", "-q", "--to", "l.csv", "--data", "moved.npy")[0] == 0
    changed = toy.copy()
    changed[5] += 1
    np.save("toy.npy", changed)
    code, _, err = run("export", "toy.crlm.npz", "--to", "m.csv")
    assert (code, "1 of 300 rows differ (first: 5)" in err) == (3, True)
    assert not Path("m.csv").exists()


def test_export_keeps_what_is_there(run):
    run("fit", "toy.npy", "-q", "-s", 5)
    Path("l.csv").write_text("old")
    assert run("export", "toy.crlm.npz", "--to", "l.csv")[0] == 2
    assert Path("l.csv").read_text() == "old"
    assert run("export", "toy.crlm.npz", "--to", "toy.npy", "--force")[0] == 2
    assert run("export", "toy.crlm.npz", "--to", "l.txt")[0] == 2
    assert run("export", "toy.crlm.npz", "--to", "a.csv", "--to", "./a.csv")[0] == 2
    assert run("export", "toy.crlm.npz")[0] == 2


def test_export_for_embedding_atlas(run, toy):
    frame = pd.DataFrame({"emb": list(toy), "caption": [f"row {i}" for i in range(300)]})
    frame.to_parquet("rows.parquet")
    run("fit", "rows.parquet", "-q", "-s", 5, "--text", "caption")
    code, _, err = run("export", "rows.crlm.npz", "--to", "atlas.parquet")
    assert code == 0
    assert err.endswith("Next:  embedding-atlas atlas.parquet --x x --y y\n")
    table = pd.read_parquet("atlas.parquet")
    np.testing.assert_allclose(np.stack(table["vector"]), toy, rtol=1e-6)
    assert table["caption"].tolist() == frame["caption"].tolist()
    assert set(table["cluster"]) == {"background", "cluster 0", "cluster 1"}
    centred = toy - toy.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    expected = np.abs(centred @ directions[:2].T)
    np.testing.assert_allclose(np.abs(table[["x", "y"]].to_numpy()), expected, atol=1e-6)


@pytest.fixture
def pictures(toy):
    """A table that names a picture for each row; one picture is missing, two share a name."""
    for place in ("a", "b"):
        Path(place).mkdir()
    names = [f"{'ab'[i % 2]}/{i // 2:03d}.png" for i in range(300)]
    for i, name in enumerate(names):
        Image.new("RGB", (4, 4), (i % 256, i // 256, 0)).save(name)
    pd.DataFrame({"emb": list(toy), "picture": names}).to_parquet("rows.parquet")
    main(["fit", "rows.parquet", "-q", "-s", "5", "--image", "picture", "-o", "l.npy"])
    return names


def test_export_sorts_pictures_by_cluster(run, pictures):
    labels = np.load("l.npy")
    code, _, err = run("export", "rows.crlm.npz", "--to", "out/")
    n = int((labels >= 0).sum())
    assert code == 0
    assert err == f"out: {n} pictures copied\nWrote out\n"
    assert names_in(Path("out")) == [".crlm-export", "cluster-000", "cluster-001"]
    for j in (0, 1):
        copies = {path.read_bytes() for path in Path(f"out/cluster-00{j}").iterdir()}
        expected = {Path(pictures[i]).read_bytes() for i in np.flatnonzero(labels == j)}
        assert copies == expected
        assert len(names_in(Path(f"out/cluster-00{j}"))) == (labels == j).sum()


def test_export_links_pictures_and_takes_the_background_on_demand(run, pictures):
    assert run("export", "rows.crlm.npz", "-q", "--to", "out/", "--link", "--background")[0] == 0
    linked = [path for path in Path("out").rglob("*.png") if path.is_symlink()]
    assert len(linked) == 300
    assert all(path.resolve().is_file() for path in linked)


def test_export_replaces_only_folders_of_its_own(run, pictures):
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    code, _, err = run("export", "rows.crlm.npz", "--to", "mine/", "--force")
    assert (code, "mine exists, and crlm did not make it." in err) == (2, True)
    assert Path("mine/letter.txt").read_text() == "dear"
    assert [run("export", "rows.crlm.npz", "-q", "--to", "out/")[0] for _ in range(2)] == [0, 2]
    Path("out/cluster-000").rename("out/other")
    assert run("export", "rows.crlm.npz", "-q", "--to", "out/", "--force")[0] == 0
    assert names_in(Path("out")) == [".crlm-export", "cluster-000", "cluster-001"]
    assert not list(Path().glob(".crlm-*.part"))


def test_export_names_missing_pictures(run, pictures):
    labels = np.load("l.npy")
    gone = pictures[int(np.flatnonzero(labels == 0)[0])]
    Path(gone).unlink()
    code, _, err = run("export", "rows.crlm.npz", "--to", "out/")
    assert code == 0
    assert f"warning: 1 picture missing (first: {gone})\n" in err
    for name in set(pictures) - {gone}:
        Path(name).unlink()
    code, _, err = run("export", "rows.crlm.npz", "--to", "more/")
    assert (code, "none of the pictures is there" in err) == (3, True)
    assert not Path("more").exists()


def test_export_needs_pictures_for_a_folder(run):
    run("fit", "toy.npy", "-q", "-s", 5)
    code, _, err = run("export", "toy.crlm.npz", "--to", "out/")
    assert (code, "toy.npy names no pictures" in err) == (3, True)


# check


def test_check_verifies_a_model_on_its_data(run, toy):
    run("fit", "toy.npy", "-q", "-s", 5)
    code, out, _ = run("check", "toy.crlm.npz")
    assert code == 0
    assert out.startswith("toy.crlm.npz  300 × 12  σ_max 5.00  2 clusters  p <1e-16\n")
    assert out.endswith("Checked again on toy.npy: all is as the certificate says.\n")
    found = json.loads(run("check", "toy.crlm.npz", "--json")[1])
    assert (found["schema"], found["verified"]) == ("crlm.check/1", True)
    changed = toy.copy()
    changed[5] += 1
    np.save("toy.npy", changed)
    code, out, err = run("check", "toy.crlm.npz")
    assert (code, "1 of 300 rows differ (first: 5)" in err) == (3, True)
    Path("toy.npy").unlink()
    code, out, err = run("check", "toy.crlm.npz")
    assert code == 0
    assert err == "note: the data of toy.npy are not there, so nothing was checked again\n"
    assert json.loads(run("check", "toy.crlm.npz", "--json")[1])["verified"] is None


def test_check_takes_alpha(run):
    strict = run("check", "toy.npy", "--alpha", "1e-300")[1]
    loose = run("check", "toy.npy", "--alpha", "none", "-s", "20")[1]
    assert "0 clusters" in strict
    assert "0 clusters" not in loose


def test_memory_does_not_grow_with_the_file(run, toy, monkeypatch):
    run("fit", "toy.npy", "-q", "-s", 5)
    np.save("big.npy", np.tile(toy, (400, 1)))  # 11.5 MB
    main(["predict", "toy.crlm.npz", "toy.npy", "-q"])  # what is imported does not count
    monkeypatch.setattr("crlm.tables.BLOCK_BYTES", 2**18)
    tracemalloc.start()
    run("predict", "toy.crlm.npz", "big.npy", "-q", "-o", "a.csv", "-o", "a.npy", "-o", "a.parquet")
    run("info", "big.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


@pytest.mark.parametrize("command", ["fit", "sigma"])
def test_a_model_in_the_place_of_data_is_told_apart(run, command):
    run("fit", "toy.npy", "-q")
    code, _, err = run(command, "toy.crlm.npz")
    assert code == 3
    assert "toy.crlm.npz is a model, not data. Give the file that it was made of" in err
