"""Any server that speaks the OpenAI chat protocol: vLLM, llama-server, Ollama and others."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import httpx

from ...eventlog.errors import BadInput
from .base import Card, ModelCall, Reply
from .cards import clean, make_card
from .dialects import DIALECTS
from .exchange import Answer, Exchange, RefusedError
from .probing import SCHEMA_PROBE, Seed, Tried, find_dialect, find_seed, find_slots
from .together import together

API_KEY_VARIABLE = "DISCERNMEM_API_KEY"
# What a server says of a model that stays the same from request to request.
_MODEL_FACTS = ("id", "owned_by", "root", "parent", "max_model_len", "meta")


@attrs.frozen(kw_only=True)
class _Server:
    """What the server told about itself and was found to do, once."""

    model: dict[str, Any]
    dialect: str | None
    build: str | None
    seed: Seed
    slots: int | None


class OpenAIModel:
    """A model behind ``/chat/completions``.

    What the server is and what it truly does with a schema and a seed is found out once, before
    the first call; only failures of the infrastructure are tried again.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        dialect: str = "auto",
        parallel: int = 1,
        timeout: float = 600.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Describe a server; nothing is sent yet.

        Args:
            base_url: up to and including the version, for example ``http://localhost:8000/v1``.
            model: the model's name at that server.
            api_key: by default the environment variable ``DISCERNMEM_API_KEY``.
            dialect: ``json_schema``, ``json_object``, ``native``, or ``auto`` to probe.
            parallel: most requests at the same time.
            timeout: seconds to wait for an answer.
            pause: waits between attempts.

        Raises:
            BadInput: the URL, the dialect or the number of requests is not usable.
        """
        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL:
            url = httpx.URL()
        if url.scheme not in ("http", "https") or not url.host:
            raise BadInput(f"model server {base_url!r}: write http://host:port/v1")
        if dialect != "auto" and dialect not in DIALECTS:
            raise BadInput(f"dialect {dialect!r}: one of auto, {', '.join(DIALECTS)}")
        if parallel < 1:
            raise BadInput(f"parallel must be 1 or more requests (got {parallel})")
        self._model = model
        self._dialect = dialect
        self.parallel = parallel
        key = api_key or os.environ.get(API_KEY_VARIABLE)
        self._exchange = Exchange(
            url,
            what="model server",
            remedy="check that it runs and is OpenAI-compatible",
            timeout=timeout,
            pause=pause,
            key=key,
            slots=parallel,
        )

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()

    @property
    def card(self) -> Card:
        """Model, server build and dialect decide; the address, the seed's fate and slots do not."""
        server = self._server
        deciding = {
            "backend": "openai",
            "model": self._model,
            "server_model": server.model,
            "system_fingerprint": server.build,
            "dialect": server.dialect,
        }
        other = {"base_url": self._exchange.url, "seed": server.seed, "slots": server.slots}
        return make_card(deciding, other)

    def complete(self, call: ModelCall) -> Reply:
        """Answer one call.

        Raises:
            BadInput: the server refuses the request, or enforces no schema.
            Infrastructure: the server cannot be reached, or is broken.
        """
        return self._complete(call, 0)

    def complete_all(self, calls: Sequence[ModelCall]) -> list[Reply]:
        """Answer calls that do not depend on each other, in their order.

        Raises:
            BadInput: as `complete`.
            Infrastructure: as `complete`, of the first call in order that failed, after those
                under way have ended.
        """
        assert self._server  # asked before there are threads
        return together(self._complete, calls, self.parallel)

    def _complete(self, call: ModelCall, slot: int) -> Reply:
        dialect = self._server.dialect
        if call.schema is not None and dialect is None:
            raise BadInput(
                f"the server at {self._exchange.url} enforces no JSON schema in any known dialect "
                f"({', '.join(DIALECTS)}); use another server"
            )
        try:
            return _reply(self._post(call, dialect, slot=slot))
        except RefusedError as refusal:
            raise self._explain(refusal) from None

    # -- asking once ---------------------------------------------------------------------------

    @functools.cached_property
    def _server(self) -> _Server:
        """Look at the server: its models, its build, what it does with a schema and a seed."""
        listed = self._listed_model()
        if self._dialect == "auto":
            dialect, answer = find_dialect(self._try)
        else:
            dialect, answer = self._dialect, self._try(SCHEMA_PROBE, self._dialect)
        if answer is None and dialect is None:
            # Every dialect was refused: show what the server says to a plain question.
            try:
                answer = _tried(self._post(SCHEMA_PROBE, None))
            except RefusedError as refusal:
                raise self._explain(refusal) from None
        return _Server(
            model=listed,
            dialect=dialect,
            build=answer.build if answer is not None else None,
            seed=find_seed(self._try),
            slots=find_slots(self._exchange.look, self._exchange.url),
        )

    def _listed_model(self) -> dict[str, Any]:
        """The server's entry for the model; empty where it lists none."""
        try:
            listing = self._exchange.send("GET", "/models")
        except RefusedError as refusal:
            if refusal.status in (401, 403):
                raise self._explain(refusal) from None
            return {}
        entries = listing.get("data")
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("id") == self._model:
                return {name: entry[name] for name in _MODEL_FACTS if entry.get(name) is not None}
        return {}

    def _try(self, call: ModelCall, dialect: str | None) -> Tried | None:
        """The answer to a probe, or None if the server refuses it."""
        try:
            return _tried(self._post(call, dialect, probing=True))
        except RefusedError as refusal:
            if refusal.status in (401, 403, 404):
                raise self._explain(refusal) from None
            return None

    # -- sending -------------------------------------------------------------------------------

    def _post(
        self, call: ModelCall, dialect: str | None, *, probing: bool = False, slot: int = 0
    ) -> Answer:
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
        return self._exchange.send(
            "POST", "/chat/completions", body, usable=_has_message, probing=probing, slot=slot
        )

    def _explain(self, refusal: RefusedError) -> BadInput:
        remedy = {
            401: f"set {API_KEY_VARIABLE}",
            403: f"set {API_KEY_VARIABLE}",
            404: f"check the address and the model name {self._model!r}",
        }.get(refusal.status, "check the model name and the request limits")
        return BadInput(f"the model server at {self._exchange.url} refuses: {refusal}; {remedy}")


def _has_message(answer: Answer) -> bool:
    """Whether there is a first choice with a message; an empty text is one, too."""
    try:
        content = answer["choices"][0]["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        return False
    return content is None or isinstance(content, str)


def _text(answer: Answer) -> str:
    return clean(answer["choices"][0]["message"].get("content") or "")


def _tried(answer: Answer) -> Tried:
    build = answer.get("system_fingerprint")
    return Tried(text=_text(answer), build=None if build is None else str(build))


def _reply(answer: Answer) -> Reply:
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    # Anything but a natural end means the server cut the answer.
    finish = "stop" if answer["choices"][0].get("finish_reason") in ("stop", None) else "length"
    return Reply(
        text=_text(answer),
        finish=finish,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
    )


def _count(value: object) -> int:
    """A number of tokens; what a server does not count is 0."""
    return value if isinstance(value, int) and value > 0 else 0
