"""How the vectors of pictures were made; only those made alike can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crlm.errors import InputError

SCHEMA = "crlm.vectors/1"
_NO_MATTER = {"schema", "crlm", "failures", "model"}  # a network may have another name


def parse_made(text: str) -> dict[str, Any]:
    """Settings from the document in a file of vectors; none if it is another document."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else {}


def check_made_alike(
    new: Mapping[str, Any], old: Mapping[str, Any], source: str, model: str
) -> None:
    """Refuse vectors that were made otherwise than those of a model, when both are known.

    Raises
    ------
    InputError
        They differ in a setting.
    """
    names = sorted({*new, *old} - _NO_MATTER)
    different = [name for name in names if new.get(name) != old.get(name)]
    if not new or not old or not different:
        return
    name = "method" if "method" in different else different[0]
    msg = (
        f"{source} was made with {_said(name, new)}, the data of {model} with {_said(name, old)}, "
        "so they cannot be compared. Embed it in the same way: crlm embed ... --like"
    )
    raise InputError(msg)


def _said(name: str, made: Mapping[str, Any]) -> str:
    if name in ("axes", "sha256"):
        return f"{'components' if name == 'axes' else 'a network'} of its own"
    return f"{name} {made.get(name, 'unknown')}"
