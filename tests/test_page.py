"""The page's modules, run by Node: the same clusters as Python's, to the bit."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm import CRLM, GMMUB
from crlm.bandwidth.sigma import suggest_sigma_max
from crlm.loss import sq_cutoff
from crlm.page import bundle, encode
from crlm.path import clusters_at
from crlm.preview import by_row, preview, step_record, stops, stored_pairs
from crlm.search import RankedPairs, pairs_within
from strategies import data_sets, small_lattices

HERE = Path(__file__).parent / "page"
NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="Node is not installed")


class Worker:
    """A Node process that answers one line with one line."""

    def __init__(self):
        self.process = subprocess.Popen(
            [NODE, str(HERE / "worker.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __call__(self, call, **given):
        self.process.stdin.write(json.dumps({"call": call, **given}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


@pytest.fixture(scope="module")
def page():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(k=3, d=20, sigmas=[1, 2, 3], weights=0.04, D=60, sigma_max=7, rng=0)
    return truth.sample(300, rng=1)[0]


def task_of(X, weights=None, **parameters):
    return CRLM(**parameters)._task(X, weights, reset=True)


def graph_of(pairs):
    indptr, indices, sq_dist = by_row(pairs)
    return {"indptr": encode(indptr), "indices": encode(indices), "reach": encode(sq_dist)}


@settings(max_examples=150)
@given(st.data())
def test_the_page_finds_what_python_finds_ties_included(page, data):
    X, sigma, G = data.draw(st.one_of(small_lattices(), data_sets(max_d=5)))
    min_size = data.draw(st.integers(2, 4))
    k = data.draw(st.sampled_from([None, 1, 3]))
    weights = data.draw(
        st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X)))
    )
    if weights is not None and not any(weights):
        weights = None
    task = task_of(X, weights, alpha=None, G=G, min_cluster_size=min_size, max_clusters=k)
    cutoff = sq_cutoff(1.3 * sigma, X.shape[1], G)
    pairs = pairs_within(task.X, cutoff, memory_limit=2**30)
    python = clusters_at(task, RankedPairs.of(pairs), sigma)
    found = page(
        "find",
        n=len(X),
        graph=graph_of(pairs),
        sigma=sigma,
        d=X.shape[1],
        G=G,
        minSize=min_size,
        maxClusters=k,
        weights=weights,
    )
    record = step_record(python)
    assert found["centers"] == record["centers"]
    assert found["sizes"] == record["sizes"]
    assert found["losses"] == record["losses"]
    labels = np.full(len(X), -1)
    for j, judged in enumerate(python):
        labels[judged.cluster.ball.members] = j
    assert found["labels"] == labels.tolist()


@pytest.mark.parametrize("alpha", [0.01, None])
def test_labels_at_every_stop_are_those_of_a_fit(page, toy, alpha):
    task = task_of(toy, alpha=alpha)
    estimate = suggest_sigma_max(task.X, task.background, 0.01)
    record = preview(task, estimate, estimate.suggested)
    labels = page("replay", n=record["n"], graph=record["graph"], steps=record["steps"])
    sigmas = record["sigmas"]
    assert estimate.suggested in sigmas
    numbers = np.linspace(0, len(sigmas) - 1, 12).astype(int)
    seen = set()
    for s in numbers:
        fitted = CRLM(sigmas[s], alpha=alpha).fit(toy)
        assert labels[s] == fitted.labels_.tolist()
        assert record["steps"][s]["p"] == [None if np.isnan(p) else p for p in fitted.p_values_]
        seen.add(fitted.n_clusters_)
    assert len(seen) > 2


def test_a_budget_of_pairs_ends_the_stops_earlier(toy):
    task = task_of(toy, alpha=None)
    estimate = suggest_sigma_max(task.X, task.background, 0.01)
    pairs, high = stored_pairs(task, estimate, estimate.suggested, 100)
    every, higher = stored_pairs(task, estimate, estimate.suggested, 10**6)
    assert pairs.n_pairs <= 100 < every.n_pairs
    assert high < higher
    again = pairs_within(task.X, sq_cutoff(high, 20, 4.0), memory_limit=2**30)
    assert again.n_pairs == pairs.n_pairs
    assert stops(pairs, task, high)[-1] == high


def test_equal_rows_beyond_the_budget_leave_no_slider():
    task = task_of(np.repeat(np.eye(3), 40, axis=0), alpha=None)
    estimate = suggest_sigma_max(task.X, task.background, 0.01)
    assert preview(task, estimate, 0.5, max_pairs=100) is None


def test_the_modules_keep_their_laws():
    subprocess.run([NODE, "--test", str(HERE)], check=True, capture_output=True, timeout=60)


def test_a_bundle_is_one_script_that_runs():
    script = bundle("histogram", "table", "gallery", "map", "greedy", "codec")
    assert "import" not in {line.split(" ")[0] for line in script.splitlines()}
    assert script.count("const dom = (() =>") == 1
    check = "console.log(typeof histogram.makeHistogram, typeof map.PointMap, codec.unpack.length)"
    out = subprocess.run([NODE, "-e", script + check], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["function", "function", "1"]
