"""What a run cost: executions asked for, made and saved, calls and tokens by purpose, fallbacks.

Everything is counted in the file by columns: to decode the events of a long run would take longer
than all the rest of a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..eventlog.events import EVENT_TYPES
from ..eventlog.log import EventLog

_DECIDING: Final = tuple(
    name for name, kind in EVENT_TYPES.items() if "fallback" in kind.__annotations__
)
"""The events that say what a model decided, and whether its answers were unusable."""

PURPOSES: Final[Mapping[str, str]] = {
    "ExtractionDecided": "extraction",
    "IdentityJudged": "identity",
    "SelectionDecided": "selection",
    "ScopeChecked": "scope check",
    "ContentDiagnosed": "content diagnosis",
    "UseConditionsGeneralised": "generalisation",
    "RepairProposed": "repair",
}
"""For which purpose the calls behind each of them are made."""


@attrs.frozen(kw_only=True)
class Purpose:
    """The calls of the model for one purpose, and the tokens it read and wrote."""

    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@attrs.frozen(kw_only=True)
class TaskCost:
    """The executions of one task: those the plain algorithm makes, and those that were made."""

    index: int
    asked: int
    run: int

    @property
    def saved(self) -> int:
        """Executions that an equal earlier one answered."""
        return max(self.asked - self.run, 0)


@attrs.frozen(kw_only=True)
class Ledger:
    """What a run cost.

    Attributes:
        tasks: the executions of each task that was begun, in order.
        purposes: the calls by purpose, the team's own turns (``role``) first, then by name.
        decisions: decisions of each type, by the name of its event.
        fallbacks: those of them for which no answer was usable, likewise.
    """

    tasks: tuple[TaskCost, ...]
    purposes: tuple[Purpose, ...]
    decisions: dict[str, int]
    fallbacks: dict[str, int]

    @property
    def asked(self) -> int:
        """Executions that the plain algorithm makes for the completed tasks."""
        return sum(task.asked for task in self.tasks)

    @property
    def run(self) -> int:
        """Executions that were made."""
        return sum(task.run for task in self.tasks)

    @property
    def saved(self) -> int:
        """Executions that an equal earlier one answered."""
        return sum(task.saved for task in self.tasks)

    @property
    def total(self) -> Purpose:
        """The calls of all purposes."""
        return Purpose(
            name="all",
            calls=sum(each.calls for each in self.purposes),
            prompt_tokens=sum(each.prompt_tokens for each in self.purposes),
            completion_tokens=sum(each.completion_tokens for each in self.purposes),
        )

    def plain(self) -> dict[str, Any]:
        """As plain JSON data, of the tasks only the sums."""
        return {
            "executions": {"asked": self.asked, "run": self.run, "saved": self.saved},
            "calls": [attrs.asdict(each) for each in (*self.purposes, self.total)],
            "decisions": self.decisions,
            "fallbacks": self.fallbacks,
        }


def ledger(log: EventLog) -> Ledger:
    """What the run of a log cost, finished or not."""
    return Ledger(
        tasks=task_costs(log),
        purposes=_purposes(log),
        decisions=dict(_by_type(log, "true")),
        fallbacks=dict(_by_type(log, "payload ->> 'fallback' <> ''")),
    )


def task_costs(log: EventLog) -> tuple[TaskCost, ...]:
    """The executions of each task that was begun, in order."""
    asked: dict[int, int] = dict(
        log.rows(
            "select task_index, payload ->> 'executions_asked' from events"
            " where type = 'TaskCompleted' order by position"
        )
    )
    # The index of the type leads to the few rows there are; that of the tasks would read all.
    run = Counter(
        index
        for (index,) in log.rows("select task_index from events where type = 'ExecutionFinished'")
    )
    begun = log.rows("select task_index from events where type = 'TaskStarted' order by position")
    return tuple(
        TaskCost(index=index, asked=asked.get(index, 0), run=run[index]) for (index,) in begun
    )


def _purposes(log: EventLog) -> tuple[Purpose, ...]:
    rows = log.rows(
        "select payload ->> 'purpose', count(*), sum(payload ->> 'prompt_tokens'),"
        " sum(payload ->> 'completion_tokens')"
        " from events where type = 'ModelReplied' group by 1 order by 1"
    )
    found = [
        Purpose(name=name, calls=calls, prompt_tokens=read, completion_tokens=written)
        for name, calls, read, written in rows
    ]
    return tuple(sorted(found, key=lambda each: (each.name != "role", each.name)))


def _by_type(log: EventLog, condition: str) -> list[tuple[str, int]]:
    marks = ", ".join("?" for _ in _DECIDING)
    return log.rows(
        f"select type, count(*) from events where type in ({marks}) and {condition}"
        " group by type order by type",
        _DECIDING,
    )
