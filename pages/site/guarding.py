"""Who may ask a server, and what goes with every answer."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from .assets import DATASETTE_POLICY

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")
_ALWAYS: Final = {
    b"content-security-policy": DATASETTE_POLICY.encode(),
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
}


class Guard:
    """Lets through only requests that read and that name this server as their host.

    A page of another site can make its own name stand for this machine and then ask as if it were
    of our site; the name it goes by gives it away. An address cannot be made to stand for another.

    Args:
        app: what is guarded.
        host: the name or address the server was told to listen at.
    """

    def __init__(self, app: App, host: str) -> None:
        self._app = app
        self._host = host.lower()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        named = next((value for key, value in scope["headers"] if key == b"host"), b"localhost")
        if not is_ours(named.decode("latin-1"), self._host):
            await _refuse(
                send, 400, "This server answers only to its own name; see the address it printed."
            )
        elif scope["method"] not in ("GET", "HEAD"):
            await _refuse(send, 405, "This server only reads; ask with GET.")
        else:
            await self._app(scope, receive, _with_headers(send))


def is_ours(named: str, host: str) -> bool:
    """Whether a Host header names a server that listens at ``host``."""
    found = _HOST.fullmatch(named.lower())
    if found is None:
        return False
    name = found[1].strip("[]")
    if name in (host, "localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            given = {key.lower() for key, _ in headers}
            headers += [[key, value] for key, value in _ALWAYS.items() if key not in given]
            message = {**message, "headers": headers}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [[b"content-type", b"text/plain; charset=utf-8"]]
    headers += [[key, value] for key, value in _ALWAYS.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})
