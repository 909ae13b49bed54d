"""A damaged or hostile model file ends in one sentence, and allocates nothing large."""

import io
import json
import struct
import tracemalloc
import zipfile
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from crlm import CRLM
from crlm.cli import main
from crlm.cli.models import model_lines, model_record
from crlm.errors import CRLMError, InputError
from crlm.record.archive import DOCUMENT, read_archive, write_archive
from damage import damaged

V1 = Path(__file__).parent / "data" / "model-v1.crlm.npz"
V2 = Path(__file__).parent / "data" / "model-v2.crlm.npz"
N_DAMAGED, N_FORGED = 2000, 300
MEGABYTE = 1_000_000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(content):
    """Model from these bytes, or the sentence that says why not."""
    Path("m.crlm.npz").write_bytes(content)
    try:
        return CRLM.load("m.crlm.npz")
    except InputError as error:
        sentence = str(error)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@cache
def content_with_landmarks():
    X = CRLM.load(V1).ball_centers_.repeat(20, axis=0).astype(float)
    X += np.random.default_rng(0).normal(0, 0.01, X.shape)
    model = CRLM(1.0, n_landmarks=10, alpha=None).fit(X, sample_weight=np.full(len(X), 2))
    model.save("l.crlm.npz")
    return Path("l.crlm.npz").read_bytes()


def model_with_landmarks():
    path = Path("l.crlm.npz")
    path.write_bytes(content_with_landmarks())
    return path


def forged(document, arrays):
    """File with these parts and a digest that fits."""
    file = io.BytesIO()
    document = {key: value for key, value in document.items() if key != "digest"}
    write_archive(file, document, arrays)
    return file.getvalue()


# By accident


def test_damaged_bytes_are_noticed_or_do_not_matter():
    whole, model = V1.read_bytes(), CRLM.load(V1)
    expected = repr(model), model.labels_.tolist(), model.ball_centers_.tobytes()
    rng = np.random.default_rng(0)
    read = 0
    for i in range(N_DAMAGED):
        if i % 4 == 0:  # to watch is slow
            tracemalloc.start()
        found = load(damaged(whole, rng))
        if i % 4 == 0:
            assert tracemalloc.get_traced_memory()[1] < MEGABYTE, i
            tracemalloc.stop()
        if isinstance(found, CRLM):  # dates, say, or a byte before the archive begins
            again = repr(found), found.labels_.tolist(), found.ball_centers_.tobytes()
            assert again == expected, i
            read += 1
    assert read < N_DAMAGED / 10


def test_every_early_end_is_noticed():
    whole = V1.read_bytes()
    for size in range(0, len(whole), 97):
        assert isinstance(load(whole[:size]), str), size


# On purpose

WILD = [
    *(None, True, -1, 0, 2, 10**15, 10**30, 0.5, -0.5, 1e308, "", "x", "nan", "inf", "-inf"),
    *([], [1], ["x"], {}, {"x": 1}, [[1]] * 3, "\0", "../../../etc/passwd", "auto"),
]


def change_document(document, rng):
    """Replace or remove one value, at any depth."""
    places = []

    def walk(node):
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(document)
    node, key = places[rng.integers(len(places))]
    if rng.random() < 0.2 and isinstance(node, dict):
        del node[key]
    else:
        node[key] = deepcopy(WILD[rng.integers(len(WILD))])  # it may be changed next


def change_arrays(arrays, rng):
    """Remove, reshape, retype or overwrite one array."""
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    match rng.integers(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array[..., np.newaxis]
        case 2:
            arrays[name] = array.ravel()[: array.size // 2]
        case 3:
            kinds = ["i1", "u1", "i8", "u8", "f2", "f4", "f8"]
            with np.errstate(invalid="ignore", over="ignore"):
                arrays[name] = array.astype(kinds[rng.integers(len(kinds))])
        case 4:
            values = [np.nan, np.inf, -np.inf] if array.dtype.kind == "f" else [-7, 100, 0]
            if array.dtype.kind == "u":
                values = [0, 1, 2]
            other = array.copy()
            other.flat[rng.integers(max(1, array.size)) % max(1, array.size) : 3] = values[
                rng.integers(3)
            ]
            arrays[name] = other
        case _:
            arrays[f"x{rng.integers(9)}"] = array


@pytest.mark.parametrize("kind", ["format 1", "format 2", "landmarks"])
def test_forged_files_are_refused_or_work(kind):
    rng = np.random.default_rng(1)
    points = np.random.default_rng(2).normal(size=(5, 3))
    files = {"format 1": lambda: V1, "format 2": lambda: V2, "landmarks": model_with_landmarks}
    points = points[:, :2] if kind == "format 2" else points
    refused = 0
    for i in range(N_FORGED):
        document, arrays = read_archive(files[kind]())
        for _ in range(rng.integers(1, 3)):
            change = (change_document, change_arrays)[rng.integers(2)]
            change(document if change is change_document else arrays, rng)
        content = forged(document, arrays)
        found = load(content)
        if isinstance(found, str):
            refused += 1
            continue
        try:  # whatever was let in must be of use
            assert found.predict(points).shape == (5,), i
            assert found.predict_proba(points).shape == (5, found.n_clusters_ + 1), i
            assert repr(found), i
            assert model_lines(found, Path("m.crlm.npz")), i
            assert model_record(found, Path("m.crlm.npz")), i
            if kind != "landmarks":
                found.certificate_.to_dict()
            else:
                assert found.update(points).shape == (5,), i
        except CRLMError:
            pass
    assert refused > N_FORGED / 2


def header(shape, descr="<f8"):
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def with_member(name, content, compress=zipfile.ZIP_STORED):
    """The model with one member replaced."""
    file = io.BytesIO()
    with zipfile.ZipFile(V1) as old, zipfile.ZipFile(file, "w") as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info))
        new.writestr(name, content, compress_type=compress)
    return file.getvalue()


