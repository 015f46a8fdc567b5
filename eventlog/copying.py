"""Events that exist already, put into another log as they are: a new one, or one to extend.

Either way all of them or none: a new file appears when it is whole, an old one grows by one
transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import blobs, files
from .chain import Head
from .files import Row
from .records import Prepared
from .recovery import check_beside
from .writing import INSERT_EVENT, INSERT_LINK, Writer

_BATCH = 1000
_BATCH_BYTES = 8 << 20
_CACHE_KIB = 64 << 10
"""Ids and digests come in no order, so their indexes are touched everywhere."""


class Copier:
    """Puts events behind the end of a log, some at a time, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._clear()

    def _clear(self) -> None:
        self._contents: list[tuple[bytes, bytes]] = []
        self._links: list[tuple[int, str, bytes]] = []
        self._events: list[Row] = []
        self._bytes = 0

    def blob(self, sha256: bytes, content: bytes) -> None:
        """A content that the next event is the first to cite."""
        self._contents.append((sha256, content))
        self._bytes += len(content)

    def event(
        self, header: Row, payload: bytes, links: Mapping[str, str], prev: bytes, hash_: bytes
    ) -> None:
        """The next event, with the values of a `chain.Header`."""
        self._links += [(header[0], name, bytes.fromhex(ref)) for name, ref in links.items()]
        self._events.append((*header, payload.decode(), prev, hash_))
        self._bytes += len(payload)
        if len(self._events) >= _BATCH or self._bytes > _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand everything to SQLite.

        Raises:
            ValueError: the guards of the log refuse an event, which is named.
        """
        try:
            blobs.store(self._connection, self._contents)
            self._connection.executemany(INSERT_LINK, self._links)
            self._connection.executemany(INSERT_EVENT, self._events)
        except sqlite3.IntegrityError as error:
            sql = "select coalesce(max(position), 0) + 1 from events"
            ((position,),) = self._connection.execute(sql).fetchall()
            raise ValueError(f"event {position} is refused by the log's guards: {error}") from None
        self._clear()

    def write(
        self, prepared: Sequence[Prepared], *, run: str, head: Head, recorded_at: str
    ) -> None:
        """Events that do not exist yet, behind ``head``, the end of those that do; see `Writer`."""
        self.flush()
        Writer(self._connection, run).write(prepared, head=head, recorded_at=recorded_at)

    def rows(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """All rows of a query over the log with all events given so far."""
        self.flush()
        return self._connection.execute(sql, parameters).fetchall()


@contextmanager
def drafted(path: Path, *, log_id: str, run: str) -> Iterator[Copier]:
    """A new log to fill, which appears at ``path`` when the block is left without an error.

    The caller holds the lock.

    Raises:
        BadInput: the path is taken.
    """
    files.refuse_taken(path)
    draft = path.with_name(path.name + ".new")
    leftovers = (draft, files.wal_of(draft), draft.with_name(draft.name + "-shm"))
    _remove(leftovers)
    try:
        files.initialise(draft, log_id=log_id, run=run)
        connection = files.connect_writing(draft)
        try:
            # Nobody sees the draft, so nothing of it has to be kept apart or undone.
            connection.execute("pragma journal_mode = off")
            connection.execute("pragma synchronous = off")
            with _filled(connection) as copier:
                yield copier
            connection.execute("pragma journal_mode = wal")
        finally:
            connection.close()
        files.publish(draft, path)
    finally:
        _remove(leftovers)


@contextmanager
def extended(path: Path) -> Iterator[Copier]:
    """An existing log to extend, by all of the block or by nothing; the caller holds the lock.

    Raises:
        LogError: what lies beside the log is of another state of it.
    """
    check_beside(path)
    connection = files.connect_writing(path)
    try:
        with _filled(connection) as copier:
            yield copier
        connection.execute("pragma wal_checkpoint(truncate)")
    finally:
        # What is not committed goes with the connection.
        connection.close()


@contextmanager
def _filled(connection: sqlite3.Connection) -> Iterator[Copier]:
    connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
    connection.execute("begin immediate")
    copier = Copier(connection)
    yield copier
    copier.flush()
    connection.execute("commit")


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
