"""The server: a port that is free, a token nobody can guess, one address to open."""

from __future__ import annotations

import errno
import secrets
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any

from crlm.errors import InputError, ParameterError
from crlm.explorer.app import make_app
from crlm.explorer.guard import Guard
from crlm.explorer.inline import frame
from crlm.explorer.session import Session

PORT = 5151
_TRIES = 100


class Explorer:
    """A running explorer.

    Attributes
    ----------
    url : str
        The address to open, with its token.
    session : Session
    """

    def __init__(self, session: Session, *, host: str, port: int, auto_port: bool = True) -> None:
        import uvicorn

        self.session = session
        self._socket = listening(host, port, auto_port)
        self.host, self.port = host, self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        guard = Guard(make_app(session), token=self.token, host=_named(host), port=self.port)
        config = uvicorn.Config(
            guard,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            timeout_keep_alive=10,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._started = False
        # Asked in place of the thread, which an interrupted `join` takes to be gone (CPython 3.11).
        self._ended = threading.Event()

    @property
    def url(self) -> str:
        """The address to open."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else _named(self.host)
        return f"http://{host}:{self.port}/?token={self.token}"

    def start(self) -> Explorer:
        """Serve from a thread of its own; returns when it answers."""
        self.session.start()
        self._started = True
        threading.Thread(target=self._serve, name="crlm-server", daemon=True).start()
        while not (self._server.started or self._ended.is_set()):
            time.sleep(0.01)
        return self

    def open(self) -> bool:
        """Open the address in a browser, if there is one."""
        try:
            return webbrowser.open(self.url)
        except webbrowser.Error:
            return False

    def wait(self) -> None:
        """Serve until somebody interrupts."""
        while self._started and not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """Stop."""
        self.session.cancel()
        self._server.should_exit = True
        if self._started:
            self._ended.wait(5)
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer of {self.session.subject.name}: {self.url}"

    def _repr_html_(self) -> str:
        """In a notebook: the clusters at every stop, in a frame that needs no server."""
        from html import escape

        if not self.session.wait():
            return f"<p>{escape(str(self.session.phase.get('message', 'cancelled')))}</p>"
        address = escape(self.url)
        more = f'<p>With names, members and export: <a href="{address}">{address}</a></p>'
        return frame(self.session) + more

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()


def listening(host: str, port: int, auto_port: bool) -> socket.socket:
    """Socket on the port, or with `auto_port` on the next one that is free.

    Raises
    ------
    ParameterError
        There is none, or the host is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in range(port, min(port + _TRIES, 65536)) if port and auto_port else [port]:
        server = socket.socket(family, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Answers go out at once: otherwise each waits 40 ms for the other side to say so.
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            server.bind((host, number))
            server.listen(512)
            return server
        except OSError as error:
            server.close()
            if error.errno == errno.EADDRINUSE and auto_port:
                continue
            raise _refused(host, number, error) from error
    msg = f"ports {port} to {port + _TRIES - 1} are all taken. Choose another with --port."
    raise ParameterError(msg)


def _refused(host: str, port: int, error: OSError) -> ParameterError:
    if error.errno == errno.EADDRINUSE:
        return ParameterError(f"port {port} is taken. Choose another with --port, or --auto-port.")
    return ParameterError(
        f"cannot listen on {host}, port {port}: {error.strerror or error}. --host must be an "
        "address of this machine."
    )


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def start_folder() -> Path:
    """Folder that exports go to."""
    folder = Path.cwd()
    if not folder.is_dir():
        raise InputError("the current folder does not exist any more.")
    return folder


def in_a_notebook() -> bool:
    """Whether results are shown as HTML, in place of a browser."""
    kernel = sys.modules.get("IPython")
    shell = kernel.get_ipython() if kernel is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host of this name."""
    return host in ("127.0.0.1", "localhost", "::1")


def make(session: Session, **where: Any) -> Explorer:
    """Explorer with the usual host and port."""
    return Explorer(session, **{"host": "127.0.0.1", "port": PORT, "auto_port": True, **where})
