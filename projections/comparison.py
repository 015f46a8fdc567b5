"""Two runs side by side, task by task: where they part, and what made them part first.

Two conclusions agree when they say the same. What only names events, requests or runs is left out
of the comparison, so that any two runs over one stream can be compared, related or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final, Literal

import attrs

from ..eventlog import events as ev
from ..eventlog.codec import plain as plain_event
from ..eventlog.log import EventLog, Recorded
from .causes import Cause, Pair, cause_of
from .telling import tell

_NAMES: Final = frozenset(
    {
        "context",
        "evidence",
        "execution",
        "execution_with",
        "execution_without",
        "replies",
        "run",
        "source_execution",
        "state_hash",
    }
)
"""Fields that name something recorded rather than say something."""

_TYPES: Final = (
    *(name for name in ev.DERIVED if name != "StoreCheckpointed"),
    "MemoryOverridden",
)

Aspect = Literal["score", "supplied", "labels", "states", "texts"]
ASPECTS: Final[tuple[Aspect, ...]] = ("score", "supplied", "labels", "states", "texts")


@attrs.frozen(kw_only=True)
class Parting:
    """A task on which two runs differ.

    ``differences`` maps an aspect to what each run has there; it is empty when only the way there
    differs. ``first`` is the first conclusion that differs, None where a run has none.
    """

    index: int
    tasks: tuple[str, str]
    differences: Mapping[Aspect, tuple[tuple[str, ...], tuple[str, ...]]]
    first: Pair
    cause: Cause

    def plain(self) -> dict[str, Any]:
        """The parting as JSON data."""
        return {
            "index": self.index,
            "tasks": list(self.tasks),
            "differences": {name: [list(a), list(b)] for name, (a, b) in self.differences.items()},
            "first": [
                None
                if recorded is None
                else {
                    "position": recorded.position,
                    "type": recorded.type,
                    "says": tell(recorded.event),
                }
                for recorded in self.first
            ],
            "cause": attrs.asdict(self.cause),
        }


@attrs.frozen(kw_only=True)
class Comparison:
    """Two runs compared: the settings that differ and the tasks on which they part.

    ``settings`` maps dotted names to both values, as they are in force at the end. ``tasks`` are
    the completed tasks of each, ``mean_scores`` are over those that both have, ``agreed`` counts
    the conclusions that are the same. ``decided`` is what people decided in each after the last
    task that both have, in words.
    """

    settings: Mapping[str, tuple[Any, Any]]
    tasks: tuple[int, int]
    mean_scores: tuple[float, float]
    agreed: int
    partings: tuple[Parting, ...]
    decided: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def same(self) -> bool:
        """Whether nothing tells the runs apart but their settings."""
        return (
            not self.partings
            and self.tasks[0] == self.tasks[1]
            and self.decided[0] == self.decided[1]
        )

    def plain(self) -> dict[str, Any]:
        """The comparison as JSON data."""
        return {
            "same": self.same,
            "settings": {name: list(values) for name, values in self.settings.items()},
            "tasks": list(self.tasks),
            "mean_scores": list(self.mean_scores),
            "agreed": self.agreed,
            "partings": [parting.plain() for parting in self.partings],
            "decided": [list(each) for each in self.decided],
        }


def compare(a: EventLog, b: EventLog, settings: Mapping[str, tuple[Any, Any]]) -> Comparison:
    """Compare two runs over the tasks that both have completed.

    Args:
        a: one log.
        b: another one.
        settings: what differs in their configurations, by dotted names.
    """
    sides = _Side(a), _Side(b)
    partings = []
    agreed = 0
    for left, right in zip(sides[0].chapters(), sides[1].chapters(), strict=False):
        same = sum(_same(x, y) for x, y in zip(left.events, right.events, strict=False))
        agreed += same
        if same < max(len(left.events), len(right.events)):
            partings.append(_parting(sides, left, right, settings))
        sides[0].remember(left)
        sides[1].remember(right)
    tasks = _completed(a), _completed(b)
    return Comparison(
        settings=settings,
        tasks=tasks,
        mean_scores=(sides[0].mean_score, sides[1].mean_score),
        agreed=agreed,
        partings=tuple(partings),
        decided=(_decided(a, min(tasks)), _decided(b, min(tasks))),
    )


def _completed(log: EventLog) -> int:
    rows = log.rows("select count(*) from events where type = 'TaskCompleted'")
    return int(rows[0][0])


def _decided(log: EventLog, task: int) -> tuple[str, ...]:
    """What people decided after a task and before the next, in words."""
    after, until = log.position_at_task(task), log.first_of_task(task + 1) or None
    decisions = log.read(after=after, until=until, types=("MemoryOverridden",))
    return tuple(tell(recorded.event) for recorded in decisions)


@attrs.frozen(kw_only=True)
class _Chapter:
    """The conclusions of one completed task, after what was decided just before it."""

    index: int
    events: tuple[Recorded, ...]

    def of(self, *types: str) -> list[Recorded]:
        return [recorded for recorded in self.events if recorded.type in types]


class _Side:
    """One of the two logs, with what its memories say so far."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.store: dict[str, list[str]] = {}
        self.scores: list[float] = []

    def chapters(self) -> Iterator[_Chapter]:
        collected: list[Recorded] = []
        for recorded in self.log.read(types=_TYPES):
            collected.append(recorded)
            if recorded.type == "TaskCompleted" and recorded.task_index is not None:
                yield _Chapter(index=recorded.task_index, events=tuple(collected))
                collected = []

    def remember(self, chapter: _Chapter) -> None:
        for recorded in chapter.events:
            said = _change(recorded)
            if said and recorded.stream_id.startswith("memory:"):
                memory = recorded.stream_id.removeprefix("memory:")
                self.store.setdefault(memory, []).append(said)
            if isinstance(recorded.event, ev.TaskScored):
                self.scores.append(recorded.event.score)

    @property
    def mean_score(self) -> float:
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


