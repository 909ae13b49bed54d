"""Drawings as text: what is where."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from crlm import CRLM, GMMUB
from crlm.look.colors import PALETTE
from crlm.look.gap import empty_gap
from crlm.look.shape import round_limit, top_direction
from crlm.svg.base import LogScale
from crlm.svg.curve import Sweep, draw_curve
from crlm.svg.histogram import Distances, distances_of, draw_histogram
from crlm.svg.points import FEW, draw_map, on_page

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model():
    truth = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    return CRLM().fit(truth.sample(900, rng=1)[0])


def parts(drawing, name, **attributes):
    found = ET.fromstring(drawing).iter(f"{SVG}{name}")
    return [e for e in found if all(e.get(k.rstrip("_")) == v for k, v in attributes.items())]


def test_places_on_a_logarithmic_scale_are_equal_steps():
    scale = LogScale(1.0, 100.0, 0.0, 200.0)
    assert [scale(v) for v in (1, 10, 100)] == [0.0, 100.0, 200.0]
    assert (scale(0.01), scale(1e9), scale(0.0)) == (0.0, 200.0, 0.0)


def test_histogram_has_a_bar_for_each_bin_with_pairs_and_marks_those_that_count(model):
    d = distances_of(model, model.sigma_estimate_)
    drawing = draw_histogram(d)
    bars = [e for e in parts(drawing, "rect") if (e.get("class") or "").startswith("bar")]
    assert len(bars) == (d.counts > 0).sum()
    near = [e for e in bars if e.get("class") == "bar is-near"]
    reach = model.radius_ / np.sqrt(2 * 30)
    assert len(near) == ((d.counts > 0) & (d.edges[:-1] < reach)).sum()
    heights = [float(e.get("height")) for e in bars]
    assert np.argmax(heights) == np.argmax(d.counts[d.counts > 0])
    assert len(parts(drawing, "circle", class_="peak")) == len(d.peaks)
    (mark,) = parts(drawing, "line", class_="mark")
    (band,) = parts(drawing, "rect", class_="plateau")
    left, width, at = (float(v) for v in (band.get("x"), band.get("width"), mark.get("x1")))
    assert left < at < left + width


def test_histogram_of_nothing_can_be_drawn():
    drawing = draw_histogram(Distances(np.array([0.5, 2.0]), np.zeros(1), 1.0, 4.0, []))
    assert "no peak" in ET.fromstring(drawing).get("aria-label")


def test_curve_steps_at_each_change_and_says_it_in_words():
    sweep = Sweep(
        np.array([1.0, 2.0, 4.0, 8.0]),
        np.array([0, 2, 2, 1]),
        np.array([0.0, 0.1, 0.1, 0.6]),
        (2.0, 4.0),
        2.0,
    )
    drawing = draw_curve(sweep)
    (line,) = parts(drawing, "path", class_="curve-k")
    levels = [float(y) for y in re.findall(r"[V ]([\d.]+)", line.get("d"))]
    assert levels[1] == levels[2] < levels[3] < levels[0]
    words = ET.fromstring(drawing).get("aria-label")
    assert words == (
        "Clusters at 4 bandwidths: 2 clusters at sigma_max 2.00; the same from 2.00 to 4.00."
    )


@pytest.mark.parametrize("n", [50, FEW + 500])
def test_map_has_a_number_and_a_colour_for_each_cluster(n):
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(n, 2))
    labels = np.full(n, -1)
    labels[:5], labels[5:9] = 0, 1
    drawing = draw_map(xy, labels)
    assert [e.text for e in parts(drawing, "text")] == ["0", "1"]
    colors = [e.get("stroke") for e in parts(drawing, "path")][-2:]
    assert colors == [PALETTE[1], PALETTE[0]]  # the first cluster lies on top
    assert len(parts(drawing, "image")) == (n > FEW)


def test_page_keeps_angles_and_turns_y_up():
    xy = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    a, b, c = on_page(xy, 400.0, 300.0)
    assert np.linalg.norm(b - a) == pytest.approx(np.linalg.norm(c - a))
    assert b[0] > a[0]
    assert c[1] < a[1]
    assert np.isfinite(on_page(np.zeros((3, 2)), 400.0, 300.0)).all()


def test_gap_is_the_widest_stretch_without_pairs():
    edges = 2.0 ** np.arange(7)
    assert empty_gap(edges, np.array([1, 0, 1, 0, 0, 1.0])) == (8.0, 32.0)
    assert empty_gap(edges, np.array([0, 0, 1, 0, 0, 0.0])) is None


def test_round_clusters_are_round_and_long_ones_are_not():
    rng = np.random.default_rng(0)
    for n, d in ((30, 200), (400, 10)):
        ball = rng.normal(size=(n, d))
        assert top_direction(ball) < 1.2 * round_limit(n, d)
        ball[:, 0] *= 10
        assert top_direction(ball) > 2 * round_limit(n, d)
    assert top_direction(np.ones((5, 3))) == 1.0


def test_notebook_shows_the_histogram_without_script(model):
    html = model._repr_mimebundle_()["text/html"]
    drawing = re.search(r"<svg.*?</svg>", html, re.S)[0]
    assert len(parts(drawing, "circle", class_="peak")) == 3
    assert "<script" not in html
    assert "<style" not in html
    assert html.index("<svg") < html.index("<table")
