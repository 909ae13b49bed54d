"""Damaged input files in number: none may crash, hang, or take more memory than allowed.

Run: python benchmarks/damaged_files.py [--full]

The test suite feeds 2,000 files of each format; this feeds 20,000 (--full: 200,000) with other
seeds, and prints how they ended, the longest time and the peak memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from crlm.errors import CRLMError
from crlm.tables import read_table
from damage import WHOLE, damaged

ROOM = 2**31  # bytes of address space above what is taken at the start


def limit_memory():
    taken = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))


def feed(suffix, n, folder, seed):
    ends, longest = Counter(), 0.0
    for number, (whole, how) in enumerate(WHOLE[suffix]):
        rng = np.random.default_rng([seed, number])
        for i in range(n // len(WHOLE[suffix])):
            path = folder / f"{i}{suffix}"
            path.write_bytes(damaged(whole, rng))
            start = time.perf_counter()
            try:
                table = read_table(path, **how)
                if suffix != ".h5":  # its text is read by a process of its own
                    for name in table.kept:
                        table.kept[name]
                ends["read"] += 1
            except CRLMError as error:
                ends[type(error).__name__] += 1
            longest = max(longest, time.perf_counter() - start)
            path.unlink()
    return ends, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in WHOLE:
            n = 200_000 if options.full else 20_000
            ends, longest = feed(suffix, n, Path(folder), options.seed)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{suffix:>9}  {dict(ends)}  longest {longest:.2f} s  peak {peak} MB", flush=True)


if __name__ == "__main__":
    main()
