"""Memory, measured in processes of their own."""

import subprocess
import sys

FIT = """
import numpy as np
from crlm import CRLM, GMMUB
from crlm.bench.memory import peak

# The data are drawn in parts, so that drawing them does not set the peak.
model = GMMUB.draw(3, 100, [1, 2, 3], 0.01, D=100, sigma_max=10, rng=0)
X = np.concatenate([model.sample(5000, rng=seed)[0].astype(np.float32) for seed in range(20)])
CRLM(1.0).fit(X[:10])
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
from crlm.bench.memory import peak
X = np.random.default_rng(0).normal(size=(12_000, 20)).astype(np.float32)
CRLM(1.0).fit(X[:10])
before = peak()
fitted = CRLM(np.sqrt(40 / 80), max_clusters=2, alpha=None, memory_limit="200MB").fit(X)
grown = peak() - before
sq = np.square(X.astype(float) - X[fitted.center_indices_[0]]).sum(1)
print(np.array_equal(fitted.labels_ == 0, sq < fitted.radius_**2), grown)
"""


def test_a_radius_that_reaches_half_of_all_pairs_is_answered_within_the_limit():
    out = subprocess.run([sys.executable, "-c", HALF], check=True, capture_output=True, text=True)
    right, grown = out.stdout.split()
    assert right == "True"
    assert int(grown) < 200e6
