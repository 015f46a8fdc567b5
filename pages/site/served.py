"""The logs a server has: telling which of its databases are logs, and opening one for a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from ...eventlog.errors import BadInput
from ...eventlog.files import APPLICATION_ID
from ...eventlog.log import EventLog
from .catalogue import Catalogue


class Gone(BadInput):
    """The log a server began with is no longer where it was."""


class ServedLog:
    """One log of a server: where its file is, and what is known of it between requests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalogue = Catalogue()
        self._lock = Lock()
        self._log_id = ""

    @contextmanager
    def opened(self) -> Iterator[EventLog]:
        """The log, opened to read and for one request alone; nothing is held between its rows.

        Raises:
            Gone: there is no log any more, or another one.
            LogError: it is damaged.
        """
        if not self.path.exists():
            raise Gone(f"{self.path.name} is no longer there: it was moved or deleted")
        with EventLog.open(self.path) as log:
            with self._lock:
                self._log_id = self._log_id or log.log_id
            if log.log_id != self._log_id:
                raise Gone(
                    f"{self.path.name} is not the log this server began with: it was replaced by "
                    "another one; start the server again to read that"
                )
            yield log


class ServedLogs:
    """The logs among the databases of each server of this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: WeakKeyDictionary[Any, dict[str, ServedLog]] = WeakKeyDictionary()

    def find(self, server: Any, database: str) -> ServedLog | None:
        """The log that a database of a server is; None if it is something else, or not there."""
        with self._lock:
            known = self._known.setdefault(server, {})
            if database not in known:
                found = server.databases.get(database)
                if found is None or not found.path or not _is_log(Path(found.path)):
                    return None
                known[database] = ServedLog(Path(found.path))
            return known[database]

    def of(self, server: Any) -> list[ServedLog]:
        """All logs that a server was asked for so far."""
        with self._lock:
            return list(self._known.get(server, {}).values())

    def names(self, server: Any) -> list[str]:
        """The names of all databases of a server that are logs."""
        return [name for name in server.databases if self.find(server, name)]


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(100)[68:72] == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False
