"""Peak memory of crlm info, fit --sample, predict and export on a file larger than they may use.

    python benchmarks/large_files.py                 5,000,000 x 64 float32, 1.3 GB on disk
    python benchmarks/large_files.py --rows 200000

Memory is the largest resident size of the process, as the system counts it, mapped pages
included. The answers are compared: what predict and export say about a row is the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import crlm

LIMIT = 500  # MB
COLUMNS = 64
LINES = (
    "info big.npy",
    "fit big.npy -q --sample 20000 --force",
    "predict big.crlm.npz big.npy -q -o predicted.csv --force",
    "predict big.crlm.npz big.npy -q -o predicted.npy --force",
    "export big.crlm.npz -q --to exported.csv --force",
    "export big.crlm.npz -q --to labels.parquet --force",
    "export big.crlm.npz -q --to atlas.parquet --force",
    "info big.crlm.npz",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write(rows)
        size = Path("big.npy").stat().st_size
        print(f"big.npy  {rows:,} x {COLUMNS} float32, {size / 1e6:,.0f} MB")
        worst = 0.0
        for line in LINES:
            peak = peak_of(line)
            counts = "fit" not in line
            worst = max(worst, peak if counts else 0.0)
            print(f"{peak:6.0f} MB  crlm {line}", flush=True)
        compare()
    print(f"info, predict and export: at most {worst:.0f} MB, limit {LIMIT} MB")
    sys.exit(worst > LIMIT)


def write(rows):
    """Three clusters in background, block by block."""
    truth = crlm.GMMUB.draw(
        k=3, d=COLUMNS, sigmas=[1, 3, 5], weights=[0.02, 0.015, 0.01], D=80, sigma_max=10.5, rng=0
    )
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, COLUMNS)}
    with Path("big.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, rows, 50_000):
            X = truth.sample(min(50_000, rows - start), rng=start)[0]
            file.write(X.astype("<f4").tobytes())


def peak_of(line):
    """Megabytes at most, of a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crlm", *line.split()], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, line
    return used.ru_maxrss / 1000


def compare():
    with Path("predicted.csv").open("rb") as one, Path("exported.csv").open("rb") as other:
        while block := one.read(2**20):
            assert block == other.read(2**20)
    labels = np.load("predicted.npy", mmap_mode="r")
    sizes = np.bincount(labels + 1)
    print(f"the same rows by predict and export; {sizes[1:].tolist()} in clusters")


if __name__ == "__main__":
    main()
