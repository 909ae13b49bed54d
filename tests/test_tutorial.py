"""The tutorial is run as it stands: its shell in a shell, its Python in Python, in one folder."""

import csv
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import crlm

PAGE = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.S | re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder in which the whole page was run, from top to bottom."""
    home = tmp_path_factory.mktemp("tutorial")
    program = home / "bin" / "crlm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m crlm "$@"\n')
    program.chmod(0o755)
    work = home / "work"
    work.mkdir()
    environment = os.environ | {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(crlm.__file__).parents[1]),
        "MPLBACKEND": "Agg",
    }
    for language, text in BLOCKS:
        command = ["sh", "-ec", text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
    return work


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_page_has_its_steps():
    commands = [word for language, text in BLOCKS if language == "sh" for word in text.split()]
    verbs = [after for word, after in pairwise(commands) if word == "crlm"]
    assert verbs == ["embed", "sigma", "fit", "export", "embed", "predict", "check"]


def test_first_cluster_holds_the_faces(folder):
    rows = rows_of(folder / "labels.csv")
    assert len(rows) == 180
    faces = [row["id"].startswith("photos/face") for row in rows]
    found = [row["label"] == "0" for row in rows]
    right = sum(face and hit for face, hit in zip(faces, found, strict=True))
    assert right / sum(found) > 0.9
    assert right / sum(faces) > 0.8


def test_page_shows_what_is_found(folder):
    (table,) = re.findall(r"^```text\n(  # .*?)^```$", PAGE, re.S | re.M)
    shown = [int(size) for size in re.findall(r"^ +\d+ +(\d+) ", table, re.M)]
    labels = [row["label"] for row in rows_of(folder / "labels.csv")]
    found = [labels.count(str(j)) for j in range(len(shown))]
    assert sum(found) == len(labels) - labels.count("-1")
    assert all(abs(a - b) <= 2 for a, b in zip(shown, found, strict=True))  # a row at an edge
    losses = [-float(loss) for loss in re.findall(r"−([\d.]+) ", table)]
    model = crlm.CRLM.load(folder / "photos.crlm.npz")
    np.testing.assert_allclose(model.losses_, losses, rtol=0.05)


def test_pictures_are_sorted_and_drawn(folder):
    sorted_pictures = list((folder / "sorted" / "cluster-000").iterdir())
    labels = [row["label"] for row in rows_of(folder / "labels.csv")]
    assert len(sorted_pictures) == labels.count("0")
    drawn = matplotlib.image.imread(folder / "cluster-0.png")[..., :3]
    assert (drawn < 0.6).any(axis=2).mean() > 0.1  # pictures, not an empty page


def test_names_and_new_pictures(folder):
    named = rows_of(folder / "named.csv")
    assert sum(row["name"] == "face" for row in named) > 70
    new = rows_of(folder / "new.csv")
    assert len(new) == 20
    assert sum(row["label"] == "0" for row in new if "face" in row["id"]) >= 7
    assert sum(row["label"] == "0" for row in new if "other" in row["id"]) <= 2


def test_links_of_the_pages_lead_somewhere():
    docs = Path(__file__).parent.parent / "docs"
    for page in ("tutorial.md", "embed.md", "files.md"):
        for target in re.findall(r"\]\(([\w./-]+)\)", (docs / page).read_text()):
            assert (docs / target).exists(), f"{page}: {target}"
