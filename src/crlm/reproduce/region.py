"""Bandwidths with which CRLM does well on drawn data, and those for which theorems promise it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from crlm.estimator import CRLM
from crlm.model import GMMUB
from crlm.reproduce.study import Plan, Row
from crlm.scores import f_measure
from crlm.theory.plan import SigmaMaxInterval, sigma_max_interval

GOOD = 0.99  # the F-measure that counts as success
LINES = ("a3", "a1", "a2", "weight", "theorem")
_STEP, _HALVINGS = 1.12, 3  # an end is found to within 1.12 ** (1 / 8), 1.4 %


@dataclass(frozen=True)
class Setting:
    """A mixture in which all but n and d is fixed."""

    n: int
    d: int
    D: float
    weights: tuple[float, ...]
    sigmas: tuple[float, ...]
    offset: float = 0.0  # means of two clusters are +- offset in every coordinate

    @property
    def model(self) -> GMMUB:
        """The mixture."""
        signs = np.array([[1.0], [-1.0]])[: len(self.sigmas)]
        means = self.offset * signs * np.ones(self.d)
        return GMMUB(means, self.sigmas, self.weights, self.D)

    def interval(self, kind: Any, G: float) -> SigmaMaxInterval:
        """Bandwidths for which success is promised with probability 0.99."""
        norm = self.offset * math.sqrt(self.d)
        return sigma_max_interval(
            self.n,
            self.d,
            self.weights,
            self.sigmas,
            self.D,
            G,
            center_norms=norm,
            separations=2.0 * norm if len(self.sigmas) > 1 else None,
            kind=kind,
        )


@cache
def sharp_interval(setting: Setting) -> SigmaMaxInterval:
    """The sharp region at G = 4; it takes seconds."""
    return setting.interval("sharp", 4.0)


def bounds(setting: Setting, G: float) -> Row:
    """Bounds of all kinds at one depth G; the sharp ones are bounds on the radius."""
    row: Row = {}
    for kind in ("printed", "corrected"):
        interval = setting.interval(kind, G)
        row |= {f"{kind}_lower": interval.lower, f"{kind}_upper": interval.upper}
        row |= {f"{kind}_{name}": getattr(interval, name) for name in LINES}
    sharp, scale = sharp_interval(setting), math.sqrt(4.0 / G)
    return row | {"sharp_lower": scale * sharp.lower, "sharp_upper": scale * sharp.upper}


def experiment(setting: Setting, runs: int, plan: Plan) -> Row:
    """Bandwidths, at G = 4, between which the average F-measure of some runs is at least 0.99.

    Only the radius matters to the algorithm, so for another G they are divided by sqrt(G / 4).
    """
    data = [setting.model.sample(setting.n, rng=plan.rng(setting.n, setting.d, run))
            for run in range(runs)]  # fmt: skip
    known: dict[float, bool] = {}

    def is_good(sigma: float) -> bool:
        if sigma not in known:
            known[sigma] = _average_F(data, sigma, len(setting.sigmas)) >= GOOD
        return known[sigma]

    sharp = sharp_interval(setting)
    if not is_good(sharp.best):
        return {"low": math.nan, "high": math.nan, "runs": runs}
    ends = [sharp.best if math.isnan(x) else x for x in (sharp.lower, sharp.upper)]
    low = _edge(is_good, sharp.best, ends[0], 1.0 / _STEP)
    return {"low": low, "high": _edge(is_good, sharp.best, ends[1], _STEP), "runs": runs}


def _average_F(data: list[Any], sigma: float, k: int) -> float:
    return float(
        np.mean([
            f_measure(y, CRLM(sigma, max_clusters=k, alpha=None).fit(X).labels_) for X, y in data
        ])
    )  # fmt: skip


def _edge(is_good: Callable[[float], bool], good: float, start: float, step: float) -> float:
    """Last good value on the way from `good` over `start` and beyond."""
    bad = start
    while is_good(bad):
        good, bad = bad, bad * step
    for _ in range(_HALVINGS):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if is_good(middle) else (good, middle)
    return good
