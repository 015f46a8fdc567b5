"""Logs that are asked before the world: what they hold need not be asked again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import attrs
import orjson

from ..eventlog import chain
from ..eventlog import events as ev
from ..eventlog.citations import citations
from ..eventlog.errors import BadInput, LogError
from ..eventlog.log import EventLog, Recorded


@attrs.frozen
class Source:
    """A log, open to read, of another run in a world that may answer the same.

    An equal request has an equal answer, so replies, embeddings and passages are taken over. An
    execution cites its replies by ids that are made of the run's name: it is made anew, from the
    replies that are taken over.
    """

    log: EventLog

    REMEDY: ClassVar[str] = "run verify, and restore the log or delete it to record it anew"

    def answers(
        self,
        stream: str,
        occurrence: int,
        into: EventLog,  # noqa: ARG002
        *,
        whole: bool,  # noqa: ARG002
    ) -> tuple[Recorded, ...]:
        """The answer recorded at this place of a stream, after those it cites; () if there is none.

        Args:
            stream: the stream of the request.
            occurrence: which of its answers, from 1.
            into: the log that takes over what is returned.
            whole: whether an execution may be taken over with the replies that it is made of.

        Raises:
            LogError: what is to be taken over is damaged.
        """
        found = self.log.find(stream, occurrence)
        if found is None or isinstance(found.event, ev.ExecutionFinished):
            return ()
        return (self._intact(found),)

    def overrides(self, index: int) -> Iterator[Recorded]:  # noqa: ARG002
        """What people decided there and holds here as well, just before task ``index``."""
        yield from ()

    def blobs(self, recorded: Recorded) -> tuple[bytes, ...]:
        """The contents an event cites."""
        cited = dict.fromkeys(citations(recorded.event).values())
        return tuple(self.log.blob(sha256) for sha256 in cited)

    def _intact(self, recorded: Recorded) -> Recorded:
        """The event, proven to be the one that was recorded there."""
        before = bytes.fromhex(self.log.head(recorded.position - 1).hash)
        links = chain.links(citations(recorded.event).items())
        if chain.link(before, recorded[:11], recorded.payload, links).hex() != recorded.hash:
            raise LogError(
                f"{self.log.path}: event {recorded.position} is not what was recorded there; "
                f"{self.REMEDY}"
            )
        return recorded


@attrs.frozen
class Origin(Source):
    """The log a fork comes from.

    Both have the same run name, so what is taken over keeps its id and executions can be, too.
    """

    REMEDY: ClassVar[str] = (
        "run verify, restore the log and resume the fork, or resume it with --no-origin"
    )

    def answers(
        self, stream: str, occurrence: int, into: EventLog, *, whole: bool
    ) -> tuple[Recorded, ...]:
        """As `Source.answers`; an execution brings the replies that ``into`` does not have.

        If it is made of others than ``into`` would give, or ``whole`` is false, it is not taken
        over: it is made anew, from the replies that are.

        Raises:
            LogError: what is to be taken over is damaged.
        """
        found = self.log.find(stream, occurrence)
        if found is None or not isinstance(found.event, ev.ExecutionFinished):
            return Source.answers(self, stream, occurrence, into, whole=whole)
        if not whole:
            return ()
        missing: dict[str, Recorded] = {}
        for step in orjson.loads(self.log.blob(found.event.trajectory)):
            reply = self.log.by_id(step["reply"]) if step["reply"] else None
            if reply is None:
                continue
            held = into.find(reply.stream_id)
            if reply.stream_version != 1 or (held and held.payload != reply.payload):
                return ()
            if held is None:
                missing[reply.event_id] = self._intact(reply)
        return (*missing.values(), self._intact(found))

    def overrides(self, index: int) -> Iterator[Recorded]:
        """What people decided after the task before ``index`` and before it began."""
        if self.log.last_task() < index - 1:
            return
        after = self.log.position_at_task(index - 1)
        until = self.log.first_of_task(index) or None
        for recorded in self.log.read(after=after, until=until, types=("MemoryOverridden",)):
            yield self._intact(recorded)


@contextmanager
def origin_of(path: Path, header: ev.RunStarted, given: Path | None) -> Iterator[Origin | None]:
    """The log that the one at ``path`` was forked from, open to read; None if it is no fork.

    Args:
        path: the log.
        header: its newest header.
        given: where the origin is now; by default where it was, seen from ``path``.

    Raises:
        BadInput: it is not there, another log is, or one is given for a log that is no fork.
    """
    if not isinstance(header, ev.RunForked):
        if given is not None:
            raise BadInput(f"{path}: is no fork and has no origin; leave --origin out")
        yield None
        return
    place = given or path.resolve().parent / header.path
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
