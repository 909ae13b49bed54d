"""Kill crlm at random moments and look at what is left.

    python benchmarks/kills.py --kills 200

Each run has an old model and old labels that may be replaced. After a SIGINT or SIGTERM at a
random moment every file must be the old one or a whole new one, no partial file may be left, and
the exit code must be that of the signal, or 0 if the command was done before.

    python benchmarks/kills.py --resume --kills 20

kills a fit in passes by SIGKILL, again and again, and lets the next run go on; every so often one
may end. Its labels and its model must be those of a run that nobody killed, and nothing else may be
left in the folder.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import crlm
from crlm import CRLM

LINES = (
    "fit toy.npy -q -s 5 -o labels.csv --force",
    "predict old.crlm.npz big.npy -q -o labels.csv --force",
    "export toy.crlm.npz -q --to labels.csv --force",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="SIGKILL, and go on")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        (kill_and_resume if given.resume else kill_and_look)(given.kills, rng)


def kill_and_look(kills, rng):
    prepare()
    seconds = [took(line) for line in LINES]
    ends = collections.Counter()
    for _ in range(kills):
        i = rng.randrange(len(LINES))
        signum = rng.choice([signal.SIGINT, signal.SIGTERM])
        ends[kill(LINES[i], signum, rng.uniform(0.0, 1.1 * seconds[i]))] += 1
    print(f"{kills} kills; nothing half written. Exit codes: {dict(ends)}")


def prepare():
    truth = crlm.GMMUB.draw(k=2, d=8, sigmas=[1, 1], weights=[0.2, 0.1], D=60, sigma_max=5, rng=0)
    X = truth.sample(2000, rng=1)[0]
    np.save("toy.npy", X)
    np.save("big.npy", np.tile(X, (100, 1)))
    CRLM(5.0).fit(X).save("old.crlm.npz")
    run(LINES[0]).wait()


def run(line):
    return subprocess.Popen(
        [sys.executable, "-m", "crlm", *line.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def took(line):
    start = time.perf_counter()
    assert run(line).wait() == 0, line
    return time.perf_counter() - start


def kill(line, signum, moment):
    Path("labels.csv").write_text("old")
    process = run(line)
    time.sleep(moment)
    process.send_signal(signum)
    process.communicate()
    code = process.returncode
    allowed = {0, -signum, 130 if signum == signal.SIGINT else 143}
    assert code in allowed, (line, signum, moment, code)
    assert not list(Path().glob(".crlm-*")), (line, signum, moment)
    labels = Path("labels.csv").read_text()
    assert labels == "old" or labels.endswith("\n"), (line, signum, moment)
    assert len(labels.splitlines()) in (1, 2001, 200_001), (line, signum, moment)
    CRLM.load("toy.crlm.npz")
    return code


# Passes: a checkpoint after every block, so that a kill comes between any two of them
STREAMED = """
import sys
from crlm.cli import main
from crlm.landmarks import checkpoint, source
checkpoint.EVERY_SECONDS, source.BLOCK_BYTES = 0.0, 1 << 18
sys.exit(main(sys.argv[1:]))
"""
RESUMED = "fit rows.npy -q -s 2.5 --landmarks 1000 --threads 1 --resume --force -o labels.csv"


def kill_and_resume(kills, rng):
    truth = crlm.GMMUB.draw(k=3, d=16, sigmas=1, weights=0.01, D=60, sigma_max=2.5, rng=0)
    np.save("rows.npy", truth.sample(60_000, rng=1)[0].astype(np.float32))
    start = time.perf_counter()
    assert streamed().wait() == 0
    seconds = time.perf_counter() - start
    expected = results()
    killed = went_on = ended = 0
    while killed < kills or not ended:
        went_on += Path("labels.csv.resume").exists()
        process = streamed()
        try:
            process.wait(rng.uniform(0.2, 0.9) * seconds if killed < kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            left = sorted(path.name for path in Path().iterdir())
            print(f"killed {killed} times; left: {', '.join(left)}", flush=True)
            if Path("labels.csv.resume").exists() or not Path("labels.csv").exists():
                continue
        else:
            assert process.returncode == 0, process.returncode
        assert results() == expected, "another result"
        ended += 1
    print(f"{killed} kills, {went_on} runs went on, {ended} ended: equal files, nothing else left")


def streamed():
    return subprocess.Popen([sys.executable, "-c", STREAMED, *RESUMED.split()])


def results():
    """What a run has written, which is then removed."""
    found = {path.name: path.read_bytes() for path in Path().iterdir() if path.name != "rows.npy"}
    assert set(found) == {"labels.csv", "rows.crlm.npz"}, set(found)
    for name in found:
        Path(name).unlink()
    return found


if __name__ == "__main__":
    main()