def with_document(**changes):
    document, arrays = read_archive(V1)
    return forged({**document, **changes}, arrays)


def with_bandwidths(*values):
    document, arrays = read_archive(V2)
    return forged(document, {**arrays, "bandwidths": np.array(values)})


def text_only(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(DOCUMENT, content)
    return file.getvalue()


def twice():
    file = io.BytesIO(V1.read_bytes())
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(DOCUMENT, "{}")
    return file.getvalue()


def locked():
    """The flag of a password, in the directory at the end."""
    content = bytearray(V1.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    return bytes(content)


def claims(size):
    """Directory that gives a member this size."""
    content = bytearray(V1.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 20 : at + 28] = struct.pack("<II", size, size)
    return bytes(content)


OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([print], dtype=object), allow_pickle=True)

HOSTILE = {
    "nothing": (lambda: b"", "cut short or altered"),
    "text": (lambda: b"hello\n" * 100, "cut short or altered"),
    "other archive": (lambda: text_only("{}").replace(b"model", b"other"), "has no model.json"),
    "no JSON": (lambda: with_member(DOCUMENT, b"{"), "its model.json is no JSON"),
    "deep JSON": (lambda: with_member(DOCUMENT, b"[" * 10**5), "its model.json is no JSON"),
    "a list": (lambda: text_only("[]"), "does not describe a model"),
    "another format": (lambda: with_document(format="x"), "does not describe a model"),
    "newer": (lambda: with_document(version=3), "written by a newer crlm (format 3; this one"),
    "no width": (lambda: with_bandwidths(1.0, 0.0), "its bandwidths are not positive"),
    "three widths": (lambda: with_bandwidths(1.0, 1.0, 1.0), "bandwidths"),
    "version": (lambda: with_document(version="1"), "its format version is '1'"),
    "zip bomb": (
        lambda: with_member("labels.npy", b"\0" * 10**8, zipfile.ZIP_DEFLATED),
        "it is compressed or locked",
    ),
    "locked": (locked, "it is compressed or locked"),
    "claims": (lambda: claims(2**31 - 1), "claim more bytes than it has"),
    "twice": (twice, "more members than any model"),
    "huge shape": (
        lambda: with_member("labels.npy", header((10**15,))),
        "does not have the bytes that its header promises",
    ),
    "negative shape": (
        lambda: with_member("labels.npy", header((-1,))),
        "does not have the bytes that its header promises",
    ),
    "objects": (lambda: with_member("labels.npy", OBJECTS.getvalue()), "holds 'O', not numbers"),
    "words": (lambda: with_member("labels.npy", header((0,), "<U9")), "holds 'U', not numbers"),
    "wild header": (
        lambda: with_member("labels.npy", header((1,)).replace(b"(1,)", b"((((")),
        "'labels.npy' is not an array",
    ),
    "changed array": (
        lambda: with_member("losses.npy", header((2,)) + struct.pack("<2d", 1.0, 2.0)),
        "its content was changed after it was written",
    ),
    "missing key": (lambda: with_document(fitted={}), "its sigma_max is missing or no number"),
    "parameter": (
        lambda: with_document(parameters={"n_wonders": 1}),
        "this crlm knows no parameter 'n_wonders'; a newer one may",
    ),
    "flag": (lambda: with_document(parameters={"refine": "x"}), "its parts do not fit together"),
    "share": (lambda: with_document(parameters={"min_weight": 2}), "its parts do not fit together"),
    "other rows": (lambda: with_document(fingerprint="0"), "its fingerprint is not that of"),
}


def test_data_in_place_of_a_model_are_told_from_a_damaged_one(capsys):
    np.save("x.npy", np.zeros((3, 2)))
    assert [main(["predict", "x.npy", "x.npy"]), main(["report", "x.npy"])] == [3, 3]
    told = "error: x.npy is no model. If it holds data, make one of them with crlm fit."
    assert capsys.readouterr().err.splitlines() == [told] * 2


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file_is_one_sentence_and_exit_code_3(case, capsys):
    content, words = HOSTILE[case][0](), HOSTILE[case][1]
    Path("m.crlm.npz").write_bytes(content)
    CRLM.load(V1)  # what is imported once does not count
    tracemalloc.start()
    codes = [main([verb, "m.crlm.npz"]) for verb in ("info", "check")]
    codes.append(main(["predict", "m.crlm.npz", "x.npy"]))
    codes.append(main(["export", "m.crlm.npz", "--to", "l.csv"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    out, err = capsys.readouterr()
    assert codes == [3, 3, 3, 3]
    assert out == ""
    assert [line.startswith("error: ") for line in err.splitlines()] == [True] * 4
    assert all(words in line for line in err.splitlines())
    assert peak < len(content) * 10 + 5 * MEGABYTE


@pytest.mark.parametrize("name", ["gone.crlm.npz", "folder.crlm.npz"])
def test_what_is_no_file_is_said_so(name, capsys):
    Path("folder.crlm.npz").mkdir()
    for argv in (["info", name], ["predict", name, "x.npy"], ["export", name, "--to", "l.csv"]):
        assert main(argv) == 3
        assert capsys.readouterr().err.count("\n") == 1


def test_document_has_no_word_for_nan():
    document, _ = read_archive(V1)
    json.dumps(document, allow_nan=False)
