"""Whole stories in a browser: what a person sees and does, with what a fit gives."""

import json
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from sklearn.datasets import load_digits

from browsing import CHROMIUM, Visit, launch, needs_chromium, violations
from crlm import CRLM
from exploring import ATTACK, running, toy

pytestmark = needs_chromium
READY = "html[data-ready=yes]"
PHONE = (390, 844)


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("start")


@pytest.fixture(scope="module")
def faces(folder):
    pytest.importorskip("skimage", reason="the faces come with scikit-image")
    from crlm.faces import load_faces

    found = load_faces()
    with running(folder, found.X, images=found.images) as explorer:
        yield explorer, found.X


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    X = toy()
    with running(tmp_path_factory.mktemp("toy"), X, meta={"note": [ATTACK] * len(X)}) as explorer:
        yield explorer, X


def ready(page):
    page.wait_for_selector(READY, timeout=60_000)


def until(page, condition, timeout=30.0):
    """Wait; asked from outside, because the page's policy lets no string become code."""
    end = time.monotonic() + timeout
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(30)


def filled(page):
    until(page, "crlm.computer.steps.size === crlm.meta.stops.length", 60)


def n_clusters(page):
    return page.evaluate("crlm.result.clusters.length")


def members(page):
    return page.evaluate("crlm.result.clusters.map(({rows}) => Array.from(rows))")


def drag(page, *places):
    """Drag the marker to each place, in shares of the width of the histogram."""
    box = page.locator("#hist").bounding_box()
    handle = page.get_by_role("slider").bounding_box()
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + 60)
    page.mouse.down()
    seen = []
    for place in places:
        page.mouse.move(box["x"] + place * box["width"], box["y"] + 60, steps=6)
        page.wait_for_timeout(60)
        until(page, "crlm.result.settings.sigma === crlm.settings.sigma")
        seen.append((n_clusters(page), page.evaluate("crlm.labels.filter((l) => l >= 0).length")))
    page.mouse.up()
    return seen


def tab_to(page, selector):
    for _ in range(80):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} cannot be reached by Tab")


def exported(page, folder, name):
    """Export by the dialog that is open, and read the file."""
    page.fill("#export-name", name)
    page.select_option("#export-format", ".npy")
    page.keyboard.press("Enter") if page.evaluate(
        "document.activeElement.matches('#export-name')"
    ) else page.get_by_role("button", name="Export", exact=True).click()
    page.wait_for_selector(".said.is-good", timeout=30_000)
    page.keyboard.press("Escape")
    return np.load(folder / f"{name}.npy")


@pytest.mark.parametrize(("theme", "size"), [("light", (1280, 860)), ("dark", PHONE)])
def test_drag_look_name_lasso_export(browser, faces, folder, theme, size):
    explorer, X = faces
    with Visit(browser, explorer.url, theme=theme, size=size) as (page, log):
        ready(page)
        filled(page)
        before = members(page)
        assert len(before) >= 1
        seen = drag(page, 0.02, 0.98)
        assert seen[0][0] == 0  # far too small
        assert seen[1][1] != sum(map(len, before))  # far too large
        page.click("#suggest")
        until(page, "crlm.result.settings.sigma === crlm.meta.suggested")
        assert members(page) == before
        page.click("tr[data-label='0'] .pick")
        page.wait_for_selector("#gallery .tile img")
        until(
            page,
            "[...document.querySelectorAll('#gallery img')].slice(0, 3)"
            ".every((i) => i.complete && i.naturalWidth)",
        )
        name = page.get_by_label("Name of cluster 0")
        name.fill("faces")
        name.press("Enter")
        name.blur()
        until(page, "location.hash.includes('faces')")
        page.click("#tool-lasso")
        box = page.locator("#map").bounding_box()
        corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99)]
        page.locator("#map").scroll_into_view_if_needed()
        box = page.locator("#map").bounding_box()
        for at, (x, y) in enumerate(corners):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
            if at == 0:
                page.mouse.down()
        page.mouse.up()
        assert page.text_content("#gallery-title") == f"Selection · {len(X)} rows"
        page.click("#export")
        labels = exported(page, folder, f"faces-{theme}")
        sigma = page.evaluate("crlm.settings.sigma")
        assert np.array_equal(labels, CRLM(sigma).fit(X).labels_)
        notes = json.loads((folder / "toy.notes.json").read_text())
        assert "faces" in notes["names"].values()
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert log.stays_at(f"http://127.0.0.1:{explorer.port}/")
        assert log.errors == []


