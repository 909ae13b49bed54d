"""CRLM() without a parameter beside the fit at the bandwidth it chose, and scikit-learn's HDBSCAN.

With --full up to 50,000 rows and 1,000 columns, where HDBSCAN takes minutes.
"""

import numpy as np
from common import arguments

from crlm import CRLM
from crlm.bench import FITS
from crlm.bench.data import gmmub
from crlm.bench.measure import seconds

SIZES = [(2_000, 20), (2_000, 200), (10_000, 20)]
FULL = [*SIZES, (2_000, 1_000), (10_000, 200), (50_000, 20)]


def main() -> None:
    full, repeats = arguments(__doc__)
    print("                       CRLM() s   over the fit at its sigma   HDBSCAN / CRLM()")
    for n, d in FULL if full else SIZES:
        data = gmmub(n, d)
        CRLM().fit(data.X[:500])  # imports are not what is measured
        took, model = seconds(lambda X=data.X: CRLM().fit(X), repeats)
        sigma = model.sigma_max_
        again, same = seconds(lambda X=data.X, s=sigma: CRLM(s).fit(X), repeats)
        assert np.array_equal(model.labels_, same.labels_), "the same bandwidth, other clusters"
        peer, _ = seconds(lambda data=data: FITS["hdbscan"].run(data), repeats)
        size = f"GMMUB {n:,} x {d}"
        print(f"{size:22} {took:9.3g}   {took / again:25.2g}   {peer / took:16.2g}", flush=True)


if __name__ == "__main__":
    main()
