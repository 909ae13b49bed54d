"""A whole fit beside DBSCAN, HDBSCAN and OPTICS. With --full the sizes of the docs."""

import numpy as np
from common import arguments, show

from crlm.bench import FITS, time_of
from crlm.bench.data import gmmub, half_near, many_clusters


def main() -> None:
    full, repeats = arguments(__doc__)
    n = 40_000 if full else 10_000
    for d in (10, 100, 1000):
        show("fit", ["dbscan"], gmmub(n, d), repeats)
    show("fit", ["hdbscan", "contrib", "optics"], gmmub(n // 4, 100), repeats)
    # DBSCAN chains where balls overlap, so here the rows in clusters differ.
    show("fit", ["dbscan"], half_near(n // 2, 50), repeats)
    data = [many_clusters(n // 2, 50, k) for k in (1, 64)]
    times = [[time_of(FITS["crlm"], X, 1)[0] for X in data] for _ in range(repeats)]  # in turn
    one, many = np.median(times, axis=0)
    print(f"fit, {n // 2:,} x 50, time for 64 clusters over that for one: {many / one:.2f}")


if __name__ == "__main__":
    main()
