"""A small exploration for tests: three clusters in background, pictures, words, a server."""

import contextlib
import threading

import numpy as np
from PIL import Image

from crlm import CRLM, GMMUB
from crlm.explorer.opening import explore_rows, subject_of_rows
from crlm.explorer.serve import Explorer

ATTACK = "<img src=x onerror=document.title='broken'>"


def toy(n=400):
    truth = GMMUB.draw(k=3, d=20, sigmas=[1, 2, 3], weights=0.05, D=60, sigma_max=7, rng=0)
    return truth.sample(n, rng=1)[0]


def pictures(folder, n):
    """A picture for each row; row 1 is missing, 2 is damaged, 3 is of 10,000 x 10,000 pixels."""
    paths = []
    for row in range(n):
        path = folder / f"{row}.png"
        if row == 2:
            path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
        elif row == 3:
            Image.new("1", (10_000, 10_000)).save(path)
        elif row != 1:
            Image.new("RGB", (24, 24), (row % 256, 90, 160)).save(path)
        paths.append(path)
    return paths


@contextlib.contextmanager
def running(folder, X=None, *, model=None, wait=True, read_only=False, host="127.0.0.1", **known):
    X = toy() if X is None else X
    subject = subject_of_rows("toy", len(X), **known)
    session = explore_rows(model or CRLM(), X, subject, folder, read_only=read_only)
    ready = threading.Event()
    tell = session.tell
    session.tell = lambda kind, record: (
        tell(kind, record),
        ready.set() if kind == "phase" and record["phase"] != "loading" else None,
    )
    with Explorer(session, host=host, port=0) as explorer:
        if wait:
            assert ready.wait(120)
            assert session.phase["phase"] == "ready", session.phase
        yield explorer


def labels_of(content, n):
    """Labels in the answer to POST /api/fit."""
    import json

    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    at, arrays = -(-(4 + length) // 8) * 8, {}
    for name, dtype, size in head["arrays"]:
        arrays[name] = np.frombuffer(content, f"<{dtype}", size, at)
        at += -(-arrays[name].nbytes // 8) * 8
    labels = np.full(n, -1)
    for j, (start, stop) in enumerate(zip(arrays["ends"], arrays["ends"][1:], strict=False)):
        labels[arrays["rows"][start:stop]] = j
    return head, labels
