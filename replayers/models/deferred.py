"""A model or embedder known from a log, opened only when it is asked what the log does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import attrs

from ...eventlog.errors import BadInput, Infrastructure
from .base import Card, Embedder, Model, ModelCall, Reply, at_once, complete_all

T = TypeVar("T", Model, Embedder)


def card_of(facts: dict[str, Any]) -> Card:
    """The card that a run's header holds."""
    return Card(
        fingerprint=facts["fingerprint"],
        facts={name: fact for name, fact in facts.items() if name != "fingerprint"},
    )


@attrs.define(slots=False)
class _Deferred(Generic[T]):
    """``card`` as recorded; ``open_`` opens the real thing, whose fingerprint must be the same.

    Asked in the middle of a run, whatever is wrong with it leaves a log to be resumed.
    """

    card: Card
    open_: Callable[[], T]
    _opened: T | None = attrs.field(default=None, init=False)

    def _real(self) -> T:
        if self._opened is None:
            try:
                opened = self.open_()
            except BadInput as error:
                raise Infrastructure(f"{error}; then resume the log") from None
            if opened.card.fingerprint != self.card.fingerprint:
                raise Infrastructure(
                    f"{self.card.facts.get('name', 'the model')} was recorded with fingerprint "
                    f"{self.card.fingerprint[:12]} and has {opened.card.fingerprint[:12]} now; "
                    "resume the log where it is the same, or fork with another one"
                )
            self._opened = opened
        return self._opened


class DeferredModel(_Deferred[Model]):
    """A language model that is opened at its first call."""

    def complete(self, call: ModelCall) -> Reply:
        """As `Model.complete`; raises `Infrastructure` too: it is gone, or another one now."""
        return self._real().complete(call)

    @property
    def parallel(self) -> int:
        """As `Parallel.parallel`; raises `Infrastructure` as `complete` does."""
        return at_once(self._real())

    def complete_all(self, calls: Sequence[ModelCall]) -> list[Reply]:
        """As `Parallel.complete_all`, in turn where the model itself can do no more."""
        return complete_all(self._real(), calls)


class DeferredEmbedder(_Deferred[Embedder]):
    """An embedder that is opened at its first text."""

    def embed(self, text: str) -> bytes:
        """As `Embedder.embed`; raises `Infrastructure` too: it is gone, or another one now."""
        return self._real().embed(text)