def _change(recorded: Recorded) -> str:
    """What an event does to a memory as it is injected or judged; empty for nothing."""
    match recorded.event:
        case (
            ev.MemoryAdmitted()
            | ev.MemoryRevised()
            | ev.ConditionAdded()
            | ev.ConditionWithdrawn()
            | ev.StateChanged()
            | ev.EffectRecorded()
        ):
            return tell(recorded.event)
    return ""


def _same(a: Recorded, b: Recorded) -> bool:
    if (a.type, a.stream_id, a.task_index) != (b.type, b.stream_id, b.task_index):
        return False
    return a.payload == b.payload or _said(a.event) == _said(b.event)


def _said(event: ev.Event) -> dict[str, Any]:
    return {name: value for name, value in plain_event(event).items() if name not in _NAMES}


def _parting(
    sides: tuple[_Side, _Side],
    a: _Chapter,
    b: _Chapter,
    settings: Mapping[str, tuple[Any, Any]],
) -> Parting:
    first = next(
        pair for pair in zip_longest(a.events, b.events) if None in pair or not _same(*pair)
    )
    differences: dict[Aspect, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for aspect in ASPECTS:
        left, right = _aspect(a, aspect), _aspect(b, aspect)
        if left != right:
            differences[aspect] = (left, right)
    return Parting(
        index=a.index,
        tasks=(_task(a), _task(b)),
        differences=differences,
        first=first,
        cause=cause_of(
            (sides[0].log, sides[1].log),
            (sides[0].store, sides[1].store),
            a.index,
            first,
            settings,
        ),
    )


def _task(chapter: _Chapter) -> str:
    (completed,) = chapter.of("TaskCompleted")
    assert isinstance(completed.event, ev.TaskCompleted)
    return completed.event.task


def _aspect(chapter: _Chapter, aspect: Aspect) -> tuple[str, ...]:
    return tuple(said for r in chapter.events if (said := _of_aspect(r.event, aspect)))


def _of_aspect(event: ev.Event, aspect: Aspect) -> str:
    match aspect, event:
        case "score", ev.TaskScored():
            return f"{event.score:.4g}"
        case "supplied", ev.MemorySupplied():
            return f"{event.memory}.v{event.version}"
        case "labels", ev.EffectRecorded():
            return (
                f"{event.memory}.v{event.version} {event.label} {event.effect:+.4g} on {event.task}"
            )
        case "states", ev.StateChanged():
            return f"{event.memory} {event.before} → {event.after} ({event.rule})"
        case "texts", ev.MemoryAdmitted() | ev.MemoryRevised():
            version = event.version if isinstance(event, ev.MemoryRevised) else 1
            return f"{event.memory}.v{version} “{event.body}”"
        case "texts", ev.ConditionAdded() | ev.ConditionWithdrawn():
            sign = "+" if isinstance(event, ev.ConditionAdded) else "-"
            return f"{event.memory} {sign}{event.kind} “{event.text}”"
    return ""
