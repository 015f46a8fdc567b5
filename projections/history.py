"""The tasks seen so far: what they said, how they went, what each role saw before acting."""

from __future__ import annotations

import attrs
from immutables import Map

from ..eventlog import events as ev
from ..eventlog.log import Recorded


@attrs.frozen(kw_only=True)
class TaskRecord:
    """One task of the stream; ``text`` and ``contexts`` (role to context) are blob references."""

    index: int
    id: str
    domain: str
    text: ev.BlobRef
    contexts: Map[str, ev.BlobRef] = attrs.field(factory=Map)
    score: float | None = None
    execution: str = ""


@attrs.frozen
class History:
    """Tasks by id and their ids by index (from 1)."""

    tasks: Map[str, TaskRecord] = attrs.field(factory=Map)
    order: Map[int, str] = attrs.field(factory=Map)

    def __getitem__(self, task: str) -> TaskRecord:
        return self.tasks[task]

    def before(self, index: int) -> list[TaskRecord]:
        """The tasks with a smaller index, in stream order (T_<t)."""
        return [self.tasks[self.order[i]] for i in range(1, index) if i in self.order]


def evolve(history: History, recorded: Recorded) -> History:
    """The history after one event."""
    match recorded.event:
        case ev.TaskStarted() as event:
            record = TaskRecord(
                index=event.index, id=event.task, domain=event.domain, text=event.text
            )
            return History(
                history.tasks.set(event.task, record), history.order.set(event.index, event.task)
            )
        case ev.ContextObserved() as event:
            record = history[event.task]
            seen = record.contexts.set(event.role, event.context)
            return _with(history, attrs.evolve(record, contexts=seen))
        case ev.TaskScored() as event:
            record = history[event.task]
            return _with(
                history, attrs.evolve(record, score=event.score, execution=event.execution)
            )
        case _:
            return history


def _with(history: History, record: TaskRecord) -> History:
    return History(history.tasks.set(record.id, record), history.order)
