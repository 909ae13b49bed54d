"""What a fitted model is made of, as arrays and plain words, and back again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crlm import checks
from crlm.bandwidth.sigma import SigmaEstimate
from crlm.certificate import Certificate
from crlm.errors import ParameterError
from crlm.labels import BACKGROUND
from crlm.landmarks.tally import Tally
from crlm.loss import QUANTUM, sq_cutoff
from crlm.record.archive import Arrays, DamagedError
from crlm.record.shapes import check_arrays, has_tally
from crlm.theory.conditions import Conditions
from crlm.theory.margins import Margin

if TYPE_CHECKING:
    from crlm.estimator import CRLM

_BY_CLUSTER = ("cluster_sizes", "sigmas", "losses", "p_values", "weights")
_CERTIFIED = ("sigmas", "shares", "center_norms", "gaps")
_ESTIMATED = ("edges", "counts", "sigmas", "n_clusters", "net")
_MARGINS = ("C1", "C2", "cover", "separation", "loss")
_LARGEST = 2**53  # whole numbers beyond are none of ours

Model = TypeVar("Model", bound="CRLM")


# Into plain things


def parts(model: CRLM) -> tuple[dict[str, Any], Arrays]:
    """Document and arrays of a fitted model."""
    center, radius = model._background
    names = getattr(model, "feature_names_in_", None)
    document = {
        # A reader of format 1 would take all balls for equally large.
        "version": 2 if model._has_own_bandwidths else 1,
        "n": len(model.labels_),
        "d": int(model.n_features_in_),
        "k": model.n_clusters_,
        "parameters": _parameters(model),
        "fitted": {
            "sigma_max": plain(model.sigma_max_),
            "G": plain(model.G_),
            "background_weight": plain(model.background_weight_),
            "background_radius": plain(radius),
            "n_duplicates": model.n_duplicates_,
        },
        "feature_names": None if names is None else [str(name) for name in names],
        "estimate": _estimate(model.sigma_estimate_),
        "certificate": _certificate(model.certificate_),
        "landmarks": _landmarks(model),
    }
    arrays = {
        "labels": _small(model.labels_),
        "center_indices": model.center_indices_,
        "ball_centers": model.ball_centers_,
        "cluster_centers": model.cluster_centers_,
        **{name: getattr(model, f"{name}_") for name in _BY_CLUSTER},
        "background_center": center,
        **_certificate_arrays(model.certificate_),
        **_landmark_arrays(model),
        **_tally_arrays(model),
    }
    if model._has_own_bandwidths:
        arrays["bandwidths"] = model.bandwidths_
    if model.sigma_estimate_ is not None:
        for name in _ESTIMATED:
            arrays[f"estimate.{name}"] = np.asarray(getattr(model.sigma_estimate_, name))
    return document, {name: np.asarray(array, order="C") for name, array in arrays.items()}


def plain(value: float) -> float | str:
    """Number for JSON, which has no word for NaN and inf.

    >>> plain(np.float64(0.5)), plain(math.inf), plain(math.nan)
    (0.5, 'inf', 'nan')
    """
    return float(value) if math.isfinite(value) else str(float(value))


def _parameters(model: CRLM) -> dict[str, Any]:
    """Settings of the estimator, except the function that draws a bar."""
    values = model.get_params(deep=False)
    del values["progress"]
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }


def _small(labels: Any) -> Any:
    """Labels in as few bytes as hold them."""
    return labels.astype(np.min_scalar_type(-1 - int(labels.max(initial=0))))


def _estimate(estimate: SigmaEstimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "suggested": plain(estimate.suggested),
        "evidence": estimate.evidence,
        "peaks": [plain(peak) for peak in estimate.peaks],
        "plateau": [plain(end) for end in estimate.plateau],
        "score": plain(estimate.score),
        "gap": plain(estimate.gap),
        "alternatives": [plain(sigma) for sigma in estimate.alternatives],
        "rare": estimate.rare,
    }


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    found = certificate.conditions
    return {
        "margins": {
            name: [plain(margin.value), margin.verdict, margin.known]
            for name, margin in found.margins.items()
        },
        "cheap": {name: plain(value) for name, value in found.cheap.items()},
        "t0": None if found.t0 is None else int(found.t0),
        "worst": {name: [int(row) for row in rows] for name, rows in found.worst.items()},
        "D": plain(certificate.D),
        "n_center": int(certificate.sample[2]),
        "digest": certificate.digest,
    }


def _certificate_arrays(certificate: Certificate | None) -> Arrays:
    if certificate is None:
        return {}
    pairs, radii, _ = certificate.sample
    arrays = {
        "marks": certificate.marks,
        **{name: getattr(certificate, name) for name in _CERTIFIED},
        "kappas": certificate.conditions.kappas,
        "sizes": certificate.conditions.sizes,
        "pairs": np.array(pairs, dtype=np.float64),
        "radii": np.array(radii, dtype=np.float64),
    }
    if certificate.weights is not None:
        arrays["weights"] = certificate.weights
    return {f"certificate.{name}": np.asarray(array) for name, array in arrays.items()}


def _landmarks(model: CRLM) -> dict[str, Any] | None:
    """What stands for the rows where there are no marks of each."""
    return {"seal": f"{model._seal:016x}"} if model.certificate_ is None else None


def _landmark_arrays(model: CRLM) -> Arrays:
    if model.certificate_ is not None:
        return {}
    arrays: Arrays = {"landmarks.rows": model.landmark_indices_}
    if model._row_weights is not None:
        arrays["landmarks.weights"] = model._row_weights
    return arrays


def _tally_arrays(model: CRLM) -> Arrays:
    """Sums to go on counting from; an exact fit has none before its first update."""
    if not hasattr(model, "_tally"):
        return {}
    return {f"tally.{name}": np.asarray(value) for name, value in model._tally._asdict().items()}


# And back


def restore(cls: type[Model], document: dict[str, Any], arrays: Arrays) -> Model:
    """Model from its parts.

    Raises
    ------
    DamagedError
        They do not make a model.
    """
    try:
        return _restored(cls, document, arrays)
    except DamagedError:
        raise
    except (ParameterError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError("its parts do not fit together") from error


def _restored(cls: type[Model], document: dict[str, Any], arrays: Arrays) -> Model:
    n, d, k = (whole(document, name) for name in ("n", "d", "k"))
    certified = document["certificate"] is not None
    check_arrays(arrays, n, d, k, estimated=document["estimate"] is not None, certified=certified)
    known = set(cls._get_param_names()) - {"progress"}
    model = cls(**_checked_parameters(document["parameters"], known))
    fitted = document["fitted"]
    model.n_features_in_ = d
    model.n_clusters_ = k
    model._metric = checks.check_metric(model.metric)
    model.sigma_max_ = _positive(fitted, "sigma_max")
    model.G_ = real(fitted, "G")
    if not 1.0 < model.G_ <= 1e6:
        raise DamagedError("its G is out of range")
    model.radius_ = math.sqrt(sq_cutoff(model.sigma_max_, d, model.G_))
    model.bandwidths_ = arrays.get("bandwidths", np.full(k, model.sigma_max_))
    if not (model.bandwidths_ > 0.0).all():
        raise DamagedError("its bandwidths are not positive")
    model.labels_ = arrays["labels"].astype(np.int64)
    model.center_indices_ = arrays["center_indices"]
    model.ball_centers_ = arrays["ball_centers"]
    model.cluster_centers_ = arrays["cluster_centers"]
    for name in _BY_CLUSTER:
        setattr(model, f"{name}_", arrays[name])
    model.background_weight_ = real(fitted, "background_weight")
    model._background = (arrays["background_center"], real(fitted, "background_radius"))
    model.n_duplicates_ = whole(fitted, "n_duplicates") if certified else None
    names = document["feature_names"]
    if names is not None:
        good = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not good or len(names) != d:
            raise DamagedError("it does not name every column")
        model.feature_names_in_ = np.array(names, dtype=object)
    model.sigma_estimate_ = _restored_estimate(document["estimate"], arrays)
    if certified:
        model.certificate_ = _restored_certificate(model, document["certificate"], arrays)
    else:
        _restore_landmarks(model, document["landmarks"], arrays)
    if has_tally(arrays):
        _restore_tally(model, arrays)
    _check_labels(model)
    return model


def _checked_parameters(values: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Parameters of the estimator, those that have a check checked; newer ones have a default."""
    unknown = sorted(set(values) - known)
    if unknown:
        msg = f"this crlm knows no parameter {unknown[0][:40]!r}; a newer one may"
        raise DamagedError(msg)
    for name, value in values.items():
        check = getattr(checks, f"check_{name}", None)
        if check is not None:
            check(value)
    return values