@pytest.mark.parametrize(("theme", "size"), [("dark", (1280, 860)), ("light", PHONE)])
def test_the_same_by_keyboard_alone(browser, faces, folder, theme, size):
    explorer, X = faces
    with Visit(browser, explorer.url, theme=theme, size=size) as (page, log):
        ready(page)
        filled(page)
        before, keys = members(page), page.keyboard
        keys.press("s")
        keys.press("Home")
        until(page, "crlm.result.clusters.length === 0")
        slider = page.get_by_role("slider")
        assert "0 clusters" in slider.get_attribute("aria-valuetext")
        keys.press("End")
        until(page, "crlm.result.settings.sigma === crlm.meta.stops.at(-1)")
        assert members(page) != before
        keys.press("PageDown")
        keys.press("ArrowLeft")
        tab_to(page, "#suggest")
        keys.press("Enter")
        until(page, "crlm.result.settings.sigma === crlm.meta.suggested")
        assert members(page) == before
        keys.press("0")
        tab_to(page, "[aria-label='Name of cluster 0']")
        keys.press("Control+A")
        keys.type("people")
        keys.press("Tab")
        until(page, "location.hash.includes('people')")
        keys.press("g")
        tab_to(page, "#select-members")
        keys.press("Enter")
        assert page.text_content("#gallery-title") == f"Selection · {len(before[0])} rows"
        tab_to(page, "#export")
        keys.press("Enter")
        keys.type(f"keys-{theme}")
        keys.press("Tab")
        keys.press("ArrowDown")
        keys.press("Tab")
        keys.press("Enter")
        page.wait_for_selector(".said.is-good", timeout=30_000)
        keys.press("Escape")
        labels = np.load(folder / f"keys-{theme}.npy")
        suggested = page.evaluate("crlm.meta.suggested")
        assert np.array_equal(labels, CRLM(suggested).fit(X).labels_)
        keys.press("Control+Z")  # the name
        until(page, "!location.hash.includes('people')")
        assert log.errors == []


def test_labels_in_the_page_are_those_of_a_fit_at_fifty_stops(browser, tmp_path):
    X = toy(160)
    with running(tmp_path, X) as explorer, Visit(browser, explorer.url) as (page, _):
        ready(page)
        filled(page)
        stops = page.evaluate("crlm.meta.stops")
        some = np.linspace(0, len(stops) - 1, 50).astype(int).tolist()
        for alpha in (0.01, None):
            if alpha is None:
                page.select_option("#alpha", "none")
            found = page.evaluate(
                """async (some) => {
                  const out = [];
                  for (const i of some) {
                    await crlm.change({ sigma: crlm.meta.stops[i] }, "sigma");
                    out.push([crlm.result.where, Array.from(crlm.labels)]);
                  }
                  return out;
                }""",
                some,
            )
            assert {where for where, _ in found} == {"page"}
            for i, (_, labels) in zip(some, found, strict=True):
                assert labels == CRLM(stops[i], alpha=alpha).fit(X).labels_.tolist()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_canvas_shows_the_colours_it_should(browser, points, theme):
    explorer, _ = points
    with Visit(browser, explorer.url, theme=theme) as (page, _):
        ready(page)
        page.evaluate("crlm.select(null)")
        page.wait_for_timeout(300)
        found = page.evaluate(
            """async () => {
              const { colourOf, rgb, styled } = await import("/page/colours.js");
              const canvas = document.querySelector("#map");
              const ratio = canvas.width / canvas.clientWidth;
              const pen = canvas.getContext("2d");
              const at = (x, y) => [...pen.getImageData(x * ratio, y * ratio, 1, 1).data];
              const centers = crlm.result.clusters.map(({ center }, j) => [
                at(...crlm.map.place(center)).slice(0, 3), rgb(colourOf(crlm.slots[j]))]);
              return { corner: at(1, 1).slice(0, 3), paper: rgb(styled("--map")), centers };
            }"""
        )
        assert found["corner"] == found["paper"]
        assert (sum(found["paper"]) > 600) == (theme == "light")
        assert len(found["centers"]) == 3
        for seen, meant in found["centers"]:
            assert seen == meant


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browser, points, theme):
    explorer, _ = points
    with Visit(browser, explorer.url, theme=theme, bypass_csp=True) as (page, _):
        ready(page)
        page.click("#certificate summary")
        page.wait_for_selector(".conditions")
        assert violations(page) == []
        page.click("#export")
        assert violations(page) == []


def test_words_of_rows_stay_words(browser, points):
    explorer, _ = points
    with Visit(browser, explorer.url) as (page, log):
        ready(page)
        page.wait_for_selector("#gallery .tile-text")
        assert page.locator("#gallery .tile-text").first.text_content() == f"note: {ATTACK}"
        name = page.get_by_label("Name of cluster 0")
        name.fill(ATTACK)
        name.blur()
        until(page, "document.querySelector('#gallery-title').textContent.includes('onerror')")
        assert page.locator("img[src=x]").count() == 0
        assert "broken" not in page.title()
        page.keyboard.press("Control+Z")
        assert log.errors == []


