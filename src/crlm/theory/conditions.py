r"""Conditions C1 and C2 of the paper, and Theorem D's, measured on labelled data.

Theorem D: if the balls cover their clusters, are separated from all else, and every cluster has
a smaller least loss than the background, then CRLM returns exactly this partition, whatever the
order of the rows. Nothing is assumed about where the data come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import distance

from crlm.checks import check_memory_limit
from crlm.data_checks import check_points, check_table
from crlm.errors import InputError
from crlm.labels import BACKGROUND
from crlm.loss import QUANTUM, sq_cutoff
from crlm.search import Floats, Pairs, neighbourhood
from crlm.search.distance import chunks
from crlm.search.parallel import one_blas_thread
from crlm.theory.margins import Margin, Verdict, margin, rounding_error, shown, together
from crlm.theory.setting import check_depth, check_positive
from crlm.theory.special import Array

_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Conditions:
    r"""Margins of a labelled partition, in units of R (`loss`: of G); at or above 0 they hold.

    Attributes
    ----------
    c1 : Margin
        Nearest background point to a cluster point: :math:`\min\|x - y\|/R - 1`.
    c2 : Margin
        :math:`1 - \max\|x - \mu_j\| / \sigma_j\sqrt{dG}`, of the worst cluster.
    cover : Margin
        :math:`1 - \mathrm{diam}(S_j)/R`, of the worst cluster (D1).
    separation : Margin
        Nearest points of two clusters, over R, less 1; with `c1` this is D2.
    loss : Margin
        :math:`(\min_{S_0} L - \min_{S_j} L)/G`, of the worst cluster (D3).
    cheap : dict
        The sufficient forms: cover and separation from the radius around each mean alone.
    kappas : ndarray of shape (k,)
        :math:`\max\|x - \mu_j\|/R`.
    t0 : int or None
        Most background neighbours of a background point; None if it was not counted.
    sizes : ndarray of shape (k,)
    worst : dict
        Rows, or cluster, at which each margin is smallest.
    """

    c1: Margin
    c2: Margin
    cover: Margin
    separation: Margin
    loss: Margin
    cheap: dict[str, float]
    kappas: Array
    t0: int | None
    sizes: NDArray[np.int64]
    worst: dict[str, tuple[int, ...]]

    @property
    def margins(self) -> dict[str, Margin]:
        """All five, by name."""
        return {
            "C1": self.c1,
            "C2": self.c2,
            "cover": self.cover,
            "separation": self.separation,
            "loss": self.loss,
        }

    @property
    def theorem_d(self) -> Verdict:
        """Whether CRLM must return exactly this partition."""
        if (self.sizes < 2).any():
            return "fails"  # a point alone is as good as any background point
        parts = (self.c1, self.cover, self.separation, self.loss)
        return together(*(part.verdict for part in parts))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        found = {
            name: {"value": shown(m.value), "verdict": m.verdict, "known": m.known}
            for name, m in self.margins.items()
        }
        return {
            "margins": found,
            "cheap": {name: shown(value) for name, value in self.cheap.items()},
            "kappas": self.kappas.tolist(),
            "t0": self.t0,
            "sizes": self.sizes.tolist(),
            "worst": {name: list(rows) for name, rows in self.worst.items()},
            "theorem_d": self.theorem_d,
        }


class Partition:
    """Labelled rows, their means and radii: what the cheap forms need."""

    def __init__(self, X: Floats, labels: NDArray[np.int64]) -> None:
        self.X, self.labels = X, labels
        self.k = int(labels.max(initial=BACKGROUND)) + 1
        self.sizes = np.bincount(labels[labels != BACKGROUND], minlength=self.k)
        self.order = np.argsort(labels, kind="stable")
        self._ends = np.searchsorted(labels[self.order], np.arange(self.k + 1))
        self.means = np.empty((self.k, X.shape[1]))
        self.radii, self.sq_sums = np.empty(self.k), np.empty(self.k)
        for j in range(self.k):
            points = self.points(j)
            self.means[j] = points[0] + (points - points[0]).mean(axis=0)
            sq = np.square(points - self.means[j]).sum(axis=1)
            self.radii[j], self.sq_sums[j] = math.sqrt(sq.max()), sq.sum()

    def rows(self, j: int) -> NDArray[np.intp]:
        """Rows of cluster j, ascending."""
        return self.order[self._ends[j] : self._ends[j + 1]]

    @property
    def background(self) -> NDArray[np.intp]:
        """Rows of the background."""
        return self.order[: self._ends[0]]

    def points(self, j: int) -> Array:
        """Points of cluster j."""
        return self.X[self.rows(j)].astype(np.float64)

    @property
    def sigmas(self) -> Array:
        """Standard deviation per coordinate; 0 for a single point."""
        dof = self.X.shape[1] * np.maximum(self.sizes - 1, 1)
        result: Array = np.sqrt(self.sq_sums / dof)
        return result


def conditions(
    X: ArrayLike,
    labels: ArrayLike,
    sigma_max: float,
    G: float = 4.0,
    *,
    means: ArrayLike | None = None,
    sigmas: ArrayLike | None = None,
) -> Conditions:
    """Margins of C1, C2, cover, separation and loss for labelled data, exactly.

    All distances from clustered rows are measured: time grows with their number times n. With
    the true `means` and `sigmas` C2 is the paper's; without, it uses those of the labels.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)
        Clusters 0, 1, ...; -1 for background.
    sigma_max, G : float
    means : array-like of shape (k, d), optional
    sigmas : array-like of shape (k,), optional

    Examples
    --------
    >>> X = [[0.0], [0.5], [1.0], [9.0], [20.0]]
    >>> found = conditions(X, [0, 0, 0, -1, -1], sigma_max=1.0)
    >>> found.cover.value, found.c1.value, found.theorem_d
    (0.5, 3.0, 'holds')
    """
    points = check_points(check_table(X))
    part = Partition(points, check_labels(labels, len(points)))
    sq_radius = sq_cutoff(check_positive("sigma_max", sigma_max), points.shape[1], check_depth(G))
    near = neighbourhood(
        points,
        sigma_max,
        G,
        np.ones(len(points), dtype=np.int64),
        memory_limit=check_memory_limit("auto"),
    )
    pairs = getattr(near, "pairs", None)
    t0 = None if pairs is None else background_neighbours(part.labels, pairs)
    cover, spread = _widest(part, sq_radius)
    c1, separation, closest = _closest(part, sq_radius)
    loss, worst_loss = loss_margin(part, near.L, np.ones(len(points)), G)
    c2, worst_c2 = c2_margin(part, sq_radius / sigma_max**2, means, sigmas)
    worst = {"cover": spread, "C2": worst_c2, "loss": worst_loss, **closest}
    return Conditions(
        c1,
        c2,
        cover,
        separation,
        loss,
        cheap_margins(part, sq_radius),
        part.radii / math.sqrt(sq_radius),
        t0,
        part.sizes,
        worst,
    )


def check_labels(labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """One label per row: clusters 0, 1, ... without a gap, -1 for background."""
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iu" or array.min(initial=0) < BACKGROUND:
        msg = (
            f"labels has shape {array.shape} and type {array.dtype}, but must be one whole number "
            f"for each of the {n} rows: 0, 1, ... for clusters, -1 for background."
        )
        raise InputError(msg)
    found = np.unique(array[array != BACKGROUND])
    if len(found) and found[-1] != len(found) - 1:
        msg = (
            f"labels uses {len(found)} clusters but the largest label is {found[-1]}; number them "
            "0, 1, 2, ... without a gap, as np.unique(..., return_inverse=True) does."
        )
        raise InputError(msg)
    return array.astype(np.int64)


def background_neighbours(labels: NDArray[np.int64], pairs: Pairs) -> int:
    """Most background rows within R of a background row."""
    background = labels == BACKGROUND
    counts = np.zeros(len(labels), dtype=np.int64)
    for i, j, _ in pairs.in_parts():
        both = np.flatnonzero(background[i] & background[j])
        for rows in (i, j):
            np.add.at(counts, rows[both], 1)
    return int(counts.max(initial=0))


def c2_margin(
    part: Partition, depth: float, means: ArrayLike | None = None, sigmas: ArrayLike | None = None
) -> tuple[Margin, tuple[int, ...]]:
    """C2 of the worst cluster, and which that is; `depth` is d G."""
    radii, spread = part.radii, part.sigmas
    if means is not None:
        mu = np.asarray(means, dtype=np.float64)
        radii = np.array(
            [np.linalg.norm(part.points(j) - mu[j], axis=1).max() for j in range(part.k)]
        )
    if sigmas is not None:
        spread = np.broadcast_to(np.asarray(sigmas, dtype=np.float64), part.k)
    if means is None:
        spread = spread * np.sqrt(1.0 - 1.0 / part.sizes)
    reach = spread * math.sqrt(depth)
    values = np.where(reach > 0.0, 1.0 - radii / np.where(reach > 0.0, reach, 1.0), 1.0)
    if not part.k:
        return Margin(math.inf, "holds"), ()
    j = int(values.argmin())
    return margin(float(values[j]), strict=True), (j,)


def loss_margin(
    part: Partition, L: NDArray[np.int64], weights: NDArray[Any], G: float
) -> tuple[Margin, tuple[int, ...]]:
    """D3 of the worst cluster: its best row and the best row of the background.

    Losses are whole numbers, so that this is decided exactly, for the losses the library uses.
    """
    if not part.k:
        return Margin(math.inf, "holds"), ()
    # A row of weight 0 cannot be a centre.
    loss = np.where(weights > 0, L, np.iinfo(np.int64).max)
    centers = [rows[int(loss[rows].argmin())] for rows in map(part.rows, range(part.k))]
    j = int(loss[centers].argmax())
    rest = part.background
    if not len(rest) or not (weights[rest] > 0).any():
        return Margin(math.inf, "holds"), (int(centers[j]),)
    m = int(rest[int(loss[rest].argmin())])
    value = (int(loss[m]) - int(loss[centers[j]])) * QUANTUM / G
    return margin(value, strict=True), (int(centers[j]), m)


def cheap_margins(part: Partition, sq_radius: float) -> dict[str, float]:
    """Sufficient forms of cover and separation, from the radius around each mean.

    By the triangle inequality; time grows with n times k.
    """
    R = math.sqrt(sq_radius)
    gap = math.inf
    with one_blas_thread():
        for rows in chunks(len(part.X), max(part.X.shape[1], part.k)):
            gap = _least_gap(part, rows, gap)
    widest = float(part.radii.max(initial=0.0))
    return {"cover": 1.0 - 2.0 * widest / R, "separation": gap / R - 1.0}


def _least_gap(part: Partition, rows: slice, gap: float) -> float:
    """Least distance of these rows from the balls of other clusters, or `gap` if that is less."""
    points, labels = part.X[rows].astype(np.float64, copy=False), part.labels[rows]
    at_least = _least_distances(points, labels, part.means) - part.radii
    order = np.argsort(at_least)
    for some in (order[:1], order[1:]):  # the likeliest, then all that may still be nearer
        near = some[at_least[some] < gap]
        if not len(near):
            break
        away = distance.cdist(points, part.means[near])
        away -= part.radii[near]
        column = np.full(part.k + 1, -1)  # of each label; that of the background comes last
        column[near] = np.arange(len(near))
        inside = np.flatnonzero(column[labels] >= 0)
        away[inside, column[labels[inside]]] = math.inf
        gap = min(gap, float(away.min()))
    return gap


def _least_distances(points: Array, labels: NDArray[np.int64], means: Array) -> Array:
    """Lower bounds on the distance of each mean from the nearest point of no own, by a product.

    In ``|x|^2 + |m|^2 - 2 x m`` the rounding of d + 2 terms is less than ``(d + 4) 2**-52`` times
    the squares, and that of a distance from differences less again.
    """
    kept = 1.0 - (points.shape[1] + 4) * 2.0**-51
    sq = (-2.0 * means) @ points.T
    sq += kept * np.einsum("ij,ij->i", points, points)
    inside = np.flatnonzero(labels != BACKGROUND)
    sq[labels[inside], inside] = math.inf
    least = sq.min(axis=1) + kept * np.einsum("ij,ij->i", means, means)
    result: Array = np.sqrt(np.maximum(least - np.finfo(np.float64).tiny, 0.0))
    return result


def _widest(part: Partition, sq_radius: float) -> tuple[Margin, tuple[int, ...]]:
    """Diameter of the widest cluster."""
    sq = 0.0
    at: tuple[int, ...] = ()
    for j in range(part.k):
        rows, points = part.rows(j), part.points(j)
        for start in range(0, len(rows), _BLOCK):
            found = distance.cdist(points[start : start + _BLOCK], points, "sqeuclidean")
            a, b = np.unravel_index(int(found.argmax()), found.shape)
            if found[a, b] > sq:
                sq, at = float(found[a, b]), (int(rows[start + a]), int(rows[b]))
    value = 1.0 - math.sqrt(sq / sq_radius)
    return margin(value, _rounding(part.X, at, sq_radius), strict=True), at


def _closest(
    part: Partition, sq_radius: float
) -> tuple[Margin, Margin, dict[str, tuple[int, ...]]]:
    """Nearest pair of a cluster and the background, and of two clusters."""
    best: dict[str, tuple[float, tuple[int, ...]]] = {
        "C1": (math.inf, ()),
        "separation": (math.inf, ()),
    }
    everything = part.X.astype(np.float64, copy=False)
    clustered = np.flatnonzero(part.labels != BACKGROUND)
    for start in range(0, len(clustered), _BLOCK):
        rows = clustered[start : start + _BLOCK]
        sq = distance.cdist(everything[rows], everything, "sqeuclidean")
        own = part.labels[rows, None]
        for name, kept in (
            ("C1", part.labels == BACKGROUND),
            ("separation", (part.labels != BACKGROUND) & (part.labels != own)),
        ):
            found = np.where(kept, sq, math.inf)
            a, b = np.unravel_index(int(found.argmin()), found.shape)
            if found[a, b] < best[name][0]:
                best[name] = float(found[a, b]), (int(rows[a]), int(b))
    margins = {
        name: margin(
            math.sqrt(sq / sq_radius) - 1.0, _rounding(part.X, at, sq_radius), strict=False
        )
        for name, (sq, at) in best.items()
    }
    return margins["C1"], margins["separation"], {name: at for name, (_, at) in best.items()}


def _rounding(X: Floats, rows: tuple[int, ...], sq_radius: float) -> float:
    sq_norms = float(np.square(X[list(rows)].astype(np.float64)).sum()) if rows else 0.0
    return rounding_error(sq_norms, sq_radius)
