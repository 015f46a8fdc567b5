"""What each task of a run did and cost: one row a task, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded


@attrs.frozen(kw_only=True)
class TaskRow:
    """One task of a run.

    ``executions_asked`` is what the plain algorithm makes, ``executions_run`` what had to be made;
    ``effects`` are (memory, sign, label) as measured and attributed, ``transitions`` (memory,
    after, rule).
    """

    index: int
    task: str = ""
    score: float | None = None
    supplied: tuple[str, ...] = ()
    effects: tuple[tuple[str, float, str], ...] = ()
    admitted: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    transitions: tuple[tuple[str, str, str], ...] = ()
    executions_asked: int = 0
    executions_run: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fallbacks: int = 0
    completed: bool = False

    @property
    def executions_saved(self) -> int:
        """Executions that an equal earlier one answered."""
        return max(self.executions_asked - self.executions_run, 0)


def summarise(events: Iterable[Recorded]) -> list[TaskRow]:
    """One row per task that the log has begun, in stream order."""
    rows: dict[int, TaskRow] = {}
    for recorded in events:
        index = recorded.task_index
        if index is not None:
            rows[index] = _add(rows.get(index, TaskRow(index=index)), recorded.event)
    return [rows[index] for index in sorted(rows)]


def _add(row: TaskRow, event: ev.Event) -> TaskRow:
    if getattr(event, "fallback", ""):
        row = attrs.evolve(row, fallbacks=row.fallbacks + 1)
    match event:
        case ev.TaskStarted():
            return attrs.evolve(row, task=event.task)
        case ev.TaskScored():
            names = tuple(f"{s.memory}.v{s.version}" for s in event.supplied)
            return attrs.evolve(row, score=event.score, supplied=names)
        case ev.EffectRecorded():
            effect = (event.memory, event.effect, event.label)
            return attrs.evolve(row, effects=(*row.effects, effect))
        case ev.MemoryAdmitted():
            return attrs.evolve(row, admitted=(*row.admitted, event.memory))
        case ev.MemoryRevised():
            name = f"{event.memory}.v{event.version}"
            return attrs.evolve(row, revised=(*row.revised, name))
        case ev.StateChanged():
            change = (event.memory, event.after, event.rule)
            return attrs.evolve(row, transitions=(*row.transitions, change))
        case ev.ExecutionFinished():
            return attrs.evolve(row, executions_run=row.executions_run + 1)
        case ev.ModelReplied():
            return attrs.evolve(
                row,
                model_calls=row.model_calls + 1,
                prompt_tokens=row.prompt_tokens + event.prompt_tokens,
                completion_tokens=row.completion_tokens + event.completion_tokens,
            )
        case ev.TaskCompleted():
            return attrs.evolve(row, executions_asked=event.executions_asked, completed=True)
        case _:
            return row


def most_told(events: Iterable[Recorded]) -> str:
    """The memory with the most events, the lowest number first: the one worth asking about."""
    counts = Counter(
        recorded.stream_id.removeprefix("memory:")
        for recorded in events
        if recorded.stream_id.startswith("memory:")
    )
    return min(counts, key=lambda name: (-counts[name], int(name[1:])), default="m1")
