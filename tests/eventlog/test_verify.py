"""Damage of every kind is found and named, and never raised."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from sample_log import LONG, admitted, completed, fill, ref
from tampering import tamper

from discernmem.eventlog import Draft, EventLog, Head
from discernmem.eventlog.errors import BadInput
from discernmem.eventlog.verify import Problem, verify, verify_file


def flip(path: Path, needle: bytes, *, bit: int = 1) -> None:
    """Flip one bit in the first byte of the only occurrence of ``needle`` in the file."""
    data = bytearray(path.read_bytes())
    assert data.count(needle) == 1
    data[data.index(needle)] ^= bit
    path.write_bytes(data)


def found(path: Path, head: Head | None = None) -> set[tuple[int, str]]:
    return {(problem.position, problem.kind) for problem in verify_file(path, head=head).problems}


def test_an_intact_log_has_no_problems(filled: Path) -> None:
    with EventLog.open(filled) as log:
        report = verify(log, head=log.head(3))
        assert report.ok
        assert (report.checked, report.head, report.problems) == (8, log.head(), ())


def test_an_empty_log_has_no_problems(log: EventLog) -> None:
    assert verify(log, head=log.head()).ok


def test_a_live_log_is_verified_while_it_is_written(log: EventLog) -> None:
    fill(log)
    with EventLog.open(log.path) as reader:
        assert verify(reader).ok


@pytest.mark.parametrize(
    ("statement", "problems"),
    [
        (
            "update events set payload = replace(payload, 'Look', 'Leap') where position = 3",
            {(3, "hash")},
        ),
        ("update events set actor = 'somebody' where position = 2", {(2, "hash")}),
        ("update events set recorded_at = '2020' where position = 8", {(8, "hash")}),
        (
            "update events set event_id = 'x' where position = 1",
            {(1, "hash"), (1, "id"), (7, "reference")},
        ),
        (
            "update events set prev_hash = zeroblob(32) where position = 5",
            {(5, "chain"), (5, "hash")},
        ),
        ("update events set hash = zeroblob(32) where position = 5", {(5, "hash"), (6, "chain")}),
        (
            "delete from events where position = 4",
            {(5, "gap"), (5, "chain")},
        ),
        (
            "update events set causation_id = '00' where position = 7",
            {(7, "hash"), (7, "reference")},
        ),
        (
            "update events set payload = json_set(payload, '$.evidence', json('[\"0\"]'))"
            " where position = 7",
            {(7, "hash"), (7, "reference")},
        ),
        (
            "update events set stream_version = 9 where position = 7",
            {(7, "hash"), (7, "stream"), (7, "id")},
        ),
        (
            "update events set payload = json_set(payload, '$.memory', 'm2') where position = 3",
            {(3, "hash"), (3, "stream")},
        ),
        ("update events set schema_version = 9 where position = 4", {(4, "hash"), (4, "payload")}),
        (
            "update events set type = 'TaskDreamt' where position = 4",
            {(4, "hash"), (4, "id"), (4, "payload")},
        ),
        ("update events set payload = '{}' where position = 4", {(4, "hash"), (4, "payload")}),
        ("update events set payload = '{' where position = 4", {(4, "hash"), (4, "payload")}),
        ("update blobs set content = x'00' where id = 1", {(1, "blob"), (5, "blob"), (6, "blob")}),
        ("update blobs set content = x'00' where id = 2", {(2, "blob"), (6, "blob")}),
        ("update blobs set size = size + 1 where id = 1", {(1, "blob"), (5, "blob"), (6, "blob")}),
        ("update blobs set size = 0 where id = 2", {(2, "blob"), (6, "blob")}),
        ("delete from blobs where id = 2", {(2, "blob"), (6, "blob")}),
        ("delete from event_blobs where position = 2", {(2, "hash"), (2, "blob")}),
        (
            "update event_blobs set name = 'other' where position = 1",
            {(1, "hash"), (1, "blob")},
        ),
        (
            "update blobs set codec = 'nope' where id = 1",
            {(1, "blob"), (5, "blob"), (6, "blob")},
        ),
        ("update blobs set id = 7 where id = 2", {(0, "blob")}),
        ("insert into event_blobs select 99, 'x', sha256 from blobs where id = 1", {(99, "blob")}),
        ("update log_meta set value = 'x' where key = 'genesis'", {(0, "meta")}),
        ("update log_meta set value = '2' where key = 'format'", {(0, "meta")}),
        ("delete from log_meta where key = 'hash'", {(0, "meta")}),
        ("insert into log_meta values ('owner', 'me')", {(0, "meta")}),
        (
            "update log_meta set value = 'x' where key = 'log_id'",
            {(0, "meta"), (1, "chain")},
        ),
        (
            "update log_meta set value = 'x' where key = 'run'",
            {(position, "id") for position in range(1, 9)},
        ),
    ],
)
def test_what_was_changed_is_named_with_its_position(
    filled: Path, statement: str, problems: set[tuple[int, str]]
) -> None:
    tamper(filled, statement)
    assert found(filled) == problems


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["drop trigger events_no_delete"], "trigger 'events_no_delete' is missing"),
        (["drop view memories"], "view 'memories' is missing"),
        (["drop index events_task"], "index 'events_task' is missing"),
        (
            ["drop view effects", "create view effects as select 1 as effect"],
            "view 'effects' is changed",
        ),
        (
            [
                "drop trigger blobs_no_update",
                "create trigger blobs_no_update before update on blobs begin select 1; end",
            ],
            "trigger 'blobs_no_update' is changed",
        ),
        (["alter table blobs add column note text"], "table 'blobs' is changed"),
        (["create table notes (note text)"], "table 'notes' is foreign"),
        (
            ["create trigger late after insert on events begin select 1; end"],
            "trigger 'late' is foreign",
        ),
    ],
)
def test_a_schema_that_is_not_that_of_a_log_is_named_by_its_object(
    filled: Path, statements: list[str], message: str
) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as sql:
        for statement in statements:
            sql.execute(statement)
    (problem,) = verify_file(filled).problems
    assert (problem.position, problem.kind) == (0, "schema")
    assert problem.message.startswith(message)


def test_what_sqlite_keeps_for_itself_is_no_part_of_the_schema(filled: Path) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as sql:
        sql.execute("analyze")
        sql.execute("vacuum")
    assert found(filled) == set()


COLUMNS = [
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


@pytest.mark.parametrize("value", ["null", "7", "7.5", "'x'", "x'ff'", "cast(x'ff' as text)"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_of_another_type_is_survived_and_named(
    filled: Path, tmp_path: Path, column: str, value: str
) -> None:
    """A flipped record header can put any type into a strict column."""
    loose = tmp_path / "loose.db"
    shutil.copy(filled, loose)
    with closing(sqlite3.connect(loose, isolation_level=None)) as sql:
        sql.execute("pragma writable_schema = on")
        (create,) = sql.execute("select sql from sqlite_master where name = 'events'").fetchone()
        weak = create.replace("strict", "").replace("not null", "").replace(" text ", " blob ")
        weak = weak.replace(" integer not", " blob not").replace("integer  ", "blob  ")
        weak = weak.replace("position       blob  primary", "position integer primary")
        sql.execute("update sqlite_master set sql = ? where name = 'events'", (weak,))
    tamper(loose, f"update events set {column} = {value} where position = 7")
    assert {position for position, _ in found(loose)} & {7, 8}


# -- the head ----------------------------------------------------------------------------------


def test_a_cut_tail_shows_only_against_a_head_kept_outside(filled: Path) -> None:
    head = Head.from_text(head_of(filled))
    tamper(filled, "delete from events where position > 6")
    assert found(filled) == set()
    assert found(filled, head) == {(6, "head")}
    assert "shorter than its head at 8" in verify_file(filled, head=head).problems[0].message


def head_of(path: Path) -> str:
    with EventLog.open(path) as log:
        return log.head().to_text()


def test_another_history_shows_against_a_head(filled: Path, tmp_path: Path) -> None:
    with EventLog.open(filled) as log:
        head = log.head()
    wrong = attrs.evolve(head, position=5)
    assert found(filled, wrong) == {(5, "head")}
    with EventLog.create(tmp_path / "other.db", run="r") as log:
        fill(log)
    problems = verify_file(tmp_path / "other.db", head=head).problems
    assert [p.kind for p in problems] == ["head"]
    assert "another log" in problems[0].message


def test_a_cut_write_ahead_log_shows_against_a_head(path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.mkdir()
    with EventLog.create(path, run="r") as log:
        for index in range(1, 40):
            log.append([completed(index)])
        head = log.head()
        for name in ("run.db", "run.db-wal"):
            shutil.copy(path.with_name(name), cut / name)
    wal = cut / "run.db-wal"
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size * 7 // 10])
    report = verify_file(cut / "run.db", head=head)
    assert [problem.kind for problem in report.problems] == ["head"]
    assert 0 < report.checked < 39


# -- bytes -------------------------------------------------------------------------------------


def test_a_flipped_bit_in_a_payload_names_its_position(filled: Path) -> None:
    flip(filled, b"Look before moving.")
    assert found(filled) == {(3, "hash")}


def test_a_flipped_bit_in_a_blob_names_the_first_event_that_cites_it(filled: Path) -> None:
    flip(filled, b"Put the red block")
    assert (1, "blob") in found(filled)


def test_a_damaged_blob_is_not_handed_out(filled: Path) -> None:
    tamper(filled, "update blobs set content = zeroblob(length(content)) where codec = 'zstd'")
    with EventLog.open(filled) as log, pytest.raises(BadInput, match=r"blob .* is damaged"):
        log.text(ref(LONG))


def big(path: Path) -> Head:
    with EventLog.create(path, run="r") as log:
        drafts: list[Draft] = []
        for index in range(1, 151):
            drafts += [admitted(f"m{index}", index), completed(index)]
        log.append(drafts)
        return log.head()


def test_no_damage_to_the_file_is_raised(path: Path, tmp_path: Path) -> None:
    """Random bits, whole pages, cut files: a report, whatever happens."""
    head = big(path)
    intact = path.read_bytes()
    page = 4096
    assert len(intact) > 20 * page
    rng = random.Random(7)
    broken = tmp_path / "broken.db"
    caught = 0
    damages: list[Callable[[bytearray], None]] = [
        *[flip_one(rng.randrange(100, len(intact)), rng.randrange(8)) for _ in range(30)],
        *[overwrite(at * page, page) for at in range(1, len(intact) // page, 5)],
        *[cut(rng.randrange(100, len(intact))) for _ in range(4)],
    ]
    for damage in damages:
        data = bytearray(intact)
        damage(data)
        broken.write_bytes(data)
        report = verify_file(broken, head=head)
        assert all(type(problem) is Problem and problem.message for problem in report.problems)
        caught += not report.ok
    # Some bits are in free space, or in copies that only an index has.
    assert caught > 0.6 * len(damages)


def flip_one(at: int, bit: int) -> Callable[[bytearray], None]:
    def damage(data: bytearray) -> None:
        data[at] ^= 1 << bit

    return damage


def overwrite(at: int, size: int) -> Callable[[bytearray], None]:
    def damage(data: bytearray) -> None:
        data[at : at + size] = b"\xff" * size

    return damage


def cut(at: int) -> Callable[[bytearray], None]:
    def damage(data: bytearray) -> None:
        del data[at:]

    return damage


def test_events_that_cannot_be_read_are_named_one_by_one(path: Path) -> None:
    big(path)
    with closing(sqlite3.connect(path)) as sql:
        events = sql.execute("select count(*) from events").fetchone()[0]
    data = bytearray(path.read_bytes())
    at = data.index(b'"memory":"m100"') // 4096 * 4096
    data[at : at + 4096] = bytes(4096)
    path.write_bytes(data)
    report = verify_file(path)
    lost = [p.position for p in report.problems if "the event cannot be read" in p.message]
    assert any(abs(position - 199) < 20 for position in lost)
    assert report.checked + len(lost) == events


def test_a_file_that_is_not_a_log_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(b"no log")
    assert found(path) == {(0, "file")}
    with pytest.raises(BadInput):
        verify_file(tmp_path / "none.db")
