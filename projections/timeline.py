"""The state of the memory after any event of a log, answered from the tables in the side file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

from ..eventlog.closing import Closing
from ..eventlog.codec import digest
from ..eventlog.errors import BadInput, DiscernmemError
from ..eventlog.events import StoreCheckpointed
from ..eventlog.log import EventLog
from ..eventlog.sidefile import SideFile
from . import held, stores
from .filling import Filling
from .state import EVENT_TYPES, STATE_VERSION, State
from .store import Memory

BATCH: Final = 20_000
"""Events taken into the side file in one transaction, and lost if it is killed."""

Answer = TypeVar("Answer")


class Timeline(Closing):
    """What a log's memory was after any of its events.

    A question about an event the side file does not reach yet first takes the new events of the
    log into it. A side file that fails, whatever the reason, costs time only.

    All questions raise BadInput when the log has no event at the position they are about.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._side = SideFile(log, schema=held.SCHEMA, code_version=held.CODE_VERSION)

    def close(self) -> None:
        """Close the side file."""
        self._side.close()

    # -- asking --------------------------------------------------------------------------------

    def serialised(self, position: int) -> bytes:
        """The canonical bytes of the store after the event at ``position`` (0: before all)."""
        return self._ask(position, lambda tables: stores.serialised(tables, position))

    def state(self, position: int) -> State:
        """The state after the event at ``position``, to go on from.

        The side file is held against the newest hash of the store that the log has by then: a run
        never goes on from a damaged one.
        """
        recorded = self._log.last("StoreCheckpointed", until=position)
        checkpoint = recorded.event if recorded else None

        def ask(tables: sqlite3.Connection) -> State:
            if (
                recorded is not None
                and isinstance(checkpoint, StoreCheckpointed)
                and checkpoint.state_version == STATE_VERSION
                and not self._side.refilled
                and digest(stores.serialised(tables, recorded.position)) != checkpoint.state_hash
            ):
                raise ValueError(f"{self._side.path} is not the fold of the log")
            return held.state(tables, position)

        return self._ask(position, ask)

    def memory(self, memory: str, position: int) -> Memory | None:
        """One memory after the event at ``position``, if it was admitted by then."""
        return self._ask(position, lambda tables: held.memory(tables, memory, position))

    def count(self, position: int) -> int:
        """How many memories there were after the event at ``position``."""
        return self._ask(position, lambda tables: held.count(tables, position))

    def _ask(self, position: int, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        while True:
            try:
                with self._side.reading() as (tables, reached):
                    if 0 <= position <= reached:
                        return question(tables)
                self._log.head(position)
                self._fill()
            except DiscernmemError:
                raise
            # Reading what is damaged can raise anything; that it was the log shows in memory.
            except Exception as error:
                self._side.give_up(error)

    # -- filling -------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take all new events into the side file; without one, do nothing."""
        try:
            if not self._side.in_memory:
                self._fill()
        except DiscernmemError:
            raise
        except Exception as error:
            self._side.give_up(error)

    def _fill(self) -> None:
        head = self._log.head().position
        while self._fill_batch(head) < head:
            pass

    def _fill_batch(self, head: int) -> int:
        with self._side.writing() as (tables, reached):
            if reached >= head:
                return reached
            filling = Filling(tables)
            new = self._log.read(after=reached, until=head, types=EVENT_TYPES)
            reached = head
            for number, recorded in enumerate(new, start=1):
                filling.add(recorded)
                if number == BATCH:
                    reached = recorded.position
                    break
            filling.write()
            self._side.mark(reached)
        return reached


# -- positions ---------------------------------------------------------------------------------


def state_at_task(log: EventLog, task: int) -> State:
    """The store M_{t+1}: the state after the completion of task ``task``.

    Raises:
        BadInput: the log has not completed that task.
    """
    with Timeline(log) as timeline:
        return timeline.state(completed_position(log, task))


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


def settled_position(log: EventLog) -> int:
    """Position of the last event before the open task, of the whole log when none is open.

    What a person decided after the last completed task is included, a task begun after it is not.
    """
    begun = log.first_of_task(last_completed(log) + 1)
    return begun - 1 if begun else log.head().position
