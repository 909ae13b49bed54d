"""The report in a real browser: opened from disk, read, moved, printed."""

import io
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import Watched, needs_chromium, open_browser
from crlm import CRLM, GMMUB
from crlm.gallery import pick_rows
from crlm.look.colors import PALETTE, PALETTE_DARK

pytestmark = needs_chromium

EVIL = "<img src=x onerror=alert(1)> & <b>bold</b>"


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    X, y = truth.sample(450, rng=1)
    return CRLM().fit(X), X, y


@pytest.fixture(scope="module")
def report(toy, tmp_path_factory):
    """A report with pictures, evil words, truth and some 50 bandwidths."""
    model, X, y = toy
    images = np.full((len(X), 24, 24, 3), 0.5)
    images[..., 0] = np.linspace(0, 1, len(X))[:, None, None]
    words = {"name": [f"{i} {EVIL}" for i in range(len(X))], "kind": [f"k{v}" for v in y]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crlm.preview.N_STOPS", 50)
        path = tmp_path_factory.mktemp("report") / "toy.html"
        return model.report(path, X, images=images, meta=words, y=y)


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


@pytest.fixture
def visit(browser, report):
    opened = []

    def visit_page(*, width=1280, javascript=True, path=report, **how):
        watched = Watched(browser, java_script_enabled=javascript, **how)
        opened.append(watched)
        watched.page.set_viewport_size({"width": width, "height": 900})
        watched.page.goto(path.as_uri())
        if javascript:
            # By a selector: the page allows no eval, which other ways of waiting need.
            painted = '#points[data-painted]:not([data-painted="0"])'
            watched.page.wait_for_selector(painted, state="attached", timeout=20_000)
        return watched

    yield visit_page
    for watched in opened:
        watched.context.close()


def n_clusters(page):
    """Number of clusters that the page says it shows."""
    words = page.inner_text("#live-now")
    return int(re.search(r"([\d,]+) cluster", words)[1])


# ---- alone --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opened_from_disk_it_asks_for_nothing_and_has_no_error(visit, report, scheme):
    watched = visit(color_scheme=scheme)
    page = watched.page
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(200)
    assert watched.outside(report.as_uri()) == []
    assert watched.requests.count(report.as_uri()) == 1
    assert watched.errors == []


def test_the_policy_stops_what_would_ask(visit, report):
    watched = visit()
    watched.page.evaluate("new Image().src = 'http://127.0.0.1:9/x.png'")
    watched.page.wait_for_timeout(200)
    assert any("Content Security Policy" in error for error in watched.errors)


def test_without_javascript_verdict_table_figures_and_gallery_are_there(visit, toy):
    model, X, _ = toy
    page = visit(javascript=False).page
    assert "3 clusters hold" in page.inner_text("h1")
    assert page.locator(".sortable tbody tr").count() == 3
    for figure in (".histogram", ".sweep", "svg.map"):
        box = page.locator(figure).bounding_box()
        assert box["width"] > 500, figure
        assert box["height"] > 100, figure
    assert page.locator(".histogram .bar").count() > 20
    assert page.locator("article").count() == 3
    picks = [rows for j in range(3) for rows in pick_rows(model, X, j, 8)[:3]]
    assert page.locator(".shot img").count() == sum(map(len, picks))
    sizes = page.locator(".shot img").evaluate_all("all => all.map(i => i.naturalWidth)")
    assert set(sizes) == {24}
    assert page.locator("#live").is_hidden()
    assert page.locator(".js-only:visible").count() == 0
    assert page.locator("#reproduce pre").first.inner_text().startswith("crlm fit")


def test_words_of_others_stay_words(visit):
    watched = visit()
    page = watched.page
    assert EVIL in page.locator(".shot-title").first.inner_text()
    assert page.locator("img[src='x']").count() == 0
    assert page.locator(".shot b").count() == 0
    assert watched.dialogs == []


# ---- moving the bandwidth -----------------------------------------------------------------


def test_dragging_changes_the_clusters_and_the_way_back_returns_them(visit, toy):
    model, _, _ = toy
    page = visit().page
    assert n_clusters(page) == 3
    assert "saved result" in page.inner_text("#live-now")
    box = page.locator("#hist").bounding_box()
    handle = page.locator("[role=slider]").bounding_box()
    y = handle["y"] + 60
    page.mouse.move(handle["x"] + handle["width"] / 2, y)
    page.mouse.down()
    seen = set()
    for share in np.linspace(0.0, 1.0, 100):
        page.mouse.move(box["x"] + 4 + share * (box["width"] - 8), y)
        seen.add((n_clusters(page), page.inner_text("#chips")))
    page.mouse.up()
    steps = json.loads(page.text_content("#data"))
    assert {k for k, _ in seen} == {len(step["centers"]) for step in steps["live"]["steps"]}
    assert len({k for k, _ in seen}) > 1
    assert len(seen) > 5
    assert "Preview: differs from the saved result" in page.inner_text("#live-now")
    assert page.locator("#curve .cursor").count() == 1
    page.click("#back")
    assert n_clusters(page) == 3
    assert "saved result" in page.inner_text("#live-now")
    assert page.evaluate("[...crlm.labels()]") == model.labels_.tolist()
    assert page.locator("#back").is_disabled()


def test_the_same_by_keyboard_alone(visit, toy):
    model, _, _ = toy
    page = visit().page
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "slider":
            break
    slider = page.locator("[role=slider]")
    assert slider.get_attribute("aria-valuetext").endswith("3 clusters")
    home = float(slider.get_attribute("aria-valuenow"))
    assert home == model.sigma_max_
    page.keyboard.press("ArrowLeft")
    assert float(slider.get_attribute("aria-valuenow")) < home
    page.keyboard.press("ArrowRight")
    assert float(slider.get_attribute("aria-valuenow")) == home
    page.keyboard.press("Home")
    low = n_clusters(page)
    page.keyboard.press("End")
    assert {low, n_clusters(page)} != {3}
    words = page.inner_text("#live-now")
    assert slider.get_attribute("aria-valuetext").split(", ")[1] in words


def test_labels_in_the_page_are_those_of_a_fit_at_every_stop(visit, toy):
    _, X, _ = toy
    page = visit().page
    stops = page.evaluate("crlm.stops")
    assert len(stops) >= 50
    for at, sigma in enumerate(stops):
        shown = page.evaluate("at => { crlm.look(at); return [...crlm.labels()] }", at)
        assert shown == CRLM(sigma).fit(X).labels_.tolist(), sigma


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_under_the_pointer_while_the_marker_does(visit, width):
    page = visit(width=width).page
    places = page.evaluate("""() => crlm.stops.map((_, at) => {
        crlm.look(at);
        return document.querySelector('#hist').getBoundingClientRect().top; })""")
    assert len(set(places)) == 1


def test_copied_command_has_the_bandwidth_that_is_shown(visit):
    watched = visit()
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watched.page
    page.focus("[role=slider]")
    page.keyboard.press("PageDown")
    sigma = page.locator("[role=slider]").get_attribute("aria-valuenow")
    page.click("#copy-command")
    page.wait_for_selector("#copy-command:has-text('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"crlm fit DATA.npy --sigma-max {sigma}"


# ---- what is drawn ------------------------------------------------------------------------


def rgb(color):
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.mark.parametrize(("scheme", "palette"), [("light", PALETTE), ("dark", PALETTE_DARK)])
def test_map_is_paper_in_its_corner_and_cluster_at_each_centre(visit, scheme, palette):
    page = visit(color_scheme=scheme).page
    paper = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--map')")
    pixel = """([x, y]) => {
        const canvas = document.querySelector('#points');
        const ratio = canvas.width / canvas.clientWidth;
        return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data]; }"""
    assert page.evaluate(pixel, [2, 2])[:3] == rgb(paper.strip())
    for j in range(3):
        at = page.evaluate("j => crlm.place(j)", j)
        assert page.evaluate(pixel, at)[:3] == rgb(palette[j]), j


def test_map_without_javascript_has_every_cluster_in_its_colour(visit):
    page = visit(javascript=False).page
    picture = page.locator("svg.map").screenshot()
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).reshape(-1, 3)
    for color in PALETTE[:3]:
        assert (np.abs(pixels.astype(int) - rgb(color)).max(axis=1) <= 2).sum() > 20


def test_hovering_names_the_row(visit, toy):
    model, _, _ = toy
    page = visit().page
    page.locator("#points").scroll_into_view_if_needed()
    box = page.locator("#points").bounding_box()
    x, y = page.evaluate("j => crlm.place(j)", 0)
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_selector("#tip:not([hidden])")
    words = page.inner_text("#tip")
    row = int(re.match(r"row (\d+)", words)[1])
    assert model.labels_[row] == 0
    assert f"cluster 0 · {row} {EVIL}" in words


def test_theme_can_be_changed(visit):
    page = visit(color_scheme="light").page
    body = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(body)
    page.click("#theme")
    dark = page.evaluate(body)
    assert light != dark
    assert sum(map(int, re.findall(r"\d+", dark))) < 150
    page.click("#theme")
    assert page.evaluate(body) == light


def test_table_sorts(visit, toy):
    model, _, _ = toy
    page = visit().page
    page.click(".sortable .sort:text('spread')")
    order = page.locator(".sortable tbody th").all_inner_texts()
    assert [int(j) for j in order] == np.argsort(model.sigmas_).tolist()
    page.click(".sortable .sort:text('spread')")
    order = page.locator(".sortable tbody th").all_inner_texts()
    assert [int(j) for j in order] == np.argsort(-model.sigmas_).tolist()


@pytest.mark.parametrize("javascript", [True, False])
def test_at_390_pixels_nothing_sticks_out(visit, javascript):
    page = visit(width=390, javascript=javascript).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_figures_stand_still_and_all_is_light(visit):
    page = visit(color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".histogram").is_visible()
    assert page.locator("svg.map").is_visible()
    assert page.locator("#live").is_hidden()
    assert page.locator(".top").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") >= 2


# ---- accessibility ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The rules of axe-core, from the registry; they are not part of this project."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm to get axe-core")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", "--silent", "axe-core@4"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("axe-core cannot be had")
    (archive,) = folder.glob("*.tgz")
    shutil.unpack_archive(archive, folder, "gztar", filter="data")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
)
def test_axe_finds_no_violation(visit, axe, scheme, width):
    page = visit(color_scheme=scheme, width=width).page
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    said = [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in found]
    assert said == [], json.dumps(said, indent=1)


# ---- odd data -----------------------------------------------------------------------------


ODD = {
    "one row": (np.zeros((1, 3)), {"sigma_max": 1.0}),
    "equal rows": (np.ones((30, 4)), {"sigma_max": 1.0, "alpha": None}),
    "no cluster": (np.random.default_rng(0).uniform(size=(50, 4)), {"sigma_max": 0.01}),
    "one column": (np.arange(40.0)[:, None], {"sigma_max": 1.0, "alpha": None}),
    "everything": (
        np.random.default_rng(0).normal(size=(60, 3)),
        {"sigma_max": 100.0, "alpha": None},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_can_be_looked_at_and_moved(visit, tmp_path, monkeypatch, name):
    X, settings = ODD[name]
    monkeypatch.setattr("crlm.preview.N_STOPS", 8)
    model = CRLM(**settings).fit(X)
    watched = visit(path=model.report(tmp_path / "odd.html", X))
    page = watched.page
    assert page.evaluate("[...crlm.labels()]") == model.labels_.tolist()
    page.focus("[role=slider]")
    for key in ("Home", "End", "ArrowLeft", "PageUp"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert watched.errors == []
    assert "NaN" not in page.inner_text("main")
    assert "Infinity" not in page.inner_text("main")
