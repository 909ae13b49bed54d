"""The explorer inside a notebook: one frame with all it needs, no server, no request."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

from crlm.explorer.answers import clean
from crlm.explorer.session import Session
from crlm.page import bundle, encode, style
from crlm.preview import MAX_PAIRS, preview

_HEIGHT = 460
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_STYLE = """
body { padding: 10px; background: var(--card); }
main { display: grid; grid-template-columns: 1.1fr 1fr; gap: 14px; }
#map { width: 100%; height: 380px; border: 1px solid var(--line); border-radius: 8px; }
#table { max-height: 200px; margin-top: 10px; overflow: auto; }
#status { margin: 0 0 8px; font-weight: 600; }
@media (max-width: 640px) { main { grid-template-columns: 1fr; } }
"""
_BODY = """
<p id="status" role="status"></p>
<main><canvas id="map" tabindex="0" role="application" aria-label="Map of the rows"></canvas>
<div><div id="hist"></div><div id="table" tabindex="0" role="region" aria-label="Clusters"></div>
</div></main>
"""


def frame(session: Session) -> str:
    """HTML for a notebook; it shows the same clusters as the page of the server."""
    look = f"width:100%;height:{_HEIGHT}px;border:0"
    content = escape(page(session))
    return f'<iframe title="crlm explorer" style="{look}" srcdoc="{content}"></iframe>'


def page(session: Session) -> str:
    """A whole page, to be read from anywhere."""
    record = preview_record(session)
    if record is None:
        return "<!doctype html><p>Too many equal rows for a page without a server.</p>"
    # In a script, "<" could end it; as \\u003c it means the same.
    data = json.dumps(clean(record)).replace("<", "\\u003c")
    start = (
        "const find = (id) => [id, document.getElementById(id)];\n"
        "const places = Object.fromEntries(['hist', 'map', 'table', 'status'].map(find));\n"
        f"globalThis.crlm = inline.startInline({data}, places);"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>crlm</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<style>{style()}{_STYLE}</style></head><body>{_BODY}"
        f"<script>{bundle('inline')}\n{start}</script></body></html>"
    )


def preview_record(session: Session) -> dict[str, Any] | None:
    """Pairs, stops, histogram and points; None when they are too many."""
    engine = session.engine
    record = preview(engine.task, engine.estimate, engine.start.sigma, MAX_PAIRS)
    if record is None:
        return None
    x, y = session.points("clusters")
    estimate = engine.estimate
    return {
        **record,
        "estimate": {
            "edges": estimate.edges.tolist(),
            "counts": estimate.counts.tolist(),
            "peaks": estimate.peaks,
        },
        "suggested": engine.suggested,
        "plateau": session.plateau,
        "start": engine.start.sigma,
        "points": {"x": encode(x.astype(np.float32)), "y": encode(y.astype(np.float32))},
    }
