"""Dragging sigma_max: how long an answer takes, in the page and by the server.

Prints medians over stops of the slider in random order. "in the page" is everything between a
move of the marker and the painted map, at n = 20,000, in Chromium. "by the server" is a request
over loopback at n = 200,000; "first" when nobody has asked for that stop yet, "again" when the
answer was made in the background. With --quick a tenth of the rows.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from crlm import CRLM, GMMUB
from crlm.explorer.opening import explore_rows, subject_of_rows
from crlm.explorer.serve import Explorer

STOPS = 60
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
DRAG = """async (order) => {
  const times = [];
  for (const i of order) {
    const began = performance.now();
    await crlm.change({ sigma: crlm.meta.stops[i] }, "sigma");
    crlm.map.paint();
    times.push([crlm.result.where, performance.now() - began]);
  }
  return times;
}"""


def rows(n):
    truth = GMMUB.draw(
        k=8, d=32, sigmas=np.linspace(1, 3, 8), weights=0.002, D=60, sigma_max=6.5, rng=0
    )
    return truth.sample(n, rng=1)[0].astype(np.float32)


def exploration(n, folder):
    X = rows(n)
    return explore_rows(CRLM(), X, subject_of_rows("benchmark", n), folder)


def in_the_page(n, folder):
    chromium = shutil.which("chromium")
    if chromium is None:
        print("in the page: left out, chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    session = exploration(n, folder)
    with Explorer(session, host="127.0.0.1", port=0) as explorer, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(explorer.url)
        page.wait_for_selector("html[data-ready=yes]", timeout=600_000)
        order = np.random.default_rng(0).permutation(len(session.engine.stops))[:STOPS].tolist()
        for words, alpha in (("alpha = 0.01", "0.01"), ("no test", "none")):
            if page.input_value("#alpha") != alpha:
                page.select_option("#alpha", alpha)
            while page.evaluate("crlm.computer.steps.size < crlm.meta.stops.length"):
                time.sleep(0.5)
            times = page.evaluate(DRAG, order)
            told(f"in the page, n = {n:,}, {words}", [ms for where, ms in times if where == "page"])
        browser.close()
    print(f"  {session.engine.pairs.n_pairs:,} pairs in the page")


def by_the_server(n, folder):
    session = exploration(n, folder)
    session.fill = lambda settings: None  # nobody works in the background
    with Explorer(session, host="127.0.0.1", port=0) as explorer:
        while not session.is_ready:
            time.sleep(0.2)
        stops = session.engine.stops
        order = np.random.default_rng(0).permutation(len(stops))[:STOPS]
        headers = {"authorization": f"Bearer {explorer.token}"}
        base = f"http://127.0.0.1:{explorer.port}"
        with httpx.Client(base_url=base, headers=headers, timeout=600) as web:
            for words in ("first", "again"):
                began = time.process_time()
                times = [asked(web, float(stops[i])) for i in order]
                told(f"by the server, n = {n:,}, {words}", times)
                busy = 1e3 * (time.process_time() - began) / len(times)
                print(f"  processor time, both sides, mean {busy:,.0f} ms")
    print(f"  {session.engine.pairs.n_pairs:,} pairs on the server")


def asked(web, sigma):
    began = time.perf_counter()
    web.post("/api/fit", json={"sigma": sigma}).raise_for_status()
    return 1e3 * (time.perf_counter() - began)


def told(what, times):
    worst = f", slowest {max(times):,.0f} ms" if times else ""
    middle = f"median {statistics.median(times):,.1f} ms" if times else "no answer"
    print(f"{what}: {middle} of {len(times)} stops{worst}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    less = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as folder:
        in_the_page(20_000 // less, Path(folder))
        by_the_server(200_000 // less, Path(folder))


if __name__ == "__main__":
    main()