def test_rows_can_be_taken_out_by_hand(browser, points):
    explorer, _ = points
    with Visit(browser, explorer.url) as (page, log):
        ready(page)
        row = int(page.locator("#gallery .tile").nth(1).get_attribute("data-row"))
        # By its row: the gallery then shows what is selected, so that places change.
        tile = page.locator(f'#gallery .tile[data-row="{row}"]')
        tile.click()
        page.wait_for_selector(f'.tile[data-row="{row}"][aria-pressed="true"]')
        page.click("#exclude")
        page.wait_for_selector(f'.tile.is-excluded[data-row="{row}"]')
        until(page, f"location.hash.includes('x={row}')")
        page.evaluate("crlm.notesKept")
        assert explorer.session.notes.excluded == {row}
        page.keyboard.press("Control+Z")
        page.evaluate("crlm.notesKept")
        assert explorer.session.notes.excluded == set()
        assert log.errors == []


def test_rows_that_are_loaded_again_stay_under_the_pointer(browser, points):
    explorer, _ = points
    with Visit(browser, explorer.url) as (page, log):
        ready(page)
        tiles = page.locator("#gallery .tile")
        tiles.nth(1).hover()
        page.mouse.down()  # a click ends on the tile where it began, or is none
        page.evaluate("crlm.gallery.refresh()")
        page.mouse.up()
        page.wait_for_selector('#gallery .tile[aria-pressed="true"]')
        page.evaluate("crlm.gallery.refresh()")  # other rows: those selected
        until(page, "document.querySelectorAll('#gallery .tile').length === 1")
        assert log.errors == []


def test_an_address_brings_back_what_was_seen(browser, points):
    explorer, X = points
    with Visit(browser, explorer.url) as (page, _):
        ready(page)
        page.fill("#sigma", "4.321")
        page.press("#sigma", "Enter")
        page.fill("#min-size", "4")
        page.press("#min-size", "Enter")
        until(page, "location.hash.includes('s=4.321') && location.hash.includes('m=4')")
        words = parse_qs(urlsplit(page.url).fragment)
        assert words["s"] == ["4.321"]
        page.reload()
        ready(page)
        assert page.evaluate("[crlm.settings.sigma, crlm.settings.minSize]") == [4.321, 4]
        labels = page.evaluate("Array.from(crlm.labels)")
        assert labels == CRLM(4.321, min_cluster_size=4).fit(X).labels_.tolist()
        page.click("#code")
        page.wait_for_selector("dialog[open]")
        assert "CRLM(4.321, min_cluster_size=4)" in page.text_content("dialog")


def test_it_says_when_the_server_is_gone(browser, tmp_path):
    with running(tmp_path, toy(100)) as explorer, Visit(browser, explorer.url) as (page, _):
        ready(page)
        explorer.close()
        page.wait_for_selector("#banner:not([hidden])", timeout=30_000)
        assert "does not answer" in page.text_content("#banner")


def test_it_says_when_a_search_failed(browser, tmp_path):
    with running(tmp_path, toy(100), wait=False) as explorer:
        explorer.session._enter({"phase": "failed", "message": "too little memory."})
        explorer.session._enter = lambda phase: None
        with Visit(browser, explorer.url) as (page, _):
            page.wait_for_selector("#loading:not([hidden])")
            assert "too little memory" in page.text_content("#loading")


def test_a_notebook_shows_it_without_a_server(browser, points):
    explorer, X = points
    frame = explorer._repr_html_()
    with Visit(browser, "about:blank") as (page, log):
        page.set_content(frame)
        inner = next(child for child in page.frames if child != page.main_frame)
        inner.wait_for_selector("tr[data-label='2']")
        fitted = CRLM().fit(X)
        assert inner.evaluate("Array.from(crlm.labels())") == fitted.labels_.tolist()
        inner.locator("[role=slider]").press("Home")
        assert "0 clusters" in inner.text_content("#status")
        assert log.requests == ["about:srcdoc"] or log.requests == []
        assert log.errors == []


def test_a_model_with_bandwidths_of_its_own_is_told_from_what_is_seen(browser, tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X[np.concatenate([np.flatnonzero(y == j)[: 15 + 45 * (j == 0)] for j in range(10)])]
    for model, own in (CRLM().fit(X), True), (CRLM(1.8).fit(X), False), (CRLM(), True):
        with (
            running(tmp_path, X, model=model) as explorer,
            Visit(browser, explorer.url) as (page, _),
        ):
            ready(page)
            words = page.inner_text("#notice") if page.is_visible("#notice") else ""
            assert ("gives each one of its own" in words) == own
