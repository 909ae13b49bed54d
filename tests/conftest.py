"""Settings for the whole suite."""

import os

# Before anything imports SciPy: without it scikit-learn skips its check of array API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import matplotlib as mpl
from hypothesis import HealthCheck, settings

mpl.use("Agg")

# Reproducible: a failure seen once is seen again, here and on every machine.
settings.register_profile(
    "crlm", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("crlm")
