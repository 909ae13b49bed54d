"""CPU that a command takes before it works: processor seconds beyond the interpreter's own start.

    python benchmarks/startup.py

The best of several calls counts, user and system time of the process, so that other programs on
the machine matter little. ``crlm --help`` must stay under 0.2 s. A fit of a small file is compared
with the bare import of what it needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

REPEATS = 7
LIMIT = 0.2
NEEDED = "import click, narwhals, threadpoolctl, sklearn.base, scipy.spatial, scipy.optimize"


def main():
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        np.save("x.npy", np.random.default_rng(0).normal(size=(100, 3)))
        start = cpu("-c", "pass")
        over = cpu("-m", "crlm", "--help") - start
        fit_over = cpu("-m", "crlm", "fit", "--help") - start
        needed = cpu("-c", NEEDED)
        fit = cpu("-m", "crlm", "fit", "x.npy", "-q", "-s", "1")
    print(f"python alone                                {start:.3f} s")
    print(f"crlm --help beyond it                       {over:.3f} s, limit {LIMIT} s")
    print(f"crlm fit --help beyond it                   {fit_over:.3f} s")
    print(f"crlm fit of 100 rows over its imports alone {fit / needed:.2f}")
    sys.exit(over > LIMIT)


def cpu(*argv):
    """Processor seconds of a process, the least of several."""
    found = []
    for _ in range(REPEATS):
        process = subprocess.Popen([sys.executable, *argv], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, argv
        found.append(used.ru_utime + used.ru_stime)
    return min(found)


if __name__ == "__main__":
    main()
