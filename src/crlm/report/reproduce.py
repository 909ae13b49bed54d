"""How to get the same answer again."""

from __future__ import annotations

import base64
import io
import platform
import shlex
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from crlm import __version__, record
from crlm.report.inputs import Inputs
from crlm.report.limits import Limits
from crlm.tables.output import write_labels_csv
from crlm.theory.landmarks import plan_candidates

if TYPE_CHECKING:
    from crlm.estimator import CRLM

PLACE = "{sigma}"  # where the page writes the bandwidth that is being looked at
CITATION = (
    "Sida Liu and Adrian Barbu, “Unsupervised Learning of GMM with a Uniform Background Component”."
)
# Settings that change the answer, with the flag that says them.
_FLAGS = {
    "max_clusters": "--max-clusters",
    "min_cluster_size": "--min-cluster-size",
    "alpha": "--alpha",
    "G": "--G",
    "metric": "--metric",
    "n_landmarks": "--landmarks",
    "min_weight": "--min-weight",
    "random_state": "--seed",
    "refine": "--refine",
}
# Those that say which rows are read from a file, and what is done to them.
_ROWS = {"key", "columns", "header", "vector", "descriptor", "sample", "seed"}
_SWITCHES = {"standardize", "normalize", "drop_invalid"}  # off unless said
_ROWS |= _SWITCHES
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def reproduce(model: CRLM, inputs: Inputs, limits: Limits) -> dict[str, Any]:
    """Command, Python, settings, versions and labels."""
    given = {name: value for name, value in model.get_params().items() if name != "progress"}
    sigma = repr(float(model.sigma_max_))
    own = model._has_own_bandwidths  # which no number gives
    return {
        "command": command(model).replace(PLACE, "auto" if own else sigma),
        "command_at": command(model),
        "python": python(model).replace(PLACE, repr("auto") if own else sigma),
        "python_at": python(model),
        "settings": [(name, repr(value)) for name, value in given.items()],
        "fitted": [
            ("sigma_max_", sigma),
            ("radius_", repr(float(model.radius_))),
            ("G_", repr(float(model.G_))),
            ("rows × columns", f"{len(model.labels_):,} × {model.n_features_in_:,}"),
            ("fingerprint of the rows", record.fingerprint(model)),
        ],
        "versions": [
            ("crlm", __version__),
            ("python", platform.python_version()),
            *((name, version(name)) for name in _LIBRARIES),
        ],
        "citation": CITATION,
        "labels": labels_address(inputs, model, limits),
    }


def command(model: CRLM) -> str:
    """Line for a shell, with a place for the bandwidth."""
    source, chosen = record.source(model), record.settings(model)
    name = "DATA.npy" if source is None or source.path is None else source.name
    words = ["crlm", "fit", name, "--sigma-max", PLACE]
    if chosen is None:
        changed = _changed(model)
        if changed.pop("delta", None) is not None and model.n_landmarks == "auto":
            # There is no flag for delta: say what it led to.
            m = plan_candidates(model.min_weight, model.delta, model.max_clusters)
            changed["n_landmarks"] = m
        for key, value in changed.items():
            words += _flag(_FLAGS[key].removeprefix("--"), value)
    else:
        values = chosen.get("values", {})
        for key in chosen.get("origins", {}):
            words += _flag(key, values.get(key)) if key != "sigma_max" else []
    return " ".join(word if word == PLACE else shlex.quote(word) for word in words)


def _flag(name: str, value: Any) -> list[str]:
    """An option as it is typed.

    >>> _flag("header", False), _flag("columns", ["a", "b"]), _flag("alpha", None)
    (['--no-header'], ['--columns', 'a,b'], ['--alpha', 'none'])
    """
    flag = f"--{name.replace('_', '-')}"
    if value is False and name in _SWITCHES:
        return []
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, list):
        return [flag, ",".join(map(str, value))]
    return [flag, "none" if value is None else str(value)]


def python(model: CRLM) -> str:
    """The same in Python, with a word on the rows where they are not those of the file."""
    more = "".join(f", {key}={value!r}" for key, value in _changed(model).items())
    chosen = record.settings(model) or {}
    given = [key for key in chosen.get("origins", {}) if key in _ROWS]
    flags = [word for key in given for word in _flag(key, chosen.get("values", {}).get(key))]
    rows = f"# X: the rows that crlm fit reads with {shlex.join(flags)}\n" if flags else ""
    return f"{rows}CRLM(sigma_max={PLACE}{more}).fit(X)"


def _changed(model: CRLM) -> dict[str, Any]:
    """Settings that are not as they are by default, but for what cannot be written down."""
    default = type(model)().get_params()
    given = model.get_params()
    changed = {name: given[name] for name in (*_FLAGS, "delta") if given[name] != default[name]}
    if model.n_landmarks is None or not isinstance(changed.get("random_state", 0), int):
        changed.pop("random_state", None)  # it says nothing, or is a generator
    return changed


def labels_address(inputs: Inputs, model: CRLM, limits: Limits) -> str | None:
    """Labels as an address that holds them; None when there are too many rows."""
    if len(model.labels_) > limits.labels:
        return None
    file = io.BytesIO()
    if np.array_equal(inputs.rows, np.arange(len(inputs.rows))):
        write_labels_csv(file, model.labels_)
    else:
        table = np.column_stack([inputs.rows, model.labels_])
        np.savetxt(file, table, fmt="%d", delimiter=",", header="row,label", comments="")
    return "data:text/csv;base64," + base64.b64encode(file.getvalue()).decode()
