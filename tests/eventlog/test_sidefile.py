"""The file beside a log: used only for this log and this code, and never more than a cache."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sample_log import fill, task_started

from discernmem.eventlog import EventLog, sidefile
from discernmem.eventlog.sidefile import Foreign, Moved, SideFile, is_side_file, side_path

SCHEMA = ("create table numbers (number integer not null) strict",)


def side_of(log: EventLog, *, version: str = "1", read_only: bool = False) -> SideFile:
    return SideFile(log, schema=SCHEMA, code_version=version, read_only=read_only)


def fill_in(side: SideFile, *numbers: int) -> None:
    """Take one number a position, as a fold would."""
    for number in numbers:
        with side.writing() as (tables, reached):
            tables.execute("insert into numbers values (?)", (number,))
            side.mark(reached + 1)


def look(side: SideFile) -> tuple[int, list[int]]:
    with side.reading() as (tables, reached):
        if reached < 0:
            return reached, []
        return reached, [number for (number,) in tables.execute("select number from numbers")]


def seen(log: EventLog, *, version: str = "1") -> tuple[int, list[int]]:
    with closing(side_of(log, version=version)) as side:
        assert not side.in_memory
        return look(side)


@pytest.fixture
def opened(filled: Path) -> Iterator[EventLog]:
    with EventLog.open(filled) as log:
        yield log


@pytest.fixture
def side(opened: EventLog) -> Iterator[SideFile]:
    with closing(side_of(opened)) as side:
        yield side


def test_what_was_marked_is_there_for_the_next(opened: EventLog, side: SideFile) -> None:
    assert look(side) == (-1, [])
    fill_in(side, 10, 20)
    assert side.refilled
    assert not side.in_memory
    assert seen(opened) == (2, [10, 20])


def test_what_was_not_finished_is_not_there(opened: EventLog, side: SideFile) -> None:
    fill_in(side, 10)

    def fail() -> None:
        with side.writing() as (tables, _):
            tables.execute("insert into numbers values (20)")
            side.mark(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert look(side) == seen(opened) == (1, [10])


def test_two_fill_one_after_the_other_each_seeing_what_the_other_did(
    opened: EventLog, side: SideFile
) -> None:
    with closing(side_of(opened)) as other:
        fill_in(side, 10)
        fill_in(other, 20)
        fill_in(side, 30)
        assert look(other) == look(side) == (3, [10, 20, 30])
        assert not other.refilled


@pytest.mark.parametrize("version", ["0", "2"])
def test_tables_of_other_code_are_thrown_away(opened: EventLog, version: str) -> None:
    with closing(side_of(opened, version=version)) as other:
        fill_in(other, 10, 20)
    assert seen(opened) == (-1, [])
    with closing(side_of(opened)) as side:
        fill_in(side, 30)
    assert seen(opened) == (1, [30])


def test_tables_of_another_log_are_thrown_away(opened: EventLog, tmp_path: Path) -> None:
    with EventLog.create(tmp_path / "other.db", run="r") as other:
        fill(other)
        with closing(side_of(other)) as side:
            fill_in(side, 10, 20)
    shutil.move(side_path(tmp_path / "other.db"), side_path(opened.path))
    assert seen(opened) == (-1, [])


def test_tables_ahead_of_an_older_copy_of_the_log_are_thrown_away(
    filled: Path, tmp_path: Path
) -> None:
    older = Path(shutil.copy(filled, tmp_path / "older.db"))
    with EventLog.open(filled, write=True) as log:
        log.append([task_started(3)])
        with closing(side_of(log)) as side:
            fill_in(side, *range(9))
    shutil.copy(side_path(filled), side_path(older))
    with EventLog.open(older) as log:
        assert seen(log) == (-1, [])
    with EventLog.open(filled) as log:
        assert seen(log) == (9, list(range(9)))


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + b"x" * 4096])
def test_a_file_of_somebody_else_is_left_alone(opened: EventLog, content: bytes) -> None:
    path = side_path(opened.path)
    path.write_bytes(content)
    with closing(side_of(opened)) as side:
        assert side.in_memory
        fill_in(side, 10)
        assert look(side) == (1, [10])
    assert path.read_bytes() == content


@pytest.mark.parametrize("application", [0, 0x44534D4D])
def test_a_database_of_somebody_else_is_left_alone(opened: EventLog, application: int) -> None:
    path = side_path(opened.path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {application}")
        connection.execute("create table numbers (number)")
    before = path.read_bytes()
    with closing(side_of(opened)) as side:
        with pytest.raises(Foreign) as caught:
            fill_in(side, 10)
        side.give_up(caught.value)
        fill_in(side, 10)
        assert side.in_memory
    assert path.read_bytes() == before


def test_where_no_file_can_be_made_the_tables_are_in_memory(opened: EventLog) -> None:
    side_path(opened.path).mkdir()
    with closing(side_of(opened)) as side:
        assert side.in_memory
        fill_in(side, 10)
        assert look(side) == (1, [10])


def test_a_file_that_another_process_keeps_locked_is_done_without(
    opened: EventLog, side: SideFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_in(side, 10)
    monkeypatch.setattr(sidefile, "BUSY_SECONDS", 0.01)
    with closing(side_of(opened)) as waiting, side.writing():
        assert look(waiting) == (1, [10]), "reading does not wait for one who writes"
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            fill_in(waiting, 20)
        waiting.give_up(caught.value)
        assert waiting.in_memory
    assert seen(opened) == (1, [10])


def test_a_file_deleted_in_between_is_made_anew(opened: EventLog, side: SideFile) -> None:
    fill_in(side, 10)
    side.path.unlink()
    assert look(side) == (1, [10]), "what is open is still there"
    with pytest.raises(FileNotFoundError) as gone:
        fill_in(side, 20)
    side.give_up(gone.value)
    fill_in(side, 30)
    assert seen(opened) == look(side) == (1, [30])


def test_a_file_replaced_in_between_is_gone_on_with(opened: EventLog, side: SideFile) -> None:
    fill_in(side, 10)
    side.path.unlink()
    with closing(side_of(opened)) as other:
        fill_in(other, 20)
    with pytest.raises(Moved) as moved:
        fill_in(side, 30)
    side.give_up(moved.value)
    fill_in(side, 30)
    assert seen(opened) == look(side) == (2, [20, 30])


def damage(path: Path, start: int) -> None:
    content = bytearray(path.read_bytes())
    content[start:] = b"x" * len(content[start:])
    path.write_bytes(content)
    assert is_side_file(path)


def test_a_file_of_ours_that_cannot_be_opened_is_made_anew(
    opened: EventLog, side: SideFile
) -> None:
    fill_in(side, 10, 20)
    damage(side.path, 100)
    assert seen(opened) == (-1, [])


def test_a_file_of_ours_that_is_damaged_inside_is_made_anew_once(
    opened: EventLog, side: SideFile
) -> None:
    for in_memory in (False, True):
        fill_in(side, 10, 20)
        damage(side.path, 4096)
        with closing(side_of(opened)) as found, pytest.raises(sqlite3.DatabaseError) as caught:
            look(found)
        side.give_up(caught.value)
        assert side.in_memory is in_memory
    fill_in(side, 30)
    assert look(side) == (1, [30])


def test_what_fails_in_memory_too_is_not_the_files_fault(opened: EventLog) -> None:
    side_path(opened.path).mkdir()
    with closing(side_of(opened)) as side, pytest.raises(KeyError, match="m1"):
        side.give_up(KeyError("m1"))


def test_opened_to_read_it_changes_nothing_and_makes_nothing(opened: EventLog) -> None:
    with pytest.raises(sqlite3.OperationalError), closing(side_of(opened, read_only=True)) as side:
        look(side)
    assert not side_path(opened.path).exists()
    with closing(side_of(opened)) as side:
        fill_in(side, 10)
    before = side_path(opened.path).read_bytes()
    with closing(side_of(opened, read_only=True)) as side:
        assert look(side) == (1, [10])
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            fill_in(side, 20)
    assert side_path(opened.path).read_bytes() == before
