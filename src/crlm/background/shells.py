"""The shell around a ball: how many points of the ball it foretells.

That depends on where the ball is through two distances only, those of the last points of the shell
and of what lies beyond it. All else follows from the size of the ball (:class:`Shells`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Rows = NDArray[np.intp]

OUTER = 4  # the own slope is taken up to this many times the shell
USED = 0.95  # the last few of all neighbours are the edge of the data


class Beyond(NamedTuple):
    """What there is beyond shells of some sizes, where own slopes are taken from."""

    outer: Rows  # the last reference of it
    log_ratio: F64  # log of the points up to there over those up to the shell
    information: F64  # in a log slope; 0 where there is no room


class Shells(NamedTuple):
    """Shells around balls of some sizes, wherever the balls are."""

    room: NDArray[np.bool_]  # for a shell, and for background beside it
    s: Rows  # points of the shell
    M: Rows  # the last reference of the shell
    n_seen: F64  # points of ball and shell without the last
    width: F64  # square of the shell's over that of all data, for such a growth
    delta: F64  # typical growth
    slope: F64  # typical log slope
    kappa: F64  # inverse variance of true log slopes
    outer: Rows  # as in Beyond
    log_ratio: F64
    information: F64

    def of(self, which: Rows) -> Shells:
        """Take some of them."""
        columns: list[Any] = [column[which] for column in self]
        return Shells(*columns)


def beyond_shells(inner: Rows, s: Rows, n: int) -> Beyond:
    """Look beyond shells of `s` points around `inner` ones, among `n` references."""
    outer = np.minimum(inner + OUTER * s, int(USED * (n - 1)))
    far = (outer - inner) / s
    enough = far >= 1.5
    far = np.maximum(far, 1.5)
    # The ball's own points are counted as background up to a third of the shell, which is what
    # the nearest shell leaves them: more would let a background of two densities pass.
    kept = np.minimum(inner, s / 3.0)
    log_ratio = np.log((kept + far * s) / (kept + s))
    information = np.log(far) ** 2 / (1.0 / s - 1.0 / (far * s))
    return Beyond(outer, log_ratio, np.where(enough, information, 0.0))


def own_slope(step: F64, log_ratio: F64) -> F64:
    """Log of d log r / d log N beyond each shell, across which log r grows by `step`."""
    u: F64 = np.log(np.maximum(step, 1e-9) / log_ratio)
    return u


def shrunk(u: F64, slope: F64, kappa: F64, information: F64) -> tuple[F64, F64]:
    """Own growth over the typical one, shrunk towards 1 and at most 1, and its certainty."""
    steeper = np.exp(np.clip(u - slope, -3.0, 3.0))
    certainty = kappa + information
    return np.minimum(certainty / (kappa + information * steeper), 1.0), certainty


def log_share(
    around: Shells, log_r: F64, rows: Rows, log_R: F64, fastest: NDArray[Any] | float
) -> tuple[F64, F64]:
    """Log of the share expected in each ball, and how certain the growth there is.

    At one density it is at most as `fastest`, the directions there are. Around most points of
    skewed columns it is more, as the bulk comes in sight; not so on the crest of a ridge, which
    would be a cluster.
    """
    r = log_r[rows, around.M]
    u = own_slope(log_r[rows, around.outer] - r, around.log_ratio)
    shrink, certainty = shrunk(u, around.slope, around.kappa, around.information)
    return -np.minimum(around.delta * shrink, fastest) * (r - log_R), certainty
