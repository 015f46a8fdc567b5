"""Reading the file of a log as it lies there: live, at rest, or damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import BadInput
from .files import BUSY_SECONDS, Row, size, wal_of

_STEPS = 200_000
"""Steps of SQLite after which Python gets its turn; there are millions in a second."""


def _go_on() -> int:
    return 0


class Reader:
    """Reads a log, live or at rest, and leaves nothing beside it where that can be avoided.

    A read-only connection to a WAL database makes two files beside it, or fails in a folder it may
    not write. While there is no WAL the main file is complete, so it is read as immutable; every
    answer is given only if the file was still untouched afterwards, else it is read again.

    With ``damaged``, SQLite gives what there is of a file that was cut, where it otherwise gives
    nothing.
    """

    def __init__(self, path: Path, *, damaged: bool = False) -> None:
        self._path = path
        self._damaged = damaged
        self._wal = wal_of(path)
        self._connect()

    def _connect(self) -> None:
        self._state = self._look()
        self._at_rest = not self._state[0]
        mode = "mode=ro&immutable=1" if self._at_rest else "mode=ro"
        self._connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            timeout=BUSY_SECONDS,
        )
        # A statement of many seconds is left now and then, so that signals are handled.
        self._connection.set_progress_handler(_go_on, _STEPS)
        if self._damaged:
            self._connection.execute("pragma writable_schema = on")

    def _look(self) -> tuple[int, int, int]:
        main = self._path.stat()
        return size(self._wal), main.st_size, main.st_mtime_ns

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """All rows of a query."""
        while True:
            try:
                rows = self._connection.execute(sql, parameters).fetchall()
            except sqlite3.DatabaseError as error:
                code = getattr(error, "sqlite_errorcode", None)
                if not self._at_rest and code == sqlite3.SQLITE_CANTOPEN:
                    raise BadInput(
                        f"{self._path}: its newest events are in {self._wal.name}, which can be "
                        "read only in a folder that may be written; copy both files to one"
                    ) from None
                if not self._at_rest or self._look() == self._state:
                    raise
            else:
                if not self._at_rest or self._look() == self._state:
                    return rows
            self.close()
            self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
