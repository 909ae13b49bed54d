"""Whether rows keep to themselves more than those of data without clusters.

A single ball is a small thing. Of a hundred rows, of which clusters hold half, there is hardly a
shell to compare it with, and none is beyond doubt (:mod:`crlm.background.significance`). But all
rows together say more: how strong the strongest ball around each of them is
(:mod:`crlm.background.closure`), on average. Rows of a background have such a mean too, which
depends on its shape. So it is compared with that of decoys of every kind
(:mod:`crlm.background.decoys`): if another decoy would hardly have as much, whatever its kind,
there is more than background.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crlm.background.closure import Closure, strengths
from crlm.background.decoys import Draw, column_decoys, normal_decoys, stretched_decoys
from crlm.background.growth import LARGEST, MIN_POINTS
from crlm.background.references import References
from crlm.search.parallel import in_parallel, one_blas_thread

F64 = NDArray[np.float64]

MAX_ROWS = 512  # of more, single balls are seen well enough, and decoys take long
_DECOYS = 10  # of each kind
_LEAST = 5  # rows beside the centre: of fewer the share of their neighbours says little
# Share of distances that equal the one before. Categories have more of them, and decoys have not.
_TIED = 0.25


def keep_to_themselves(references: References, alpha: float) -> bool:
    """Whether they do so more than decoys of any kind, at a level of `alpha`."""
    if _ties(references) > _TIED:
        return False
    mean = mean_strength(references)
    kinds = normal_decoys, stretched_decoys, column_decoys  # few backgrounds pass the first
    with one_blas_thread():
        shown = (_shown(kind(references.typical), references.n_jobs) for kind in kinds)
        return all(mean > _another(means, alpha) for means in shown)


def _shown(draw: Draw, n_jobs: int) -> F64:
    """Mean strengths of decoys of one kind.

    Of discrete columns a decoy may have equal rows, as the references have none. It is not like
    them then, and says nothing but that nobody can tell.
    """

    def ask(number: int) -> float:
        decoy = draw(number)
        references = References.choose(decoy, np.ones(len(decoy), dtype=np.int64))
        return mean_strength(references) if len(references.rows) == len(decoy) else math.inf

    return np.array(list(in_parallel(ask, range(_DECOYS), n_jobs)))


def _ties(references: References) -> float:
    """Share of the distances from a row to its nearer half that equal the one before."""
    nearer = references.log_r[:, 1 : 2 + int(LARGEST * len(references.rows))]
    return float((nearer[:, 1:] == nearer[:, :-1]).mean())


def mean_strength(references: References) -> float:
    """Mean over the rows of the strength of the strongest ball around each."""
    n = len(references.rows)
    if n < MIN_POINTS:
        return 0.0
    m = np.arange(min(_LEAST, int(LARGEST * n)), int(LARGEST * n) + 1)
    closures = Closure(references).profiles(m)
    strength = strengths(closures, np.median(closures, axis=0), m + 1)
    return math.fsum(strength.max(axis=1).tolist()) / n  # in whatever order


def _another(shown: F64, alpha: float) -> float:
    """What another number of the same law is at most, but for a chance of `alpha`.

    If the law is normal, by Student's t.
    """
    n = len(shown)
    if not np.isfinite(shown).all():
        return math.inf
    t = float(special.stdtrit(n - 1, 1.0 - alpha))
    return float(shown.mean() + t * shown.std(ddof=1) * math.sqrt(1.0 + 1.0 / n))
