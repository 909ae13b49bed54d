"""Signals at any moment, full disks, folders without permission: what was there stays.

``benchmarks/kills.py`` does the same some hundred times.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import crlm
import crlm.record
from crlm import CRLM
from crlm.tables import output

PROGRAM = [sys.executable, "-m", "crlm"]
ENDED = {signal.SIGINT: {130, -signal.SIGINT}, signal.SIGTERM: {143, -signal.SIGTERM}}


def environment():
    return os.environ | {"PYTHONPATH": str(Path(crlm.__file__).parents[1])}


def toy(n):
    truth = crlm.GMMUB.draw(k=2, d=8, sigmas=[1, 1], weights=[0.2, 0.1], D=60, sigma_max=5, rng=0)
    return truth.sample(n, rng=1)[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*argv):
    return subprocess.Popen(
        [*PROGRAM, *argv],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A shell may have had it ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def parts():
    return list(Path().glob("**/.crlm-*.part"))


# Signals


@pytest.mark.parametrize("signum", ENDED)
def test_kill_while_files_are_written_leaves_the_old_ones(signum):
    CRLM(5.0).fit(toy(300)).save("m.crlm.npz")
    np.save("big.npy", np.tile(toy(300), (1000, 1)))
    for moment in np.random.default_rng(signum).uniform(0.0, 0.6, 1):
        Path("l.csv").write_text("old")
        with start("predict", "m.crlm.npz", "big.npy", "-o", "l.csv", "--force") as process:
            while not parts() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(moment)
            process.send_signal(signum)
            err = process.communicate()[1]
        assert process.returncode in ENDED[signum], (moment, err)
        assert "Traceback" not in err
        assert Path("l.csv").read_text() == "old"
        assert not parts(), moment


@pytest.mark.parametrize("signum", ENDED)
def test_kill_at_any_moment_leaves_whole_files_or_none(signum):
    np.save("toy.npy", toy(2000))
    for moment in np.random.default_rng(signum).uniform(0.3, 4.0, 2):
        with start("fit", "toy.npy", "-s", "5", "-o", "l.npy", "--force") as process:
            time.sleep(moment)
            process.send_signal(signum)
            process.communicate()
        assert process.returncode in ENDED[signum] | {0}, moment
        assert not parts(), moment
        if process.returncode == 0:
            assert len(np.load("l.npy")) == len(CRLM.load("toy.crlm.npz").labels_) == 2000
        for path in ("toy.crlm.npz", "l.npy"):
            Path(path).unlink(missing_ok=True)


WORST = """
import os, signal, sys
from crlm.cli import main
from crlm.tables import output

def remove(partial, was=output._remove):
    os.kill(os.getpid(), signal.SIGINT)   # a second one, while the first is being cleared up
    os.kill(os.getpid(), signal.SIGTERM)
    was(partial)

def write(file, blocks, n):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGINT, signal.default_int_handler)
output._remove = remove
import crlm.tables.rows
crlm.tables.rows.ROW_WRITERS[".csv"] = write
sys.exit(main(["fit", "toy.npy", "-s", "5", "-o", "l.csv"]))
"""


def test_second_signal_does_not_stop_the_clearing_up():
    np.save("toy.npy", toy(100))
    done = subprocess.run(
        [sys.executable, "-c", WORST], env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (143, b"")
    assert [path.name for path in Path().iterdir()] == ["toy.npy"]


SWALLOWED = """
import os, signal, sys
import crlm
import crlm.record
from crlm.cli import main

def fit(self, X, was=crlm.CRLM.fit):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass
    return was(self, X)

crlm.CRLM.fit = fit
sys.exit(main(["fit", "toy.npy", "-s", "5", "-q"]))
"""


def test_signal_that_a_library_swallows_still_tells_in_the_exit_code():
    np.save("toy.npy", toy(100))
    done = subprocess.run([sys.executable, "-c", SWALLOWED], env=environment(), check=False)
    assert done.returncode == 143


def test_what_is_left_is_swept(folder):
    left = folder / ".crlm-0.part"
    left.write_text("half")
    (folder / ".crlm-1.part").mkdir()
    output._PARTS.update([left, folder / ".crlm-1.part"])
    output.sweep()
    assert not parts()
    assert not output._PARTS


# Disks


def in_namespace(script):
    """Run a shell that may mount; what it mounts is gone with it."""
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    if "mounted" not in done.stdout:
        pytest.skip("no small disk can be mounted here")
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
@pytest.mark.parametrize(
    "line",
    [
        "fit {data} -q -s 5 --model old.crlm.npz --force",
        "export {model} -q --to old.csv --force",
        "sample old.npy -q -n 5000 --force",
    ],
)
def test_full_disk_leaves_the_old_file(folder, line):
    np.save("toy.npy", toy(3000))
    model = CRLM(5.0).fit(toy(3000))
    crlm.record.with_source(model, crlm.record.Source(folder / "toy.npy", 3000))
    model.save("toy.crlm.npz")
    Path("disk").mkdir()
    command = line.format(data=folder / "toy.npy", model=folder / "toy.crlm.npz")
    names = "old.crlm.npz old.csv old.parquet old.npy"
    program = shlex.join(PROGRAM)
    done = in_namespace(
        f"mount -t tmpfs -o size=32k tmpfs disk && echo mounted && cd disk && "
        f"for name in {names}; do echo mine > $name; done; {program} {command}; echo code $?; "
        f"ls -A | sort | tr '\\n' ' '; sort -u {names}"
    )
    assert "\ncode 5\n" in done.stdout
    assert done.stderr.startswith("error: disk full while writing old.")
    assert done.stderr.count("\n") == 1
    assert done.stdout.endswith("old.crlm.npz old.csv old.npy old.parquet mine\n")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_disk_that_is_read_only_leaves_the_old_file(folder):
    np.save("toy.npy", toy(100))
    Path("disk").mkdir()
    program = shlex.join(PROGRAM)
    done = in_namespace(
        f"mount -t tmpfs -o size=1m tmpfs disk && echo mounted && cp toy.npy disk && "
        f"echo mine > disk/l.csv && mount -o remount,ro disk && cd disk && "
        f"{program} fit toy.npy -q --no-model -o l.csv --force; echo code $?; ls -A; cat l.csv"
    )
    assert done.stdout == "mounted\ncode 2\nl.csv\ntoy.npy\nmine\n"
    assert done.stderr.startswith("error: cannot write l.csv: ")
