"""A competitor at its best: the setting that the truth likes most."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from crlm import scores
from crlm.baselines import Method, Trial, means_of
from crlm.baselines.common import Floats, Labels
from crlm.errors import InputError


class Best(NamedTuple):
    """Best value, the setting that gave it, and its trial (None when the method refused).

    `usual` is the value at the setting of a user who does not know the truth.
    """

    value: float
    setting: str
    trial: Trial | None
    usual: float


def best(method: Method, X: Floats, k: int, score: Callable[[Trial], float]) -> Best:
    """Largest score over the settings of a method; NaN where it says that it does not apply."""
    found = Best(float("nan"), "does not apply", None, float("nan"))
    try:
        # On data this small threads cost more than they give, above all on a busy machine.
        with threadpool_limits(1):
            for trial in method.trials(X, k):
                value = score(trial)
                usual = value if found.trial is None else found.usual
                if found.trial is None or value > found.value:
                    found = Best(value, trial.setting, trial, usual)
    except InputError as refusal:
        return found._replace(setting=f"does not apply: {refusal}")
    return found


def mean_error_of(trial: Trial, X: Floats, means: Floats) -> float:
    """Mean error of a trial, by its own means or by those of its labels, whichever is less."""
    own = [] if trial.means is None else [trial.means]
    estimates = [*own, means_of(X, trial.labels)]
    return min(scores.mean_error(means, found) for found in estimates)


def both_scores(y: Labels, trial: Trial | None) -> tuple[float, float]:
    """F-measure and matched accuracy."""
    if trial is None:
        return float("nan"), float("nan")
    return scores.f_measure(y, trial.labels), scores.matched_accuracy(y, trial.labels)


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Least processor time of some calls; threads that only wait for others are not wanted."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        with threadpool_limits(1):
            work()
        times.append(time.process_time() - start)
    return float(np.min(times))