def _restore_landmarks(model: CRLM, record: dict[str, Any], arrays: Arrays) -> None:
    """Give a model what a fit in passes has in the place of a certificate."""
    rows, seal = arrays["landmarks.rows"], record["seal"]
    model.certificate_ = None
    if not isinstance(seal, str) or not re.fullmatch(r"[0-9a-f]{16}", seal):
        raise DamagedError("it does not say which rows it was fitted to")
    within = len(rows) and rows[0] >= 0 and rows[-1] < len(model.labels_)
    if not within or (np.diff(rows) <= 0).any() or not _are_centers(model, rows):
        raise DamagedError("its landmarks are none")
    model.landmark_indices_, model._seal = rows, int(seal, 16)
    if "landmarks.weights" in arrays:
        model._row_weights = arrays["landmarks.weights"]


def _are_centers(model: CRLM, rows: Any) -> bool:
    return bool(model.refine or np.isin(model.center_indices_, rows).all())


def _restore_tally(model: CRLM, arrays: Arrays) -> None:
    """Give a model the sums that `update` goes on from."""
    held = (arrays[f"tally.{name}"] for name in Tally._fields)
    found = Tally(*held)  # type: ignore[arg-type]
    found = found._replace(background=int(found.background))
    inside = model.labels_[model.labels_ != BACKGROUND]
    fewer = np.bincount(inside, minlength=model.n_clusters_) > found.rows
    same = np.allclose(found.weights * QUANTUM, model.cluster_sizes_)
    if fewer.any() or not same or (found.weights <= 0).any() or found.background < 0:
        raise DamagedError("its clusters do not have as many rows as they claim")
    model._tally = found


