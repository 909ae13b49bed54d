"""The routes: what a page may ask, and the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from crlm.errors import CRLMError, InputError
from crlm.explorer import asking, export, notes
from crlm.explorer.answers import clean, pack, pack_answer
from crlm.explorer.engine import SupersededError
from crlm.explorer.members import ORDERS, listed
from crlm.explorer.session import Session
from crlm.explorer.view import VIEWS
from crlm.preview import by_row

_MAX_BODY = 32_000_000  # a selection of a million rows
_BODY_SECONDS = 20.0
_HEARTBEAT = 10.0
_PAGE = 60  # rows of a gallery at a time
_KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}

Handler = Callable[[Request, Session], Awaitable[Response]]


def make_app(session: Session) -> Starlette:
    """Routes for one session."""
    routes = [
        ("/", "GET", index),
        ("/page/{name:str}", "GET", page_file),
        ("/api/meta", "GET", meta),
        ("/api/points", "GET", points),
        ("/api/graph", "GET", graph),
        ("/api/fit", "POST", fit),
        ("/api/fill", "POST", fill),
        ("/api/rows", "GET", rows),
        ("/api/search", "GET", search),
        ("/api/thumb/{row:str}", "GET", thumb),
        ("/api/certificate", "GET", certificate),
        ("/api/code", "GET", code),
        ("/api/notes", "POST", keep_notes),
        ("/api/export", "POST", export_labels),
        ("/api/cancel", "POST", cancel),
        ("/api/events", "GET", events),
    ]
    return Starlette(
        routes=[Route(path, _guarded(do, session), methods=[how]) for path, how, do in routes]
    )


def _guarded(handler: Handler, session: Session) -> Callable[[Request], Awaitable[Response]]:
    """Handler whose failures are sentences."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request, session)
        except _NotReadyError:
            return _failure(503, "the distances are still being measured.")
        except SupersededError:
            return _failure(409, "something else was asked for meanwhile.")
        except export.ExistsError as error:
            return _failure(409, str(error))
        except CRLMError as error:
            return _failure(400, str(error))
        except (TimeoutError, ClientDisconnect):
            return _failure(408, "the question did not come to its end.")

    return handle


class _NotReadyError(Exception):
    pass


def _failure(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)


def _ready(session: Session) -> None:
    if not session.is_ready:
        raise _NotReadyError


# The page


async def index(request: Request, session: Session) -> Response:
    """Give the page itself."""
    return _file("explorer.html")


async def page_file(request: Request, session: Session) -> Response:
    """One of its modules or its style, by name; names are looked up, never followed."""
    name = request.path_params["name"]
    known = {item.name for item in files("crlm.page").iterdir()}
    if name not in known or name.rpartition(".")[2] not in _KINDS:
        return _failure(404, "there is no such part of the page.")
    return _file(name)


def _file(name: str) -> Response:
    content = (files("crlm.page") / name).read_bytes()
    return Response(content, media_type=_KINDS[name.rpartition(".")[2]])


# Data


async def meta(request: Request, session: Session) -> Response:
    """What is explored, and how far it is."""
    return _json(await run_in_threadpool(session.meta))


async def points(request: Request, session: Session) -> Response:
    """Coordinates of the map, x then y."""
    _ready(session)
    view = request.query_params.get("view", VIEWS[0])
    if view not in VIEWS:
        msg = f"view must be one of {', '.join(VIEWS)}."
        raise InputError(msg)
    found = await run_in_threadpool(session.points, view)
    return _binary(pack({"view": view}, {"x": found[0], "y": found[1]}))


async def graph(request: Request, session: Session) -> Response:
    """Stored pairs, for a page that re-clusters by itself."""
    _ready(session)
    if not session.engine.fits_in_a_page():
        raise InputError("there are too many pairs for a page; ask for clusters instead.")
    indptr, indices, sq = await run_in_threadpool(by_row, session.engine.pairs)
    return _binary(pack({}, {"indptr": indptr, "indices": indices, "reach": sq}))


async def fit(request: Request, session: Session) -> Response:
    """Clusters at some settings."""
    _ready(session)
    given = await _body(request)
    settings = asking.settings_of(given, session.engine.start)
    serial = asking.whole(given, "serial", 0, most=2**53)
    is_stale = session.latest(str(given.get("page", ""))[:40], serial)
    answer = await run_in_threadpool(session.engine.answer, settings, is_stale)
    return _binary(await run_in_threadpool(pack_answer, answer, session.engine.n))


async def fill(request: Request, session: Session) -> Response:
    """Answer at all stops with these settings from now on."""
    _ready(session)
    session.refill(asking.settings_of(await _body(request), session.engine.start))
    return _json({})


