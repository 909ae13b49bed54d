"""The benchmark: answers are compared, absent peers are named, nothing is left behind."""

import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crlm
from crlm.bench import compare, data, exponent, missing
from crlm.bench.memory import peak, peak_memory
from crlm.bench.programs import FITS, PAIRS, Program
from crlm.cli import main

ROOT = Path(__file__).parent.parent
SCRIPTS = ["pairs", "fits", "growth", "memory", "one_core"]


@pytest.mark.filterwarnings("ignore")  # HDBSCAN and OPTICS warn of their own defaults
def test_bench_prints_one_line_for_each_peer_and_what_agrees(capsys):
    assert main(["bench", "--rows", "1000", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["work", "data", "peer"]
    assert lines[-1].startswith("search over the bare matrix product")
    searches = [line for line in lines if line.startswith("pairs")]
    assert len(searches) >= 4
    assert all("all " in line and line.endswith(" pairs") for line in searches)
    assert any("sklearn DBSCAN" in line and "all 1,000 rows" in line for line in lines)


@pytest.mark.filterwarnings("ignore")
def test_bench_json_is_one_object(capsys):
    assert main(["bench", "--rows", "1000", "--repeats", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "crlm.bench/1"
    assert found["floor"] > 0
    for row in found["rows"]:
        assert row["ratio"] == pytest.approx(row["peer_seconds"] / row["seconds"])
        assert row["memory"] is None


def test_an_absent_peer_is_named_and_left_out(monkeypatch, capsys):
    absent = Program("Absent", "no_such_package", None, None)
    monkeypatch.setitem(PAIRS, "faiss", absent)
    assert missing("pairs", ["faiss", "query_pairs"]) == ["no_such_package"]
    rows = compare("pairs", data.gmmub(300, 5), ["faiss", "query_pairs"], 1)
    assert [row.peer for row in rows] == ["cKDTree.query_pairs"]


def test_answers_that_differ_are_counted(monkeypatch):
    def all_but_one(given):
        return query_pairs.run(given)[1:]

    query_pairs = PAIRS["query_pairs"]
    monkeypatch.setitem(PAIRS, "query_pairs", query_pairs._replace(run=all_but_one))
    (row,) = compare("pairs", data.uniform(300, 2), ["query_pairs"], 1)
    assert row.n_all - row.n_same == 1


@pytest.mark.parametrize("key", [key for key, p in PAIRS.items() if p.is_installed])
def test_every_program_finds_the_same_pairs(key):
    given = data.embeddings(300, 20)
    X = given.X.astype(np.float64)
    sq = np.square(X[:, None] - X[None]).sum(-1)
    i, j = np.nonzero(np.triu(sq < given.radius**2, 1))
    assert PAIRS[key].read(PAIRS[key].run(given), 300).tolist() == (i * 300 + j).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", [key for key, p in FITS.items() if p.is_installed])
def test_every_clusterer_says_which_rows_lie_in_clusters(key):
    given = data.gmmub(1500, 20)
    assert FITS[key].read(FITS[key].run(given), 1500).sum() in range(20, 120)


@pytest.mark.parametrize("k", [1, 64])
def test_any_number_of_clusters_has_as_many_pairs(k):
    given = data.many_clusters(20_000, 20, k)
    pairs = PAIRS["crlm"].read(PAIRS["crlm"].run(given), 20_000)
    assert len(pairs) == pytest.approx(320_000, rel=0.02)


def test_memory_is_that_of_the_program_alone():
    given = data.half_near(1500, 5)  # half a million pairs, of eight bytes at least
    before = peak()
    assert 4e6 < peak_memory("fit", "dbscan", given) < 1e9
    assert peak_memory("pairs", "query_pairs", given) > 9e6
    assert peak() - before < 100e6


def test_exponent_of_a_power_law_is_its_power():
    assert exponent([10, 20, 40, 80], [7.0, 14.0, 28.0, 56.0]) == pytest.approx(1.0)


STUCK = """
import signal, sys
from crlm.bench import measure
from crlm.cli import main

def stuck(work, repeats):
    print("measuring", flush=True)
    signal.pause()

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
measure.seconds = stuck
sys.exit(main(["bench", "--rows", "1000"]))
"""


def test_an_interrupt_ends_the_benchmark_and_leaves_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(crlm.__file__).parents[1])},
    ) as process:
        assert process.stdout.readline().split()[0] == "work"
        assert process.stdout.readline() == "measuring\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    said = [
        line for line in err.splitlines() if line and not line.startswith("note: not installed")
    ]
    assert said == ["interrupted; no file was left half written"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"), run_name="__main__")
    assert not caught.value.code
    assert "--full" in capsys.readouterr().out
