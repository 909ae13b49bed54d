"""Peak memory over the data, each program in a process of its own."""

import numpy as np
from common import arguments

from crlm import CRLM
from crlm.bench.data import Data, gmmub, half_near, uniform
from crlm.bench.memory import peak_memory
from crlm.bench.programs import FITS, PAIRS


def show(task: str, peers: list[str], data: Data) -> None:
    """Print one line for each program."""
    print(f"{task}, {data.name}, input {data.X.nbytes / 1e6:,.0f} MB")
    for key in ["crlm", *peers]:
        program = (PAIRS if task == "pairs" else FITS)[key]
        if program.is_installed:
            print(
                f"  {program.name:<26} {peak_memory(task, key, data) / 1e6:10,.0f} MB", flush=True
            )
        else:
            print(f"  {program.name:<26} left out: {program.package} is not installed")


def main() -> None:
    full, _ = arguments(__doc__)
    n = 40_000 if full else 10_000
    show("pairs", ["faiss", "radius_neighbors"], gmmub(n, 100))
    show("pairs", ["query_pairs"], uniform(1_000_000 if full else 100_000, 2))
    show("fit", ["dbscan"], gmmub(n, 100))
    show("fit", ["dbscan"], half_near(n // 2, 50))
    show("fit", ["hdbscan", "contrib", "optics"], gmmub(n // 4, 100))
    large = gmmub(300_000 if full else 30_000, 128)
    show("fit", [], large)
    limit = "300MB" if full else "60MB"
    labels = [
        CRLM(large.sigma_max, alpha=None, memory_limit=allowed).fit(large.X).labels_
        for allowed in ("2GB", limit)
    ]
    print(f"  the same labels with memory_limit={limit!r}: {np.array_equal(*labels)}")


if __name__ == "__main__":
    main()
