"""Any server that speaks the OpenAI chat protocol: vLLM, llama-server, Ollama and others."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import attrs
import httpx

from ...eventlog.errors import BadInput, Infrastructure
from .base import Card, Message, ModelCall, Reply
from .cards import clean, make_card
from .dialects import DIALECTS, PROBE_QUESTION, PROBE_SCHEMA, obeys

API_KEY_VARIABLE = "DISCERNMEM_API_KEY"
ATTEMPTS = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
_BODY_SHOWN = 200
_TRANSIENT = frozenset({408, 429})
# What a server says of a model that stays the same from request to request.
_MODEL_FACTS = ("id", "owned_by", "root", "parent", "max_model_len", "meta")


@attrs.frozen(kw_only=True)
class _Server:
    """What the server told about itself once."""

    model: dict[str, Any]
    dialect: str | None
    system_fingerprint: str | None


class _RefusedError(Exception):
    """An HTTP status that is an answer, not an accident."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status
        self.transient = status >= 500 or status in _TRANSIENT


class OpenAIModel:
    """A model behind ``/chat/completions``.

    What the server is and which schema dialect it truly enforces is asked once, before the first
    call; only failures of the infrastructure are retried.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        dialect: str = "auto",
        timeout: float = 600.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Describe a server; nothing is sent yet.

        Args:
            base_url: up to and including the version, for example ``http://localhost:8000/v1``.
            model: the model's name at that server.
            api_key: by default the environment variable ``DISCERNMEM_API_KEY``.
            dialect: ``json_schema``, ``json_object``, ``native``, or ``auto`` to probe.
            timeout: seconds to wait for an answer.
            pause: waits between attempts.

        Raises:
            BadInput: the URL or the dialect is not usable.
        """
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise BadInput(f"model server {base_url!r}: write http://host:port/v1")
        if dialect != "auto" and dialect not in DIALECTS:
            raise BadInput(f"dialect {dialect!r}: one of auto, {', '.join(DIALECTS)}")
        self._key = api_key or os.environ.get(API_KEY_VARIABLE)
        self._url = str(url.copy_with(username=None, password=None, query=None)).rstrip("/")
        self._model = model
        self._dialect = dialect
        self._pause = pause
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def card(self) -> Card:
        """Model, server build and dialect; the address is a fact but decides nothing."""
        server = self._server
        deciding = {
            "backend": "openai",
            "model": self._model,
            "server_model": server.model,
            "system_fingerprint": server.system_fingerprint,
            "dialect": server.dialect,
        }
        return make_card(deciding, {"base_url": self._url})

    def complete(self, call: ModelCall) -> Reply:
        """Answer one call.

        Raises:
            BadInput: the server refuses the request, or enforces no schema.
            Infrastructure: the server cannot be reached or fails.
        """
        dialect = self._server.dialect
        if call.schema is not None and dialect is None:
            raise BadInput(
                f"the server at {self._url} enforces no JSON schema in any known dialect "
                f"({', '.join(DIALECTS)}); use another server"
            )
        try:
            return _reply(self._post(call, dialect))
        except _RefusedError as refusal:
            raise self._explain(refusal) from None

    # -- asking once ---------------------------------------------------------------------------

    @functools.cached_property
    def _server(self) -> _Server:
        """Look at the server: its models, its schema dialect, its build."""
        listed = self._listed_model()
        if self._dialect != "auto":
            answer = self._probe(self._dialect)
            return _Server(model=listed, dialect=self._dialect, system_fingerprint=_build(answer))
        answer = None
        for dialect in DIALECTS:
            answer = self._probe(dialect) or answer
            if answer is not None and obeys(_text(answer), PROBE_SCHEMA):
                return _Server(model=listed, dialect=dialect, system_fingerprint=_build(answer))
        if answer is None:
            # Every dialect was refused: show what the server says to a plain question.
            try:
                answer = self._post(_PROBE, None)
            except _RefusedError as refusal:
                raise self._explain(refusal) from None
        return _Server(model=listed, dialect=None, system_fingerprint=_build(answer))

    def _listed_model(self) -> dict[str, Any]:
        """The server's entry for the model; empty where it lists none."""
        try:
            listing = self._send("GET", "/models", None)
        except _RefusedError as refusal:
            if refusal.status in (401, 403):
                raise self._explain(refusal) from None
            return {}
        entries = listing.get("data")
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("id") == self._model:
                return {name: entry[name] for name in _MODEL_FACTS if entry.get(name) is not None}
        return {}

    def _probe(self, dialect: str) -> dict[str, Any] | None:
        """The answer to the probe in a dialect, or None if the server refuses it."""
        try:
            return self._post(_PROBE, dialect, probing=True)
        except _RefusedError as refusal:
            if refusal.status in (401, 403, 404):
                raise self._explain(refusal) from None
            return None

    # -- sending -------------------------------------------------------------------------------

    def _post(
        self, call: ModelCall, dialect: str | None, *, probing: bool = False
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": message.role, "content": clean(message.content)}
                for message in call.messages
            ],
            "temperature": call.temperature,
            "top_p": call.top_p,
            "max_tokens": call.max_tokens,
            "seed": call.seed,
        }
        if call.schema is not None and dialect is not None:
            body |= DIALECTS[dialect](call.schema)
        return self._send("POST", "/chat/completions", body, probing=probing)

    def _send(
        self, method: str, path: str, body: object, *, probing: bool = False
    ) -> dict[str, Any]:
        """One exchange, retried when the infrastructure fails.

        Raises:
            _RefusedError: the server refused the request itself; while probing also with 500 or
                501, as some do to a dialect they do not know.
            Infrastructure: no usable answer after all attempts.
        """
        for attempt in range(1, ATTEMPTS + 1):
            wait = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
            try:
                response = self._client.request(method, self._url + path, json=body)
            except httpx.TransportError as error:
                trouble = str(error) or type(error).__name__
            else:
                if response.is_success:
                    return self._decoded(response)
                refusal = _RefusedError(response.status_code, self._shown(response.text))
                if not refusal.transient or (probing and refusal.status in (500, 501)):
                    raise refusal
                trouble = str(refusal)
                wait = _asked_wait(response, wait)
            if attempt < ATTEMPTS:
                self._pause(wait)
        raise Infrastructure(
            f"the model server at {self._url} does not answer ({trouble}, {ATTEMPTS} attempts): "
            "check that it runs, then resume"
        )

    def _decoded(self, response: httpx.Response) -> dict[str, Any]:
        try:
            decoded = response.json()
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise Infrastructure(
                f"the server at {self._url} answered with no JSON object "
                f"({self._shown(response.text)}): is this an OpenAI-compatible address?"
            )
        return decoded

    def _shown(self, body: str) -> str:
        """The start of a body on one line, without the key that some servers repeat."""
        if self._key:
            body = body.replace(self._key, "***")
        return clean(" ".join(body.split()))[:_BODY_SHOWN]

    def _explain(self, refusal: _RefusedError) -> BadInput:
        remedy = {
            401: f"set {API_KEY_VARIABLE}",
            403: f"set {API_KEY_VARIABLE}",
            404: f"check the address and the model name {self._model!r}",
        }.get(refusal.status, "check the model name and the request limits")
        return BadInput(f"the model server at {self._url} refuses: {refusal}; {remedy}")


