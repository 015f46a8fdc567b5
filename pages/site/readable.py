"""The payload of an event as a person reads it: texts as texts, and links to what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ...eventlog.citations import citations
from ...eventlog.codec import plain
from ...eventlog.log import EventLog, Recorded
from .links import MEMORY, Links

_LONG: Final = 4000
"""Characters of a content that are shown at once; all of it has an address of its own."""

_MEMORIES: Final = frozenset({"memory", "matched", "selected"})
_TASKS: Final = frozenset(
    {"task", "tasks", "trigger", "retention", "related", "calibration", "skipped", "source_task",
     "rejected_by"}
)  # fmt: skip
_REQUESTS: Final = frozenset(
    {"execution", "execution_with", "execution_without", "source_execution"}
)
"""Fields that name an execution by its request, which is asked once and has one answer."""


@attrs.frozen(kw_only=True)
class Field:
    """A field of a payload, or an item of one: a text, perhaps linked, or further fields.

    Attributes:
        name: of the field, or the number of the item.
        text: its value; empty if it has further fields.
        to: where the thing it names has a page.
        says: the sentence of the event it names.
        content: the beginning of the content it refers to.
        size: characters, or bytes of what is no text, that the content has.
        fields: what it is made of.
    """

    name: str
    text: str = ""
    to: str = ""
    says: str = ""
    content: str | None = None
    size: int = 0
    fields: tuple[Field, ...] = ()


def fields(log: EventLog, recorded: Recorded, link: Links) -> tuple[Field, ...]:
    """All fields of an event's payload, in the order of its class."""
    given = plain(recorded.event)
    known = log.by_ids({text for text in _texts(given) if len(text) == len(recorded.event_id)})
    reader = _Reader(log, link, known, citations(recorded.event))
    return tuple(reader.field(name, name, name, value) for name, value in given.items())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


@attrs.frozen
class _Reader:
    log: EventLog
    link: Links
    events: Mapping[str, Recorded]
    blobs: Mapping[str, str]

    def field(self, path: str, key: str, name: str, value: Any) -> Field:
        """A field; ``path`` is where it is in the payload and ``key`` what decides its meaning."""
        if isinstance(value, Mapping):
            made = (self.field(f"{path}.{k}", k, k, each) for k, each in value.items())
            return Field(name=name, fields=tuple(made), text="" if value else "none")
        if isinstance(value, list | tuple):
            items = (
                self.field(f"{path}.{at}", key, str(at + 1), each) for at, each in enumerate(value)
            )
            return Field(name=name, fields=tuple(items), text="" if value else "none")
        if path in self.blobs:
            return self._content(name, self.blobs[path])
        if isinstance(value, str):
            return self._named(key, name, value)
        if value is None or isinstance(value, bool):
            return Field(name=name, text="none" if value is None else "yes" if value else "no")
        return Field(name=name, text=str(value))

    def _named(self, key: str, name: str, value: str) -> Field:
        if key in _MEMORIES and MEMORY.fullmatch(value):
            return Field(name=name, text=value, to=self.link("memory", value))
        if key in _TASKS and value:
            return Field(name=name, text=value, to=self.link.page("task", id=value))
        event = self.events.get(value)
        if key in _REQUESTS and value:
            event = self.log.find(f"request:{value}")
        if event is not None:
            return Field(
                name=name,
                text=f"event {event.position}",
                to=self.link("event", event.position),
                says=event.type,
            )
        return Field(name=name, text=value or "empty")

    def _content(self, name: str, sha256: str) -> Field:
        content = self.log.blob(sha256)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return Field(name=name, text=f"{len(content)} bytes of numbers")
        return Field(
            name=name, text=sha256[:12], to=self.link.page(f"contents/{sha256}"),
            content=text[:_LONG], size=len(text),
        )  # fmt: skip
