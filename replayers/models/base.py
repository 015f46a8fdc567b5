"""What a language model is to this project: one call in, one reply out, and a name for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs


@attrs.frozen
class Message:
    """One chat message; ``role`` is the chat role (``system``, ``user``, ``assistant``)."""

    role: str
    content: str


@attrs.frozen(kw_only=True)
class ModelCall:
    """Everything that is asked of a model in one call.

    ``schema`` is a JSON schema the whole answer must satisfy, or None for free text. ``seed`` is
    always sent; it matters when ``temperature`` is above 0.
    """

    messages: tuple[Message, ...]
    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    schema: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class Reply:
    """A model's answer. ``finish`` is ``stop``, ``length`` or ``repetition``."""

    text: str
    finish: str
    prompt_tokens: int
    completion_tokens: int


@attrs.frozen(kw_only=True)
class Card:
    """What answered, for the run header: a ``fingerprint`` and the facts it is made of.

    ``facts`` are plain JSON values (file name, SHA-256, build, device, batch, template …);
    the fingerprint changes whenever a fact that can change an answer does.
    """

    fingerprint: str
    facts: Mapping[str, Any]


class Model(Protocol):
    """A language model; raises `Infrastructure` when it cannot answer at all."""

    @property
    def card(self) -> Card:
        """What this model is."""
        ...

    def complete(self, call: ModelCall) -> Reply:
        """Answer one call."""
        ...


@runtime_checkable
class Parallel(Protocol):
    """What a model has that can answer several calls at once."""

    @property
    def parallel(self) -> int:
        """Most calls that are answered at the same time."""
        ...

    def complete_all(self, calls: Sequence[ModelCall]) -> list[Reply]:
        """Answer calls that do not depend on each other, in their order.

        When one fails, those under way are waited for, then the first in order is raised.
        """
        ...


def at_once(model: Model) -> int:
    """How many calls a model answers at the same time."""
    return model.parallel if isinstance(model, Parallel) else 1


def complete_all(model: Model, calls: Sequence[ModelCall]) -> list[Reply]:
    """Answer calls that do not depend on each other: at once where the model can, else in turn."""
    if isinstance(model, Parallel):
        return model.complete_all(calls)
    return [model.complete(call) for call in calls]


class Embedder(Protocol):
    """Maps a text to a unit-length float32 vector; raises `Infrastructure` when it cannot."""

    @property
    def card(self) -> Card:
        """What this embedder is; ``facts`` hold ``dimensions`` and its calibrated ``theta``."""
        ...

    def embed(self, text: str) -> bytes:
        """Little-endian float32 bytes of the unit vector; one text per call, always."""
        ...
