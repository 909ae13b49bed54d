"""Settings for the whole suite."""

import matplotlib as mpl
from hypothesis import HealthCheck, settings

mpl.use("Agg")

# Reproducible: a failure seen once is seen again, here and on every machine.
settings.register_profile(
    "crlm", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("crlm")
