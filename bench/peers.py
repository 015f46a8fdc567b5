"""What the log is measured against: sqlite3 by itself, and the eventsourcing library."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import DomainEvent, datetime_now_with_tzinfo
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from discernmem.eventlog import events as ev
from discernmem.eventlog import plain
from discernmem.eventlog.files import schema


class Fact(DomainEvent):
    """An event of ours as eventsourcing would hold it."""

    name: str
    payload: dict[str, Any]


class Folded(Fact):
    """One that a fold of the store reads: eventsourcing selects by class."""


def fact(event: ev.Event, version: int, *, folded: bool = False) -> Fact:
    """An event for eventsourcing, as the ``version``-th of its stream."""
    kind = Folded if folded else Fact
    return kind(
        originator_id=originator(event.stream),
        originator_version=version,
        timestamp=datetime_now_with_tzinfo(),
        name=type(event).__name__,
        payload=plain(event),
    )


def originator(stream: str) -> UUID:
    """How eventsourcing names a stream."""
    return uuid5(NAMESPACE_URL, stream)


def mapper() -> Mapper[Any]:
    """The peer's mapper as its applications set it up."""
    transcoder = JSONTranscoder()
    transcoder.register(DatetimeAsISO())
    return Mapper(transcoder)


def recorder(path: Path) -> SQLiteApplicationRecorder:
    """The peer's recorder; SQLite's default for synchronous is FULL."""
    made = SQLiteApplicationRecorder(SQLiteDatastore(str(path)))
    made.create_table()
    return made


def unguarded(path: Path) -> sqlite3.Connection:
    """A new database with the tables, keys and indexes of a log, but without its triggers."""
    connection = durable(path)
    for (kind, _), sql in schema().items():
        if kind in ("table", "index"):
            connection.execute(sql)
    return connection


def durable(path: Path) -> sqlite3.Connection:
    """A connection that has everything on the disk when a transaction ends, as a log has."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    return connection
