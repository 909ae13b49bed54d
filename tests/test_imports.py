"""Starting is fast because little is imported; counted in modules, not in seconds."""

import subprocess
import sys

import numpy as np
import pytest


def modules_after(code):
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(); print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(out.stdout.splitlines()[-1].split())


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


# Imported by what every fit needs; what they import in turn depends on what is installed.
NEEDED = "import click, narwhals, threadpoolctl, sklearn.base, scipy.spatial, scipy.optimize"


def test_fit_of_a_small_file_imports_nothing_that_it_does_not_need(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 3)))
    line = f"main(['fit', {str(tmp_path / 'x.npy')!r}, '-q', '-s', '1'])"
    more = modules_after(f"from crlm.cli import main; {line}") - modules_after(NEEDED)
    own = {name for name in more if name.partition(".")[0] == "crlm"}
    others = {name.partition(".")[0] for name in more - own} - sys.stdlib_module_names
    assert not others
    assert len(own - {"crlm.background", "crlm.bandwidth"}) <= 126  # these only group others
    assert not own & {"crlm.display", "crlm.scores", "crlm.bench", "crlm.faces", "crlm.embed"}
    assert len(more - own) <= 20


@pytest.mark.parametrize("line", [["--help"], ["fit", "--help"], ["completion", "bash"]])
def test_help_imports_few_modules(line):
    more = modules_after(f"from crlm.cli import main; main({line})") - modules_after("import click")
    others = {name for name in more if not name.startswith("crlm")}
    assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names | {"click"}
    assert len(others) <= 60
