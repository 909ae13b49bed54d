"""Pictures to vectors: by outlines, shades, or a real small network; stopped and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import crlm
from crlm.describe import Hog, Pixels, describe_images
from crlm.embed import unfinished_name
from crlm.errors import (
    DiskFullError,
    InputError,
    MissingExtraError,
    OutputError,
    ParameterError,
)
from crlm.features import hog
from crlm.images import pixels
from crlm.network import Network
from crlm.onnx_file import layers, with_output
from crlm.tables import image_paths, read_table
from crlm.unfinished import Unfinished

RNG = np.random.default_rng(5)
W = RNG.normal(size=(8, 3, 3, 3)).astype(np.float32)
F = RNG.normal(size=(8, 5)).astype(np.float32)


def network(path, batch="N", size=32, kind=TensorProto.FLOAT, last=False):
    """A convolution, averaged over the picture, and a matrix: what large networks are made of."""
    shape = [batch, size, size, 3] if last else [batch, 3, size, size]
    nodes = [helper.make_node("Conv", ["in", "W"], ["conv"], kernel_shape=[3, 3])]
    if last:
        nodes.insert(0, helper.make_node("Transpose", ["x"], ["in"], perm=[0, 3, 1, 2]))
    elif kind != TensorProto.FLOAT:
        nodes.insert(0, helper.make_node("Cast", ["x"], ["in"], to=TensorProto.FLOAT))
    else:
        nodes.insert(0, helper.make_node("Identity", ["x"], ["in"]))
    nodes += [
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["features"]),
        helper.make_node("MatMul", ["features", "F"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 5])],
        [numpy_helper.from_array(W, "W"), numpy_helper.from_array(F, "F")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def by_hand(picture):
    """What that network computes at its features, for colours of shape (32, 32, 3)."""
    x = picture.transpose(2, 0, 1)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    conv = np.einsum("chwij,ocij->ohw", windows, W)
    return np.maximum(conv, 0).mean(axis=(1, 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Pictures in two folders, one of them broken and one no picture; and the network."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for i in range(9):
        noise = rng.integers(0, 256, (40 + i, 50, 3), dtype=np.uint8)
        place = tmp_path / "photos" / ("more" if i % 2 else "")
        Image.fromarray(noise).save(place / f"{i}.png")
    whole = (tmp_path / "photos" / "4.png").read_bytes()
    (tmp_path / "photos" / "4.png").write_bytes(whole[:200])
    (tmp_path / "photos" / "6.png").write_text("hello")
    network(tmp_path / "net.onnx")
    return tmp_path


GOOD = ["0.png", "2.png", "8.png", "more/1.png", "more/3.png", "more/5.png", "more/7.png"]


# The command


@pytest.mark.parametrize(
    ("flags", "d"),
    [
        ([], 1764),
        (["--method", "hog", "--size", "32"], 1764),
        (["--method", "pixels"], 6),
        (["--method", "pixels", "--size", "16", "--components", "3"], 3),
        (["--model", "net.onnx"], 5),
        (["--model", "net.onnx", "--layer", "features", "--batch", "3"], 8),
    ],
)
def test_vectors_are_written_with_paths_that_fit_keeps(run, folder, flags, d):
    code, out, err = run("embed", "photos", *flags)
    assert code == 0
    assert out.startswith(f"photos.npz  7 × {d:,} float32, 2 images left out\n")
    assert "warning: left out: photos/4.png is not a readable image" in err
    assert "warning: left out: photos/6.png is not an image that can be read" in err
    assert "Next:  crlm fit photos.npz" in err
    table = read_table("photos.npz")
    assert table.X.shape == (7, d)
    assert table.roles == {"id": "paths", "image": "paths"}
    assert table.kept["paths"] == [f"photos/{name}" for name in GOOD]
    assert image_paths(table, folder) == [folder / "photos" / name for name in GOOD]
    assert sorted(path.name for path in folder.iterdir()) == ["net.onnx", "photos", "photos.npz"]
    assert run("fit", "photos.npz")[0] == 0


def test_json_says_how_the_vectors_were_made(run, folder):
    facts = json.loads(run("embed", "photos", "--model", "net.onnx", "--json")[1])
    assert facts["schema"] == "crlm.embed/1"
    assert (facts["n"], facts["d"], facts["images"], facts["layer"]) == (7, 5, 9, "logits")
    assert len(facts["failures"]) == 2
    with np.load("photos.npz") as archive:
        info = json.loads(str(archive["info"]))
    assert info["schema"] == "crlm.vectors/1"
    assert info["sha256"] == facts["sha256"]


def test_list_names_pictures_from_its_own_folder(run, folder):
    (folder / "photos" / "list.txt").write_text("8.png\n\nmore/1.png\nnothing.png\n")
    code, out, err = run("embed", "photos/list.txt")
    assert code == 0
    assert out.startswith("photos/list.npz  2 × 1,764")
    assert "left out: no such image: nothing.png" in err
    assert read_table("photos/list.npz").kept["paths"] == ["8.png", "more/1.png"]


def test_paths_outside_the_folder_of_the_file_are_full(run, folder):
    (folder / "out").mkdir()
    run("embed", "photos", "-o", "out/v.npz")
    kept = read_table("out/v.npz").kept["paths"]
    assert kept[0] == (folder / "photos" / "0.png").as_posix()


REFUSED = {
    "nothing there": ("embed fotos", 3, "no such folder or list: fotos"),
    "empty folder": ("embed empty", 3, "empty is a folder without images (.bmp"),
    "no list": ("embed photos/0.png", 3, "is neither a folder of images nor a list of paths"),
    "empty list": ("embed none.txt", 3, "none.txt names no image. Write a path a line."),
    "all broken": ("embed bad.txt", 3, "none of 1 images can be read; the first: photos/6.png"),
    "suffix": ("embed photos -o v.npy", 2, "its suffix must be one of .npz"),
    "exists": ("embed photos -o old.npz", 2, "old.npz exists. Replace it with --force"),
    "layer alone": ("embed photos --layer x", 2, "--layer is about a network. Name one with"),
    "both": ("embed photos --model net.onnx --method hog", 2, "do not go together. Choose one."),
    "components": ("embed photos --components 3", 2, "--components is about --method pixels."),
    "no model": ("embed photos --model no.onnx", 3, "no such file: no.onnx"),
    "no network": ("embed photos --model none.txt", 3, "none.txt is not a readable ONNX file ("),
    "other bytes": ("embed photos --model photos/0.png", 3, "0.png is not a readable ONNX file ("),
    "layer": ("embed photos --model net.onnx --layer featurs", 3, "Did you mean features?"),
    "layer far off": ("embed photos --model net.onnx --layer zzz", 3, "The last ones: in, conv,"),
    "size": (
        "embed photos --model net.onnx --size 64",
        2,
        "takes pictures of 32 × 32, not of --si",
    ),
    "mean": ("embed photos --model net.onnx --mean 1,2", 2, "take one or three numbers, got 2 and"),
    "std": ("embed photos --model net.onnx --std 0", 2, "--std and --white must be above 0"),
    "hog size": ("embed photos --size 8", 2, "HOG needs a size of at least 16 pixels, got 8."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_is_a_sentence_with_its_exit_code(run, folder, case):
    (folder / "empty").mkdir()
    (folder / "none.txt").write_text("\n")
    (folder / "bad.txt").write_text("photos/6.png\n")
    (folder / "old.npz").write_text("old")
    line, expected, words = REFUSED[case]
    code, out, err = run(*line.split())
    assert (code, out) == (expected, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
    assert (folder / "old.npz").read_text() == "old"


def test_without_onnxruntime_the_message_says_how_to_get_it(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crlm\[images\]'"):
        Network(folder / "net.onnx")


# Described alike


@pytest.mark.parametrize(
    "flags",
    [
        ["--method", "hog", "--size", "32"],
        ["--method", "pixels", "--components", "3"],
        ["--model", "net.onnx", "--layer", "features", "--white", "255", "--fit", "stretch"],
    ],
)
def test_like_makes_vectors_that_can_be_compared(run, folder, flags):
    run("embed", "photos", *flags)
    again = ["--model", "net.onnx"] if "net.onnx" in flags else []
    (folder / "some.txt").write_text("photos/8.png\nphotos/more/1.png\n")
    assert run("embed", "some.txt", "--like", "photos.npz", *again)[0] == 0
    table = read_table("photos.npz")
    rows = [table.kept["paths"].index(f"photos/{name}") for name in ("8.png", "more/1.png")]
    np.testing.assert_allclose(read_table("some.npz").X, table.X[rows], rtol=1e-5, atol=1e-5)
    run("fit", "photos.npz", "-s", "1")
    code, _, err = run("embed", "some.txt", "--like", "photos.npz", *again, "--force")
    assert (code, err) == (0, "Next:  crlm predict photos.crlm.npz some.npz\n")
    assert run("predict", "photos.crlm.npz", "some.npz")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ([], ["--size", "32"], "was made with size 32, the data of the model with size 64, so"),
        (["--method", "pixels"], ["--method", "pixels"], "with components of its own"),
        (
            ["--model", "net.onnx", "--layer", "features"],
            ["--model", "net.onnx", "--layer", "pool"],
            "was made with layer pool, the data of the model with layer features",
        ),
    ],
)
def test_vectors_made_otherwise_are_not_compared_in_silence(run, folder, old, new, words):
    run("embed", "photos", *old)
    run("fit", "photos.npz", "-s", "1")
    (folder / "more.txt").write_text("\n".join(f"photos/{name}" for name in GOOD[1:]))
    run("embed", "more.txt", *new)
    code, _, err = run("predict", "photos.crlm.npz", "more.npz")
    assert code == 3
    assert words in err
    assert "Embed it in the same way: crlm embed ... --like" in err


def test_pixels_of_another_folder_are_not_compared_either(run, folder):
    run("fit", "photos", "--descriptor", "pixels", "-s", "1")
    assert run("predict", "photos.crlm.npz", "photos")[0] == 0
    code, _, err = run("predict", "photos.crlm.npz", "photos/more")
    assert code == 3
    assert "cannot be compared" in err


LIKE = {
    "missing": ("--like no.npz", 3, "no such file: no.npz"),
    "other file": ("--like other.npz", 3, "other.npz does not say how its vectors were made"),
    "other flag": ("--like photos.npz --size 9", 2, "--like and --size do not go together"),
    "network for hog": ("--like photos.npz --model net.onnx", 3, "made without a network, by hog"),
    "no network": ("--like net.npz", 3, "made with the network net.onnx. Name it again with --mo"),
    "another": ("--like net.npz --model two.onnx", 3, "two.onnx is another network than that of"),
}


@pytest.mark.parametrize("case", LIKE)
def test_like_what_cannot_be_followed_is_refused(run, folder, case):
    run("embed", "photos")
    run("embed", "photos", "--model", "net.onnx", "-o", "net.npz")
    np.savez("other.npz", X=np.zeros((3, 2)), info=np.array("hello"))
    (folder / "two.onnx").write_bytes((folder / "net.onnx").read_bytes() + b"\x12\x01x")
    flags, expected, words = LIKE[case]
    code, out, err = run("embed", "photos", "-o", "new.npz", *flags.split())
    assert (code, out) == (expected, "")
    assert words in err


# Networks


def test_network_gives_what_its_matrices_give(folder):
    net = Network(
        *(folder / "net.onnx", "features"), fit="stretch", mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.2)
    )
    picture = folder / "photos" / "0.png"
    with Image.open(picture) as image:
        square = np.asarray(image.resize((32, 32), Image.Resampling.BILINEAR)) / 255.0
    expected = by_hand((square - [0.5, 0.4, 0.3]) / 0.2)
    ready = net.prepare(picture)[None]
    np.testing.assert_allclose(net.vectors(ready)[0], expected, rtol=1e-4, atol=1e-5)
    logits = Network(folder / "net.onnx", **{"fit": "stretch", "white": 255.0, "mean": (0, 0, 0)})
    assert logits.vectors(logits.prepare(picture)[None]).shape == (1, 5)


def test_map_of_features_is_averaged(folder):
    picture = folder / "photos" / "0.png"
    pool, flat = Network(folder / "net.onnx", "relu"), Network(folder / "net.onnx", "features")
    np.testing.assert_allclose(
        pool.vectors(pool.prepare(picture)[None]),
        flat.vectors(flat.prepare(picture)[None]),
        rtol=1e-5,
    )


def test_crop_takes_the_middle(tmp_path):
    net = Network(network(tmp_path / "net.onnx"), mean=(0.0,), std=(1.0,))
    wide = np.zeros((64, 256, 3), np.uint8)
    wide[:, 96:160] = 255  # the middle square; what is cut from it is white
    Image.fromarray(wide).save(tmp_path / "x.png")
    np.testing.assert_allclose(net.prepare(tmp_path / "x.png"), 1.0)


@pytest.mark.parametrize(
    "options",
    [{"batch": 4}, {"last": True}, {"kind": TensorProto.UINT8}, {"kind": TensorProto.FLOAT16}],
    ids=str,
)
def test_other_kinds_of_input_give_the_same_vectors(folder, options):
    plain = Network(folder / "net.onnx", "features", mean=(0.0,), std=(1.0,), white=255.0)
    other = Network(
        network(folder / "other.onnx", **options), "features", mean=(0.0,), std=(1.0,), white=255.0
    )
    pictures = [folder / "photos" / name for name in GOOD]
    np.testing.assert_allclose(
        describe_images(pictures, other).X, describe_images(pictures, plain).X, rtol=2e-3
    )


def test_layer_is_shown_by_bytes_at_the_end_of_the_file(tmp_path):
    content = network(tmp_path / "net.onnx").read_bytes()
    assert layers(content) == ["in", "conv", "relu", "pool", "features", "logits"]
    shown = onnx.load_from_string(with_output(content, "pool"))
    assert [value.name for value in shown.graph.output] == ["logits", "pool"]


def test_damaged_networks_end_in_a_sentence(folder):
    whole, rng, refused = (folder / "net.onnx").read_bytes(), np.random.default_rng(8), []
    for i in range(300):
        octets = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(0, len(octets), rng.integers(1, 9))
        octets[places] = rng.integers(0, 256, len(places))
        path = folder / f"{i}.onnx"
        path.write_bytes(octets[: rng.integers(1, 2 * len(octets))].tobytes())
        try:
            net = Network(path, fit="stretch")
            net.vectors(net.prepare(folder / "photos" / "0.png")[None])
        except (InputError, ParameterError) as error:
            refused.append((path.name, str(error)))
    assert len(refused) > 100
    assert all(name in said and "\n" not in said for name, said in refused)


# Without a network


def test_hog_of_pictures_is_hog_of_their_pixels(folder):
    picture = folder / "photos" / "0.png"
    expected = hog(pixels(picture, 64, grey=True)[None], cell=8)
    np.testing.assert_allclose(describe_images([picture], Hog()).X, expected, atol=1e-6)


def test_pixels_keep_distances_as_components(folder):
    pictures = [folder / "photos" / name for name in GOOD]
    X = describe_images(pictures, Pixels()).X
    raw = np.array([pixels(path, 32).ravel() / 255.0 for path in pictures])
    np.testing.assert_allclose(
        np.linalg.norm(X[:, None] - X, axis=2),
        np.linalg.norm(raw[:, None] - raw, axis=2),
        atol=1e-3,
    )


# Stopped and gone on with


def test_what_is_done_is_not_done_again(folder):
    pictures = [folder / "photos" / name for name in ("0.png", "6.png", "8.png")]
    place = folder / ".x.npz.unfinished"
    first = describe_images(pictures, Hog(), store=Unfinished(place, pictures, {"size": 64}))

    class Never(Hog):
        def prepare(self, path):
            raise AssertionError(path)

    again = Unfinished(place, pictures, {"size": 64})
    second = describe_images(pictures, Never(), store=again)
    np.testing.assert_array_equal(first.X, second.X)
    assert (first.rows, first.failures) == (second.rows, second.failures)
    again.close()

    other = Unfinished(place, pictures, {"size": 32})  # other settings: nothing is known
    assert len(other) == 0
    other.update({0: np.zeros(3, np.float32)})
    other.close()
    os.utime(pictures[0], (1, 1))
    assert len(Unfinished(place, pictures, {"size": 32})) == 0  # changed since


def test_full_disk_keeps_what_was_done(folder):
    pictures = [folder / "photos" / name for name in GOOD]
    store = Unfinished(folder / ".x", pictures, {})
    store.update({0: np.ones(8, np.float32), 1: "broken"})
    store._base.execute("pragma max_page_count = 6")  # for SQLite the same as a full disk
    with pytest.raises(DiskFullError, match=r"\.x \(database or disk is full\)\. What was done"):
        store.update({i: np.ones(4000, np.float32) for i in (2, 3)})
    store.close()
    again = Unfinished(folder / ".x", pictures, {})
    assert list(again) == [0, 1]
    assert again[1] == "broken"
    again.remove()
    assert not (folder / ".x").exists()


def test_folder_that_is_not_there_is_no_place_for_it(folder):
    with pytest.raises(OutputError, match="unable to open database file"):
        Unfinished(folder / "nowhere" / ".x", [], {})


def test_progress_counts_what_was_done_before(folder):
    pictures = [folder / "photos" / name for name in GOOD]
    net = Network(folder / "net.onnx", batch=2)
    seen = []
    store = {0: np.zeros(5, np.float32), 1: "broken"}
    found = describe_images(pictures, net, store=store, progress=lambda *at: seen.append(at))
    assert seen == [(4, 7), (6, 7), (7, 7)]
    assert found.rows == [0, 2, 3, 4, 5, 6]
    assert found.failures == ["broken"]


def test_other_file_of_that_name_is_not_overwritten(folder, run):
    unfinished_name(folder / "photos.npz").write_text("my own notes, long enough to be no base")
    code, _, err = run("embed", "photos")
    assert code == 2
    assert "cannot use photos.npz" not in err
    assert "Remove it and start anew." in err
    assert run("embed", "photos", "--no-resume")[0] == 0


@pytest.mark.parametrize(
    ("signum", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_stopped_program_goes_on_where_it_was(folder, run, signum, expected):
    """A slow network is stopped in the middle; the same command finishes with the same vectors."""
    script = (
        "import sys, time; from crlm.network import Network; from crlm.cli import main\n"
        "plain = Network.vectors\n"
        "def slow(self, pictures):\n"
        "    time.sleep(0.4); return plain(self, pictures)\n"
        "Network.vectors = slow\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    argv = ["embed", "photos", "--model", "net.onnx", "--batch", "1"]
    source = str(Path(crlm.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", script, *argv],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": source},
    )
    waiting = unfinished_name(folder / "photos.npz")
    while done(waiting) < 2:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signum)
    _, err = process.communicate()
    assert process.returncode == expected
    assert "Traceback" not in err
    assert not (folder / "photos.npz").exists()
    if signum != signal.SIGKILL:
        assert "the same command goes on" in err
    assert 2 <= done(waiting) < 9
    assert run(*argv)[0] == 0
    assert not waiting.exists()
    resumed = read_table("photos.npz").X
    run(*argv, "-o", "fresh.npz")
    np.testing.assert_array_equal(resumed, read_table("fresh.npz").X)


def done(waiting):
    """Number of pictures in the file of unfinished work."""
    import sqlite3

    if not waiting.exists():
        return 0
    base = sqlite3.connect(f"file:{waiting}?mode=ro", uri=True, timeout=5)
    try:
        return base.execute("select count(*) from done").fetchone()[0]
    except sqlite3.OperationalError:  # not yet made
        return 0
    finally:
        base.close()
