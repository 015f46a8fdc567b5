"""What SQL by hand may do to a log: extend it, nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from discernmem.eventlog import EventLog
from discernmem.eventlog.verify import verify

COLUMNS = [
    "position",
    "event_id",
    "stream_id",
    "stream_version",
    "type",
    "schema_version",
    "task_index",
    "recorded_at",
    "actor",
    "causation_id",
    "correlation_id",
    "payload",
    "prev_hash",
    "hash",
]


@pytest.fixture(params=["off", "on"])
def sql(request: pytest.FixtureRequest, filled: Path) -> Iterator[sqlite3.Connection]:
    """A connection of a stranger, in both modes of recursive_triggers."""
    connection = sqlite3.connect(filled, isolation_level=None)
    connection.execute(f"pragma recursive_triggers = {request.param}")
    connection.execute("pragma foreign_keys = on")
    yield connection
    connection.close()
    with EventLog.open(filled) as log:
        assert verify(log).problems == ()


def next_row(sql: sqlite3.Connection, **changes: object) -> tuple[object, ...]:
    """A row that would extend the log, with some columns changed."""
    (head,) = sql.execute("select hash from events order by position desc limit 1").fetchone()
    fourth = sql.execute("select * from events where position = 4").fetchone()
    row = dict(zip(COLUMNS, fourth, strict=True))
    row |= {"position": 9, "event_id": "new", "stream_id": "task:9", "stream_version": 1}
    row |= {"prev_hash": head} | changes
    return tuple(row.values())


def insert(verb: str, row: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    return f"{verb} into events values ({', '.join('?' * len(row))})", row


@pytest.mark.parametrize(
    "statement",
    [
        "update {0} set rowid = rowid",
        "delete from {0}",
        "delete from {0} where rowid = 1",
    ],
)
@pytest.mark.parametrize("table", ["events", "blobs", "log_meta"])
def test_rows_are_neither_changed_nor_removed(
    sql: sqlite3.Connection, table: str, statement: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=r"append-only|is fixed"):
        sql.execute(statement.format(table))


@pytest.mark.parametrize(
    "statement", ["update event_blobs set name = 'x'", "delete from event_blobs"]
)
def test_links_are_neither_changed_nor_removed(sql: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        sql.execute(statement)


@pytest.mark.parametrize("verb", ["insert", "insert or replace", "replace", "insert or ignore"])
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"position": 8}, "position is not the next one"),
        ({"position": 1}, "position is not the next one"),
        ({"position": 10}, "position is not the next one"),
        ({"position": None}, "position is not the next one"),
        ({"stream_id": "task:1", "stream_version": 1}, "stream_version is not the next one"),
        ({"stream_id": "task:1", "stream_version": 4}, "stream_version is not the next one"),
        ({"prev_hash": bytes(32)}, "prev_hash is not the head of the log"),
    ],
)
def test_an_event_that_does_not_extend_the_log_is_refused(
    sql: sqlite3.Connection, verb: str, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=complaint):
        sql.execute(*insert(verb, next_row(sql, **changes)))


@pytest.mark.parametrize("verb", ["insert", "replace", "insert or ignore"])
def test_an_id_that_is_recorded_is_refused(sql: sqlite3.Connection, verb: str) -> None:
    (event_id,) = sql.execute("select event_id from events where position = 2").fetchone()
    with pytest.raises(sqlite3.IntegrityError, match="event_id is already recorded"):
        sql.execute(*insert(verb, next_row(sql, event_id=event_id)))


def test_an_upsert_is_refused(sql: sqlite3.Connection) -> None:
    statement, row = insert("insert", next_row(sql, position=4))
    with pytest.raises(sqlite3.IntegrityError):
        sql.execute(f"{statement} on conflict do update set payload = '{{}}'", row)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"payload": "{"}, "CHECK"),
        ({"payload": b"{}"}, "cannot store BLOB"),
        ({"hash": b"short"}, "CHECK"),
        ({"actor": None}, "NOT NULL"),
        ({"schema_version": 0}, "CHECK"),
        ({"schema_version": "one"}, "cannot store TEXT"),
    ],
)
def test_a_row_of_other_shape_is_refused(
    sql: sqlite3.Connection, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=complaint):
        sql.execute(*insert("insert", next_row(sql, **changes)))


def test_a_row_that_extends_the_log_is_taken(sql: sqlite3.Connection) -> None:
    """So that the refusals above are for the reason they name."""
    sql.execute("begin")
    sql.execute(*insert("insert", next_row(sql)))
    sql.execute("rollback")


@pytest.mark.parametrize("verb", ["insert", "replace", "insert or ignore"])
def test_blobs_are_stored_once(sql: sqlite3.Connection, verb: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="blobs: already stored"):
        sql.execute(
            f"{verb} into blobs (sha256, size, codec, content)"
            " select sha256, size, codec, x'00' from blobs where id = 1"
        )
    with pytest.raises(sqlite3.IntegrityError, match="blobs: id is taken"):
        sql.execute(f"{verb} into blobs values (1, zeroblob(32), 1, 'none', x'00')")


@pytest.mark.parametrize("verb", ["insert", "replace", "insert or ignore"])
def test_a_recorded_event_gets_no_further_blob(sql: sqlite3.Connection, verb: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="the event is already recorded"):
        sql.execute(f"{verb} into event_blobs select 8, 'x', sha256 from blobs where id = 1")
    with pytest.raises(sqlite3.IntegrityError, match="event_blobs: already linked"):
        sql.execute(f"{verb} into event_blobs select 1, 'text', sha256 from blobs where id = 2")


def test_a_blob_cannot_be_linked_to_an_event_that_never_comes(sql: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        sql.execute("insert into event_blobs select 9, 'x', sha256 from blobs where id = 1")


@pytest.mark.parametrize("verb", ["insert", "replace", "insert or ignore"])
def test_the_facts_of_the_file_are_fixed(sql: sqlite3.Connection, verb: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="log_meta: already set"):
        sql.execute(f"{verb} into log_meta values ('run', 'other')")


def test_the_first_event_must_follow_the_genesis_of_its_log(log: EventLog) -> None:
    with sqlite3.connect(log.path, isolation_level=None) as sql:
        row = ("e", "s", 1, "T", 1, None, "t", "a", None, "r", "{}")
        with pytest.raises(sqlite3.IntegrityError, match="prev_hash is not the genesis"):
            sql.execute(*insert("insert", (1, *row, bytes(32), bytes(32))))
        sql.execute(*insert("insert", (1, *row, bytes.fromhex(log.head(0).hash), bytes(32))))
    sql.close()
