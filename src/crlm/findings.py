"""The conditions of a certificate, worst first, with what each means and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
        "fails": "Not certified: this is what the algorithm gives, but a little noise, or rows "
        "that tie, may change the clusters.",
        "undecided": "Undecided: the pairs were not stored, and the cheap tests leave it open.",
    }
    if certificate.bandwidths is not None and certificate.theorem_d == "fails":
        return (
            "Not certified: each cluster has a bandwidth of its own, and the theorems are about "
            "one for all of them."
        )
    return words[certificate.theorem_d]
