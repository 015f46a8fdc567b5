"""The state of the memory at any task of a log: the nearest snapshot and the events after it."""

from __future__ import annotations

from typing import Final

from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog
from ..eventlog.snapshots import Snapshots
from .state import EVENT_TYPES, STATE_VERSION, State, dump, fold, load

SNAPSHOT_EVERY: Final = 2000
"""Events folded without a snapshot before one is kept."""


def state_at_position(log: EventLog, position: int, snapshots: Snapshots | None = None) -> State:
    """The state after the event at ``position`` (0: before everything)."""
    found = snapshots.nearest(position) if snapshots else None
    after, state = (found[0], load(found[1])) if found else (0, State())
    state = fold(log.read(after=after, until=position, types=EVENT_TYPES), state)
    if snapshots and position - after >= SNAPSHOT_EVERY:
        snapshots.put(position, dump(state))
    return state


def state_at_task(log: EventLog, task: int) -> State:
    """The store M_{t+1}: the fold up to and including the completion of task ``task``.

    Raises:
        BadInput: the log has not completed that task.
    """
    position = completed_position(log, task)
    with Snapshots(log, "state", STATE_VERSION) as snapshots:
        return state_at_position(log, position, snapshots)


def completed_position(log: EventLog, task: int) -> int:
    """Position of the last event of a completed task; 0 is before the first task.

    Raises:
        BadInput: the log has not completed that task.
    """
    last = last_completed(log)
    if not 0 <= task <= last:
        raise BadInput(f"{log.path}: task {task} is not completed in this log (0 to {last} are)")
    return log.position_at_task(task)


def last_completed(log: EventLog) -> int:
    """Index of the last completed task, 0 when none is."""
    last = log.last_task()
    while last > 0:
        newest = log.at(log.position_at_task(last))
        if newest is not None and newest.type == "StoreCheckpointed":
            return last
        last -= 1
    return 0
