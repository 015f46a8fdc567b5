"""The list of all tasks, and the page of one: what it was, who was given what, what followed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import attrs

from ...eventlog import events as ev
from ...eventlog.log import Recorded
from ...projections.changes import CHANGING
from ...projections.facts import Fact, fact
from ...projections.summary import summarise
from .visiting import Answer, NotHere, Pages, Redirect, Visit

_PAGE: Final = 50
_LISTED: Final = (
    "TaskStarted",
    "TaskScored",
    "TaskCompleted",
    "EffectRecorded",
    "MemoryAdmitted",
    "MemoryRevised",
    "StateChanged",
)
_EVENTS: Final = 200
"""Events of a task that are listed at once."""


def tasks(visit: Visit) -> Answer:
    """All tasks that were begun, in the order of the stream."""
    log = visit.log
    pages = Pages.asked(visit, log.last_task(), _PAGE)
    events = [
        *log.read(
            after=log.position_at_task(pages.skip) if pages.skip else 0,
            until=log.position_at_task(pages.last_row),
            types=_LISTED,
        )
    ]
    effects: dict[int, list[ev.EffectRecorded]] = defaultdict(list)
    for each in events:
        if isinstance(each.event, ev.EffectRecorded) and each.task_index is not None:
            effects[each.task_index].append(each.event)
    rows = summarise(events)
    return Answer("tasks", "Tasks", {"tasks": rows, "effects": effects, "pages": pages})


def task_named(visit: Visit) -> Redirect:
    """The page of the task with an id."""
    name = visit.text("id")
    if name not in visit.catalogue.tasks:
        raise NotHere(f"No task is called “{name}”: {what_there_is(visit)}.")
    return Redirect(visit.link("task", visit.catalogue.tasks[name]))


@attrs.frozen(kw_only=True)
class Supply:
    """What one role was given: who could have been, whom the selector picked, who it got."""

    role: str
    retrieved: Fact[ev.MemoriesRetrieved]
    selected: Fact[ev.SelectionDecided] | None
    supplied: Mapping[str, Fact[ev.MemorySupplied]]


@attrs.frozen(kw_only=True)
class Made:
    """An execution made in a task's cycle, and whether its score is the task's."""

    execution: Fact[ev.ExecutionFinished]
    scored: bool


@attrs.frozen(kw_only=True)
class Measured:
    """An effect measured in a task's cycle, and the label its use got."""

    effect: Fact[ev.EffectMeasured]
    label: Fact[ev.UseAttributed] | None


def task(visit: Visit, name: str) -> Answer:
    """One task: what it was, who was given what, how it went, and what came of it."""
    log = visit.log
    index = int(name)
    if not 1 <= index <= log.last_task():
        raise NotHere(f"No task {index}: {what_there_is(visit)}.")
    first, last = log.first_of_task(index), log.position_at_task(index)
    events = [each for each in log.read(after=first - 1, until=last) if each.task_index == index]
    (row,) = summarise(events)
    started = next(fact(each, ev.TaskStarted) for each in events if each.type == "TaskStarted")
    scored = next((fact(each, ev.TaskScored) for each in events if each.type == "TaskScored"), None)
    execution = log.find(f"request:{scored.event.execution}") if scored else None
    pages = Pages.asked(visit, len(events), _EVENTS, "events")
    return Answer(
        "task",
        f"Task {index}",
        {
            "row": row,
            "started": started,
            "text": log.text(started.event.text),
            "scored": scored,
            "execution": fact(execution, ev.ExecutionFinished) if execution else None,
            "supplies": [*_supplies(events)],
            "runs": [*_made(events, scored)],
            "effects": [*_effects(events)],
            "changes": [
                each for each in events if each.type in CHANGING and each.type != "EffectRecorded"
            ],
            "tasks": visit.catalogue.tasks,
            "listed": events[pages.skip : pages.skip + pages.size],
            "pages": pages,
            "before": index - 1,
            "next": index + 1 if index < log.last_task() else 0,
        },
    )


def what_there_is(visit: Visit) -> str:
    """Which tasks a log has, in words."""
    last = visit.log.last_task()
    return f"this log has begun the tasks 1 to {last}" if last else "this log has begun none yet"


def _supplies(events: Collection[Recorded]) -> Iterator[Supply]:
    for each in events:
        if not isinstance(each.event, ev.MemoriesRetrieved):
            continue
        role = each.event.role
        yield Supply(
            role=role,
            retrieved=fact(each, ev.MemoriesRetrieved),
            selected=next(
                (
                    fact(other, ev.SelectionDecided)
                    for other in events
                    if isinstance(other.event, ev.SelectionDecided) and other.event.role == role
                ),
                None,
            ),
            supplied={
                other.event.memory: fact(other, ev.MemorySupplied)
                for other in events
                if isinstance(other.event, ev.MemorySupplied) and other.event.role == role
            },
        )


def _made(events: Iterable[Recorded], scored: Fact[ev.TaskScored] | None) -> Iterator[Made]:
    for each in events:
        if isinstance(each.event, ev.ExecutionFinished):
            yield Made(
                execution=fact(each, ev.ExecutionFinished),
                scored=scored is not None and scored.event.execution == each.event.request,
            )


def _effects(events: Collection[Recorded]) -> Iterator[Measured]:
    labels = {
        (each.event.memory, each.event.version, each.event.task): fact(each, ev.UseAttributed)
        for each in events
        if isinstance(each.event, ev.UseAttributed)
    }
    for each in events:
        if isinstance(each.event, ev.EffectMeasured):
            about = (each.event.memory, each.event.version, each.event.task)
            yield Measured(effect=fact(each, ev.EffectMeasured), label=labels.get(about))