_PROBE = ModelCall(
    messages=(Message("user", PROBE_QUESTION),),
    temperature=0.0,
    top_p=1.0,
    max_tokens=64,
    seed=0,
    schema=PROBE_SCHEMA,
)


def _asked_wait(response: httpx.Response, otherwise: float) -> float:
    """Seconds the server asks to wait, within our limit."""
    try:
        return min(max(float(response.headers["retry-after"]), 0.0), LONGEST_PAUSE)
    except (KeyError, ValueError):
        return otherwise


def _choice(answer: dict[str, Any]) -> dict[str, Any]:
    try:
        choice = answer["choices"][0]
        if isinstance(choice["message"], dict):
            return dict(choice)
    except (KeyError, IndexError, TypeError):
        pass
    raise Infrastructure(f"the model server's answer has no message: {str(answer)[:_BODY_SHOWN]}")


def _text(answer: dict[str, Any]) -> str:
    return clean(str(_choice(answer)["message"].get("content") or ""))


def _build(answer: dict[str, Any] | None) -> str | None:
    found = (answer or {}).get("system_fingerprint")
    return None if found is None else str(found)


def _reply(answer: dict[str, Any]) -> Reply:
    usage = answer.get("usage") or {}
    # Anything but a natural end means the server cut the answer.
    finish = "stop" if _choice(answer).get("finish_reason") in ("stop", None) else "length"
    return Reply(
        text=_text(answer),
        finish=finish,
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
    )
