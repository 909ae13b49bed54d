"""Pictures on the command line: the demo with faces, and vectors of one's own pictures."""

import re
import sys

import matplotlib.image
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# demo faces


def test_demo_faces_finds_them_and_draws_the_gallery(run, folder):
    for _ in range(2):  # its own picture is replaced
        code, out, err = run("demo", "faces")
        assert code == 0
        assert "100 faces, 100 other pieces" in out
        assert float(out.split("F-measure against the truth")[1].split()[0]) > 0.9
        assert f"picture  {folder / 'crlm-demo-faces.png'}" in out
        assert f"report   {folder / 'crlm-demo-faces.html'}" in out
        assert "crlm explore --demo faces" in err
        assert "crlm embed" in err
    assert names_in(folder) == ["crlm-demo-faces.html", "crlm-demo-faces.png"]
    page = (folder / "crlm-demo-faces.html").read_text(encoding="utf-8")
    outside = int(re.search(r"background +(\d+) rows", out)[1])
    assert f" {200 - outside} of 200 rows" in page
    assert page.count('<img src="data:image/png') > 20
    drawn = matplotlib.image.imread("crlm-demo-faces.png")[..., :3]
    assert (drawn[0, 0] == 1).all()
    grey = (np.ptp(drawn, axis=2) < 0.01) & (drawn[..., 0] < 0.9)
    assert grey.mean() > 0.3  # the pictures
    orange = np.abs(drawn - [0.835, 0.369, 0.0]).max(axis=2) < 0.02
    assert orange.any()  # a mistake, framed


def test_demo_faces_without_scikit_image_says_how_to_get_it(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    code, out, err = run("demo", "faces")
    assert (code, out) == (3, "")
    assert err.startswith("error: this demo needs scikit-image")
    assert "pip install 'crlm[images]'" in err
    assert names_in(folder) == []


def test_demo_of_something_else_is_refused(run):
    code, _, err = run("demo", "cats")
    assert code == 2
    assert "'cats' is not one of 'toy', 'faces'" in err
