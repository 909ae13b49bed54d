"""How much too surprising balls are that are no clusters, as decoys show it.

The test of :mod:`crlm.background.significance` is right for a background that grows alike
everywhere. Others are not like that, and nothing near a ball says so. So the same is asked of
decoys, data that are like the given ones and have no clusters (:mod:`crlm.background.decoys`); what
they show too much is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crlm.background.decoys import Draw, column_decoys, normal_decoys, stretched_decoys
from crlm.background.growth import MIN_POINTS, Growth, ball_sizes, few_points
from crlm.background.references import References
from crlm.background.rest import asked_severely, learn_growth
from crlm.search.parallel import in_parallel, one_blas_thread

F64 = NDArray[np.float64]

# Decoys of each kind that are asked at a time. A quick look is enough where there are many rows and
# four times as much as it leaves to be asked for.
_DECOYS, _MANY, _BEYOND = 3, 1024, 4.0
_THREADS = 2  # decoys asked at the same time, of some hundred megabytes each


class Inflation(NamedTuple):
    """How much too surprising balls are that are no clusters; 1 where the test is right."""

    severe: float  # when asked severely
    simple: float  # when asked simply
    few: float = 1.0  # when asked severely, balls of few points
    each: float = 0.0  # and those of many, for each point; 0 where the test is right


def inflation(references: References, surprise: float, needed: float) -> Inflation:
    """Inflation of data whose most surprising ball has a surprise of `surprise`.

    Asked severely, with the growth of all points. More than `needed` is asked of it.
    """
    margin = needed - math.log(len(references.points))
    if len(references.points) >= _MANY:
        # A quarter of the points shows a quarter of it or more, in a sixteenth of the time.
        seen = _shown_by_decoys(references, margin, 4)
        if surprise > 4.0 * _BEYOND * seen.severe * needed and seen.simple == 1.0:
            return seen
    return _shown_by_decoys(references, margin, 1)


def may_ask_the_rest(references: References, needed: float) -> bool:
    """Whether what is left out of the rest, with a surprise of `needed`, may be clusters.

    It is none where decoys with a crowded middle would have something left out as well.
    """
    if references.is_flat:
        return True
    draw = stretched_decoys(references.typical)

    def looks_like_clusters(number: int) -> bool:
        decoy = draw(number)
        around = References.choose(decoy, np.ones(len(decoy), dtype=np.int64)).around
        if len(around.log_r) < MIN_POINTS:  # that says nothing
            return False
        return bool(Growth.learn(around.log_r).surprises(around).max() >= needed)

    with one_blas_thread():
        n_threads = min(references.n_jobs, _THREADS)
        return not any(in_parallel(looks_like_clusters, range(_DECOYS), n_threads))


def _shown_by_decoys(references: References, margin: float, step: int) -> Inflation:
    """How much more surprising the best ball of decoys is than that of a background.

    The worst of the decoys with the columns of the data counts, and the mean of those with their
    covariance, of which some are very surprising. In up to three dimensions there are none of
    these: how lopsided a place is is seen there.
    """
    kinds = [column_decoys(references.typical, step, is_flat=references.is_flat)]
    counts: list[Callable[[F64], float]] = [np.max]
    if not references.is_flat:
        kinds.append(normal_decoys(references.typical, step))
        counts.append(np.mean)

    def ask(kinds: list[Draw], first: int) -> list[list[_Shown]]:
        jobs = [(draw, first + number) for draw in kinds for number in range(_DECOYS)]
        n_threads = min(references.n_jobs, _THREADS)
        shown = list(in_parallel(lambda job: _shown(job[0](job[1]), margin), jobs, n_threads))
        return [shown[at : at + _DECOYS] for at in range(0, len(shown), _DECOYS)]

    with one_blas_thread():
        shown = ask(kinds, 0)
        # Three may be high by chance.
        doubtful = [at for at, of in enumerate(shown) if not _is_right(of)]
        for at, more in zip(doubtful, ask([kinds[at] for at in doubtful], _DECOYS), strict=True):
            shown[at] += more
    each_kind = map(_over, shown, counts)
    return Inflation(*(max(of) for of in zip(*each_kind, strict=True)))


def _is_right(shown: list[_Shown]) -> bool:
    """Whether decoys of one kind are no more surprising than a background.

    Of n balls of a background the best has a chance of about 1 / n, which is a surprise of log n;
    and log n + 0.58 (Euler's constant) on average. If decoys have no more, the test is right.
    """
    seen = [one for one in shown if one.n >= MIN_POINTS]  # fewer say nothing
    expected = [math.log(one.n) + np.euler_gamma for one in seen]
    return sum(one.severe for one in seen) <= sum(expected)


def _over(shown: list[_Shown], which: Callable[[F64], float]) -> Inflation:
    """What decoys of one kind show over what the best of n balls of a background does."""
    seen = [one for one in shown if one.n >= MIN_POINTS]
    if not seen:
        return Inflation(1.0, 1.0)
    n, severe, simple, few, each = np.array(seen).T
    log_n = np.log(n)
    of_simple = max(1.0, float((simple / log_n).min()))
    if _is_right(shown):
        return Inflation(1.0, of_simple)
    of_severe, of_few = (max(1.0, float(which(of / log_n))) for of in (severe, few))
    return Inflation(of_severe, of_simple, of_few, float(which(each)))


class _Shown(NamedTuple):
    """Surprise of the best ball of `n` points, asked severely and simply."""

    n: int
    severe: float
    simple: float
    few: float  # of the best ball of few points, asked severely
    each: float  # of larger ones, beyond log n and for each point, at most


def _shown(points: F64, margin: float) -> _Shown:
    """What a decoy shows, where a surprise of log n and a margin looks like a cluster."""
    references = References.choose(points, np.ones(len(points), dtype=np.int64))
    n = len(references.rows)
    if n < MIN_POINTS:
        return _Shown(n, 0.0, 0.0, 0.0, 0.0)
    log_n, around = math.log(n), references.around
    learnt = learn_growth(references, log_n + margin, asked_from=0.0)
    # The balls of each size that seem most surprising.
    m = np.tile(ball_sizes(n), 2)
    rows = np.append(learnt.simply.argmax(axis=0), learnt.by_the_rest.argmax(axis=0))
    balls = around, rows, m, around.log_r[rows, m], 1.0
    _, of_each = asked_severely(learnt.growth, learnt.overall, *balls)
    is_few = m < few_points(n)
    few = float(of_each[is_few].max(initial=0.0))
    each = float(((of_each - log_n) / m)[~is_few].max(initial=0.0))
    return _Shown(n, learnt.best[0], float(learnt.simply.max()), few, each)
