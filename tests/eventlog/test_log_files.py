"""Opening: what is a log, who may write it, what is left beside it."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import pytest
from sample_log import completed, fill

from discernmem.eventlog import EventLog, Head, chain
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput, Infrastructure, LogBusy, LogError
from discernmem.eventlog.files import head_of


def beside(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.iterdir() if found != path)


@contextmanager
def unprivileged() -> Iterator[None]:
    """As somebody whom permissions bind, even when root runs the tests."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def open_to_all(folder: Path, mode: int = 0o755) -> Iterator[None]:
    """A folder that anybody may enter, whoever owns the temporary ones above it."""
    top = Path(tempfile.gettempdir())
    folders = [each for each in (folder, *folder.parents) if top in each.parents]
    modes = [each.stat().st_mode for each in folders]
    for each in folders[1:]:
        each.chmod(0o755)
    folder.chmod(mode)
    try:
        yield
    finally:
        for each, before in zip(folders, modes, strict=True):
            each.chmod(before)


# -- what is a log -----------------------------------------------------------------------------


def sqlite_file(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x)")
    connection.close()


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty: not a log"),
        (b"position,type\n1,TaskStarted\n", "is not an SQLite file"),
        (b"SQLite format 3\0", "is not an SQLite file"),
        (sqlite_file, "is an SQLite file of another program"),
    ],
)
def test_what_is_not_a_log_is_refused_and_left_as_it_was(
    path: Path, content: object, complaint: str, write: bool
) -> None:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)  # type: ignore[arg-type]
    before = path.read_bytes()
    with pytest.raises(LogError, match=complaint) as raised:
        EventLog.open(path, write=write)
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before
    assert beside(path) == []
    with pytest.raises(BadInput, match="exists"):
        EventLog.create(path, run="r")
    assert path.read_bytes() == before
    assert beside(path) == []


@pytest.mark.parametrize("write", [False, True])
def test_a_newer_format_is_refused_with_both_versions(filled: Path, write: bool) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("pragma user_version = 7")
    connection.close()
    before = filled.read_bytes()
    with pytest.raises(LogError, match="log format 7, this code reads format 1"):
        EventLog.open(filled, write=write)
    assert filled.read_bytes() == before


