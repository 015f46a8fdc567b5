"""The HTTP side of the role gateway: loopback only, a thread per request, nothing decided here."""

from __future__ import annotations

import re
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, unquote

import orjson

from ...eventlog.errors import BadInput, Infrastructure
from ..hosts.base import Spoken
from . import chat
from .desk import Call, Desk, Lookup, Work
from .errors import NotServed

HOST = "127.0.0.1"
LARGEST = 16 * 1024 * 1024
"""Bytes of the largest body that is read."""
_DIGITS = 4000  # a number of more is none to Python

_RUN = r"/run/(?P<run>[^/]+)"
_ROLE = rf"{_RUN}/role/(?P<role>[^/]+)"
_FAREWELL = 2.0  # seconds within which the last answers are sent when the server closes


class Server:
    """Serves one desk until it is closed.

    Attributes:
        desk: where requests are laid.
    """

    def __init__(self, roles: Sequence[str], port: int = 0) -> None:
        """Listen on a loopback port, 0 for any free one.

        Raises:
            BadInput: the port is not free.
        """
        self.desk = Desk(roles)
        self._roles = tuple(roles)
        try:
            self._http = _Http((HOST, port), _handler(self))
        except (OSError, OverflowError) as error:
            raise BadInput(
                f"port {port}: cannot be served ({error}); name another one, or none"
            ) from None
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://{HOST}:{self._http.server_port}"

    def run_url(self, run: str) -> str:
        """The address of a run."""
        return f"{self.url}/run/{run}"

    def told(self, work: Work) -> dict[str, Any]:
        """What a team is told of its work: with the base URL for each role's client."""
        place = self.run_url(work.run)
        urls = {role: f"{place}/role/{quote(role, safe='')}/v1" for role in self._roles}
        return {"run": work.run, "task": work.task, "prompt": work.prompt, "roles": urls}

    def close(self, trouble: str = "") -> None:
        """Tell everybody who waits how it ended, and stop listening."""
        self.desk.close(trouble)
        self._http.wait_until_idle(_FAREWELL)
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *args: Any) -> None:
        self._busy = 0
        self._idle = threading.Condition()
        super().__init__(*args)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._idle:
            self._busy += 1
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def wait_until_idle(self, seconds: float) -> None:
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news here."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        service = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    """One request. Connections are not kept, so that a closed one means a client that is gone."""

    service: Server
    content = b""
    timeout = 60.0  # of a client that stops in the middle of a request

    def do_GET(self) -> None:
        self._serve({r"/next": self._next, rf"{_ROLE}/v1/models": self._models})

    def do_POST(self) -> None:
        self._serve(
            {
                rf"{_ROLE}/v1/chat/completions": self._chat,
                rf"{_ROLE}/search": self._search,
                rf"{_RUN}/answer": self._answer,
            }
        )

    def log_message(self, *_: object) -> None:
        """Requests are in the log of events, not on the terminal."""

    def _serve(self, routes: dict[str, Callable[..., None]]) -> None:
        try:
            self._require_local()
            if self.command == "POST":
                self.content = self._body()  # also where it is refused: else the refusal is lost
            path = self.path.partition("?")[0]
            for pattern, answer in routes.items():
                if found := re.fullmatch(pattern, path):
                    answer(**{name: unquote(text) for name, text in found.groupdict().items()})
                    return
            raise NotServed(404, f"nothing is served at {path}")
        except NotServed as error:
            self._send(error.status, chat.refusal(error))

    def _require_local(self) -> None:
        """Refuse pages in a browser, which may reach loopback on behalf of anybody."""
        name = self.headers.get("Host", "").rpartition(":")[0]
        if name not in (HOST, "localhost") or "Origin" in self.headers:
            raise NotServed(403, "only programs on this machine are served, at its own address")

    # -- what is served ------------------------------------------------------------------------

    def _models(self, role: str, **_: str) -> None:
        self.service.desk.require_role(role)
        self._send(200, chat.models())

    def _chat(self, run: str, role: str) -> None:
        request = chat.read_request(self.content)
        spoken = self._ask(Call(run=run, role=role, gone=self._gone, request=request))
        headers = {"X-Discernmem-Overridden": ", ".join(request.overridden)}
        if request.stream:
            data = chat.chunks(request, spoken.text, spoken.event_id)
            self._send(200, data, {**headers, "Content-Type": "text/event-stream"})
        else:
            self._send(200, chat.answer(request, spoken.text, spoken.event_id), headers)

    def _search(self, run: str, role: str) -> None:
        query = self._text("query")
        found = self._ask(Lookup(run=run, role=role, gone=self._gone, query=query))
        self._send(200, {"text": found.text})

    def _answer(self, run: str) -> None:
        self.service.desk.answer(run, self._text("answer"))
        self._send(200, {"accepted": True})

    def _next(self) -> None:
        work = self.service.desk.fetch(self._gone)
        self._send(200, {"finished": True} if work is None else self.service.told(work))

    def _ask(self, item: Call | Lookup) -> Spoken:
        try:
            return self.service.desk.lay(item).result()
        except Infrastructure as error:
            raise NotServed(503, str(error)) from None

    # -- bytes ---------------------------------------------------------------------------------

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise NotServed(411, "say the Content-Length of the body")
        if len(length) > _DIGITS or int(length) > LARGEST:
            raise NotServed(413, f"the body is larger than {LARGEST} bytes")
        return self.rfile.read(int(length))

    def _text(self, name: str) -> str:
        found = chat.read_object(self.content).get(name)
        if not isinstance(found, str):
            raise NotServed(400, f'the body must be {{"{name}": "…"}}')
        return found

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _gone(self) -> bool:
        """Whether the client hung up while it waited."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.connection, selectors.EVENT_READ)
                heard = selector.select(0)
            return bool(heard) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):  # it was closed on this side too
            return True
