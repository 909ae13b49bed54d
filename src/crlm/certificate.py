"""A certificate: how far an answer can be trusted, to be checked again by anyone."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from crlm.checks import check_memory_limit
from crlm.data_checks import check_points, check_table
from crlm.errors import InputError, ParameterError
from crlm.evidence import cheap_conditions
from crlm.findings import in_short
from crlm.identity import row_marks
from crlm.labels import BACKGROUND
from crlm.loss import sq_cutoff
from crlm.search import Floats, Neighbourhood, Pairs, first_ball, neighbourhood
from crlm.search.balls import farthest
from crlm.search.distance import chunks
from crlm.theory.assumptions import Assumptions, slacks
from crlm.theory.conditions import Conditions, Partition, check_labels
from crlm.theory.guarantees import Guarantee, sharp
from crlm.theory.margins import Margin, Verdict
from crlm.theory.setting import Setting
from crlm.uniformity import background_sample, effective_dimension, uniform_ball_p_value

if TYPE_CHECKING:
    from crlm.estimator import CRLM

SCHEMA = "crlm.certificate/1"
IMPLAUSIBLE = 0.01  # p-value below which a background is not uniform in a ball
_MANY = 16  # clusters up to which each counts by itself
_MAX_GAPS = 100  # clusters up to which all distances between means are kept
_MAX_ROWS = 5  # named in a message

_FIELDS_AS_LISTS = ("labels", "centers", "weights", "sigmas", "shares", "center_norms", "gaps")


class Verification(NamedTuple):
    """Whether a certificate stands up to the data, and where it does not."""

    ok: bool
    problems: list[str]

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, eq=False)
class Certificate:
    """What can be said about a partition: margins, Theorem D, and estimates.

    `conditions` and `theorem_d` concern these very data and assume nothing. `assumptions` and
    `guarantee` are the paper's and the sharp theorem's with the fitted numbers put in for the
    true ones: estimates, not guarantees, and of use only where `background_is_plausible`.

    Attributes
    ----------
    n, d : int
        Rows and columns of the data.
    sigma_max, G, radius : float
        Of the fit.
    metric : str
    labels, centers : ndarray
        The partition, and the row at the middle of each ball.
    weights : ndarray or None
        How many points each row stood for, if not one.
    conditions : Conditions
        Margins of C1, C2, cover, separation and loss.
    sigmas, shares, center_norms, D : ndarray, float
        Estimated from the clusters and the background.
    gaps : ndarray
        Distances between the means, or only the smallest when clusters are many.
    bandwidths : ndarray or None
        Those of the balls, where they are not all `sigma_max`. Margins and theorems concern
        Algorithm 2 with `sigma_max` for all of them, which may give other clusters; where it must
        return this partition, these balls hold nothing else.
    """

    n: int
    d: int
    sigma_max: float
    G: float
    metric: str
    labels: NDArray[np.int64]
    centers: NDArray[np.int64]
    weights: NDArray[Any] | None
    marks: NDArray[np.uint64] = field(repr=False)
    conditions: Conditions
    sigmas: NDArray[np.float64]
    shares: NDArray[np.float64]
    center_norms: NDArray[np.float64]
    gaps: NDArray[np.float64]
    D: float
    sample: tuple[list[float], list[float], int] = field(repr=False)
    bandwidths: NDArray[np.float64] | None = None
    digest: str = ""

    def __str__(self) -> str:
        """Give the verdict, the margins, worst first, and what the background is like."""
        return in_short(self)

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    @property
    def radius(self) -> float:
        """Radius of the balls."""
        return math.sqrt(sq_cutoff(self.sigma_max, self.d, self.G))

    @property
    def theorem_d(self) -> Verdict:
        """Whether CRLM must return exactly this partition, in any order of the rows."""
        return self.conditions.theorem_d

    @cached_property
    def assumptions(self) -> Assumptions:
        """A1, A2, A3 and the weight condition with estimates put in for the true numbers."""
        return slacks(self._setting, self.sigma_max, self.G)

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """Estimate of the sharp probability of success; None without a cluster.

        Not a guarantee: the numbers in it were estimated from the data.
        """
        if self.k == 0 or not (self.sigmas > 0.0).all():
            return None
        s = self._setting
        if self.k > _MANY:  # a few kinds of cluster for many, each a little harder than it is
            s = replace(s, weights=_coarse(s.weights, -1), sigmas=_coarse(s.sigmas, 1))
        return sharp(s, hasty=True)

    @cached_property
    def background_p_value(self) -> float | None:
        """Chance that a background uniform in a ball looks like this one; None if too small."""
        return uniform_ball_p_value(*self.sample, self.d)

    @property
    def background_is_plausible(self) -> bool | None:
        """Whether a ball-uniform background is plausible; None if there is too little of it."""
        p = self.background_p_value
        return None if p is None else p >= IMPLAUSIBLE

    @property
    def background_dimension(self) -> float:
        """Dimension of a ball whose pair distances vary as much as the background's."""
        return effective_dimension(self.sample[0])

    @property
    def _setting(self) -> Setting:
        return Setting(
            float(self.n),
            float(self.d),
            self.shares,
            self.sigmas,
            self.radius,
            self.D,
            self.center_norms,
            np.broadcast_to(self.gaps, (self.k, self.k)),
        )

    def verify(self, X: Any) -> Verification:
        """Check everything again, from the data and what is stored here alone.

        Returns
        -------
        Verification
            True when all is as it was; `problems` says where not.
        """
        points = check_points(check_table(X), self.metric)
        if points.shape != (self.n, self.d):
            given = f"{points.shape[0]:,} x {points.shape[1]:,}"
            return Verification(
                False, [f"the data are {given}, the certificate is for {self.n:,} x {self.d:,}"]
            )
        problems = []
        if self.digest and self.digest != _digest(self._content()):
            problems.append("the content of the certificate was changed after it was made")
        changed = np.flatnonzero(row_marks(points) != self.marks)
        if len(changed):
            problems.append(f"{_rows(changed)} not what was certified")
        return Verification(not (found := problems + self._unlike(points)), found)

    def _unlike(self, points: Floats) -> list[str]:
        """What a new computation finds that is not as stored."""
        problems = []
        own = [self.sigma_max] * self.k if self.bandwidths is None else self.bandwidths.tolist()
        cutoffs = np.array([sq_cutoff(bandwidth, self.d, self.G) for bandwidth in own])
        balls = first_ball(points, points[self.centers], cutoffs)
        moved = np.flatnonzero(balls != self.labels)
        if len(moved):
            i = int(moved[0])
            problems.append(
                f"{_rows(moved)} not in the cluster that the label says (row {i}: label "
                f"{self.labels[i]}, ball {balls[i]})"
            )
        weights = np.ones(self.n, dtype=np.int64) if self.weights is None else self.weights
        limit = check_memory_limit("auto")
        near = neighbourhood(points, self.sigma_max, self.G, weights, memory_limit=limit)
        try:
            again = certify(
                points, self.labels, self.centers, self.sigma_max, self.G, near, weights
            )
        except InputError as error:
            return [*problems, str(error)]
        for name, stored in self.conditions.margins.items():
            found = again.conditions.margins[name]
            if _contradicts(stored, found):
                problems.append(
                    f"{name}: stored margin {stored.value:.6g} ({stored.verdict}), found "
                    f"{found.value:.6g} ({found.verdict})"
                )
        return problems

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words, for JSON; with a digest over all of them."""
        content = self._content()
        return {**content, "digest": self.digest or _digest(content)}

    def _content(self) -> dict[str, Any]:
        lists = {
            name: None if (value := getattr(self, name)) is None else value.tolist()
            for name in _FIELDS_AS_LISTS
        }
        if self.bandwidths is not None:  # or as it always was, digest and all
            lists["bandwidths"] = self.bandwidths.tolist()
        return {
            "schema": SCHEMA,
            "n": self.n,
            "d": self.d,
            "sigma_max": self.sigma_max,
            "G": self.G,
            "metric": self.metric,
            **lists,
            "marks": self.marks.tobytes().hex(),
            "D": self.D,
            "sample": [*self.sample],
            "conditions": self.conditions.to_dict(),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """Certificate from :meth:`to_dict`; whether it was changed is for `verify` to say."""
        if record.get("schema") != SCHEMA:
            msg = (
                f"this is no certificate: its schema is {record.get('schema')!r}, expected "
                f"{SCHEMA!r}. Pass what Certificate.to_dict() gave."
            )
            raise InputError(msg)
        arrays = {
            name: None if record[name] is None else np.array(record[name], dtype=dtype)
            for name, dtype in zip(
                _FIELDS_AS_LISTS, (np.int64, np.int64, None, *[np.float64] * 4), strict=True
            )
        }
        pairs, radii, n_center = record["sample"]
        own = record.get("bandwidths")
        return cls(
            n=record["n"],
            d=record["d"],
            sigma_max=record["sigma_max"],
            G=record["G"],
            metric=record["metric"],
            marks=np.frombuffer(bytes.fromhex(record["marks"]), dtype=np.uint64),
            conditions=_conditions(record["conditions"]),
            D=record["D"],
            sample=(pairs, radii, n_center),
            bandwidths=None if own is None else np.array(own, dtype=np.float64),
            digest=record["digest"],
            **arrays,  # type: ignore[arg-type]
        )


def certificate_of(model: CRLM, purpose: str) -> Certificate:
    """Certificate of a fitted model, which fits with landmarks do not make."""
    found = model.certificate_
    if found is None:
        msg = (
            f"the model was fitted with landmarks, which makes no certificate, and {purpose} shows "
            f"one. Fit with n_landmarks=None, on a sample if the data are too many."
        )
        raise ParameterError(msg)
    return found


def certify(
    X: Floats,
    labels: NDArray[np.int64],
    centers: NDArray[np.int64],
    sigma_max: float,
    G: float,
    near: Neighbourhood,
    weights: NDArray[Any] | None = None,
    *,
    L: NDArray[np.int64] | None = None,
    metric: str = "euclidean",
    bandwidths: NDArray[np.float64] | None = None,
) -> Certificate:
    """Certificate of a partition, from the neighbourhood that it was found with.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    centers : ndarray of shape (k,)
        Row at the middle of each ball.
    sigma_max, G : float
    near : Neighbourhood
        Its stored pairs are used if it has any.
    weights : ndarray of shape (n,), optional
    L : ndarray of shape (n,), optional
        Losses before anything was removed, if something was since.
    metric : str
    bandwidths : ndarray of shape (k,), optional
        Those of the balls, if not `sigma_max`.
    """
    w = np.ones(len(X), dtype=np.int64) if weights is None else weights
    pairs: Pairs | None = getattr(near, "pairs", None)
    found, part = cheap_conditions(
        X, check_labels(labels, len(X)), near.L if L is None else L, sigma_max, G, w, pairs
    )
    center, radius = _background_ball(part)
    total = float(w.sum())
    shares = np.bincount(labels[labels != BACKGROUND], w[labels != BACKGROUND], minlength=part.k)
    return Certificate(
        n=len(X),
        d=X.shape[1],
        sigma_max=float(sigma_max),
        G=float(G),
        metric=metric,
        labels=labels,
        centers=centers,
        weights=None if (w == 1).all() else w,
        marks=row_marks(X),
        conditions=found,
        sigmas=part.sigmas,
        shares=shares / total,
        center_norms=np.linalg.norm(part.means - center, axis=1),
        gaps=_gaps(part.means),
        D=max(radius, 1e-9 * sigma_max) / math.sqrt(X.shape[1]),
        sample=background_sample(X, part.background),
        bandwidths=None if bandwidths is None or (bandwidths == sigma_max).all() else bandwidths,
    )


def _background_ball(part: Partition) -> tuple[NDArray[np.float64], float]:
    """Mean of the background, or of all rows if there is none, and the farthest from it."""
    X, kept = part.X, part.labels == BACKGROUND
    if not kept.any():
        kept[:] = True
    # All rows, less the clusters: quicker than picking out the rest.
    total = X.sum(axis=0, dtype=np.float64)
    if not kept.all():
        total -= part.sizes @ part.means
    center = total / np.count_nonzero(kept)
    rows = farthest(X, center, kept)
    sq = max(
        float(distance.cdist(X[rows[some]], center[np.newaxis], "sqeuclidean").max())
        for some in chunks(len(rows), X.shape[1])
    )
    return center, math.sqrt(sq)


def _gaps(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances between the means; for very many clusters the smallest stands for all."""
    k = len(means)
    if k <= _MAX_GAPS:
        return distance.squareform(distance.pdist(means)) if k > 1 else np.zeros((k, k))
    least = min(float(distance.cdist(means[i : i + 1], means[i + 1 :]).min()) for i in range(k - 1))
    return np.array(least)


