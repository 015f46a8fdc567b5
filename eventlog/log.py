"""The log: append-only, one writer, any number of readers, one total order of events.

An append is one transaction that is on the disk when the call returns. Ids are derived from the
run, the stream and the version within it, so that doing the same again records the same ids.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from . import chain, files
from .blobs import unpack
from .chain import Head
from .codec import decode
from .errors import BadInput, Conflict, Infrastructure, LogError
from .lock import WriterLock
from .records import Draft, Prepared, Recorded, prepare
from .upcasters import event_class
from .writing import match, write

__all__ = ["Draft", "EventLog", "Head", "Recorded", "utc_now"]

_PAGE = 1000

_COLUMNS = (
    "position, event_id, stream_id, stream_version, type, schema_version, task_index, recorded_at,"
    " actor, causation_id, correlation_id, cast(payload as blob), hash"
)


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class EventLog:
    """A log file, opened to read or, by one process at a time, to write.

    Not to be used across a fork. ``path`` is the file, ``run`` the name of the run it records,
    ``log_id`` what tells it from every other log.
    """

    def __init__(
        self, path: Path, *, lock: WriterLock | None, clock: Callable[[], datetime]
    ) -> None:
        self.path = path
        self._lock = lock
        self._clock = clock
        self._process = os.getpid()
        self._reader: files.Reader | None = None
        self._connection: sqlite3.Connection | None = None
        if lock is None:
            self._reader = files.Reader(path)
        else:
            self._connection = files.connect_writing(path)
        meta: dict[str, str] = dict(self.rows("select key, value from log_meta"))
        self.log_id = str(meta.get("log_id"))
        self.run = str(meta.get("run"))

    @classmethod
    def create(
        cls, path: str | Path, *, run: str, clock: Callable[[], datetime] = utc_now
    ) -> EventLog:
        """Make a new log and open it to write.

        Raises:
            BadInput: the path is taken or cannot be written.
            LogBusy: another process is making or writing it.
        """
        path = Path(path)
        if not run or not run.isprintable():
            raise BadInput(f"{run!r} cannot name a run; give it a printable name")
        lock = WriterLock(path)
        try:
            with _reported(path):
                files.make(path, log_id=uuid.uuid4().hex, created_at=_stamp(clock()), run=run)
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
            LogError: it is not a log, or one written by newer code.
            LogBusy: another process is writing it, and ``write`` was asked.
        """
        path = Path(path)
        files.check_file(path)
        lock = WriterLock(path) if write else None
        try:
            with _reported(path):
                log = cls(path, lock=lock, clock=clock)
                if check:
                    log._check()
                return log
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def _check(self) -> None:
        newest = self.rows("select type, max(schema_version) from events group by type")
        for type_name, schema_version in newest:
            try:
                event_class(type_name, schema_version)
            except LogError as error:
                self._disconnect()
                raise LogError(f"{self.path}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the log; after writing, bring all into the one file and its head beside it.

        ``<path>.head`` then holds the head, to be kept elsewhere as well.
        """
        try:
            if self._lock is not None and self._connection is not None:
                with _reported(self.path):
                    self._connection.execute("pragma wal_checkpoint(truncate)")
                    head = self.head().to_text()
                    files.replace_text(self.path.with_name(self.path.name + ".head"), head)
        finally:
            self._disconnect()
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _disconnect(self) -> None:
        for connection in (self._reader, self._connection):
            if connection is not None:
                connection.close()
        self._connection = None

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
        with self._transaction() as connection:
            head = self.head()
            if expected is not None and head.position != expected:
                return self._receipts(prepared, expected, head.position)
            return write(
                connection, prepared, head=head, run=self.run, recorded_at=_stamp(self._clock())
            )

    def _receipts(
        self, prepared: Sequence[Prepared], expected: int, position: int
    ) -> tuple[Recorded, ...]:
        """What an append that was already done recorded."""
        recorded = tuple(self.read(after=expected, until=expected + len(prepared)))
        match(prepared, recorded, expected=expected, newest=self.at(position))
        return recorded

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        if connection is None:
            raise BadInput(f"{self.path} is opened to read; open it with write=True to append")
        if os.getpid() != self._process:
            raise BadInput(f"{self.path} was opened by another process; open it after forking")
        with _reported(self.path):
            connection.execute("begin immediate")
            try:
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    # -- reading -------------------------------------------------------------------------------

    def read(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
        stream: str | None = None,
    ) -> Iterator[Recorded]:
        """Events in order, a page at a time: nothing is held open while the caller works.

        Args:
            after: only events behind this position.
            until: only events up to this position; by default those there are at the call.
            types: only events of these types.
            stream: only events of this stream.
        """
        last = self.head().position if until is None else until
        where, parameters = "position > ? and position <= ?", []
        if stream is not None:
            where, parameters = f"{where} and stream_id = ?", [stream]
        if types is not None:
            # The plus keeps SQLite on the table, in order: one pass however many pages.
            where += f" and +type in ({', '.join('?' * len(types))})"
            parameters += sorted(types)
        return self._pages(where, parameters, after, last)

    def _pages(
        self, where: str, parameters: list[str], after: int, last: int
    ) -> Iterator[Recorded]:
        sql = f"select {_COLUMNS} from events where {where} order by position limit {_PAGE}"
        while True:
            rows = self.rows(sql, (after, last, *parameters))
            for row in rows:
                yield self._recorded(row)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def at(self, position: int) -> Recorded | None:
        """The event at a position."""
        return self._one("position = ?", position)

    def by_id(self, event_id: str) -> Recorded | None:
        """The event with an id."""
        return self._one("event_id = ?", event_id)

    def find(self, stream_id: str, stream_version: int = 1) -> Recorded | None:
        """The event with this version in a stream; versions count from 1."""
        return self._one("stream_id = ? and stream_version = ?", stream_id, stream_version)

    def count(self, stream_id: str, before_task: int | None = None) -> int:
        """How many events a stream has, of tasks before ``before_task`` and outside tasks."""
        sql = "select count(*) from events where stream_id = ?"
        if before_task is None:
            return self._number(sql, stream_id)
        return self._number(f"{sql} and coalesce(task_index, 0) < ?", stream_id, before_task)

    def blob(self, sha256_hex: str) -> bytes:
        """The content with this SHA-256.

        Raises:
            BadInput: the log has none.
            LogError: it is damaged.
        """
        try:
            sha256 = bytes.fromhex(sha256_hex)
        except ValueError:
            raise BadInput(f"{sha256_hex!r} is not a SHA-256 in hex") from None
        rows = self.rows("select codec, size, content from blobs where sha256 = ?", (sha256,))
        if not rows:
            raise BadInput(f"{self.path} has no blob {sha256_hex[:12]}")
        codec, size, packed = rows[0]
        try:
            return unpack(codec, size, packed, sha256)
        except LogError as error:
            raise LogError(f"{self.path}: {error}") from None

    def text(self, sha256_hex: str) -> str:
        """The text with this SHA-256; as `blob`."""
        return self.blob(sha256_hex).decode()

    def head(self, position: int | None = None) -> Head:
        """The head of the log, or the head it had when it ended at ``position``.

        Raises:
            BadInput: it never ended there.
        """
        if position is None:
            position = self._number("select coalesce(max(position), 0) from events")
        hash_ = chain.genesis(self.log_id)
        if position != 0:
            rows = self.rows("select hash from events where position = ?", (position,))
            if not rows:
                raise BadInput(f"{self.path} has no event at position {position}")
            if not isinstance(rows[0][0], bytes):
                raise LogError(f"{self.path}: event {position}: its hash is damaged; run verify")
            hash_ = rows[0][0]
        return Head(chain.origin(self.log_id), position, hash_.hex())

    def position_at_task(self, task_index: int) -> int:
        """Position of the last event of the tasks up to this one; 0: the last before any task."""
        found = self._number(
            "select coalesce(max(position), 0) from events where task_index <= ?", task_index
        )
        if found:
            return found
        first = self._number(
            "select coalesce(min(position), 0) from events where task_index is not null"
        )
        return first - 1 if first else self.head().position

    def last_task(self) -> int:
        """The highest task index there is, 0 when there is none."""
        return self._number("select coalesce(max(task_index), 0) from events")

    # -- rows ----------------------------------------------------------------------------------

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[files.Row]:
        """All rows of a query over the schema and views of the file.

        Raises:
            LogError: the file is damaged.
        """
        with _reported(self.path):
            if self._reader is not None:
                return self._reader.rows(sql, parameters)
            if self._connection is None:
                raise BadInput(f"{self.path} is closed")
            return self._connection.execute(sql, parameters).fetchall()

    def _number(self, sql: str, *parameters: object) -> int:
        return int(self.rows(sql, parameters)[0][0])

    def _one(self, where: str, *parameters: object) -> Recorded | None:
        rows = self.rows(f"select {_COLUMNS} from events where {where}", parameters)
        return self._recorded(rows[0]) if rows else None

    def _recorded(self, row: files.Row) -> Recorded:
        try:
            return Recorded(
                position=row[0],
                event_id=row[1],
                stream_id=row[2],
                stream_version=row[3],
                type=row[4],
                schema_version=row[5],
                task_index=row[6],
                recorded_at=row[7],
                actor=row[8],
                causation_id=row[9],
                correlation_id=row[10],
                payload=row[11],
                hash=row[12].hex(),
                event=decode(row[4], row[5], row[11]),
            )
        except (LogError, AttributeError, TypeError) as error:
            raise LogError(f"{self.path}: event {row[0]}: {error}") from None


def _stamp(time: datetime) -> str:
    """Fixed-width UTC, so that the order of texts is the order of times."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Tell errors of SQLite and the disk in our words."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise Conflict(f"{path}: refused by the log's guards: {error}; nothing written") from None
    except sqlite3.OperationalError as error:
        raise Infrastructure(
            f"{path}: {error}; nothing of this step was written: make room or free the file, "
            "then resume"
        ) from None
    except sqlite3.DatabaseError as error:
        raise LogError(f"{path} is damaged: {error}; run verify, and restore a copy") from None
    except OSError as error:
        raise Infrastructure(f"{path}: {error.strerror}; make room or free the file") from None