def _check_labels(model: CRLM) -> None:
    """Refuse labels that are not those of the clusters, and balls without their centre."""
    labels, k = model.labels_, model.n_clusters_
    weights = model._sample_weight
    if labels.min(initial=0) < BACKGROUND or labels.max(initial=BACKGROUND) != k - 1:
        raise DamagedError("its labels do not number its clusters")
    inside = labels != BACKGROUND
    w = None if weights is None else weights[inside]
    sizes = np.bincount(labels[inside], w, minlength=k)
    # A tally may count rows that came after the fit.
    if not hasattr(model, "_tally") and not np.allclose(sizes, model.cluster_sizes_):
        raise DamagedError("its clusters do not have as many rows as they claim")
    rows = model.center_indices_
    if k and (rows.min() < 0 or rows.max() >= len(labels)):
        raise DamagedError("the middle of a ball is a row that it does not have")
    if not np.array_equal(labels[rows], np.arange(k)):
        raise DamagedError("the middle of a ball is not in its cluster")


def _restored_estimate(record: dict[str, Any] | None, arrays: Arrays) -> SigmaEstimate | None:
    if record is None:
        return None
    if record["evidence"] not in ("clear", "moderate", "weak"):
        raise DamagedError("its evidence is no word of ours")
    low, high = record["plateau"]
    curve = {name: arrays[f"estimate.{name}"] for name in _ESTIMATED}
    if len(curve["edges"]) != len(curve["counts"]) + 1:
        raise DamagedError("its histogram has the wrong number of edges")
    return SigmaEstimate(
        suggested=_positive(record, "suggested"),
        evidence=record["evidence"],
        peaks=[_real(peak) for peak in record["peaks"]],
        plateau=(_real(low), _real(high)),
        score=real(record, "score"),
        gap=real(record, "gap"),
        alternatives=[_real(sigma) for sigma in record["alternatives"]],
        rare=record.get("rare") is True,  # older files do not say
        edges=curve["edges"],
        counts=curve["counts"],
        sigmas=curve["sigmas"],
        n_clusters=curve["n_clusters"],
        net=curve["net"],
    )


def _restored_certificate(model: CRLM, record: dict[str, Any], arrays: Arrays) -> Certificate:
    held = {
        name.removeprefix("certificate."): array
        for name, array in arrays.items()
        if name.startswith("certificate.")
    }
    sample = (held["pairs"].tolist(), held["radii"].tolist(), whole(record, "n_center"))
    if not isinstance(record["digest"], str):
        raise DamagedError("its certificate has no digest")
    return Certificate(
        n=len(model.labels_),
        d=model.n_features_in_,
        sigma_max=model.sigma_max_,
        G=model.G_,
        metric=model._metric,
        labels=model.labels_,
        centers=model.center_indices_,
        weights=held.get("weights"),
        marks=held["marks"],
        conditions=_restored_conditions(record, held),
        D=_positive(record, "D"),
        sample=sample,
        bandwidths=arrays.get("bandwidths"),
        digest=record["digest"],
        **{name: held[name] for name in _CERTIFIED},
    )


def _restored_conditions(record: dict[str, Any], held: Arrays) -> Conditions:
    c1, c2, cover, separation, loss = (_margin(*record["margins"][name]) for name in _MARGINS)
    return Conditions(
        *(c1, c2, cover, separation, loss),
        cheap={str(name): _real(value) for name, value in record["cheap"].items()},
        kappas=held["kappas"],
        t0=None if record["t0"] is None else whole(record, "t0"),
        sizes=held["sizes"],
        worst={
            str(name): tuple(_number(row) for row in rows) for name, rows in record["worst"].items()
        },
    )


def _margin(value: object, verdict: Any, known: Any) -> Margin:
    if verdict not in ("holds", "fails", "undecided"):
        raise DamagedError("its certificate has an unknown verdict")
    if known not in ("exact", "at least", "at most"):
        raise DamagedError("its certificate has an unknown bound")
    return Margin(_real(value), verdict, known)


# One value of a document


def whole(record: dict[str, Any], name: str) -> int:
    """Whole number of at least 0 of that name."""
    return _named(_number, record, name)


def real(record: dict[str, Any], name: str) -> float:
    """Number of that name."""
    return _named(_real, record, name)


def _positive(record: dict[str, Any], name: str) -> float:
    value = real(record, name)
    if not 0.0 < value < math.inf:
        msg = f"its {name} is not positive"
        raise DamagedError(msg)
    return value


Value = TypeVar("Value")


def _named(read: Callable[[object], Value], record: dict[str, Any], name: str) -> Value:
    try:
        return read(record[name])
    except (KeyError, TypeError, DamagedError) as error:
        msg = f"its {name} is missing or no number"
        raise DamagedError(msg) from error


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise DamagedError("a number in it is none")
    return value


def _real(value: object) -> float:
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e308:
        raise DamagedError("a number in it is none")
    return float(value)
