"""Our own server: Datasette over one log, to be read by who is at this machine."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import uvicorn
from datasette.app import Datasette
from datasette.database import Database
from datasette.plugins import pm

from ...eventlog.errors import BadInput
from ...eventlog.files import BUSY_SECONDS, size, wal_of
from ...projections.visible import visible
from . import plugin

_SETTINGS: Final = {
    "allow_download": False,
    "default_cache_ttl": 0,
    # A guess for each column of each table asks more than the table itself.
    "suggest_facets": False,
    "sql_time_limit_ms": 5000,
}
_GRACE_SECONDS: Final = 2

T = TypeVar("T")


class LogDatabase(Database):
    """A log as a database of Datasette: opened anew for each question, and left as it is.

    A read-only connection makes files beside a log at rest, or fails in a folder it may not write;
    so, as our reader does, such a log is read as one that does not change, and read again if it
    did. Nothing of a file that was replaced stays open.
    """

    async def execute_fn(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Ask a question with a connection of its own, in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self.ds.executor, self._ask, fn)

    def _ask(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        while True:
            state = self._look()
            live = state[0] > 0
            uri = f"{Path(self.path).absolute().as_uri()}?mode=ro{'' if live else '&immutable=1'}"
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
            try:
                self.ds._prepare_connection(connection, self.name)
                answer = fn(connection)
            except sqlite3.DatabaseError:
                if live or self._look() == state:
                    raise
            else:
                if live or self._look() == state:
                    return answer
            finally:
                connection.close()

    def _look(self) -> tuple[int, int, int]:
        main = Path(self.path).stat()
        return size(wal_of(Path(self.path))), main.st_size, main.st_mtime_ns


def datasette_of(path: Path, host: str) -> Datasette:
    """Datasette over one log, with our pages, guarded for who listens at ``host``."""
    if not pm.is_registered(plugin):
        pm.register(plugin, plugin.NAME)
    title = f"The log {visible(path.name)}"
    made = Datasette(
        files=[],
        settings=_SETTINGS,
        metadata={"title": title, "plugins": {plugin.NAME: {"host": host}}},
    )
    made.remove_database("_memory")
    # A name that is no Unicode could be no part of an address.
    made.add_database(LogDatabase(made, str(path), is_mutable=True), visible(path.stem))
    return made


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free one.

    Raises:
        BadInput: the port is in use, or the host is none of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(
            f"--host {host} --port {port}: {why}; choose another, --port 0 takes any free one"
        ) from None


def run(server: Any, listening: socket.socket) -> None:
    """Serve until it is interrupted, which raises KeyboardInterrupt."""
    config = uvicorn.Config(
        server.app(),
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])
