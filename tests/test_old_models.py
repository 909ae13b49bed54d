"""Model files of earlier versions are read to the same answers."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from crlm import CRLM, record
from crlm.cli import main

DATA = Path(__file__).parent / "data"
V1, V2 = DATA / "model-v1.crlm.npz", DATA / "model-v2.crlm.npz"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_model", DATA / "make_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def points(made):
    return made.points()


def test_model_of_format_1_is_read(points):
    model = CRLM.load(V1)
    assert repr(model).splitlines()[0] == (
        "CRLM(): 2 clusters, 24 of 64 rows (37.5 %), sigma_max 0.8904, evidence clear"
    )
    expected = np.repeat([0, 1, -1], [12, 12, 40])
    np.testing.assert_array_equal(np.sort(model.labels_), np.sort(expected))
    np.testing.assert_array_equal(model.predict(points), model.labels_)
    assert model.certificate_.verify(points) == (True, [])
    assert record.source(model).reading == {"columns": ["0:2"]}
    assert record.settings(model)["command"] == "fit"


def test_model_of_format_1_gives_probabilities(points):
    proba = CRLM.load(V1).predict_proba(points)
    assert proba.shape == (64, 3)
    assert proba[:24, :2].max(axis=1).min() > 0.9
    assert proba[24:, 2].min() > 0.9


def test_it_is_small_and_the_program_reads_it(capsys):
    assert V1.stat().st_size < 20_000
    assert main(["info", str(V1)]) == 0
    assert "model, format 1, made by crlm 0.1.0" in capsys.readouterr().out


def test_model_of_format_2_has_bandwidths_for_each_cluster(made, capsys):
    X, model = made.points_of_two_widths(), CRLM.load(V2)
    assert model.cluster_sizes_.tolist() == [49, 9]
    assert (model.bandwidths_ / model.sigma_max_).tolist() == [1.0, 0.5]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.certificate_.verify(X) == (True, [])
    assert main(["info", str(V2)]) == 0
    assert "model, format 2, made by crlm 0.1.0" in capsys.readouterr().out
