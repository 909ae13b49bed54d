"""Starting is fast because little is imported; counted in modules, not in seconds."""

import subprocess
import sys

import pytest


def modules_after(code):
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(out.stdout.split())


def test_import_crlm_is_light():
    loaded = modules_after("import crlm")
    assert not loaded & {"sklearn", "matplotlib", "pandas", "numpy", "scipy", "rich"}


@pytest.mark.parametrize("name", ["GMMUB", "scores", "estimate_sigma", "theory"])
def test_only_the_estimator_costs_the_import_of_scikit_learn(name):
    loaded = modules_after(f"from crlm import {name}")
    assert not loaded & {"sklearn", "matplotlib", "pandas", "rich"}
    assert "sklearn" in modules_after("from crlm import CRLM")


def test_public_names_are_listed_and_unknown_ones_refused():
    import crlm

    assert dir(crlm) == sorted(crlm.__all__)
    for name in crlm.__all__:
        assert getattr(crlm, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        crlm.nothing  # noqa: B018
