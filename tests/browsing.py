"""Debian's Chromium, driven by Playwright; and axe, when npm can fetch it."""

import functools
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
CHROMIUM = shutil.which("chromium") or ""
needs_chromium = pytest.mark.skipif(
    not CHROMIUM, reason="chromium is not installed (apt-get install chromium)"
)


def launch(playwright):
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


class Visit:
    """One page in a fresh profile, with a log of what it asked for and what went wrong."""

    def __init__(self, browser, url, *, theme="light", size=(1280, 860), **more):
        width, height = size
        self.context = browser.new_context(
            color_scheme=theme, viewport={"width": width, "height": height}, **more
        )
        self.page = self.context.new_page()
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))
        self.page.goto(url)

    def __enter__(self):
        return self.page, self

    def __exit__(self, *error):
        self.context.close()

    def stays_at(self, prefix):
        return all(url.startswith((prefix, "data:")) for url in self.requests)


@functools.cache
def axe():
    """The source of axe-core, or a skip."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    folder = Path(tempfile.mkdtemp())
    try:
        command = [npm, "pack", "axe-core@4", "--silent"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
        with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
            return archive.extractfile("package/axe.min.js").read().decode()
    except (subprocess.SubprocessError, StopIteration, OSError):
        pytest.skip("npm cannot fetch axe-core here")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def violations(page):
    page.evaluate(axe())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]
    ]
