"""Debian's Chromium, driven by Playwright; tests that need it are skipped where it is missing."""

import importlib.util
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs chromium and playwright",
)


@contextmanager
def open_browser():
    """A browser with a profile of its own, which is gone afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page, what it asked for, and what went wrong in it."""

    def __init__(self, browser, **how):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **how)
        self.page = self.context.new_page()
        self.requests, self.errors, self.dialogs = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("dialog", self._dialog)

    def _console(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def _dialog(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def outside(self, *allowed):
        """Requests to anywhere but the addresses that begin like these."""
        known = ("data:", "blob:", *allowed)
        return [url for url in self.requests if not url.startswith(known)]
