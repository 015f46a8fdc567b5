"""What a team said and did in one execution, step by step, as the log keeps it."""

from __future__ import annotations

from typing import Protocol

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.log import EventLog
from .uses import Use


@attrs.frozen(kw_only=True)
class Step:
    """One step of a trajectory.

    ``kind`` is ``message`` (a role's reply), ``information`` (what a search gave the role that
    spoke before), ``action`` (what reached the environment, repeating the message that carried it)
    or ``observation`` (what came back); ``reply`` is the id of the event that holds a message or an
    information, empty for the other kinds.
    """

    id: str
    role: str
    kind: str
    text: str
    reply: str = ""

    @property
    def said(self) -> tuple[str, str, str]:
        """What two trajectories are compared by: not how it came about."""
        return (self.kind, self.role, self.text)


class _Execution(Protocol):
    @property
    def event(self) -> ev.Event: ...


def trajectory(log: EventLog, execution: _Execution) -> tuple[Step, ...]:
    """The steps of a recorded execution (its event is an `ExecutionFinished`), in order.

    Raises:
        LogError: the blob of the trajectory is damaged.
    """
    event = execution.event
    assert isinstance(event, ev.ExecutionFinished)
    return tuple(Step(**step) for step in orjson.loads(log.blob(event.trajectory)))


def reply_text(log: EventLog, reply: ev.ModelReplied) -> str:
    """What a model said, wherever it is kept."""
    return log.text(reply.text_blob) if reply.text_blob else reply.text or ""


def sides(log: EventLog, use: Use) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The two trajectories an effect comes from: with only the memory, and with none."""
    return trajectory(log, use.with_memory), trajectory(log, use.without)
