"""Every figure and table of the paper as a study that can be run, and that can fail.

One module each; ``crlm reproduce`` runs them. A study does cells of work, draws, and states checks.
Nothing else imports these modules.
"""

from __future__ import annotations

from importlib import import_module

from crlm.reproduce.study import Study

NAMES = (
    "loss",
    "example2d",
    "gaussian_norm",
    "histogram",
    "find_k",
    "sigma_max",
    "bounds_d",
    "bounds_n",
    "bounds_G",
    "bounds_k2",
    "kimia216",
    "shapes1070",
    "faces",
    "convergence",
    "running_time",
)
_MODULES = dict.fromkeys(("bounds_d", "bounds_n", "bounds_G", "bounds_k2"), "bounds")


def load(name: str) -> Study:
    """Study of this name, imported when asked for."""
    module = import_module(f"crlm.reproduce.{_MODULES.get(name, name)}")
    study: Study = getattr(module, name.upper())
    return study
