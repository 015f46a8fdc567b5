"""A model or embedder known from a log, opened only when it is asked what the log does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from ...eventlog.errors import BadInput
from .base import Card, Embedder, Model, ModelCall, Reply

T = TypeVar("T", Model, Embedder)


def card_of(facts: dict[str, Any]) -> Card:
    """The card that a run's header holds."""
    return Card(
        fingerprint=facts["fingerprint"],
        facts={name: fact for name, fact in facts.items() if name != "fingerprint"},
    )


@attrs.define(slots=False)
class _Deferred(Generic[T]):
    """``card`` as recorded; ``open_`` opens the real thing, whose fingerprint must be the same."""

    card: Card
    open_: Callable[[], T]
    _opened: T | None = attrs.field(default=None, init=False)

    def _real(self) -> T:
        if self._opened is None:
            opened = self.open_()
            if opened.card.fingerprint != self.card.fingerprint:
                raise BadInput(
                    f"{self.card.facts.get('name', 'the model')} was recorded with fingerprint "
                    f"{self.card.fingerprint[:12]} and has {opened.card.fingerprint[:12]} now; "
                    "go on where it is the same, or fork with another one"
                )
            self._opened = opened
        return self._opened


class DeferredModel(_Deferred[Model]):
    """A language model that is opened at its first call."""

    def complete(self, call: ModelCall) -> Reply:
        """As `Model.complete`; raises `BadInput` too, should it be another model now."""
        return self._real().complete(call)


class DeferredEmbedder(_Deferred[Embedder]):
    """An embedder that is opened at its first text."""

    def embed(self, text: str) -> bytes:
        """As `Embedder.embed`; raises `BadInput` too, should it be another embedder now."""
        return self._real().embed(text)
