"""Who may ask: a browser on this machine that was given the token, and no other page in it.

Every request must name this server as its host (a foreign name that was made to point here is
refused), must not come from another origin, and must carry the token, in a cookie or a header.
No answer allows other origins to read it, and no page may load anything from elsewhere.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Guard:
    """Middleware: lets through what may pass, and says no to the rest."""

    def __init__(self, app: Any, *, token: str, host: str, port: int) -> None:
        self._app, self._token, self._host, self._port = app, token, host, port
        self.cookie = f"crlm-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] != "http":
            return  # no websockets, no lifespan
        headers = {name.decode("latin-1"): value for name, value in reversed(scope["headers"])}
        given = _query_token(scope)
        if problem := self._problem(scope, headers, given):
            await self._refuse(send, *problem)
        elif given is not None and scope["path"] == "/" and scope["method"] == "GET":
            await self._welcome(send)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _problem(
        self, scope: Scope, headers: dict[str, bytes], given: str | None
    ) -> tuple[int, str] | None:
        if not self._is_own(headers.get("host", b"").decode("latin-1")):
            return 421, "this is not the address of this server."
        if not self._is_same_origin(headers):
            return 403, "requests from other pages are refused."
        if not self._has_token(headers, given):
            return 401, "open the address that crlm explore printed; it ends in a token."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "this method is not used here."
        return None

    def _is_own(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if port != str(self._port):
            return False
        if name in _LOOPBACK or name == self._host:
            return True
        # Open to other machines, it is reached by one of its numbers. Names are not believed:
        # any can be made to point here.
        return self._host not in _LOOPBACK and _is_address(name)

    def _is_same_origin(self, headers: dict[str, bytes]) -> bool:
        site = headers.get("sec-fetch-site", b"none")
        if site not in (b"same-origin", b"none"):
            return False
        origin = headers.get("origin")
        return origin is None or origin == b"http://" + headers["host"]

    def _has_token(self, headers: dict[str, bytes], given: str | None) -> bool:
        found = [given, _bearer(headers), self._cookie_token(headers)]
        return any(
            secrets.compare_digest(one.encode(), self._token.encode())
            for one in found
            if one is not None
        )

    def _cookie_token(self, headers: dict[str, bytes]) -> str | None:
        try:
            jar = SimpleCookie(headers.get("cookie", b"").decode("latin-1"))
        except CookieError:
            return None
        return jar[self.cookie].value if self.cookie in jar else None

    async def _welcome(self, send: Send) -> None:
        """Put the token into a cookie and out of the address bar."""
        cookie = f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        headers = {**HEADERS, "location": "/", "set-cookie": cookie}
        await _answer(send, 303, b"", headers)

    async def _refuse(self, send: Send, status: int, why: str) -> None:
        headers = {**HEADERS, "content-type": "text/plain; charset=utf-8"}
        await _answer(send, status, f"crlm: {why}\n".encode(), headers)


def _query_token(scope: Scope) -> str | None:
    values = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return values[0] if values else None


def _bearer(headers: dict[str, bytes]) -> str | None:
    kind, _, token = headers.get("authorization", b"").decode("latin-1").partition(" ")
    return token if kind.lower() == "bearer" else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = _encoded(HEADERS)
            message["headers"] = [
                *message["headers"],
                *(pair for pair in more if pair[0] not in own),
            ]
        await send(message)

    return sending


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    length = {"content-length": str(len(body))}
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": _encoded({**headers, **length})})
    await send({"type": "http.response.body", "body": body})
