"""A small OpenAI-compatible server in this process, that may fail in every way a server can."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
from scripted import ScriptedModel

from discernmem.replayers.models.base import Message, ModelCall

Response = tuple[int, Any]
"""A status and a body: bytes, or what is sent as JSON."""

Answer = Callable[[dict[str, Any]], Response]


def chat(text: str | None, **more: Any) -> Response:
    """An answer with one choice; ``more`` goes into the choice."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    return 200, {"choices": [choice | more], "usage": usage, "system_fingerprint": "b1-abc"}


def schema_in(body: dict[str, Any]) -> tuple[str, Any]:
    """The dialect a request is in, and its schema."""
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        return "json_schema", form["json_schema"]["schema"]
    if form.get("type") == "json_object":
        return "json_object", form["schema"]
    return ("native", body["json_schema"]) if "json_schema" in body else ("none", None)


def obedient(body: dict[str, Any]) -> Response:
    """Obeys every schema, with the first of each choice, and else says hello."""
    schema = schema_in(body)[1]
    if schema is None:
        return chat("hello")
    return chat(json.dumps({name: rule["enum"][0] for name, rule in schema["properties"].items()}))


def scripted(model: ScriptedModel) -> Answer:
    """What ``model`` says; probes, which have no system message, find a capable server."""

    def answer(body: dict[str, Any]) -> Response:
        messages = tuple(Message(each["role"], each["content"]) for each in body["messages"])
        schema = schema_in(body)[1]
        if messages[0].role != "system":
            return obedient(body) if schema else chat(f"drawn from {body['seed']}")
        call = ModelCall(
            messages=messages,
            schema=schema,
            **{name: body[name] for name in ("temperature", "top_p", "max_tokens", "seed")},
        )
        return chat(model.complete(call).text)

    return answer


@attrs.define
class Endpoint:
    """The server; what it answers may be replaced at any time.

    ``requests`` and ``headers`` hold what was asked, ``pages`` what other addresses show. `close`
    takes it down, `open` brings it back at the same address.
    """

    answer: Answer = obedient
    models: Response = (200, {"data": [{"id": "m", "owned_by": "us", "created": 1}]})
    pages: dict[str, Response] = attrs.Factory(dict)
    retry_after: str | None = None
    encoding: str | None = None
    requests: list[dict[str, Any]] = attrs.Factory(list)
    headers: list[dict[str, str]] = attrs.Factory(list)
    _port: int = 0
    _http: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Its address up to the version."""
        return f"http://127.0.0.1:{self._port}/v1"

    def open(self) -> Endpoint:
        """Listen, at the address it had before if there was one."""
        http = _Server(("127.0.0.1", self._port), _handler(self))
        self._http, self._port = http, http.server_port
        threading.Thread(
            target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def close(self) -> None:
        """Stop listening; may be called while it answers."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def __enter__(self) -> Endpoint:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()


class HungUp(Exception):
    """Raised by an answer to end the connection without one."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """A client that gave up, or a server that hung up, is no news."""


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = self.path == "/v1/models"
            page = endpoint.models if listed else endpoint.pages.get(self.path, (404, {}))
            self._send(*page)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.requests.append(body)
            endpoint.headers.append(dict(self.headers))
            self._send(*endpoint.answer(body))

        def _send(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if endpoint.retry_after:
                self.send_header("Retry-After", endpoint.retry_after)
            if endpoint.encoding:
                self.send_header("Content-Encoding", endpoint.encoding)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
