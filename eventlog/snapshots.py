"""Snapshots of folds in a side file beside the log: a cache, deletable at any time.

A snapshot is used only if the code that made it has the same version and the log still has the
hash it had at that position, so a snapshot of another log or of older code is never continued.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

import zstandard
from sqlite_utils import Database
from sqlite_utils.db import Table

from .log import EventLog


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
        self._database: Database | None = None
        try:
            self._database = Database(side_file(Path(log.path)))
            self._database.execute("pragma synchronous = off")
            self._table.create(
                {
                    "projection": str,
                    "code_version": int,
                    "position": int,
                    "log_hash": str,
                    "state": bytes,
                },
                pk=("projection", "code_version", "position"),
                if_not_exists=True,
                strict=True,
            )
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
        if self._database is None:
            return None
        try:
            rows = self._database.query(
                "select position, log_hash, state from snapshots where projection = ?"
                " and code_version = ? and position <= ? order by position desc",
                (*self._key, position),
            )
            for row in rows:
                recorded = self._log.at(row["position"])
                if recorded is not None and recorded.hash == row["log_hash"]:
                    return row["position"], zstandard.decompress(row["state"])
        except (sqlite3.Error, zstandard.ZstdError):
            return None
        return None

    def put(self, position: int, state: bytes) -> None:
        """Keep the state after the event at ``position``."""
        recorded = self._log.at(position)
        if self._database is None or recorded is None:
            return
        projection, code_version = self._key
        row = {
            "projection": projection,
            "code_version": code_version,
            "position": position,
            "log_hash": recorded.hash,
            "state": zstandard.compress(state, 3),
        }
        try:
            self._table.insert(row, replace=True)
        except sqlite3.Error:
            return

    def close(self) -> None:
        """Close the side file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def _table(self) -> Table:
        assert self._database is not None
        return self._database.table("snapshots")