async def rows(request: Request, session: Session) -> Response:
    """Rows for the gallery: some of a cluster, or those named."""
    _ready(session)
    query, n = request.query_params, session.engine.n
    if "rows" in query:
        named = asking.rows_of(query["rows"], n)
        return _json(_items(session, [(row, None) for row in named], len(named)))
    settings = asking.settings_of(query, session.engine.start)
    order = query.get("order", ORDERS[0])
    if order not in ORDERS:
        msg = f"order must be one of {', '.join(ORDERS)}."
        raise InputError(msg)
    offset = asking.whole(query, "offset", 0)
    limit = asking.whole(query, "limit", _PAGE, least=1, most=200)
    answer = await run_in_threadpool(session.engine.answer, settings)
    cluster = asking.whole(query, "cluster", 0)
    if cluster >= len(answer.members):
        msg = f"there is no cluster {cluster} at these settings."
        raise InputError(msg)
    found, far = await run_in_threadpool(listed, session.engine, answer, cluster, order)
    part = slice(offset, offset + limit)
    pairs = list(zip(found[part].tolist(), far[part].tolist(), strict=True))
    return _json(_items(session, pairs, len(found)))


def _items(session: Session, pairs: list[tuple[int, Any]], total: int) -> dict[str, Any]:
    X, subject = session.engine.task.X, session.subject
    return {"items": [subject.item(row, X, far) for row, far in pairs], "total": total}


async def search(request: Request, session: Session) -> Response:
    """Rows by name or number."""
    _ready(session)
    word = request.query_params.get("q", "").strip()[:200]
    found = await run_in_threadpool(session.subject.search, word, _PAGE) if word else []
    return _json({"rows": found})


async def thumb(request: Request, session: Session) -> Response:
    """Picture of a row, which is named by its number and nothing else."""
    row = asking.row_of(request.path_params["row"], session.engine.n)
    try:
        content = await run_in_threadpool(session.subject.thumb, row)
    except InputError:
        # Not the reason: it would name files.
        return _failure(404, "there is no picture of this row that can be read.")
    headers = {"cache-control": "private, max-age=3600"}
    return Response(content, media_type="image/jpeg", headers=headers)


async def certificate(request: Request, session: Session) -> Response:
    """How far the clusters at some settings can be trusted."""
    from crlm.cli.certificates import certificate_record, probability
    from crlm.findings import background, verdict

    _ready(session)
    settings = asking.settings_of(request.query_params, session.engine.start)

    def work() -> dict[str, Any]:
        found = session.engine.certificate(settings)
        talk = [probability(found), background(found)] if found.k else [background(found)]
        return {**certificate_record(found), "verdict": verdict(found), "talk": talk}

    return _json(await run_in_threadpool(work))


async def code(request: Request, session: Session) -> Response:
    """Give the same in a shell and in Python."""
    _ready(session)
    return _json(session.code(asking.settings_of(request.query_params, session.engine.start)))


# What people add


async def keep_notes(request: Request, session: Session) -> Response:
    """Keep names and exclusions."""
    found = notes.parse(await _body(request), session.subject.n)
    session.notes = found
    if not session.read_only:
        await run_in_threadpool(notes.write, session.notes_path, found)
    return _json({"kept": not session.read_only})


async def export_labels(request: Request, session: Session) -> Response:
    """Write labels to a file in the folder."""
    _ready(session)
    if session.read_only:
        return _failure(403, "this explorer is read-only.")
    given = await _body(request)
    settings = asking.settings_of(given.get("settings") or {}, session.engine.start)
    path = export.target(session.folder, given.get("file"), replace=given.get("replace") is True)
    some = given.get("rows")
    if some is not None:
        some = [asking.row_of(row, session.engine.n) for row in list(some)]

    def work() -> int:
        answer = session.engine.answer(settings)
        return export.write(path, session.subject, answer, session.notes, some)

    written = await run_in_threadpool(work)
    return _json({"file": path.name, "folder": str(session.folder), "rows": written})


async def cancel(request: Request, session: Session) -> Response:
    """Stop measuring distances."""
    session.cancel()
    return _json({})


async def events(request: Request, session: Session) -> Response:
    """What happens, as it happens."""
    number, queue = session.listen()

    async def stream() -> AsyncIterator[str]:
        try:
            while True:
                try:
                    kind, record = await asyncio.wait_for(queue.get(), _HEARTBEAT)
                    yield f"event: {kind}\ndata: {json.dumps(clean(record))}\n\n"
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            session.leave(number)

    return StreamingResponse(stream(), media_type="text/event-stream")


# Bytes


async def _body(request: Request) -> dict[str, Any]:
    """JSON object that was sent; neither endless nor for ever."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise InputError("questions are sent as application/json.")
    async with asyncio.timeout(_BODY_SECONDS):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > _MAX_BODY:
                raise InputError("the question is too long.")
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("the question is no JSON.") from None
    if not isinstance(given, dict):
        raise InputError("the question is no JSON object.")
    return given


def _json(record: dict[str, Any]) -> Response:
    return Response(json.dumps(clean(_plain(record))), media_type="application/json")


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _binary(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")
