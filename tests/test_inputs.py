"""What other programs write is read to the same labels; flags say what of it to use."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from PIL import Image

from crlm import CRLM
from crlm.errors import CRLMWarning, InputError, MissingExtraError
from crlm.scaling import Scaling, dominating_column, standardizing
from crlm.tables import arrays, image_paths, read_table

N, D = 90, 6
NAMES = [f"row-{i}" for i in range(N)]
FLOATS = [f"x{j}" for j in range(D)]


def two_clusters():
    rng = np.random.default_rng(0)
    X = rng.uniform(-20, 20, (N, D))
    X[:20] = 5 + 0.3 * rng.normal(size=(20, D))
    X[20:35] = -5 + 0.3 * rng.normal(size=(15, D))
    return X[rng.permutation(N)].astype(np.float32)


X = two_clusters()
LABELS = CRLM(1.0).fit(X).labels_
FIXED = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)


def frame(library=pd):
    return library.DataFrame({"name": NAMES, **{c: X[:, j] for j, c in enumerate(FLOATS)}})


def in_hdf5(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/emb", data=X, **options)
        file["name"] = NAMES


def ipc(path, table, kind):
    with path.open("wb") as file, kind(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)


def vectors(kind=None):
    return pa.table({"name": NAMES, "emb": pa.array(X.tolist(), kind or pa.list_(pa.float32()))})


TAKE = {"columns": ["x0:x5"]}
ROUND_TRIPS = {
    "numpy npy": (".npy", lambda p: np.save(p, X), {}),
    "numpy npy fortran": (".npy", lambda p: np.save(p, np.asfortranarray(X)), {}),
    "numpy npz": (".npz", lambda p: np.savez(p, X=X, name=NAMES), {}),
    "numpy npz packed": (".npz", lambda p: np.savez_compressed(p, X=X, name=NAMES), {}),
    "numpy npz key": (".npz", lambda p: np.savez(p, A=X, B=-X), {"key": "A"}),
    "numpy csv": (".csv", lambda p: np.savetxt(p, X, delimiter=",", fmt="%.9g"), {}),
    "pandas csv": (".csv", lambda p: frame().to_csv(p, index=False), {"roles": {"id": "name"}}),
    "pandas tsv": (".tsv", lambda p: frame().to_csv(p, index=False, sep="\t"), TAKE),
    "polars csv": (".csv", lambda p: frame(pl).write_csv(p), {"roles": {"id": "name"}}),
    "pandas csv vectors": (
        ".csv",
        lambda p: pd.DataFrame({"name": NAMES, "emb": X.tolist()}).to_csv(p, index=False),
        {"vector": "emb"},
    ),
    "pandas parquet": (".parquet", lambda p: frame().to_parquet(p), {"roles": {"id": "name"}}),
    "polars parquet": (".parquet", lambda p: frame(pl).write_parquet(p), TAKE),
    "pyarrow lists": (".parquet", lambda p: pq.write_table(vectors(), p, row_group_size=7), {}),
    "pyarrow large lists": (
        ".parquet",
        lambda p: pq.write_table(vectors(pa.large_list(pa.float32())), p),
        {"vector": "emb"},
    ),
    "pyarrow fixed lists": (
        ".parquet",
        lambda p: pq.write_table(pa.table({"name": NAMES, "emb": FIXED}), p),
        {},
    ),
    "polars arrays": (
        ".parquet",
        lambda p: pl.DataFrame(
            {"name": NAMES, "emb": X}, schema_overrides={"emb": pl.Array(pl.Float32, D)}
        ).write_parquet(p),
        {},
    ),
    "pyarrow feather": (".feather", lambda p: pf.write_feather(vectors(), p), {}),
    "pandas feather": (".feather", lambda p: frame().to_feather(p), {"roles": {"id": "name"}}),
    "polars ipc": (".ipc", lambda p: frame(pl).write_ipc(p), {"roles": {"id": "name"}}),
    "polars arrow arrays": (
        ".arrow",
        lambda p: pl.DataFrame(
            {"name": NAMES, "emb": X}, schema_overrides={"emb": pl.Array(pl.Float32, D)}
        ).write_ipc(p, compression="zstd"),
        {},
    ),
    "pyarrow file": (
        ".arrow",
        lambda p: ipc(p, pa.table({"name": NAMES, "emb": FIXED}), pa.ipc.new_file),
        {},
    ),
    "pyarrow stream": (".arrow", lambda p: ipc(p, vectors(), pa.ipc.new_stream), {}),
    "h5py": (".h5", in_hdf5, {}),
    "h5py chunks": (".hdf5", lambda p: in_hdf5(p, chunks=(7, 3), compression="gzip"), {}),
    "h5py key": (".h5", in_hdf5, {"key": "/group/emb"}),
}


@pytest.mark.parametrize("case", ROUND_TRIPS)
def test_what_others_write_is_read_to_the_same_labels(tmp_path, case):
    suffix, write, how = ROUND_TRIPS[case]
    path = tmp_path / f"x{suffix}"
    write(path)
    table = read_table(path, **how)
    np.testing.assert_allclose(table.X, X, rtol=1e-6)
    np.testing.assert_array_equal(CRLM(1.0).fit(table.X).labels_, LABELS)
    if "name" in table.kept:
        assert table.kept["name"] == NAMES
    if how.get("roles"):
        assert table.roles == {"id": "name"}


@pytest.mark.parametrize("case", ["h5py", "numpy npy", "pyarrow file"])
def test_what_lies_in_one_piece_is_mapped_not_read(tmp_path, case):
    suffix, write, how = ROUND_TRIPS[case]
    write(tmp_path / f"x{suffix}")
    owner = table = read_table(tmp_path / f"x{suffix}", **how).X
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert isinstance(table, np.memmap) or not owner.flags.owndata


def test_large_array_in_an_archive_is_mapped_after_its_checksum_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAPPED_FROM", 1000)
    for array in (X, np.asfortranarray(X)):
        np.savez(tmp_path / "x.npz", X=array, name=NAMES)
        table = read_table(tmp_path / "x.npz")
        assert isinstance(table.X, np.memmap)
        np.testing.assert_array_equal(table.X, X)
        assert table.kept["name"] == NAMES
    octets = bytearray((tmp_path / "x.npz").read_bytes())
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        place = archive.getinfo("X.npy").header_offset + 1000
    octets[place] ^= 1
    (tmp_path / "x.npz").write_bytes(octets)
    with pytest.raises(InputError, match=r"x\.npz is not a readable \.npz file \(Bad CRC-32"):
        read_table(tmp_path / "x.npz")


# Columns beside the coordinates


def test_columns_beside_are_read_when_asked_for(tmp_path):
    frame().assign(note="n").to_csv(tmp_path / "x.csv", index=False)
    table = read_table(tmp_path / "x.csv", columns=["x0:x5"], roles={"text": "note"})
    assert list(table.kept) == ["name", "note"]
    assert table.roles == {"text": "note"}
    assert table.kept["note"] == ["n"] * N
    (tmp_path / "x.csv").unlink()
    assert table.kept["note"] == ["n"] * N  # remembered
    with pytest.raises(KeyError):
        table.kept["other"]


def test_row_without_a_header_is_named_by_number(tmp_path):
    frame().to_csv(tmp_path / "x.csv", index=False, header=False)
    table = read_table(tmp_path / "x.csv", header=False, roles={"id": "0"})
    np.testing.assert_allclose(table.X, X, rtol=1e-6)
    assert table.kept["0"] == NAMES


def test_columns_called_after_a_role_have_it(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, Paths=[f"{n}.png" for n in NAMES], ID=np.arange(N), z=X[0])
    table = read_table(tmp_path / "x.npz")
    assert table.roles == {"id": "ID", "image": "Paths"}
    assert list(table.kept) == ["Paths", "ID"]  # z is not as long
    (tmp_path / "row-0.png").touch()
    found = image_paths(table, tmp_path)
    assert found[:2] == [tmp_path / "row-0.png", Path("row-1.png")]
    assert image_paths(table._replace(roles={}), tmp_path) is None


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".feather"])
def test_meta_is_beside_the_data_row_by_row(tmp_path, suffix):
    np.save(tmp_path / "emb.npy", X)
    path, beside = tmp_path / f"rows{suffix}", pd.DataFrame({"name": NAMES, "size": range(N)})
    if suffix in (".csv", ".tsv"):
        beside.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    else:
        beside.to_parquet(path) if suffix == ".parquet" else beside.to_feather(path)
    table = read_table(tmp_path / "emb.npy", meta=path, roles={"id": "name"})
    assert table.kept["name"] == NAMES
    assert [int(v) for v in table.kept["size"]] == list(range(N))
    np.save(tmp_path / "emb.npy", X[1:])
    words = rf"^rows\{suffix} has 90 rows, emb\.npy has 89\. --meta must align row by row$"
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "emb.npy", meta=path)


def test_meta_wins_where_a_name_is_in_both(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, name=NAMES)
    pd.DataFrame({"name": ["other"] * N}).to_csv(tmp_path / "rows.csv", index=False)
    assert read_table(tmp_path / "x.npz", meta=tmp_path / "rows.csv").kept["name"][0] == "other"


REFUSALS = {
    "role": ("x.npz", {"roles": {"id": "nme"}}, "x.npz has no column 'nme' for --id. Did you mean"),
    "role of nothing": (
        "x.npy",
        {"roles": {"text": "words"}},
        "x.npy has no column 'words' for --text. Columns beside the coordinates: none.",
    ),
    "only roles": ("one.csv", {"roles": {"id": "name"}}, "has no column left for coordinates"),
    "vector of npy": ("x.npy", {"vector": "emb"}, "--vector emb names a column, but x.npy is one"),
    "vector that is none": (
        "x.parquet",
        {"vector": "name"},
        "x.parquet column 'name' holds string, no vectors. Candidates: emb (6).",
    ),
    "vector unknown": ("x.parquet", {"vector": "amb"}, "has no column 'amb'. Did you mean emb?"),
    "cell": ("v.csv", {"vector": "v"}, "v.csv column 'v' row 1 is not a vector: 'two'. Write"),
    "ragged cells": (
        "w.csv",
        {"vector": "w"},
        "w.csv column 'w' has vectors of different lengths: 2 at first, 1 in row 1.",
    ),
    "key of h5": ("x.h5", {"key": "Z"}, "x.h5 has no array 'Z'. It holds: group/emb (90, 6), name"),
    "descriptor": ("x.npy", {"descriptor": "hog"}, "--descriptor hog is about a folder of images"),
    "columns of a folder": ("pictures", {"columns": ["0"]}, "--columns is about files of numbers"),
    "meta folder": ("x.npy", {"meta": "pictures"}, "pictures is a folder. Give one file: .csv"),
    "meta npy": ("x.npy", {"meta": "x.npy"}, "x.npy: cannot read '.npy' files. Supported: .csv"),
    "meta missing": ("x.npy", {"meta": "one.cvs"}, "no such file: one.cvs. Did you mean one.csv?"),
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("shelf")
    np.save(folder / "x.npy", X)
    np.savez(folder / "x.npz", X=X, name=NAMES)
    pq.write_table(vectors(), folder / "x.parquet")
    in_hdf5(folder / "x.h5")
    (folder / "one.csv").write_text("name\nbob\neve\n")
    (folder / "v.csv").write_text('v\n"[1, 2]"\ntwo\n')
    (folder / "w.csv").write_text('w\n"[1, 2]"\n3\n')
    (folder / "pictures").mkdir()
    rng = np.random.default_rng(1)
    for i in range(6):
        noise = rng.integers(0, 256, (40, 30, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / "pictures" / f"{i}.png")
    (folder / "pictures" / "3.png").write_bytes(b"not a picture")
    return folder


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_names_what_is_wrong(shelf, monkeypatch, case):
    monkeypatch.chdir(shelf)
    name, how, words = REFUSALS[case]
    with pytest.raises(InputError) as caught:
        read_table(name, **how)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("x.h5", "h5py", "reading .h5 needs h5py, which is not installed. Install it: pip install"),
        ("x.parquet", "pyarrow.parquet", "pip install 'crlm[parquet]'"),
        ("x.feather", "pyarrow.ipc", "reading feather needs pyarrow"),
    ],
)
def test_missing_extra_prints_the_line_that_installs_it(tmp_path, monkeypatch, name, module, words):
    (tmp_path / name).write_bytes(b"x" * 100)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        read_table(tmp_path / name)
    assert words in str(caught.value)


# A folder of pictures


@pytest.mark.parametrize(("descriptor", "d"), [(None, 1764), ("hog", 1764), ("pixels", 4)])
def test_folder_of_pictures_is_a_table(shelf, monkeypatch, descriptor, d):
    monkeypatch.chdir(shelf)
    words = r"^1 of 6 images cannot be read and are left out: pictures/3\.png is not an image"
    with pytest.warns(CRLMWarning, match=words):
        table = read_table("pictures", descriptor=descriptor)
    assert table.X.shape == (5, d)
    assert table.kept["path"] == [f"pictures/{i}.png" for i in (0, 1, 2, 4, 5)]
    assert table.roles == {"id": "path", "image": "path"}
    assert "not what is meant" in table.notes[0]
    assert "crlm embed" in table.notes[0]


# Scaling


def test_standardized_columns_have_spread_one_and_constant_ones_stay():
    Y = np.column_stack([X * [1, 10, 100, 1e-3, 1, 1], np.full(N, 1 / 3)])
    scaled = standardizing(Y).apply(Y)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), [*[1] * D, 0], atol=1e-12)
    assert standardizing(X).apply(X).dtype == np.float32


def test_normalized_rows_have_unit_length_and_zeros_stay():
    Y = np.vstack([X, np.zeros(D)]).astype(np.float32)
    lengths = np.linalg.norm(Scaling(normalize=True).apply(Y), axis=1)
    np.testing.assert_allclose(lengths, [*[1] * N, 0], atol=1e-6)


@pytest.mark.parametrize("exponent", [-1000, -520, 520, 1015])
def test_numbers_whose_squares_no_float64_holds_are_scaled_like_others(exponent):
    Y = X.astype(np.float64) + 5.0
    far = np.ldexp(Y, exponent)
    for normalize in (False, True):
        here, there = (standardizing(rows, normalize=normalize) for rows in (Y, far))
        np.testing.assert_array_equal(there.apply(far), here.apply(Y))
        np.testing.assert_array_equal(there.shift, np.ldexp(here.shift, exponent))
    np.testing.assert_array_equal(
        Scaling(normalize=True).apply(far), Scaling(normalize=True).apply(Y)
    )


def test_columns_that_span_all_of_float64_can_be_scaled():
    Y = np.finfo(np.float64).max * np.array([[-1.0], [1.0], [1.0], [1.0]])
    np.testing.assert_allclose(standardizing(Y).apply(Y)[:, 0], np.array([-3, 1, 1, 1]) / 3**0.5)


@pytest.mark.parametrize("flag", ["--standardize", "--normalize"])
def test_a_fit_of_scaled_rows_does_not_depend_on_their_units(run, flag):
    for name, unit in [("near", 1.0), ("far", 2.0**1000)]:
        np.save(f"{name}.npy", (X + 5.0).astype(np.float64) * unit)
        assert run("fit", f"{name}.npy", flag, "-s", "0.1", "-o", f"l-{name}.npy")[0] == 0
        assert run("sigma", f"{name}.npy", flag)[0] == 0
    np.testing.assert_array_equal(np.load("l-near.npy"), np.load("l-far.npy"))
    assert run("predict", "far.crlm.npz", "far.npy", "-o", "l.npy")[0] == 0
    np.testing.assert_array_equal(np.load("l.npy"), np.load("l-near.npy"))


@pytest.mark.parametrize("flags", [[], ["--standardize"], ["--normalize"]])
def test_whole_numbers_that_become_equal_are_told_of_before_they_are_scaled(run, flags):
    ids = 2**60 + np.arange(40)
    np.save("ids.npy", np.column_stack([np.zeros(40, dtype=np.int64), ids]))
    pd.DataFrame({"x": np.zeros(40), "id": ids}).to_parquet("ids.parquet")
    for name, column in [("ids.npy", "1"), ("ids.parquet", "'id'")]:
        code, _, err = run("fit", name, "--no-model", *flags)
        assert code == 3
        assert f"{name} has whole numbers beyond 2**53 (column {column}), which float64" in err


def test_only_a_column_that_outweighs_all_others_dominates():
    assert dominating_column(X) is None
    assert dominating_column(X[:, :1]) is None
    assert dominating_column(X * [1, 1, 50, 1, 1, 1])[0] == 2
    assert dominating_column(X * [1, 1, 5, 1, 1, 1]) is None
    assert dominating_column(np.array([[0.0, 0], [1e200, 1]]))[0] == 0


# The command line


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """Run a command in a new folder."""
    monkeypatch.chdir(tmp_path)
    return run


def test_csv_on_stdin_is_fitted(run, monkeypatch):
    octets = frame().to_csv(index=False).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))
    code, out, _ = run("fit", "-", "--id", "name", "-s", "1", "-o", "l.npy")
    assert code == 0
    assert out.startswith("stdin  90 × 6 float64\n")
    np.testing.assert_array_equal(np.load("l.npy"), LABELS)


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"", "stdin is empty. Pipe csv into -"),
        (b"a,b\n1,x\n2,3\n4,5\n", "stdin line 2: 'x' is not a number"),
    ],
)
def test_stdin_is_named_in_errors(run, monkeypatch, octets, words):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))
    code, _, err = run("fit", "-")
    assert code == 3
    assert words in err


def test_dropped_rows_are_reported_and_rows_keep_their_numbers(run):
    Y = X.copy()
    Y[[17, 41, 80], 2] = np.nan, np.inf, -np.inf
    np.save("emb.npy", Y)
    assert run("fit", "emb.npy")[2] == (
        "error: emb.npy has 3 rows with NaN or inf (first: 17, 41, 80). "
        "Drop them with --drop-invalid\n"
    )
    code, out, _ = run("fit", "emb.npy", "--drop-invalid", "-s", "1", "-o", "l.npy", "--json")
    facts, labels = json.loads(out), np.load("l.npy")
    assert (code, facts["dropped"], facts["dropped_rows"]) == (0, 3, [17, 41, 80])
    assert (labels[[17, 41, 80]] == -1).all()
    same = np.delete(np.arange(N), [17, 41, 80])
    np.testing.assert_array_equal(labels[same], CRLM(1.0).fit(X[same]).labels_)


def test_sample_finds_clusters_in_some_rows_and_labels_all(run):
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.repeat([0, 1, -1], [90, 60, 250]))
    Y = np.where(truth[:, None] < 0, rng.uniform(-20, 20, (400, D)), rng.normal(0, 0.3, (400, D)))
    Y[truth == 1] += 8
    np.save("emb.npy", Y)
    for seed in ("1", "1", "2"):
        flags = ["-s", "1", "--sample", "200", "--seed", seed, "-o", "l.npy", "--force"]
        code, out, _ = run("fit", "emb.npy", *flags)
        assert code == 0
        assert "emb.npy  400 × 6 float64 · a sample of 200 rows" in out
        np.testing.assert_array_equal(np.load("l.npy"), truth)
    everything = run("fit", "emb.npy", "-s", "1", "--sample", "999", "--json")[1]
    assert json.loads(everything)["sample"] is None


def test_sample_passes_over_invalid_rows(run):
    Y = np.tile(X, (2, 1))
    Y[:30] = np.nan
    np.save("emb.npy", Y)
    flags = ["-s", "1", "--sample", "120", "--drop-invalid", "-o", "l.npy"]
    assert run("fit", "emb.npy", *flags)[0] == 0
    labels = np.load("l.npy")
    assert (labels[:30] == -1).all()
    assert ((labels[N : N + 30] >= 0) == (LABELS[:30] >= 0)).all()


def test_two_wide_columns_of_many_are_warned_of_and_standardize_is_next(run):
    rows = np.random.default_rng(0).normal(size=(200, 10))
    rows[:, [3, 4]] *= 50.0
    np.save("rows.npy", rows)
    err = run("fit", "rows.npy")[2]
    assert "Columns number 3 and 4 make 99." in err
    assert err.endswith("Next:  crlm fit rows.npy --standardize\n")
    err = run("check", "rows.npy")[2]
    assert "if units differ, pass --standardize. A larger --alpha" in err
    assert "StandardScaler" not in err


def test_one_wide_column_is_warned_of_and_standardize_mends_it(run):
    wide = frame().assign(x2=X[:, 2] * 4000.0)
    wide.to_csv("rows.csv", index=False)
    _, _, err = run("fit", "rows.csv", "--id", "name", "-s", "1")
    first = err.splitlines()[0]
    assert first.startswith("warning: columns span ")
    assert first.endswith("% of the squared distances; if units differ, consider --standardize")
    assert "Column 'x2' makes 100.0 %" in first
    flags = ["--id", "name", "--standardize", "-s", "0.1", "-o", "l.npy"]
    code, out, err = run("fit", "rows.csv", *flags, "--json")
    assert "span" not in err
    assert (code, json.loads(out)["standardize"]) == (0, True)
    np.testing.assert_array_equal(
        np.load("l.npy"), CRLM(0.1).fit(standardizing(X).apply(X)).labels_
    )


def test_normalize_is_cosine(run):
    np.save("emb.npy", X)
    for flags in (["--normalize"], ["--metric", "cosine"]):
        run("fit", "emb.npy", *flags, "-s", "0.05", "-o", f"l{len(flags)}.npy")
    np.testing.assert_array_equal(np.load("l1.npy"), np.load("l2.npy"))
    np.save("zeros.npy", np.vstack([X, np.zeros(D)]))
    code, _, err = run("fit", "zeros.npy", "--normalize")
    assert code == 3
    assert "1 row of only zeros (first: 90). --normalize needs a direction" in err


def test_folder_of_pictures_is_fitted_with_an_honest_word(run, shelf):
    code, out, err = run("fit", shelf / "pictures", "-o", "l.csv")
    assert code == 0
    assert "warning: 1 of 6 images cannot be read" in err
    assert "HOG, which sees outlines and not what is meant" in err
    assert "5 × 1,764 float32" in out


def test_info_names_what_lies_beside(run):
    np.savez("x.npz", X=X, paths=NAMES, size=np.arange(N))
    _, out, _ = run("info", "x.npz")
    assert "beside   paths (id, image), size" in out
    assert json.loads(run("info", "x.npz", "--json")[1])["roles"] == {
        "id": "paths",
        "image": "paths",
    }


def test_no_single_vector_column_on_the_command_line(run):
    table = vectors().append_column("clip", pa.array(X[:, :2].tolist()))
    pq.write_table(table, "crops.parquet")
    code, _, err = run("fit", "crops.parquet")
    assert (code, err) == (
        3,
        "error: crops.parquet has no single vector column. Candidates: emb (6), clip (2). "
        "Use --vector emb\n",
    )
    assert run("fit", "crops.parquet", "--vector", "clip")[0] == 0


LINES = {
    "missing": ("fit tyo.npy", 3, "no such file: tyo.npy. Did you mean toy.npy?"),
    "meta": (
        "fit toy.npy --meta rows.csv",
        3,
        "rows.csv has 3 rows, toy.npy has 90. --meta must align row by row",
    ),
    "objects": (
        "fit objects.npy",
        3,
        "objects.npy holds Python objects; refusing to unpickle. Save a float array: np.save(f, "
        "x.astype('float32')).",
    ),
    "id": ("fit toy.npy --id name", 3, "toy.npy has no column 'name' for --id. Columns beside"),
    "id of meta": (
        "fit toy.npy --meta names.csv --id nam",
        3,
        "toy.npy has no column 'nam' for --id. Did you mean name?",
    ),
    "key": (
        "fit two.npz",
        3,
        "two.npz has 2 matrices. Candidates: A (90, 6), B (90, 6). Use --key A",
    ),
    "h5 key": ("fit two.h5", 3, "two.h5 has 2 matrices. Candidates: A (90, 6), B (90, 6). Use --k"),
    "sample": ("fit toy.npy --sample 0", 2, "Invalid value for '--sample': 0 is not in the range"),
    "descriptor": ("fit toy.npy --descriptor sift", 2, "'sift' is not one of 'hog', 'pixels'"),
    "vector": ("fit names.csv --vector name", 3, "names.csv column 'name' row 0 is not a vector:"),
}


@pytest.mark.parametrize("case", LINES)
def test_error_of_an_input_is_a_sentence_with_its_exit_code(run, case):
    np.save("toy.npy", X)
    Path("rows.csv").write_text("name\na\nb\nc\n")
    pd.DataFrame({"name": NAMES}).to_csv("names.csv", index=False)
    np.save("objects.npy", np.array([[1, "a"]], dtype=object))
    np.savez("two.npz", A=X, B=X)
    with h5py.File("two.h5", "w") as file:
        file["A"], file["B"] = X, X
    line, expected, words = LINES[case]
    code, out, err = run(*line.split())
    assert (code, out) == (expected, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
