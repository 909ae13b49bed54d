"""Find the few tight clusters in data that is mostly background.

>>> from crlm import CRLM, GMMUB
>>> model = GMMUB.draw(k=3, d=50, sigmas=[1, 2, 3], weights=0.02, D=60, sigma_max=7, rng=0)
>>> X, truth = model.sample(2000, rng=1)
>>> CRLM().fit(X).n_clusters_
3
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from crlm import scores as scores
    from crlm import theory as theory
    from crlm.bandwidth.sigma import estimate_sigma as estimate_sigma
    from crlm.display import AdmissibleRegionDisplay as AdmissibleRegionDisplay
    from crlm.display import CertificateDisplay as CertificateDisplay
    from crlm.display import ClusterMapDisplay as ClusterMapDisplay
    from crlm.display import GalleryDisplay as GalleryDisplay
    from crlm.display import SigmaHistogramDisplay as SigmaHistogramDisplay
    from crlm.display import SweepDisplay as SweepDisplay
    from crlm.estimator import CRLM as CRLM
    from crlm.estimator import sigma_path as sigma_path
    from crlm.model import GMMUB as GMMUB
    from crlm.streams import stream as stream

__all__ = [
    "CRLM",
    "GMMUB",
    "AdmissibleRegionDisplay",
    "CertificateDisplay",
    "ClusterMapDisplay",
    "GalleryDisplay",
    "SigmaHistogramDisplay",
    "SweepDisplay",
    "__version__",
    "estimate_sigma",
    "scores",
    "sigma_path",
    "stream",
    "theory",
]

# Each public name is imported when it is first asked for, so that `import crlm` and
# `crlm --help` do not pay for scikit-learn, which takes seconds on a cold disk.
_HOME = {
    "AdmissibleRegionDisplay": "crlm.display",
    "CertificateDisplay": "crlm.display",
    "CRLM": "crlm.estimator",
    "ClusterMapDisplay": "crlm.display",
    "GMMUB": "crlm.model",
    "GalleryDisplay": "crlm.display",
    "SigmaHistogramDisplay": "crlm.display",
    "SweepDisplay": "crlm.display",
    "estimate_sigma": "crlm.bandwidth.sigma",
    "scores": "crlm.scores",
    "sigma_path": "crlm.estimator",
    "stream": "crlm.streams",
    "theory": "crlm.theory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'crlm' has no attribute {name!r}"
        raise AttributeError(msg)
    module = importlib.import_module(_HOME[name])
    return module if _HOME[name] == f"crlm.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
