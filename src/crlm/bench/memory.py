"""Peak memory of one program, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from crlm.bench.data import Data
from crlm.bench.programs import FITS, PAIRS

_WARM = 64  # rows of a first call, which loads what the program loads


def peak_memory(task: str, key: str, data: Data) -> int:
    """Bytes that a program takes at its peak, over those with the data loaded."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "X.npy"
        np.save(file, data.X)
        call = [sys.executable, "-m", __name__, task, key, str(file), repr(data.sigma_max)]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
    return int(json.loads(done.stdout.splitlines()[-1]))


def peak() -> int:
    """Bytes that this process held at most so far.

    On Linux not ``ru_maxrss``: a child inherits that from the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("VmHWM"))
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _main(task: str, key: str, file: str, sigma_max: str) -> None:
    data = Data(file, np.load(file), float(sigma_max))
    program = (PAIRS if task == "pairs" else FITS)[key]
    program.run(data._replace(X=data.X[:_WARM]))
    before = peak()
    answer = program.run(data)
    print(peak() - before)  # noqa: T201 - this is what the parent reads
    del answer


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    _main(*sys.argv[1:])
