"""Snapshots of folds in a side file beside the log: a cache, deletable at any time.

A snapshot is used only if the code that made it has the same version and the log still has the
hash it had at that position, so a snapshot of another log or of older code is never continued.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

import zstandard

from .log import EventLog

SCHEMA = """
create table if not exists snapshots (
  projection   text    not null,
  code_version integer not null,
  position     integer not null,
  log_hash     text    not null,
  state        blob    not null,
  primary key (projection, code_version, position)
) strict
"""


def side_file(log: Path) -> Path:
    """Where the snapshots of a log live: ``run.db`` has ``run.store.db``."""
    return log.with_suffix(".store.db")


class Snapshots:
    """Snapshots of one projection of one log.

    A side file that cannot be written (read-only folder, full disk) or read costs time only, so
    such failures are taken as "no snapshot".
    """

    def __init__(self, log: EventLog, projection: str, code_version: int) -> None:
        self._log = log
        self._key = (projection, code_version)
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = sqlite3.connect(side_file(Path(log.path)), isolation_level=None)
            self._connection.execute("pragma synchronous = off")
            self._connection.execute(SCHEMA)
        except sqlite3.Error:
            self.close()

    def __enter__(self) -> Snapshots:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def nearest(self, position: int) -> tuple[int, bytes] | None:
        """The newest usable snapshot at or before ``position``: its position and state."""
        if self._connection is None:
            return None
        try:
            rows = self._connection.execute(
                "select position, log_hash, state from snapshots where projection = ?"
                " and code_version = ? and position <= ? order by position desc",
                (*self._key, position),
            )
            for at, log_hash, state in rows:
                recorded = self._log.at(at)
                if recorded is not None and recorded.hash == log_hash:
                    return at, zstandard.decompress(state)
        except (sqlite3.Error, zstandard.ZstdError):
            return None
        return None

    def put(self, position: int, state: bytes) -> None:
        """Keep the state after the event at ``position``."""
        recorded = self._log.at(position)
        if self._connection is None or recorded is None:
            return
        try:
            self._connection.execute(
                "insert or replace into snapshots values (?, ?, ?, ?, ?)",
                (*self._key, position, recorded.hash, zstandard.compress(state, 3)),
            )
        except sqlite3.Error:
            return

    def close(self) -> None:
        """Close the side file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
