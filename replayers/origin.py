"""The log a fork comes from: what it holds need not be asked again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.citations import citations
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog, Recorded


@attrs.frozen
class Origin:
    """A log, open to read, whose observations another one may take over.

    Both have the same run name, so what is taken over keeps its id.
    """

    log: EventLog

    def answers(self, stream: str, occurrence: int, into: EventLog) -> tuple[Recorded, ...]:
        """The answer recorded at this place of a stream, after those it cites; () if there is none.

        An execution is taken over whole, with the replies that ``into`` does not have, or, should
        they get other ids there, not at all: it is then made anew from them.
        """
        found = self.log.find(stream, occurrence)
        if found is None:
            return ()
        if not isinstance(found.event, ev.ExecutionFinished):
            return (found,)
        missing: dict[str, Recorded] = {}
        for step in orjson.loads(self.log.blob(found.event.trajectory)):
            reply = self.log.by_id(step["reply"]) if step["reply"] else None
            if reply is None or into.by_id(reply.event_id) is not None:
                continue
            if into.count(reply.stream_id) + 1 != reply.stream_version:
                return ()
            missing[reply.event_id] = reply
        return (*missing.values(), found)

    def blobs(self, recorded: Recorded) -> tuple[bytes, ...]:
        """The contents an event cites."""
        cited = dict.fromkeys(citations(recorded.event).values())
        return tuple(self.log.blob(sha256) for sha256 in cited)

    def overrides(self, index: int) -> Iterator[Recorded]:
        """What people decided after the task before ``index`` and before it began."""
        after = self.log.position_at_task(index - 1)
        first = self.log.find(f"task:{index}")
        until = first.position if first is not None else None
        return self.log.read(after=after, until=until, types=("MemoryOverridden",))


@contextmanager
def origin_of(path: Path, header: ev.RunStarted, given: Path | None) -> Iterator[Origin | None]:
    """The log that the one at ``path`` was forked from, open to read; None if it is no fork.

    Args:
        path: the log.
        header: its newest header.
        given: where the origin is now; by default where it was, seen from ``path``.

    Raises:
        BadInput: it is not there, or another log is.
    """
    if not isinstance(header, ev.RunForked):
        yield None
        return
    place = given or path.parent / header.path
    if not place.exists():
        raise BadInput(
            f"{path}: the log it was forked from is not at {place}; give it with --origin, or "
            "go on with --no-origin, which asks everything anew"
        )
    with EventLog.open(place) as origin:
        if (origin.log_id, _hash(origin, header.position)) != (header.origin, header.hash):
            raise BadInput(f"{path}: was not forked from {place}; give the right one with --origin")
        yield Origin(origin)


def _hash(log: EventLog, position: int) -> str:
    return log.head(position).hash if position <= log.head().position else ""
