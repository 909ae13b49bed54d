"""Settings for the whole suite."""

import os

# Before anything imports SciPy: without it scikit-learn skips its check of array API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import matplotlib as mpl
import pytest
from hypothesis import HealthCheck, settings

mpl.use("Agg")

# Reproducible: a failure seen once is seen again, here and on every machine.
settings.register_profile(
    "crlm", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("crlm")


@pytest.fixture
def run(capsys):
    """Run a command line; its exit code and both streams, never a traceback."""
    from crlm.cli import main

    def run_line(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run_line
