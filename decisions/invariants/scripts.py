"""How the rules say what comes next: scripts that await one conclusion after the other."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

import attrs

from ...eventlog import events as ev
from ...eventlog.log import Recorded

E = TypeVar("E", bound=ev.Event)
T = TypeVar("T")


@attrs.frozen
class Due:
    """The conclusion that must come next: its type, its direct cause, the fields that are given.

    ``instead`` is one of another type that may come in its place.
    """

    type: str
    cause: str | None
    fields: Mapping[str, Any]
    instead: Due | None = None

    def __str__(self) -> str:
        about = self.fields.get("memory") or self.fields.get("role")
        return f"{self.type} of {about}" if about else self.type


Script = Generator[Due, Recorded, T]
"""What is due, one after the other; it is sent what came."""


def due(cls: type[E], cause: str | None = None, /, **fields: Any) -> Script[tuple[E, str]]:
    """Await an event of a type with these fields; gives it and its id.

    A cause that is not known before the event comes is for the caller to check.
    """
    recorded = yield Due(cls.__name__, cause, fields)
    assert isinstance(recorded.event, cls)
    return recorded.event, recorded.event_id


def exactly(event: ev.Event, cause: str) -> Script[str]:
    """Await this very event; gives its id."""
    recorded = yield Due(type(event).__name__, cause, event.__dict__)
    return recorded.event_id
