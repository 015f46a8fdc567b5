"""Exchanges with an HTTP server that may fail: only its failures are tried again."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from ...eventlog.errors import Infrastructure
from .cards import clean

ATTEMPTS = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
BODY_SHOWN = 200
_LOOK_SECONDS = 10.0
_TRANSIENT = frozenset({408, 429})
_ONLY_UNKNOWN = frozenset({500, 501})

Answer = dict[str, Any]


class RefusedError(Exception):
    """An HTTP status that is an answer, not an accident."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status
        self.transient = status >= 500 or status in _TRANSIENT


class Exchange:
    """One server, asked through one small client per slot: large ones collapse when crowded."""

    def __init__(
        self,
        url: httpx.URL,
        *,
        what: str,
        remedy: str,
        timeout: float,
        pause: Callable[[float], None],
        key: str | None = None,
        slots: int = 1,
    ) -> None:
        """Describe a server; nothing is sent yet.

        Args:
            url: what every path is put behind.
            what: what is there, for messages.
            remedy: what to do before resuming when it fails.
            timeout: seconds to wait for an answer.
            pause: waits between attempts.
            key: sent as a bearer token, and never shown.
            slots: the clients, each for one exchange at a time.
        """
        self.url = str(url.copy_with(username=None, password=None, query=None)).rstrip("/")
        self._what = what
        self._remedy = remedy
        self._key = key
        self._pause = pause
        verify = httpx.create_ssl_context()
        self._clients = [
            httpx.Client(
                timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
                headers={"Authorization": f"Bearer {key}"} if key else {},
                verify=verify,
            )
            for _ in range(slots)
        ]

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        usable: Callable[[Answer], bool] = lambda _: True,
        probing: bool = False,
        slot: int = 0,
    ) -> Answer:
        """One exchange, tried again while the server is away, busy, or broken.

        Args:
            method: the HTTP method.
            path: what follows the server's address.
            body: sent as JSON.
            usable: whether an answer is whole; one that is not comes from a broken server.
            probing: 500 and 501 are refusals too, as some servers send them to what they do not
                know.
            slot: whose client to use.

        Raises:
            RefusedError: the server refused the request itself.
            Infrastructure: no usable answer after all attempts.
        """
        for attempt in range(1, ATTEMPTS + 1):
            wait = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
            try:
                response = self._clients[slot].request(method, self.url + path, json=body)
            except httpx.RequestError as error:
                trouble = f"does not answer ({str(error) or type(error).__name__}"
            else:
                if response.is_success:
                    answer = _decoded(response)
                    if isinstance(answer, dict) and usable(answer):
                        return answer
                    trouble = f"answers with something else ({self._shown(response.text)}"
                else:
                    refusal = RefusedError(response.status_code, self._shown(response.text))
                    if not refusal.transient or (probing and refusal.status in _ONLY_UNKNOWN):
                        raise refusal
                    trouble = f"does not answer ({refusal}"
                    wait = _asked_wait(response, wait)
            if attempt < ATTEMPTS:
                self._pause(wait)
        raise Infrastructure(
            f"the {self._what} at {self.url} {trouble}, {ATTEMPTS} attempts): {self._remedy}, "
            "then resume"
        )

    def look(self, url: str) -> Any:
        """What is at an address that a server may not have: JSON, or None for any trouble."""
        try:
            response = self._clients[0].get(url, timeout=_LOOK_SECONDS)
        except httpx.RequestError:
            return None
        return _decoded(response) if response.is_success else None

    def _shown(self, body: str) -> str:
        """The start of a body on one line, without the key that some servers repeat."""
        if self._key:
            body = body.replace(self._key, "***")
        return clean(" ".join(body.split()))[:BODY_SHOWN]


def _decoded(response: httpx.Response) -> Any:
    """The JSON value of a body, or None for what is none."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _asked_wait(response: httpx.Response, otherwise: float) -> float:
    """Seconds the server asks to wait, as a number or as a date, within our limit."""
    asked = response.headers.get("retry-after", "").strip()
    if asked.isdecimal():
        return min(float(asked), LONGEST_PAUSE)
    try:
        seconds = parsedate_to_datetime(asked).timestamp() - time.time()
    except ValueError:
        return otherwise
    return min(max(seconds, 0.0), LONGEST_PAUSE)
