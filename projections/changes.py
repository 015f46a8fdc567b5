"""What changed in the store between two tasks, each change with the event that made it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import attrs

from ..eventlog.codec import plain as plain_event
from ..eventlog.log import EventLog, Recorded
from .telling import tell

CHANGING: Final = (
    "MemoryAdmitted",
    "ConditionAdded",
    "ConditionWithdrawn",
    "StateChanged",
    "MemoryRevised",
    "EffectRecorded",
)
"""The event types that change the store or its evidence."""


@attrs.frozen
class Change:
    """One change and why: the chain of its causes within the memory's life, nearest first."""

    recorded: Recorded
    because: tuple[Recorded, ...]

    def plain(self) -> dict[str, Any]:
        """The change as JSON data."""
        return {
            "position": self.recorded.position,
            "task_index": self.recorded.task_index,
            "type": self.recorded.type,
            "says": tell(self.recorded.event),
            "event": plain_event(self.recorded.event),
            "because": [
                {"position": r.position, "type": r.type, "says": tell(r.event)}
                for r in self.because
            ],
        }


def changes(log: EventLog, after: int, until: int) -> list[Change]:
    """Every change of the store in positions ``after`` (excluded) to ``until`` (included)."""
    return [
        Change(recorded, tuple(_because(log, recorded)))
        for recorded in log.read(after=after, until=until, types=CHANGING)
    ]


def _because(log: EventLog, recorded: Recorded) -> Iterable[Recorded]:
    """The causes up to where the memory was supplied, attached or proposed."""
    cause = recorded.causation_id
    while cause is not None:
        found = log.by_id(cause)
        if found is None or found.type in ("TaskStarted", "SelectionDecided", "TaskScored"):
            return
        yield found
        cause = found.causation_id
