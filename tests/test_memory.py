"""Memory, measured in processes of their own."""

import subprocess
import sys

FIT = """
import resource, sys
import numpy as np
from crlm import CRLM, GMMUB

# The data are drawn in parts, so that drawing them does not set the peak.
model = GMMUB.draw(3, 100, [1, 2, 3], 0.01, D=100, sigma_max=10, rng=0)
X = np.concatenate([model.sample(5000, rng=seed)[0].astype(np.float32) for seed in range(20)])
CRLM(1.0).fit(X[:10])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
fitted = CRLM(10.0).fit(X)
print(X.shape, fitted.n_clusters_, peak() - before)
"""


def test_a_hundred_thousand_rows_fit_in_one_gigabyte_above_the_input():
    out = subprocess.run([sys.executable, "-c", FIT], check=True, capture_output=True, text=True)
    *answer, grown = out.stdout.rsplit(maxsplit=1)
    assert answer == ["(100000, 100) 3"]
    assert int(grown) < 1e9


HALF = """
import numpy as np
from crlm import CRLM
X = np.random.default_rng(0).normal(size=(100_000, 20)).astype(np.float32)
try:
    CRLM(np.sqrt(40) / np.sqrt(80), memory_limit="2GB").fit(X)  # the median distance
except MemoryError as error:
    print(error)
"""


def test_a_radius_that_reaches_half_of_all_pairs_is_refused_with_bytes_and_a_fix():
    out = subprocess.run([sys.executable, "-c", HALF], check=True, capture_output=True, text=True)
    assert "of 4,999,950,000 pairs" in out.stdout
    assert " GB, over the memory limit of 2.0 GB" in out.stdout
    assert "times this sigma_max, or pass memory_limit=" in out.stdout
