"""What the scripts share: their one flag, and lines like those of ``crlm bench``."""

import argparse
import warnings

from crlm.bench import compare, missing
from crlm.bench.data import Data
from crlm.cli.bench import cells, line


def arguments(about: str) -> tuple[bool, int]:
    """Whether to take the full sizes, and how many calls make a median."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--full", action="store_true", help="the sizes of docs/performance.md")
    warnings.simplefilter("ignore")  # HDBSCAN and OPTICS warn of their own defaults
    full = parser.parse_args().full
    return full, 5 if full else 3


def show(task: str, peers: list[str], data: Data, repeats: int) -> None:
    """Print one line for each peer: times, ratio, answers that agree."""
    for package in missing(task, peers):
        print(f"{task}, {data.name}: left out, {package} is not installed")
    for row in compare(task, data, peers, repeats):
        print(line(cells(row)), flush=True)
