"""Kill crlm at random moments and look at what is left.

    python benchmarks/kills.py --kills 200

Each run has an old model and old labels that may be replaced. After a SIGINT or SIGTERM at a
random moment every file must be the old one or a whole new one, no partial file may be left, and
the exit code must be that of the signal, or 0 if the command was done before.
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
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        prepare()
        seconds = [took(line) for line in LINES]
        ends = collections.Counter()
        for _ in range(given.kills):
            i = rng.randrange(len(LINES))
            signum = rng.choice([signal.SIGINT, signal.SIGTERM])
            ends[kill(LINES[i], signum, rng.uniform(0.0, 1.1 * seconds[i]))] += 1
    print(f"{given.kills} kills; nothing half written. Exit codes: {dict(ends)}")


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


if __name__ == "__main__":
    main()
