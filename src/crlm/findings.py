"""The conditions of a certificate, worst first, with what each means and what would help."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crlm.words import count, number

if TYPE_CHECKING:
    from crlm.certificate import Certificate
    from crlm.estimator import CRLM

_ORDER = {"fails": 0, "undecided": 1, "holds": 2}

MEANINGS = {
    "cover": "two points of a cluster are never a radius apart",
    "C1": "no background point is within a radius of a cluster point",
    "separation": "no two clusters come within a radius of each other",
    "loss": "every cluster beats every background point",
    "C2": "no cluster point is farther out than a Gaussian's",
    "A1": "the balls lie inside the background",
    "A2": "means are two radii apart",
    "A3": "σ_max is over twice every sigma",
    "weight": "clusters are heavy enough for the paper's theorem",
}
_USUAL = (
    "Not certified, as usual on real data: the theorems ask for more than is needed; p-values and "
    "evidence say whether clusters are there."
)
FIXES = {
    "cover": "a larger --sigma-max",
    "C1": "a smaller --sigma-max, or look whether the rows there belong to the cluster",
    "separation": "a smaller --sigma-max, or take the two clusters for one",
    "loss": "a smaller --sigma-max, or fewer clusters: --max-clusters",
    "C2": "a look at the farthest rows: the cluster is not quite Gaussian",
    "A1": "a smaller --sigma-max",
    "A2": "a smaller --sigma-max",
    "A3": "a smaller --sigma-max if the cluster is several in one, a larger one if it is cut off",
    "weight": "a smaller --sigma-max, or more rows",
}


class Finding(NamedTuple):
    """One condition: how far it holds, and whether that is measured or estimated."""

    name: str
    verdict: str
    margin: float
    known: str
    is_estimate: bool


def findings(certificate: Certificate) -> list[Finding]:
    """All conditions, worst first."""
    measured = [
        Finding(name, m.verdict, m.value, m.known, False)
        for name, m in certificate.conditions.margins.items()
    ]
    estimated = [
        Finding(name, "holds" if slack > 0.0 else "fails", slack, "exact", True)
        for name, slack in certificate.assumptions.slacks.items()
    ]
    # What was measured decides; what was estimated comes after it.
    return sorted(measured + estimated, key=lambda f: (_ORDER[f.verdict], f.is_estimate, f.margin))


def trust(model: CRLM) -> str:
    """What can be said of an answer: the verdict of its certificate, or why there is none."""
    found = model.certificate_
    return without_certificate(model) if found is None else verdict(found)


def without_certificate(model: CRLM) -> str:
    """Why a fit with landmarks has no certificate, and what it has instead."""
    from crlm.theory.landmarks import candidate_weight

    m, n = len(model.landmark_indices_), len(model.labels_)
    if m == n:
        return "No certificate: a fit with landmarks makes none, though every row was one."
    share = 100.0 * candidate_weight(m, model.delta)
    return (
        f"No certificate: {m:,} of {n:,} rows, drawn at random, were tried as centres, and it "
        f"would compare the losses of all. A cluster with {share:.2g} % of the rows or more has "
        f"one of them, but for a chance of {model.delta:g}."
    )


def verdict(certificate: Certificate) -> str:
    """Whether CRLM must return exactly this partition."""
    if not certificate.k:
        return "No cluster, so there is nothing to certify."
    words = {
        "holds": "Certified: CRLM must return exactly these clusters, in any order of the rows "
        "(they are stable; whether they mean something is another question).",
        "fails": f"{_USUAL} This is what the algorithm gives, but a little noise, or rows that "
        "tie, may change the clusters.",
        "undecided": "Undecided: the pairs were not stored, and the cheap tests leave it open.",
    }
    if certificate.bandwidths is not None and certificate.theorem_d == "fails":
        return (
            f"{_USUAL} Here each cluster has a bandwidth of its own, and the theorems are about "
            "one for all of them."
        )
    return words[certificate.theorem_d]


def background(certificate: Certificate) -> str:
    """Say whether a uniform background is plausible."""
    p, plausible = certificate.background_p_value, certificate.background_is_plausible
    if p is None:
        return "Background: too few rows to test whether it is uniform."
    if plausible:
        return f"Background: uniform in a ball is plausible (p = {p:.2g})."
    return (
        "Background: not uniform in a ball, as hardly any real one is; a cube, for one, is no "
        f"ball (p ≤ {p:.2g}; its distances vary as those in a ball of some "
        f"{number(certificate.background_dimension)} dimensions, not {certificate.d:,}). The "
        "theorems' probabilities do not apply; the measured margins do."
    )


def in_short(certificate: Certificate) -> str:
    """Say a certificate in a few lines: the verdict, the conditions, the background."""
    found = findings(certificate)
    named = {
        kind: ", ".join(f"{f.name} {_margin(f.margin)}" for f in found if f.verdict == kind)
        for kind in _ORDER
    }
    clusters = count(certificate.k, "cluster")
    return "\n".join(
        [
            f"{clusters} among {count(certificate.n, 'row')} of {count(certificate.d, 'column')}, "
            f"sigma_max {number(certificate.sigma_max)}",
            verdict(certificate),
            *(f"{kind}: {some}" for kind, some in named.items() if some and certificate.k),
            background(certificate),
        ]
    )


def _margin(value: float) -> str:
    return "∞" if math.isinf(value) else number(value)
