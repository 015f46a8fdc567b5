"""Whether the side file says what the log says: its tables against a fold of the log."""

from __future__ import annotations

import sqlite3
from typing import Final

from ..eventlog.closing import Closing
from ..eventlog.errors import DiscernmemError
from ..eventlog.log import EventLog
from ..eventlog.sidefile import SideFile, is_damage, is_side_file, side_path
from . import held, stores
from .state import Serialiser, State
from .timeline import last_completed

POINTS: Final = 20
"""The most tasks after which the two are compared."""


class SideFileCheck(Closing):
    """Compares the side file of a log, if it has one, with the states of a fold.

    The file is only read. What is not of this log and this code is not used by anybody and
    therefore not compared; neither is what is locked or was left in the middle of a transaction.
    """

    def __init__(self, log: EventLog) -> None:
        self._side: SideFile | None = None
        self._damaged = False
        self._path = side_path(log.path)
        last = last_completed(log)
        tasks = {last * number // POINTS for number in range(1, POINTS + 1)}
        self._positions = {log.position_at_task(task) for task in tasks}
        if not is_side_file(self._path):
            return
        try:
            self._side = SideFile(
                log, schema=held.SCHEMA, code_version=held.CODE_VERSION, read_only=True
            )
            with self._side.reading() as (_, reached):
                self._positions.add(reached)
        except sqlite3.Error as error:
            self._damaged = is_damage(error)

    def close(self) -> None:
        """Compare no more."""
        if self._side is not None:
            self._side.close()
        self._side, self._damaged = None, False

    def problems(self, position: int, state: State, serialiser: Serialiser) -> list[str]:
        """What is wrong with the side file at ``position``, where the fold gives ``state``.

        One finding is enough: after it nothing more is compared.
        """
        if position not in self._positions or not (self._side or self._damaged):
            return []
        reason = "is damaged" if self._damaged else self._difference(position, state, serialiser)
        if not reason:
            return []
        self.close()
        return [f"{self._path.name} {reason}; delete it, it is made anew from the log"]

    def _difference(self, position: int, state: State, serialiser: Serialiser) -> str:
        assert self._side is not None
        try:
            with self._side.reading() as (tables, reached):
                if reached < position or _agrees(tables, position, state, serialiser):
                    return ""
            return "holds another store than the log gives"
        except DiscernmemError:
            raise
        # Reading what is damaged can raise anything.
        except Exception as error:
            return "is damaged" if is_damage(error) else ""


def _agrees(
    tables: sqlite3.Connection, position: int, state: State, serialiser: Serialiser
) -> bool:
    return (
        stores.serialised(tables, position) == serialiser.serialise(state)
        and held.state(tables, position) == state
    )
