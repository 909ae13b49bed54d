"""The page's own code, and how Python hands it over.

The modules are plain JavaScript: the explorer serves them as files, a report carries them
inside (:func:`bundle`). Small ones do one thing each:

- ``codec.js``      ``unpack`` reads what :func:`encode` wrote
- ``greedy.js``     ``makeGraph``, ``replay``, ``findClusters``, ``labelsOf``: clusters, exactly
- ``colours.js``    the palette of both themes; ``follow`` keeps colours with their clusters
- ``dom.js``        elements without HTML in strings; numbers in words
- ``histogram.js``  ``makeHistogram(element, reading, {onInput, onDone})``: marker and slider
- ``map.js``        ``new PointMap(canvas, listeners).show(scene)``
- ``table.js``      ``makeTable(element, {onSelect, onName})``; leave out onName for no names
- ``gallery.js``    ``makeGallery(element, {load, thumb})``
- ``page.css``      colours and the look of all of these, both themes

To embed them: put :func:`style` in a ``<style>`` and ``bundle("histogram", "table", ...)`` in a
``<script>``; modules they need come along, each once, in order. Every module is then an object:
``const {makeHistogram} = histogram;``. A page that re-clusters gets :func:`crlm.preview.preview`
as JSON and does at stop s::

    const g = makeGraph({n, indptr: unpack(graph.indptr), indices: unpack(graph.indices),
                         reach: unpack(graph.reach)});        // once
    const members = replay(g, steps[s].centers, s + 1);       // rows of each cluster
    const labels = labelsOf(n, members);                      // those of a fit at sigmas[s]

Conventions that `bundle` relies on: imports are named, from ``"./x.js"``, at the top; exports
are ``export function``, ``export class`` or ``export const`` at the start of a line.
"""

from __future__ import annotations

import base64
import re
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DTYPES = {"u1", "u2", "i4", "f4", "f8"}
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*? ?|class |const )(\w+))", re.M)


def text(name: str) -> str:
    """One of the page's files, such as "page.css"."""
    return (files("crlm.page") / name).read_text(encoding="utf-8")


def style() -> str:
    """Give the style sheet that the modules need."""
    return text("page.css")


def bundle(*names: str) -> str:
    """Modules, and those that they import, as one script without imports.

    >>> print(bundle("codec").splitlines()[0])
    const codec = (() => {
    """
    done: dict[str, str] = {}
    for name in names:
        _add(name, done)
    return "\n".join(done.values()).replace("</script", "<\\/script")


def _add(name: str, done: dict[str, str]) -> None:
    if name in done:
        return
    source = text(f"{name}.js")
    for match in _IMPORT.finditer(source):
        _add(match[2], done)
    exports = ", ".join(match[1] for match in _EXPORT.finditer(source))
    body = _IMPORT.sub(lambda match: f"const {{{_renamed(match[1])}}} = {match[2]};\n", source)
    body = _EXPORT.sub("", body)
    done[name] = f"const {name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _renamed(names: str) -> str:
    return re.sub(r"(\w+) as (\w+)", r"\1: \2", names)


def encode(array: NDArray[Any]) -> dict[str, str]:
    """Array as JSON: its type and its bytes, little-endian, in base64.

    >>> import numpy as np
    >>> encode(np.array([1, 256], dtype=np.int32))
    {'dtype': 'i4', 'data': 'AQAAAAABAAA='}
    """
    dtype = array.dtype.str[1:]
    if dtype not in _DTYPES:
        msg = f"arrays of type {array.dtype} are not sent to pages"
        raise TypeError(msg)
    if sys.byteorder == "big" or array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return {"dtype": dtype, "data": base64.b64encode(array.tobytes()).decode("ascii")}
