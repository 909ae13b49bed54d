"""Competitors of CRLM in the paper's comparisons, and two later ones, under one interface.

Six come from scikit-learn and SciPy; EM for GMMUB, tensor decomposition and KNNCLUST, which no
library kept to date has, are written here. Each has a `name`, `fit_predict(X, k)`, and `trials(X,
k)` for the settings its users would try. Only ``crlm reproduce`` uses them.
"""

from crlm.baselines.common import Method, Trial, means_of
from crlm.baselines.em_gmmub import EMGMMUB
from crlm.baselines.knnclust import KNNCLUST
from crlm.baselines.library import (
    DBSCAN,
    EM,
    HDBSCAN,
    OPTICS,
    TSNE,
    CompleteLinkage,
    KMeans,
    Spectral,
)
from crlm.baselines.ours import Auto, Given, Supervised
from crlm.baselines.tensor import TensorDecomposition

__all__ = [
    "DBSCAN",
    "EM",
    "EMGMMUB",
    "HDBSCAN",
    "KNNCLUST",
    "OPTICS",
    "TSNE",
    "Auto",
    "CompleteLinkage",
    "Given",
    "KMeans",
    "Method",
    "Spectral",
    "Supervised",
    "TensorDecomposition",
    "Trial",
    "means_of",
]
