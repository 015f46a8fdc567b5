"""The log: append-only, one writer, any number of readers, one total order of events.

An append is one transaction that is on the disk when the call returns. Ids are derived from the
run, the stream and the version within it, so that doing the same again records the same ids.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from . import chain, files
from .chain import Head
from .closing import Closing
from .errors import BadInput, LogError
from .events import Event
from .lock import WriterLock
from .reader import Reader
from .reading import Readable
from .records import Draft, Prepared, Recorded, prepare
from .recovery import check_beside
from .upcasters import event_class
from .writing import Writer, match

__all__ = ["Draft", "EventLog", "Head", "Recorded", "utc_now"]


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class EventLog(Readable, Closing):
    """A log file, opened to read or, by one process at a time, to write.

    Not to be used across a fork.
    """

    def __init__(
        self,
        path: Path,
        *,
        lock: WriterLock | None,
        clock: Callable[[], datetime],
        damaged: bool = False,
    ) -> None:
        self.path = path
        self._lock = lock
        self._clock = clock
        self._process = os.getpid()
        self._reader: Reader | None = None
        self._connection: sqlite3.Connection | None = None
        if lock is None:
            self._reader = Reader(path, damaged=damaged)
        else:
            self._connection = files.connect_writing(path)
        try:
            meta: dict[str, str] = dict(self.rows("select key, value from log_meta"))
        except BaseException:
            self._disconnect()
            raise
        self.log_id = str(meta.get("log_id"))
        self.run = str(meta.get("run"))
        self._writer = Writer(self._connection, self.run) if self._connection else None

    @classmethod
    def create(
        cls, path: str | Path, *, run: str, clock: Callable[[], datetime] = utc_now
    ) -> EventLog:
        """Make a new log and open it to write.

        Raises:
            BadInput: the path is taken or cannot be written.
            LogBusy: another process is making or writing it.
        """
        # A link to nothing yet: the log is made where it points.
        path = files.beside(Path(path), "")
        if not run or not run.isprintable():
            raise BadInput(f"{run!r} cannot name a run; give it a printable name")
        lock = WriterLock(path)
        try:
            with files.reported(path):
                files.make(path, log_id=uuid.uuid4().hex, run=run)
                return cls(path, lock=lock, clock=clock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        write: bool = False,
        check: bool = True,
        clock: Callable[[], datetime] = utc_now,
    ) -> EventLog:
        """Open an existing log.

        Args:
            path: the file.
            write: whether to append to it; one process at a time may.
            check: refuse a log with events this code cannot read; off to examine a damaged one.
            clock: source of ``recorded_at``.

        Raises:
            BadInput: there is no such file, or it may not be opened.
            LogError: it is not a log, or one written by newer code; or, to write, what lies beside
                it is of another state of it.
            LogBusy: another process is writing it, and ``write`` was asked.
        """
        path = Path(path)
        files.check_file(path)
        lock = WriterLock(path) if write else None
        try:
            with files.reported(path):
                if write:
                    check_beside(path)
                log = cls(path, lock=lock, clock=clock, damaged=not check)
            try:
                if check:
                    log._check()
            except BaseException:
                log._disconnect()
                raise
            return log
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def _check(self) -> None:
        # One step of the index from each type to the next: a grouping would read all of it.
        newest = self.rows(
            """
            with recursive types (name) as (
              select min(type) from events
              union all
              select (select min(type) from events where type > types.name)
              from types where types.name is not null
            )
            select name, (select max(schema_version) from events where type = types.name)
            from types where name is not null
            """
        )
        for type_name, schema_version in newest:
            try:
                event_class(type_name, schema_version)
            except LogError as error:
                raise LogError(f"{self.path}: {error}") from None

    def close(self) -> None:
        """Close the log; after writing, bring all into the one file and its head beside it.

        ``<path>.head`` then holds the head, to be kept elsewhere as well.
        """
        try:
            if self._lock is not None and self._connection is not None:
                with files.reported(self.path):
                    self._connection.execute("pragma wal_checkpoint(truncate)")
                    head = self.head().to_text()
                    files.replace_text(files.head_of(self.path), head)
        finally:
            self._disconnect()
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _disconnect(self) -> None:
        for connection in (self._reader, self._connection):
            if connection is not None:
                connection.close()
        self._reader, self._connection = None, None

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[files.Row]:
        """As `Readable.rows`, which see."""
        with files.reported(self.path):
            if self._reader is not None:
                return self._reader.rows(sql, parameters)
            if self._connection is None:
                raise BadInput(f"{self.path} is closed")
            return self._connection.execute(sql, parameters).fetchall()

    # -- writing -------------------------------------------------------------------------------

    def append(
        self, drafts: Sequence[Draft], *, expected: int | None = None
    ) -> tuple[Recorded, ...]:
        """Record events, all or none, on the disk before this returns.

        Args:
            drafts: what to record, in this order.
            expected: position of the head the writer has seen. Appending the very same drafts
                there again gives the receipts of the first time.

        Raises:
            Conflict: the log does not end at ``expected``, or does not take the events.
            BadInput: a draft cites a blob or an event the log does not have, or is too large.
            LogError: a field of an event has another type than it declares.
            Infrastructure: the disk is full or fails; nothing was recorded.
        """
        prepared = [prepare(draft) for draft in drafts]
        with self._transaction() as writer:
            head = self.head()
            if expected is not None and head.position != expected:
                return self._receipts(prepared, expected, head.position)
            return writer.write(prepared, head=head, recorded_at=stamp(self._clock()))

    def next_id(self, event: Event) -> str:
        """The id an event gets if it is the next of its stream."""
        version = self.count(event.stream) + 1
        return chain.event_id(self.run, event.stream, version, type(event).__name__)

    def _receipts(
        self, prepared: Sequence[Prepared], expected: int, position: int
    ) -> tuple[Recorded, ...]:
        """What an append that was already done recorded."""
        recorded = tuple(self.read(after=expected, until=expected + len(prepared)))
        match(prepared, recorded, expected=expected, newest=self.at(position))
        return recorded

    @contextmanager
    def _transaction(self) -> Iterator[Writer]:
        connection, writer = self._connection, self._writer
        if connection is None or writer is None:
            raise BadInput(f"{self.path} is opened to read; open it with write=True to append")
        if os.getpid() != self._process:
            raise BadInput(f"{self.path} was opened by another process; open it after forking")
        with files.reported(self.path):
            try:
                connection.execute("begin immediate")
                yield writer
                connection.execute("commit")
            except BaseException:
                writer.forget()
                if connection.in_transaction:
                    connection.execute("rollback")
                raise


def stamp(time: datetime) -> str:
    """Fixed-width UTC, so that the order of texts is the order of times."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
