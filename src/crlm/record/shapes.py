"""The arrays of format 1: type and shape of each, and whether a model may be without it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crlm.record.archive import Arrays, DamagedError


class Kind(NamedTuple):
    """What an array must be.

    `shape` has a letter of the document (n, d, k) or a digit for each axis, ``"?"`` for any
    length, or is None where more than one shape is right. Of values only centres must be finite.
    """

    dtypes: str
    shape: str | None
    needed: bool = True
    finite: bool = False


_FLOATS, _WHOLE, _COUNTS = "f8", "i8", "i8 f8"

ARRAYS = {
    "labels": Kind("i1 i2 i4 i8", "n"),
    "center_indices": Kind(_WHOLE, "k"),
    "ball_centers": Kind("f4 f8", "kd", finite=True),
    "cluster_centers": Kind(_FLOATS, "kd", finite=True),
    "cluster_sizes": Kind(_COUNTS, "k", finite=True),
    "sigmas": Kind(_FLOATS, "k", finite=True),
    "losses": Kind(_FLOATS, "k", finite=True),
    "p_values": Kind(_FLOATS, "k"),
    "weights": Kind(_FLOATS, "k", finite=True),
    "bandwidths": Kind(_FLOATS, "k", needed=False, finite=True),
    "background_center": Kind(_FLOATS, "d", finite=True),
    "source.rows": Kind(_WHOLE, "n", needed=False),
    "source.shift": Kind(_FLOATS, "d", needed=False, finite=True),
    "source.scale": Kind(_FLOATS, "d", needed=False, finite=True),
}
CERTIFICATE = {
    "certificate.marks": Kind("u8", "n"),
    "certificate.weights": Kind(_COUNTS, "n", needed=False, finite=True),
    "certificate.sigmas": Kind(_FLOATS, "k"),
    "certificate.shares": Kind(_FLOATS, "k"),
    "certificate.center_norms": Kind(_FLOATS, "k"),
    "certificate.gaps": Kind(_FLOATS, None),
    "certificate.kappas": Kind(_FLOATS, "k"),
    "certificate.sizes": Kind(_WHOLE, "k"),
    "certificate.pairs": Kind(_FLOATS, "?"),
    "certificate.radii": Kind(_FLOATS, "?"),
}
LANDMARKS = {
    "landmarks.rows": Kind(_WHOLE, "?"),
    "landmarks.weights": Kind(_COUNTS, "n", needed=False, finite=True),
}
TALLY = {
    "tally.rows": Kind(_WHOLE, "k"),
    "tally.weights": Kind(_WHOLE, "k"),
    "tally.sums": Kind(_WHOLE, "k3d"),
    "tally.squares": Kind(_WHOLE, "k3"),
    "tally.background": Kind(_WHOLE, ""),
}
ESTIMATE = {
    "estimate.edges": Kind(_FLOATS, "?", finite=True),
    "estimate.counts": Kind(_FLOATS, "?", finite=True),
    "estimate.sigmas": Kind(_FLOATS, "?", finite=True),
    "estimate.n_clusters": Kind(_WHOLE, "?"),
    "estimate.net": Kind(_FLOATS, "?", finite=True),
}


def check_arrays(
    arrays: Arrays, n: int, d: int, k: int, *, estimated: bool, certified: bool
) -> None:
    """Refuse arrays that are not those of a model of n rows, d columns and k clusters."""
    if not n or not d:
        raise DamagedError("it has no rows or no columns")
    wanted = ARRAYS | (CERTIFICATE if certified else LANDMARKS)
    wanted |= (ESTIMATE if estimated else {}) | (TALLY if has_tally(arrays) else {})
    for name in arrays:
        if name not in wanted:
            msg = f"it has an array {name[:40]!r} that no model has"
            raise DamagedError(msg)
    lengths = {"n": n, "d": d, "k": k, "3": 3}
    for name, kind in wanted.items():
        _check(name, kind, arrays, lengths)
    if certified and arrays["certificate.gaps"].shape not in ((), (k, k)):
        raise DamagedError("its 'certificate.gaps' has the wrong shape")


def has_tally(arrays: Arrays) -> bool:
    """Whether there are sums to go on counting from."""
    return any(name.startswith("tally.") for name in arrays)


def _check(name: str, kind: Kind, arrays: Arrays, lengths: dict[str, int]) -> None:
    if name not in arrays:
        if kind.needed:
            msg = f"it has no array {name!r}"
            raise DamagedError(msg)
        return
    array = arrays[name]
    if array.dtype not in [np.dtype(dtype) for dtype in kind.dtypes.split()]:
        msg = f"its {name!r} is {array.dtype}, not {kind.dtypes.replace(' ', ' or ')}"
        raise DamagedError(msg)
    if kind.shape is not None:
        right = [lengths.get(axis, size) for axis, size in zip(kind.shape, array.shape)]  # noqa: B905
        if array.ndim != len(kind.shape) or list(array.shape) != right:
            msg = f"its {name!r} has the shape {array.shape}, which does not fit"
            raise DamagedError(msg)
    if kind.finite and not np.isfinite(array).all():
        msg = f"its {name!r} holds NaN or inf"
        raise DamagedError(msg)
