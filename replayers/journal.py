"""The journal: the one place where the task cycle meets the log.

The cycle asks the journal for every observation and hands it every conclusion. An observation that
is recorded under the same request is served from the log; only a miss asks the world, and the
answer is on disk before the cycle sees it. A conclusion is compared with the next recorded one and
appended only past the end. Live runs, resuming after a crash and offline replay are this one
mechanism with the world allowed or refused; a fork and a sweep have more places to look before the
world, the log they come from or those of their sister runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.codec import encode
from ..eventlog.errors import CheckFailed
from ..eventlog.log import Draft, EventLog, Recorded
from ..projections import state as states
from .origin import Source
from .progress import Answerer, Away, Back, Listener, Notice, Observed

_CHECKED = (*ev.DERIVED, "MemoryOverridden")
"""What a run must come to in the recorded order: its conclusions, and what people decided."""


class Divergence(CheckFailed):
    """A recomputed conclusion differs from the recorded one.

    Attributes:
        position: position of the recorded event.
        field: the first field that differs, in the order of the event's definition.
        recorded: the field's value in the log.
        recomputed: the value the rules give now.
    """

    def __init__(
        self, at: Recorded, field: str, recorded: Any, recomputed: Any, *, where: str = ""
    ) -> None:
        self.position = at.position
        self.field = field
        self.recorded = recorded
        self.recomputed = recomputed
        task = f", task {at.task_index}" if at.task_index is not None else ""
        super().__init__(
            f"diverges at event {at.position} ({at.type} in {at.stream_id}{task}{where}): "
            f"{field} recorded {_short(recorded)}, recomputed {_short(recomputed)}"
        )


class EndOfLog(Exception):
    """Offline, the cycle went past the last recorded conclusion: all of them agreed."""


def _short(value: Any, limit: int = 160) -> str:
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= limit else text[: limit - 1] + "…"


@attrs.frozen
class Observation:
    """What the world answered: an observed event and the blobs it cites."""

    event: ev.Event
    blobs: tuple[bytes, ...] = ()


class Journal:
    """Serves observations and checks conclusions over one log, folding the state as it goes.

    Args:
        log: open for writing, or for reading when ``offline``.
        state: the fold of everything up to ``after``.
        after: position up to which the log is already accounted for.
        offline: refuse the world.
        reuse: serve an equal execution from an earlier one; off, every execution is made anew.
        sources: other logs that are asked in turn before the world.
        actor: component and version recorded as the author of new events.
        listener: is told what is done; see `progress`.

    Attributes:
        confirmed: conclusions that were recorded already.
        asked: answers of the world by type of event.
        served: answers taken over from the sources by type of event.
    """

    def __init__(
        self,
        log: EventLog,
        *,
        state: states.State,
        after: int = 0,
        offline: bool = False,
        reuse: bool = True,
        sources: Sequence[Source] = (),
        actor: str = "cycle",
        listener: Listener | None = None,
    ) -> None:
        self.log = log
        self.state = state
        self.offline = offline
        self.reuse = reuse
        self.confirmed = 0
        self.asked: Counter[str] = Counter()
        self.served: Counter[str] = Counter()
        self.task_index: int | None = None
        self._sources = tuple(sources)
        self._actor = actor
        self._listener = listener
        self._executions: set[str] = set()
        self._expected = log.head().position
        self._recorded: Iterator[Recorded] = log.read(after=after, types=_CHECKED)
        self._next = next(self._recorded, None)
        self._occurrences: dict[str, int] = {}

    def begin_task(self, index: int) -> None:
        """From here on events belong to the task with this index."""
        self.task_index = index
        self._occurrences = {}
        self._executions = set()

    def end_task(self) -> None:
        """From here on events belong to the run."""
        self.task_index = None

    def tell(self, notice: Notice) -> None:
        """Give whoever watches a notice; nothing is half recorded now."""
        if self._listener is not None:
            self._listener.hear(notice)

    @contextmanager
    def away(self) -> Iterator[None]:
        """The code of others works inside."""
        self.tell(Away())
        try:
            yield
        finally:
            self.tell(Back())

    @contextmanager
    def asked_back(self) -> Iterator[None]:
        """The code of others asks something of ours inside."""
        self.tell(Back())
        try:
            yield
        finally:
            self.tell(Away())

    def observe(
        self,
        request: str,
        ask: Callable[[], Observation],
        *,
        cause: str | None,
        what: str,
        stream: str = "",
        repeats: bool = False,
        at_hand: bool = False,
    ) -> Recorded:
        """The recorded answer to ``request``, asking the world if there is none yet.

        Args:
            request: digest of everything that can change the answer.
            ask: asks the world; called at most once, never offline.
            cause: id of the event that led to asking.
            what: the thing asked for, in words, for the message when it is missing.
            stream: the stream to look in when it is not the request's own.
            repeats: whether, without reuse, asking again means answering again.
            at_hand: asking costs nothing and ``request`` does not cover the answer, so that a
                source may hold another one under the same name.

        Raises:
            Divergence: offline and not recorded, while conclusions are still to come.
            EndOfLog: offline and past the recorded part.
        """
        stream = stream or f"request:{request}"
        occurrence = self._occurrence(stream) if repeats and not self.reuse else 1
        recorded = self.log.find(stream, occurrence)
        by: Answerer = "log"
        if recorded is None and not at_hand:
            recorded, by = self._from_sources(stream, occurrence, cause), "other log"
        if recorded is None:
            if self.offline:
                self._miss(request, what)
            answer = ask()
            recorded, by = self._append(answer.event, cause, answer.blobs), "world"
            self.asked[recorded.type] += 1
        self.state = states.evolve(self.state, recorded)
        if self._listener is not None and not at_hand:
            self._tell_observed(self._listener, recorded, by)
        return recorded

    def _tell_observed(self, listener: Listener, recorded: Recorded, by: Answerer) -> None:
        event = recorded.event
        read = written = 0
        saved = False
        if isinstance(event, ev.ModelReplied):
            read, written = event.prompt_tokens, event.completion_tokens
        elif isinstance(event, ev.ExecutionFinished):
            before = recorded.task_index != self.task_index
            saved = before or recorded.event_id in self._executions
            self._executions.add(recorded.event_id)
        listener.hear(Observed(recorded.type, by, saved, read, written))

    def _from_sources(self, stream: str, occurrence: int, cause: str | None) -> Recorded | None:
        """Record what the first source that has it holds: an answer, after those it is made of."""
        recorded = None
        for source in self._sources:
            # Without reuse nobody knows yet which of several answers an execution is made of.
            for answer in source.answers(stream, occurrence, self.log, whole=self.reuse):
                recorded = self._record(answer, source.blobs(answer), cause)
            if recorded is not None:
                return recorded
        return None

    def _record(self, answer: Recorded, blobs: tuple[bytes, ...], cause: str | None) -> Recorded:
        recorded = self._append(answer.event, cause, blobs, actor=answer.actor)
        self.served[recorded.type] += 1
        return recorded

    def _miss(self, request: str, what: str) -> NoReturn:
        if self._next is None:
            raise EndOfLog
        raise Divergence(
            self._next, "observation", None, f"needs {what} (request {request[:12]}), not recorded"
        )

    def _occurrence(self, stream: str) -> int:
        last = self._occurrences.get(stream)
        if last is None:
            last = self.log.count(stream, before_task=self.task_index)
        self._occurrences[stream] = last + 1
        return last + 1

    def pass_over(self, recorded: Recorded) -> None:
        """Take a recorded answer as given: without reuse, who asks next gets a later one.

        For the answers inside an observation that was served whole, so that nobody asked for them.
        """
        last = self._occurrences.get(recorded.stream_id, 0)
        self._occurrences[recorded.stream_id] = max(last, recorded.stream_version)

    def emit(
        self, event: ev.Event, *, cause: str | None, blobs: tuple[bytes, ...] = ()
    ) -> Recorded:
        """Record a conclusion, or confirm that it is the one recorded here.

        Raises:
            Divergence: the log holds another conclusion at this place.
            EndOfLog: offline, past the last recorded conclusion.
        """
        recorded = self._take()
        if recorded is None:
            if self.offline:
                raise EndOfLog
            recorded = self._append(event, cause, blobs)
        else:
            self._compare(recorded, event, cause)
            self.confirmed += 1
        self.state = states.evolve(self.state, recorded)
        return recorded

    def overrides(self) -> Iterator[Recorded]:
        """What people decided at this place of the log, in the order they did."""
        while self._next is not None and self._next.type == "MemoryOverridden":
            recorded = self._take()
            assert recorded is not None
            yield recorded

    def inherited_overrides(self, index: int) -> Iterator[Recorded]:
        """What was decided in a source just before task ``index``; nothing if that has begun."""
        if self.log.find(f"task:{index}") is None:
            for source in self._sources:
                yield from source.overrides(index)

    def take_over(self, override: Recorded) -> Recorded:
        """Record a decision of a source as one of this log."""
        return self._record(override, (), override.causation_id)

    def _take(self) -> Recorded | None:
        """The next recorded conclusion or decision."""
        recorded = self._next
        self._next = next(self._recorded, None) if recorded is not None else None
        return recorded

    def _append(
        self, event: ev.Event, cause: str | None, blobs: tuple[bytes, ...], actor: str = ""
    ) -> Recorded:
        draft = Draft(
            event=event,
            task_index=self.task_index,
            actor=actor or self._actor,
            cause=cause,
            blobs=blobs,
        )
        (recorded,) = self.log.append([draft], expected=self._expected)
        self._expected = recorded.position
        return recorded

    def _compare(self, recorded: Recorded, event: ev.Event, cause: str | None) -> None:
        name = type(event).__name__
        for field, old, new in (
            ("type", recorded.type, name),
            ("stream", recorded.stream_id, event.stream),
            ("task_index", recorded.task_index, self.task_index),
        ):
            if old != new:
                raise Divergence(recorded, field, old, new)
        payload = encode(event)
        if payload != recorded.payload:
            old, new = orjson.loads(recorded.payload), orjson.loads(payload)
            for name in type(event).__annotations__:
                if old.get(name) != new[name]:
                    raise Divergence(recorded, name, old.get(name), new[name])
            raise Divergence(recorded, "payload", recorded.payload.decode(), payload.decode())
        if recorded.causation_id != cause:
            raise Divergence(recorded, "causation_id", recorded.causation_id, cause)

    def end(self) -> None:
        """Insist that the cycle, now at its end, came to every recorded conclusion.

        Raises:
            Divergence: the log holds another conclusion after the last one.
        """
        if self._next is not None:
            raise Divergence(self._next, "type", self._next.type, None)
