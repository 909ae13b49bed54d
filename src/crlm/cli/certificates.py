"""A certificate in half a screen: the verdict, then the margins, worst first, with the fix."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from crlm.cli.common import aligned, count, number
from crlm.findings import (
    FIXES,
    MEANINGS,
    Finding,
    background,
    findings,
    verdict,
    without_certificate,
)

if TYPE_CHECKING:
    from crlm import CRLM
    from crlm.certificate import Certificate

_SIGN = {"exact": "", "at least": "≥ ", "at most": "≤ "}

# What the paper assumes in order to have something that was measured here.
_FOR = {"C2": "cover", "A1": "C1", "A2": "separation", "weight": "loss"}


def trust_lines(model: CRLM) -> list[str]:
    """Say to people how far a model can be trusted: its certificate, or why it has none."""
    found = model.certificate_
    if found is None:
        return textwrap.wrap(without_certificate(model), 96)
    return certificate_lines(found)


def certificate_lines(certificate: Certificate) -> list[str]:
    """Say a certificate to people."""
    talk = [background(certificate)]
    judged = textwrap.wrap(verdict(certificate), 96)
    if not certificate.k:
        return [*judged, *(line for sentence in talk for line in textwrap.wrap(sentence, 96))]
    found = findings(certificate)
    talk = [*_fixes(found), probability(certificate), *talk]
    return [
        *judged,
        "",
        *(f"  {line}" for line in _table(found)),
        "",
        *(line for sentence in talk for line in textwrap.wrap(sentence, 96)),
    ]


def _table(found: list[Finding]) -> list[str]:
    cells = [(f.name, f.verdict, _SIGN[f.known] + _signed(f.margin)) for f in found]
    numbers = aligned([("condition", "", "margin"), *cells])
    notes = [""] + [MEANINGS[f.name] + ("  (estimate)" if f.is_estimate else "") for f in found]
    return [f"{row}  {note}".rstrip() for row, note in zip(numbers, notes, strict=True)]


def _signed(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return ("+" if value > 0.0 else "") + number(value)


def _fixes(found: list[Finding]) -> list[str]:
    holds = {f.name for f in found if f.verdict == "holds"}
    fails = [f.name for f in found if f.verdict == "fails"]
    # A3 may ask for either.
    smaller = [n for n in fails if n != "A3" and FIXES.get(n, "").startswith("a smaller")]
    if "cover" in fails and smaller:
        return [
            f"cover asks for a larger --sigma-max, {listed_words(smaller)} for a smaller one, so "
            f"that no bandwidth satisfies all: these clusters are not balls with nothing between "
            f"them, which is what the theorems are about."
        ]
    return [_fix(f, holds) for f in found if f.verdict == "fails"][:3]


def listed_words(words: list[str]) -> str:
    """Words in a row.

    >>> listed_words(["A1"]), listed_words(["A1", "A3", "C1"])
    ('A1', 'A1, A3 and C1')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _fix(finding: Finding, holds: set[str]) -> str:
    if _FOR.get(finding.name) in holds:
        aim = _FOR[finding.name]
        return f"{finding.name} fails, but {aim}, which it is for, was measured and holds."
    return f"{finding.name} fails: try {FIXES[finding.name]}."


def probability(certificate: Certificate) -> str:
    """Estimate of the sharp probability, called by its name."""
    found = certificate.guarantee
    if found is None:
        return "No estimate of the probability of success: a cluster has no spread."
    if certificate.background_is_plausible is False:
        return "The bound on the probability of success does not apply (see background)."
    return (
        f"Probability of success at least {chance(found.failure)}, with the estimated numbers "
        f"put in; an estimate, no guarantee. Likeliest way to fail: {found.weakest}."
    )


def chance(failure: float) -> str:
    """Probability of success, from that of failure, with as many nines as it has.

    >>> chance(4.8e-4), chance(0.5), chance(3e-13), chance(1.0), chance(0.0)
    ('0.99952', '0.5', '1 − 3e-13', '0', '1')
    """
    if 0.0 < failure < 1e-6:
        return f"1 − {failure:.0e}"
    digits = 3 if failure > 0.1 or failure == 0.0 else 2 + math.floor(-math.log10(failure))
    return f"{1.0 - failure:.{digits}g}"


def certificate_record(certificate: Certificate) -> dict[str, Any]:
    """Say a certificate to programs; without labels and marks, which `to_dict` has."""
    found = certificate.guarantee
    return {
        "n": certificate.n,
        "d": certificate.d,
        "sigma_max": certificate.sigma_max,
        "G": certificate.G,
        "n_clusters": certificate.k,
        "theorem_d": certificate.theorem_d,
        "conditions": [
            {
                "name": f.name,
                "verdict": f.verdict,
                "margin": f.margin,
                "known": f.known,
                "estimate": f.is_estimate,
                "meaning": MEANINGS[f.name],
                "fix": FIXES[f.name] if f.verdict == "fails" else None,
            }
            for f in findings(certificate)
        ],
        "estimated_probability": None if found is None else found.to_dict(),
        "background_p_value": certificate.background_p_value,
        "background_is_plausible": certificate.background_is_plausible,
        "summary": f"{count(certificate.k, 'cluster')}: {verdict(certificate)}",
    }


def trust_record(model: CRLM) -> dict[str, Any]:
    """Say to programs how far a model can be trusted; with landmarks only what is known."""
    found = model.certificate_
    if found is not None:
        return certificate_record(found)
    unknown = ("estimated_probability", "background_p_value", "background_is_plausible")
    return {
        "n": len(model.labels_),
        "d": model.n_features_in_,
        "sigma_max": float(model.sigma_max_),
        "G": float(model.G_),
        "n_clusters": model.n_clusters_,
        "n_landmarks": len(model.landmark_indices_),
        "theorem_d": None,
        "conditions": [],
        **dict.fromkeys(unknown),
        "summary": f"{count(model.n_clusters_, 'cluster')}: {without_certificate(model)}",
    }
