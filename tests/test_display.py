"""Pictures, checked by what is drawn."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from crlm import CRLM, GMMUB
from crlm.display import GREY, PALETTE, ClusterMapDisplay, SigmaHistogramDisplay
from crlm.errors import MissingExtraError


@pytest.fixture(scope="module")
def toy():
    model = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    X, _ = model.sample(1000, rng=1)
    return CRLM().fit(X), X


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_histogram_marks_the_peaks_and_sigma_max(toy):
    model, _ = toy
    display = SigmaHistogramDisplay.from_estimator(model)
    marked = [line.get_xdata()[0] for line in display.ax_.lines]
    assert marked == [*model.sigma_estimate_.peaks, model.sigma_max_]
    assert display.ax_.get_yscale() == "log"


def test_map_draws_background_first_and_each_cluster_in_its_colour(toy):
    model, X = toy
    _, ax = plt.subplots()
    display = ClusterMapDisplay.from_estimator(model, X, ax=ax)
    assert display.ax_ is ax
    drawn = ax.collections
    assert [len(c.get_offsets()) for c in drawn] == [
        (model.labels_ == j).sum() for j in (-1, 0, 1, 2)
    ]
    assert [to_hex(c.get_facecolor()[0]) for c in drawn] == [GREY, *PALETTE[:3]]
    assert "3 clusters" in ax.get_title()


@pytest.mark.parametrize("sigma_max", [1e-6, 1.0, 100.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_map_can_be_drawn_for_any_number_of_clusters_and_columns(d, sigma_max):
    X = np.random.default_rng(0).normal(size=(40, d))
    display = ClusterMapDisplay.from_estimator(CRLM(sigma_max).fit(X), X)
    assert display.xy.shape == (40, 2)
    assert np.isfinite(display.xy).all()


def test_without_matplotlib_the_message_says_how_to_get_it(toy, monkeypatch):
    model, X = toy
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crlm\[plot\]'"):
        ClusterMapDisplay.from_estimator(model, X)
