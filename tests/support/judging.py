"""Logs in memory, to be changed where no rule allows it and judged event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from lively import quick_folder, record, rich_seed

from discernmem.decisions.invariants import Invariants
from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.eventlog.citations import citations
from discernmem.projections.state import State, evolve

Found = list[tuple[int, str]]
"""Positions and messages of what is wrong."""


@attrs.frozen
class Tale:
    """The events of a log and the blobs they cite."""

    events: tuple[Recorded, ...]
    blobs: Mapping[str, bytes]

    def position(self, kind: type[ev.Event], where: Callable[[Any], object] = bool) -> int:
        """Where the first event of a type is for which something holds."""
        return next(r.position for r in self.events if type(r.event) is kind and where(r.event))

    def at(self, position: int) -> Recorded:
        """The event at a position."""
        return next(r for r in self.events if r.position == position)

    def changed(self, position: int, **fields: Any) -> Tale:
        """The tale with other values in one event."""
        return self._replaced(position, lambda r: r._replace(event=attrs.evolve(r.event, **fields)))

    def caused(self, position: int, cause: str) -> Tale:
        """The tale with another cause of one event."""
        return self._replaced(position, lambda r: r._replace(causation_id=cause))

    def placed(self, position: int, task_index: int | None) -> Tale:
        """The tale with one event ascribed to another task."""
        return self._replaced(position, lambda r: r._replace(task_index=task_index))

    def without(self, position: int) -> Tale:
        """The tale with one event left out."""
        return attrs.evolve(self, events=tuple(r for r in self.events if r.position != position))

    def with_after(self, position: int, *added: Recorded) -> Tale:
        """The tale with events put in behind a position."""
        at = next(i for i, r in enumerate(self.events) if r.position == position) + 1
        return attrs.evolve(self, events=(*self.events[:at], *added, *self.events[at:]))

    def with_blob(self, sha256: str, content: bytes) -> Tale:
        """The tale with other content behind a reference."""
        return attrs.evolve(self, blobs={**self.blobs, sha256: content})

    def _replaced(self, position: int, change: Callable[[Recorded], Recorded]) -> Tale:
        return attrs.evolve(
            self, events=tuple(change(r) if r.position == position else r for r in self.events)
        )


def tale_of(path: Path) -> Tale:
    """The tale a log tells."""
    with EventLog.open(path) as log:
        events = tuple(log.read())
        cited = {sha256 for r in events for sha256 in citations(r.event).values()}
        return Tale(events, {sha256: log.blob(sha256) for sha256 in cited})


def made(event: ev.Event, event_id: str, cause: str | None = None, position: int = 0) -> Recorded:
    """An event outside tasks that no log holds."""
    name = type(event).__name__
    return Recorded(
        position, event_id, event.stream, 1, name, 1, None, "", "test", cause, "", b"", "", event
    )


def judged(tale: Tale, *, until: int | None = None) -> Found:
    """All that is wrong in a tale, up to a position.

    The fold goes on without an event about something that is not there.
    """
    by_id = {r.event_id: r for r in tale.events}
    invariants = Invariants(lambda sha256: tale.blobs.get(sha256, b""), by_id.get)
    found: Found = []
    state = State()
    for recorded in _up_to(tale.events, until):
        found += [(recorded.position, message) for message in invariants.check(state, recorded)]
        try:
            state = evolve(state, recorded)
        except KeyError:
            assert found, "only what was found wrong may be about nothing"
    return found


def named(changed: Tale, position: int) -> str:
    """What is wrong up to a position and so there alone, by its first words."""
    told = judged(changed, until=position)
    assert {at for at, _ in told} == {position}, told
    return told[0][1]


@cache
def rich_tale() -> Tale:
    """A run that has everything."""
    with quick_folder() as folder:
        return tale_of(record(folder, rich_seed()))


def _up_to(events: Iterable[Recorded], until: int | None) -> Iterable[Recorded]:
    for recorded in events:
        yield recorded
        if recorded.position == until:
            return
