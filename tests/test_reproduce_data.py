"""Data sets are found where the user has them, and a missing one is told in a sentence."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crlm.errors import InputError
from crlm.reproduce.data import (
    load_faces,
    load_kimia216,
    load_kimia1070,
    principal_components,
    resized,
)
from crlm.reproduce.shapes1070 import draw, work
from crlm.reproduce.study import Plan

REAL = Path(os.environ.get("CRLM_DATA", Path(__file__).parents[2] / "shared" / "data"))
needs = {
    name: pytest.mark.skipif(not (REAL / name).exists(), reason=f"{name} is not here (CRLM_DATA)")
    for name in ("kimia216.zip", "kimia1070.zip", "faces72_imagenet1000_mobilenetv2.npz")
}


def write_shapes(folder, names, grey=0):
    """Silhouettes as the databases have them: a dark shape on white."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        pixels = np.full((6 + i, 8), 255, dtype=np.uint8)
        pixels[2:4, 2 : 3 + i] = grey
        Image.fromarray(pixels).save(folder / name)


def zipped(folder, path):
    with zipfile.ZipFile(path, "w") as archive:
        for image in sorted(folder.iterdir()):
            archive.write(image, f"deep/{image.name}")


def test_folder_zip_and_the_zip_itself_give_the_same_shapes(tmp_path):
    write_shapes(tmp_path / "a" / "kimia216", ["Bone01.png", "bird02.png", "Bone02.png"])
    (tmp_path / "b").mkdir()
    zipped(tmp_path / "a" / "kimia216", tmp_path / "b" / "kimia216.zip")
    sources = [tmp_path / "a", tmp_path / "b", tmp_path / "b" / "kimia216.zip"]
    found = [load_kimia216(source) for source in sources]
    for shapes in found:
        assert shapes.files == ["Bone01.png", "Bone02.png", "bird02.png"]
        assert shapes.labels.tolist() == [0, 0, 1]
        np.testing.assert_array_equal(shapes.images[0], found[0].images[0])
    assert found[0].images[0][2, 2] == 255  # the shape is what counts
    assert found[0].images[0][0, 0] == 0


@pytest.mark.parametrize("marks", [("1", "6", ""), ("1", "1", "0")])
def test_marks_of_the_1070_labels_may_be_numbers_or_flags(tmp_path, marks):
    names = ["Bone01.png", "bottle01.png", "dog01.png"]
    write_shapes(tmp_path / "kimia1070", names, grey=100)
    lines = [f"{name},{i + 1},{mark}" for i, (name, mark) in enumerate(zip(names, marks))]  # noqa: B905
    (tmp_path / "kimia1070_labels.csv").write_text("\n".join(["file,label,positive", *lines]))
    shapes = load_kimia1070(tmp_path)
    assert shapes.labels.tolist() == [1, 2, 3]
    assert shapes.is_positive.tolist() == [True, True, False]
    assert {int(value) for image in shapes.images for value in np.unique(image)} == {0, 255}


def test_an_image_without_a_label_is_named(tmp_path):
    write_shapes(tmp_path / "kimia1070", ["Bone01.png", "cat01.png"])
    (tmp_path / "kimia1070_labels.csv").write_text("file,label,positive\nBone01.png,1,1\n")
    with pytest.raises(InputError, match=r"no row for cat01.png"):
        load_kimia1070(tmp_path)


@pytest.mark.parametrize("load", [load_kimia216, load_kimia1070, load_faces])
def test_a_missing_set_says_what_to_get_and_how_to_name_it(load, tmp_path):
    with pytest.raises(InputError, match=r"no folder was named. Get .*--data or CRLM_DATA"):
        load(None)
    with pytest.raises(InputError, match=f"it is not in {tmp_path}. Get"):
        load(tmp_path)


def test_broken_files_are_told_in_a_sentence(tmp_path):
    (tmp_path / "kimia216.zip").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is no zip file"):
        load_kimia216(tmp_path)
    (tmp_path / "kimia1070").mkdir()
    (tmp_path / "kimia1070" / "Bone01.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"Bone01.png is no image"):
        load_kimia1070(tmp_path)
    np.savez(tmp_path / "faces72_imagenet1000_mobilenetv2.npz", Z=np.zeros(3))
    with pytest.raises(InputError, match="cannot be used"):
        load_faces(tmp_path)


def test_images_of_any_size_become_rows_of_one_length():
    images = [np.zeros((3, 9), np.uint8), np.full((20, 4), 255, np.uint8)]
    V = resized(images, side=16)
    assert V.shape == (2, 256)
    assert V[0].max() == 0
    assert V[1].min() == 255


def test_all_principal_components_keep_all_distances_and_fewer_the_largest_variance():
    V = np.random.default_rng(0).normal(size=(12, 40))
    Z = principal_components(V, 11)
    np.testing.assert_allclose(
        np.linalg.norm(Z[:, None] - Z, axis=2), np.linalg.norm(V[:, None] - V, axis=2)
    )
    spread = np.linalg.svd(V - V.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(principal_components(V, 3), axis=0), spread[:3])


@needs["kimia216.zip"]
def test_the_real_216_are_18_classes_of_12():
    shapes = load_kimia216(REAL)
    assert np.bincount(shapes.labels).tolist() == [12] * 18
    assert all(0 < (image > 127).mean() < 0.9 for image in shapes.images)


@needs["kimia1070.zip"]
def test_draws_from_the_real_1070_follow_the_papers_protocol():
    shapes = load_kimia1070(REAL)
    assert len(shapes.files) == 1069
    assert len(np.unique(shapes.labels)) == 66
    assert len(np.unique(shapes.labels[shapes.is_positive])) == 6
    for negatives in (60, 120):
        rows, y = draw(shapes, negatives, np.random.default_rng(0))
        assert len(set(rows.tolist())) == 60 + negatives
        assert np.bincount(y[y >= 0]).tolist() == [10] * 6
        others = shapes.labels[rows[y < 0]]
        assert len(np.unique(others)) == 60
        assert not shapes.is_positive[rows[y < 0]].any()


@needs["kimia1070.zip"]
def test_six_real_classes_are_found_among_120_others_with_all_components():
    cell = {"method": "CRLM", "negatives": 120, "draw": 0}  # 200 components of all lose a class
    rows = {row["radius"]: row for row in work(cell, Plan(data=REAL))}
    assert rows[20_500.0]["F"] > 0.984


@needs["faces72_imagenet1000_mobilenetv2.npz"]
def test_the_real_faces_are_72_among_1000():
    X, y = load_faces(REAL)
    assert X.shape == (1072, 1280)
    assert np.bincount(y).tolist() == [1000, 72]
