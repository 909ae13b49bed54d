"""Pictures, checked by what is drawn."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from crlm import CRLM, GMMUB, estimate_sigma
from crlm.display import (
    CertificateDisplay,
    ClusterMapDisplay,
    GalleryDisplay,
    SigmaHistogramDisplay,
    SweepDisplay,
)
from crlm.errors import InputError, MissingExtraError
from crlm.explorer.view import project as project_view
from crlm.gallery import pick_rows
from crlm.look.admissible import admissible_interval
from crlm.look.colors import GREY, PALETTE
from crlm.look.projection import project

# Bandwidths are drawn at random, and may be far too wide.
pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.TooLargeWarning")


@pytest.fixture(scope="module")
def toy():
    model = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    X, _ = model.sample(1000, rng=1)
    return CRLM().fit(X), X


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def vertical(ax):
    """Places of the lines that cross the whole picture."""
    return [line.get_xdata()[0] for line in ax.lines if list(line.get_ydata()) == [0, 1]]


def test_histogram_marks_the_peaks_and_sigma_max(toy):
    model, _ = toy
    display = SigmaHistogramDisplay.from_estimator(model)
    assert vertical(display.ax_) == [*model.sigma_estimate_.peaks, model.sigma_max_]
    assert display.ax_.get_yscale() == display.ax_.get_xscale() == "log"


def test_histogram_draws_gap_plateau_and_admissible_interval_where_they_are(toy):
    model, _ = toy
    display = SigmaHistogramDisplay.from_estimator(model)
    bars = {line.get_gid(): tuple(line.get_xdata()) for line in display.ax_.lines}
    assert bars["plateau"] == model.sigma_estimate_.plateau
    assert bars["A1-A3 allow"] == admissible_interval(model.certificate_)
    low, high = display.gap
    e = model.sigma_estimate_
    inside = (e.edges[:-1] >= low) & (e.edges[1:] <= high)
    assert inside.any()
    assert not e.counts[inside].any()
    (span,) = display.ax_.patches[1:]
    assert (span.get_x(), span.get_x() + span.get_width()) == pytest.approx((low, high))


def test_histogram_of_an_estimate_needs_no_fit(toy):
    model, X = toy
    display = SigmaHistogramDisplay.from_estimate(estimate_sigma(X))
    assert display.sigma_max == model.sigma_max_
    assert display.admissible is None


def test_histogram_of_a_given_bandwidth_says_what_to_draw_instead(toy):
    _, X = toy
    with pytest.raises(InputError, match="from_estimate"):
        SigmaHistogramDisplay.from_estimator(CRLM(7.0).fit(X))


def test_sweep_draws_the_path_and_its_widest_stable_range(toy):
    model, X = toy
    sigmas = [0.5, 2.0, 5.0, 7.0, 8.0]
    path = model.path(X, sigmas)
    display = SweepDisplay.from_estimator(model, X, sigmas)
    steps = display.ax_.lines[0]
    assert steps.get_xdata().tolist() == sigmas
    assert steps.get_ydata().tolist() == path.n_clusters.tolist()
    area = display.share_ax_.collections[0].get_paths()[0].vertices
    assert area[:, 1].max() == pytest.approx(100 * path.share.max())
    (span,) = display.ax_.patches
    assert (span.get_x(), span.get_x() + span.get_width()) == pytest.approx(path.stable[0])
    assert vertical(display.ax_) == [model.sigma_max_]


def test_gallery_of_all_clusters_draws_middle_edge_and_what_nearly_made_it(toy):
    model, X = toy
    images = np.arange(len(X))[:, None, None] * np.ones((1, 5, 6), dtype=np.uint8) % 256
    display = GalleryDisplay.from_estimator(model, X, images.astype(np.uint8), limit=4)
    picks = [pick_rows(model, X, j, 4) for j in range(3)]
    rows = [row for found in picks for kind in found[:3] for row in kind]
    drawn = [int(image.get_array()[24, 24, 0]) for image in display.ax_.images]
    assert drawn == [row % 256 for row in rows]
    frames = [to_hex(line.get_color()) for line in display.ax_.lines]
    assert frames == [c for j in range(3) for c in [PALETTE[j]] * 8 + [GREY] * 4]


def test_gallery_without_pictures_draws_the_values_of_each_row(toy):
    model, X = toy
    display = GalleryDisplay.from_estimator(model, X, cluster=1, limit=2)
    curves = [line.get_ydata() for line in display.ax_.lines if len(line.get_ydata()) == 30]
    rows = [row for kind in pick_rows(model, X, 1, 2)[:3] for row in kind]
    assert len(curves) == len(rows)
    for curve, row in zip(curves, rows, strict=True):
        assert np.corrcoef(curve, X[row])[0, 1] == pytest.approx(-1.0)  # y goes down the page


def test_gallery_frames_marked_rows(toy):
    model, X = toy
    row = int(model.center_indices_[0])
    display = GalleryDisplay.from_estimator(model, X, np.zeros((1000, 3, 3)), marked={row})
    assert [to_hex(line.get_color()) for line in display.ax_.lines if line.get_lw() == 3] == [
        PALETTE[1]
    ]


def test_gallery_refuses_pictures_of_other_rows(toy):
    model, X = toy
    with pytest.raises(InputError, match="there are 7 images for 1,000 rows"):
        GalleryDisplay.from_estimator(model, X, np.zeros((7, 2, 2)))


def test_certificate_draws_every_margin_and_every_term(toy):
    model, _ = toy
    display = CertificateDisplay.from_estimator(model)
    c = model.certificate_
    margins = {name: m.value for name, m in c.conditions.margins.items()} | c.assumptions.slacks
    assert {bar.name: bar.margin for bar in display.bars} == margins
    widths = [patch.get_width() for patch in display.margins_ax_.patches]
    assert widths == pytest.approx([min(max(m, -2.0), 2.0) for m in margins.values()])
    names = [text.get_text() for text in display.terms_ax_.get_yticklabels()]
    assert names == list(c.guarantee.log_terms)
    assert 10 ** display.log10_terms["cover"] == pytest.approx(c.guarantee.terms["cover"])


def test_certificate_without_a_cluster_has_no_terms():
    X = np.random.default_rng(0).normal(size=(40, 5))
    display = CertificateDisplay.from_estimator(CRLM(1e-6).fit(X))
    assert display.terms_ax_ is None
    assert display.log10_terms == {}


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


def test_data_of_another_size_are_refused(toy):
    model, X = toy
    with pytest.raises(InputError, match=r"X is 7 x 30, the model was fitted on 1,000 x 30"):
        ClusterMapDisplay.from_estimator(model, X[:7])


def test_two_columns_are_shown_as_they_are():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 3.0]
    assert np.array_equal(project(X, X[:3]), X)
    for view in ("clusters", "pca"):
        xy = project_view(X, view, [np.arange(9)]).T
        np.testing.assert_allclose(xy - xy[0], X - X[0], atol=1e-4 * np.abs(X).max())
