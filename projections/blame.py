"""Which event put each phrase of a rule and each of its conditions there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Literal

import attrs

from ..eventlog import events as ev
from ..eventlog.log import EventLog, Recorded
from .audit import memory_at, version_of
from .store import Condition, Memory
from .telling import tell
from .timeline import completed_position
from .words import word_diff

Source = Literal["extraction", "repair", "scope check", "generalisation", "override"]


@attrs.frozen(kw_only=True)
class Line:
    """A phrase or a condition and the event that put it there, or took it away.

    ``by`` adds to the source which candidate of a repair it was (``1.2``: the second of the first
    round) or which person; ``task_index`` is null for what was decided between two tasks.
    """

    kind: Literal["rule", "use_when", "avoid_when"]
    text: str
    position: int
    task_index: int | None
    version: int
    source: Source
    by: str
    says: str


@attrs.frozen(kw_only=True)
class Blame:
    """A memory line by line; the texts of ``phrases`` joined are its rule.

    ``withdrawn`` are the conditions it had and has no more, each with the event that took it away.
    """

    memory: Memory
    phrases: tuple[Line, ...]
    conditions: tuple[Line, ...]
    withdrawn: tuple[Line, ...]

    def plain(self) -> dict[str, Any]:
        """The blame as JSON data."""
        memory = self.memory
        return {
            "memory": memory.id,
            "owner": memory.owner,
            "state": memory.state,
            "version": memory.version,
            "rule": memory.body,
            "phrases": [attrs.asdict(line) for line in self.phrases],
            "conditions": [attrs.asdict(line) for line in self.conditions],
            "withdrawn": [attrs.asdict(line) for line in self.withdrawn],
        }


def blame(log: EventLog, name: str, *, at: int | None = None) -> Blame:
    """Say of each phrase of a memory's rule and of each condition where it comes from.

    Args:
        log: the log.
        name: the memory.
        at: as it was after this task; by default as it is at the end of the log.

    Raises:
        BadInput: there is no such memory, it was not there yet, or the task is not completed.
    """
    position = log.head().position if at is None else completed_position(log, at)
    memory = memory_at(log, name, position)
    stream = log.read(stream=f"memory:{name}", until=position, types=("ConditionWithdrawn",))
    withdrawn = [each for each in stream if not _is_back(memory, each.event)]
    conditions = tuple(_conditions(memory))
    events = log.by_ids(
        {version.made_by for version in memory.versions} | {c.added_by for _, c in conditions}
    )
    causes = log.by_ids({r.causation_id for r in (*events.values(), *withdrawn) if r.causation_id})

    def line(kind: Any, text: str, recorded: Recorded) -> Line:
        return _line(kind, text, recorded, causes.get(recorded.causation_id or ""))

    made_by = {version.number: events[version.made_by] for version in memory.versions}
    bodies = [version.body for version in memory.versions]
    return Blame(
        memory=memory,
        phrases=tuple(line("rule", text, made_by[number]) for number, text in phrases(bodies)),
        conditions=tuple(
            line(kind, condition.text, events[condition.added_by]) for kind, condition in conditions
        ),
        withdrawn=tuple(
            line(r.event.kind, r.event.text, r)
            for r in withdrawn
            if isinstance(r.event, ev.ConditionWithdrawn)
        ),
    )


def phrases(bodies: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The phrases of the last of these bodies, each with the number of the one that brought it.

    Numbers count from 1. A word is brought by the first body since which it has stayed; words next
    to each other that came together are one phrase.
    """
    owners = [1] * len(bodies[0])
    for number, (before, after) in enumerate(pairwise(bodies), start=2):
        old, owners = iter(owners), []
        for piece in word_diff(before, after):
            if piece.kind == "new":
                owners += [number] * len(piece.text)
                continue
            kept = [next(old) for _ in piece.text]
            owners += kept if piece.kind == "same" else []
    for number, run in groupby(zip(owners, bodies[-1], strict=True), lambda pair: pair[0]):
        yield number, "".join(letter for _, letter in run)


def _conditions(memory: Memory) -> Iterable[tuple[str, Condition]]:
    yield from (("use_when", condition) for condition in memory.use_when)
    yield from (("avoid_when", condition) for condition in memory.avoid_when)


def _is_back(memory: Memory, event: ev.Event) -> bool:
    assert isinstance(event, ev.ConditionWithdrawn)
    return event.text in (memory.use_texts if event.kind == "use_when" else memory.avoid_texts)


def _line(kind: Any, text: str, recorded: Recorded, cause: Recorded | None) -> Line:
    source, by = _origin(recorded.event, cause.event if cause else None)
    return Line(
        kind=kind,
        text=text,
        position=recorded.position,
        task_index=recorded.task_index,
        version=version_of(recorded),
        source=source,
        by=by,
        says=tell(recorded.event),
    )


def _origin(event: ev.Event, cause: ev.Event | None) -> tuple[Source, str]:
    if isinstance(cause, ev.MemoryOverridden):
        return "override", cause.by
    if isinstance(event, ev.MemoryRevised):
        return "repair", f"{event.round}.{event.number}"
    if isinstance(event, ev.ConditionAdded):
        return event.source, ""
    return "extraction", ""