@pytest.mark.parametrize("write", [False, True])
def test_events_of_newer_code_are_refused_with_both_versions(
    path: Path, write: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(ev.TaskCompleted, "SCHEMA_VERSION", 4)
        newer.setattr("discernmem.eventlog.upcasters.upcast", lambda *_: {})
        with EventLog.create(path, run="r") as log:
            log.append([completed(1)])
    before = path.read_bytes()
    with pytest.raises(LogError, match=r"TaskCompleted has schema version 4 .* reads up to 1"):
        EventLog.open(path, write=write)
    assert path.read_bytes() == before
    assert beside(path) == ["run.db.head"]
    with EventLog.open(path, check=False) as log:
        assert log.head().position == 1
        with pytest.raises(LogError, match=r"event 1: TaskCompleted has schema version 4"):
            list(log.read())


def test_an_event_type_of_other_code_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventLog.create(path, run="r") as log:
        log.append([completed(1)])
    monkeypatch.delitem(ev.EVENT_TYPES, "TaskCompleted")
    with pytest.raises(LogError, match="unknown event type 'TaskCompleted'"):
        EventLog.open(path)


@pytest.mark.parametrize("write", [False, True])
def test_a_missing_file_or_folder_is_bad_input(tmp_path: Path, write: bool) -> None:
    for path in (tmp_path / "run.db", tmp_path / "none" / "run.db", tmp_path):
        with pytest.raises(BadInput, match="not readable"):
            EventLog.open(path, write=write)
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_not_made_in_a_missing_or_read_only_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        EventLog.create(tmp_path / "none" / "run.db", run="r")
    tmp_path.chmod(0o555)
    with unprivileged(), pytest.raises(BadInput, match="cannot be opened for writing: Permission"):
        EventLog.create(tmp_path / "run.db", run="r")
    tmp_path.chmod(0o755)
    assert list(tmp_path.iterdir()) == []


def test_the_rest_of_a_removed_log_is_not_taken_up(path: Path) -> None:
    path.with_name("run.db-wal").write_bytes(b"left over")
    with pytest.raises(BadInput, match=r"run\.db-wal is left from a log"):
        EventLog.create(path, run="r")
    assert beside(path) == ["run.db-wal"]


def test_a_draft_of_a_creation_that_was_killed_is_no_obstacle(path: Path) -> None:
    path.with_name("run.db.new").write_bytes(b"half")
    with EventLog.create(path, run="r") as log:
        fill(log)
    assert beside(path) == ["run.db.head"]


# -- reading -----------------------------------------------------------------------------------


def test_reading_a_log_at_rest_leaves_nothing_beside_it(filled: Path) -> None:
    with EventLog.open(filled) as log:
        assert len(list(log.read())) == 8
        assert beside(filled) == []
    assert beside(filled) == []


def test_a_log_in_a_read_only_folder_is_read(filled: Path) -> None:
    with open_to_all(filled.parent, 0o555), unprivileged():
        with EventLog.open(filled) as log:
            assert len(list(log.read())) == 8
        with pytest.raises(BadInput, match="cannot be opened for writing"):
            EventLog.open(filled, write=True)


def test_a_file_that_may_not_be_written_is_not_opened_to_write(filled: Path) -> None:
    filled.chmod(0o444)
    with (
        open_to_all(filled.parent, 0o777),
        unprivileged(),
        pytest.raises(BadInput, match=r"run\.db may not be written; allow it"),
    ):
        EventLog.open(filled, write=True)
    assert beside(filled) == []


def test_where_sqlite_cannot_take_up_the_newest_events_it_is_told_how(path: Path) -> None:
    """Killed, copied without its shared memory, and then read where nothing may be written."""
    copy = path.with_name("copy")
    copy.mkdir()
    with EventLog.create(path, run="r") as log:
        fill(log)
        for name in ("run.db", "run.db-wal"):
            shutil.copy(path.with_name(name), copy / name)
    with (
        open_to_all(copy, 0o555),
        unprivileged(),
        pytest.raises(BadInput, match=r"are in run\.db-wal, .*; copy both"),
    ):
        EventLog.open(copy / "run.db")


def test_a_live_log_is_read_up_to_its_last_append(log: EventLog) -> None:
    fill(log)
    assert "run.db-wal" in beside(log.path)
    with EventLog.open(log.path) as reader:
        assert reader.head() == log.head()
        log.append([completed(3)])
        assert reader.head() == log.head()


def test_a_reader_of_a_log_at_rest_follows_it_when_it_comes_alive(filled: Path) -> None:
    with EventLog.open(filled) as reader:
        assert reader.head().position == 8
        with EventLog.open(filled, write=True) as log:
            log.append([completed(3)])
            assert reader.head() == log.head()
            log.append([completed(4)])
            assert reader.last_task() == 4
        assert reader.head().position == 10


def test_a_reader_at_rest_sees_a_whole_session_of_a_writer(filled: Path) -> None:
    with EventLog.open(filled) as reader:
        assert reader.head().position == 8
        with EventLog.open(filled, write=True) as log:
            log.append([completed(3)])
        assert reader.head().position == 9


def test_a_closed_log_says_so(filled: Path) -> None:
    log = EventLog.open(filled)
    log.close()
    log.close()
    with pytest.raises(BadInput, match="is closed"):
        log.head()


# -- writing -----------------------------------------------------------------------------------


def test_a_second_writer_is_refused_with_the_holder(log: EventLog) -> None:
    holder = f"process {os.getpid()} on {socket.gethostname()} is writing it"
    with pytest.raises(LogBusy, match=holder):
        EventLog.open(log.path, write=True)
    with pytest.raises(LogBusy, match=holder):
        EventLog.create(log.path, run="r")


def test_a_log_is_one_log_by_whichever_link_it_is_reached(filled: Path) -> None:
    links = filled.parent / "links"
    links.mkdir()
    link = links / "link.db"
    link.symlink_to(filled)
    with EventLog.open(link, write=True) as log:
        log.append([completed(3)])
        with pytest.raises(LogBusy):
            EventLog.open(filled, write=True)
        for path in (link, filled):
            with EventLog.open(path) as reader:
                assert reader.head() == log.head()
    assert beside(filled) == ["links", "run.db.head"]
    assert beside(link) == []


def test_a_log_is_made_where_a_link_points(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with EventLog.create(link, run="r") as log:
        fill(log)
        with pytest.raises(LogBusy):
            EventLog.open(link, write=True)
    assert link.is_symlink()
    assert beside(path) == ["link.db", "run.db.head"]


HOLD = """
import sys
from discernmem.eventlog import EventLog
log = EventLog.open(sys.argv[1], write=True)
print("holding", flush=True)
sys.stdin.read()
"""


def test_a_writer_in_another_process_holds_the_log_until_it_is_killed(filled: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(filled)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"holding\n"
        with pytest.raises(LogBusy, match=f"process {holder.pid} on"):
            EventLog.open(filled, write=True)
        with EventLog.open(filled) as reader:
            assert reader.head().position == 8
        holder.kill()
        holder.wait()
        with EventLog.open(filled, write=True) as log:
            assert log.append([completed(3)])[0].position == 9
    assert beside(filled) == ["run.db.head"]


def test_a_log_is_not_written_across_a_fork(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(BadInput, match="open it after forking"):
        log.append([completed(1)])


def test_closing_leaves_one_file_and_its_head(path: Path) -> None:
    with EventLog.create(path, run="r") as log:
        fill(log)
        head = log.head()
    assert beside(path) == ["run.db.head"]
    assert Head.from_text(path.with_name("run.db.head").read_text()) == head


def test_a_copy_of_the_one_file_is_a_copy_of_the_log(filled: Path) -> None:
    copy = filled.with_name("copy.db")
    copy.write_bytes(filled.read_bytes())
    with EventLog.open(filled) as log, EventLog.open(copy) as other:
        assert other.head() == log.head()
        assert other.log_id == log.log_id


class Interruption(BaseException):
    """As a signal raises one, between any two steps of the main thread."""


@contextmanager
def interrupted(at: int) -> Iterator[None]:
    """Interrupt the eventlog before its line number ``at`` is done inside."""
    package = str(Path(chain.__file__).parent)
    done = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal done
        if not frame.f_code.co_filename.startswith(package):
            return None
        done += event == "line"
        if done == at:
            sys.settrace(None)
            raise Interruption
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def test_interrupted_anywhere_in_an_append_a_log_is_closed_whole(filled: Path) -> None:
    """Whoever handles the interruption holds all frames of it while the log is closed."""
    content = filled.read_bytes()
    for at in range(1, 1000):
        filled.write_bytes(content)
        head_of(filled).unlink(missing_ok=True)
        with EventLog.open(filled, write=True) as log:
            last = log.at(log.head().position)
            assert last is not None
            draft = attrs.evolve(completed(2), cause=last.event_id)
            try:
                with interrupted(at):
                    log.append([draft])
                    break
            except Interruption:
                log.close()
        assert beside(filled) == ["run.db.head"]
        with EventLog.open(filled) as log:
            assert head_of(filled).read_text() == log.head().to_text()
    assert at > 50


def test_a_log_that_is_locked_by_sql_is_told_from_a_full_disk(log: EventLog) -> None:
    """Only the writer's own transaction is rolled back."""
    log.rows("pragma busy_timeout = 50")
    with sqlite3.connect(log.path, isolation_level=None) as other:
        other.execute("begin immediate")
        with pytest.raises(Infrastructure, match="database is locked; nothing of this step"):
            log.append([completed(1)])
        other.execute("rollback")
    other.close()
    assert log.append([completed(1)])[0].position == 1
