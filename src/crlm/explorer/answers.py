"""Answers to a page: a little JSON, then arrays, in one piece."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crlm.explorer.engine import Answer, Settings


def pack(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Length, JSON, arrays; each part starts at a multiple of 8 bytes. ``codec.js`` reads it."""
    listed = [[name, array.dtype.str[1:], array.size] for name, array in arrays.items()]
    text = json.dumps({**clean(head), "arrays": listed}).encode()
    parts = [_padded(struct.pack("<I", len(text)) + text)]
    for array in arrays.values():
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        parts.append(_padded(np.ascontiguousarray(little).tobytes()))
    return b"".join(parts)


def pack_answer(answer: Answer, n: int) -> bytes:
    """Clusters: what the table shows, and their members one after the other."""
    ends = np.cumsum([0, *map(len, answer.members)]).astype(np.int32)
    rows = np.concatenate([np.zeros(0, dtype=np.int32), *answer.members]).astype(np.int32)
    head = {
        "settings": settings_record(answer.settings),
        "clusters": answer.record,
        "clustered": answer.n_clustered,
        "n": n,
        "ms": 1e3 * answer.seconds,
    }
    return pack(head, {"ends": ends, "rows": rows})


def settings_record(settings: Settings) -> dict[str, Any]:
    """Settings as the page writes them."""
    return {
        "sigma": settings.sigma,
        "minSize": settings.min_size,
        "maxClusters": settings.max_clusters,
        "alpha": settings.alpha,
    }


def clean(value: Any) -> Any:
    """JSON without NaN and infinity, and without NumPy's numbers."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 8)