def _coarse(values: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """Each value on a grid of eight, the next above (side 1) or below (-1).

    >>> _coarse(np.array([1.0, 1.5, 128.0]), -1).round(3).tolist()
    [1.0, 1.0, 128.0]
    """
    grid = np.geomspace(values.min(), values.max(), 8)
    grid[[0, -1]] = values.min(), values.max()
    at = np.searchsorted(grid, values, "left" if side > 0 else "right")
    return grid[at if side > 0 else at - 1]


def _contradicts(stored: Margin, found: Margin) -> bool:
    """Whether two margins cannot both be true; an open one says nothing."""
    if "undecided" in (stored.verdict, found.verdict):
        return False
    if stored.verdict != found.verdict:
        return True
    both = stored.known == found.known == "exact" and math.isfinite(stored.value)
    return both and not math.isclose(stored.value, found.value, rel_tol=1e-9, abs_tol=1e-12)


def _conditions(record: dict[str, Any]) -> Conditions:
    def read(value: float | None) -> float:
        return math.inf if value is None else value

    margins = {
        name: Margin(read(m["value"]), m["verdict"], m["known"])
        for name, m in record["margins"].items()
    }
    return Conditions(
        c1=margins["C1"],
        c2=margins["C2"],
        cover=margins["cover"],
        separation=margins["separation"],
        loss=margins["loss"],
        cheap={name: read(value) for name, value in record["cheap"].items()},
        kappas=np.array(record["kappas"], dtype=np.float64),
        t0=record["t0"],
        sizes=np.array(record["sizes"], dtype=np.int64),
        worst={name: tuple(rows) for name, rows in record["worst"].items()},
    )


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _rows(rows: NDArray[np.intp]) -> str:
    some = ", ".join(map(str, rows[:_MAX_ROWS].tolist()))
    if len(rows) == 1:
        return f"row {some} is"
    return f"rows {some}{', ...' if len(rows) > _MAX_ROWS else ''} are"
