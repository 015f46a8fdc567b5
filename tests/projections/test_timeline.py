"""The timeline says what the memory was after any event, whatever became of its side file."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from lively import lively_world, record, rich_seed
from sample_log import fill

from discernmem.eventlog import EventLog, Head, sidefile
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput
from discernmem.eventlog.sidefile import side_path
from discernmem.projections import filling, timeline
from discernmem.projections.state import State, evolve, serialise
from discernmem.projections.timeline import Timeline, settled_position
from discernmem.replayers import session
from discernmem.replayers.run import Run
from discernmem.replayers.verification import verify_run


class PartOf(EventLog):
    """A log as it was when it ended at ``end``."""

    end: int | None = None

    def head(self, position: int | None = None) -> Head:
        return super().head(self.end if position is None else position)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), rich_seed())


@pytest.fixture(scope="module")
def states(recorded: Path) -> list[State]:
    """The fold after every position, 0 included."""
    with EventLog.open(recorded) as log:
        states = [State()]
        for each in log.read():
            states.append(evolve(states[-1], each))
        return states


@pytest.fixture(scope="module")
def stores(states: list[State]) -> list[bytes]:
    return [serialise(state) for state in states]


@pytest.fixture
def path(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the log alone."""
    return Path(shutil.copy(recorded, tmp_path / "run.db"))


@pytest.fixture(autouse=True)
def whole_stores_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "STORE_EVERY", 7)


@pytest.fixture
def log(path: Path) -> Iterator[PartOf]:
    with PartOf.open(path) as log:
        yield log


def tables_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(side_path(path))) as connection:
        return {
            table: connection.execute(f"select * from {table} order by 1, 2").fetchall()
            for table in ("checkpoint", "memories", "effects", "tasks", "stores")
        }


def assert_right(log: EventLog, stores: list[bytes]) -> None:
    with Timeline(log) as found:
        for position in range(0, len(stores), 29):
            assert found.serialised(position) == stores[position], position
        assert found.serialised(len(stores) - 1) == stores[-1]


# -- every position ----------------------------------------------------------------------------


def test_at_every_position_it_gives_the_fold_whatever_the_order_of_asking(
    log: PartOf, states: list[State], stores: list[bytes]
) -> None:
    positions = list(range(len(stores)))
    random.Random(3).shuffle(positions)
    with Timeline(log) as found:
        for position in positions:
            assert found.serialised(position) == stores[position], position
            assert found.state(position) == states[position], position
            memories = states[position].store
            assert found.count(position) == len(memories)
            for memory in memories.ordered():
                assert found.memory(memory.id, position) == memory
            assert found.memory(memories.next_id(), position) is None
    assert len(tables_of(log.path)["stores"]) > 3


@pytest.mark.parametrize("name", ["", "m", "m0", "m-1", "m1x", "1", "é", "m٣", "m" + "9" * 40])
def test_what_names_no_memory_is_none(log: PartOf, name: str) -> None:
    with Timeline(log) as found:
        assert found.memory(name, log.head().position) is None


def test_what_the_log_has_no_event_of_is_refused(log: PartOf, stores: list[bytes]) -> None:
    with Timeline(log) as found:
        for position in (len(stores), -1):
            with pytest.raises(BadInput, match=f"no event at position {position}"):
                found.serialised(position)
        assert found.serialised(len(stores) - 1) == stores[-1]


def test_catching_up_with_nothing_new_writes_nothing(log: PartOf) -> None:
    with Timeline(log) as found:
        found.catch_up()
        before = side_path(log.path).read_bytes()
        found.catch_up()
    assert side_path(log.path).read_bytes() == before


@pytest.mark.parametrize("seed", range(4))
def test_catching_up_in_steps_makes_the_tables_of_doing_it_at_once(
    monkeypatch: pytest.MonkeyPatch, log: PartOf, tmp_path: Path, seed: int
) -> None:
    other = Path(shutil.copy(log.path, tmp_path / "other.db"))
    with EventLog.open(other) as whole, Timeline(whole) as found:
        found.catch_up()
    dice = random.Random(seed)
    monkeypatch.setattr(timeline, "BATCH", dice.randint(1, 9))
    head = log.head().position
    log.end = 0
    while log.end < head:
        log.end = min(log.end + dice.randint(1, head // 3), head)
        with Timeline(log) as found:
            found.catch_up()
        assert tables_of(log.path)["checkpoint"][0][1] == log.end
    assert tables_of(log.path) == tables_of(other)


def test_catching_up_reads_only_the_new_events(
    monkeypatch: pytest.MonkeyPatch, log: PartOf, stores: list[bytes]
) -> None:
    log.end = len(stores) // 2
    with Timeline(log) as found:
        found.catch_up()
    log.end = None
    read: list[int] = []
    add = filling.Filling.add

    def watched(self: filling.Filling, recorded: ev.Event) -> None:
        read.append(recorded.position)
        add(self, recorded)

    monkeypatch.setattr(filling.Filling, "add", watched)
    with Timeline(log) as found:
        assert found.serialised(len(stores) // 2) == stores[len(stores) // 2]
        assert not read, "what the file holds needs nothing new"
        assert found.serialised(len(stores) - 1) == stores[-1]
    assert len(stores) // 2 < read[0] < read[-1]
    assert read == sorted(set(read))
    read.clear()
    with Timeline(log) as found:
        assert found.serialised(len(stores) - 1) == stores[-1]
    assert not read


def test_two_who_catch_up_in_turns_fill_one_file(
    monkeypatch: pytest.MonkeyPatch, log: PartOf, stores: list[bytes]
) -> None:
    monkeypatch.setattr(timeline, "BATCH", 3)
    with PartOf.open(log.path) as second, Timeline(log) as one, Timeline(second) as two:
        for position in range(10, len(stores), 40):
            log.end, second.end = position, position + 15
            assert one.serialised(position) == stores[position]
            assert two.serialised(position) == stores[position]
    log.end = None
    assert_right(log, stores)


def test_readers_at_once_fill_one_file(
    monkeypatch: pytest.MonkeyPatch, path: Path, stores: list[bytes]
) -> None:
    monkeypatch.setattr(timeline, "BATCH", 4)
    ready = Barrier(4)

    def ask(_: int) -> bytes:
        with EventLog.open(path) as log, Timeline(log) as found:
            ready.wait()
            answer = found.serialised(len(stores) - 1)
            assert not found._side.in_memory
            return answer

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {stores[-1]}
    assert verify_run(path).ok


def test_beside_a_live_run_a_reader_sees_each_task(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "CATCH_UP_TASKS", 2)
    path, seen = tmp_path / "run.db", []

    def each(index: int, _: object, run: Run) -> None:
        with EventLog.open(path) as log, Timeline(log) as found:
            assert found.serialised(settled_position(log)) == serialise(run.state)
            seen.append(index)

    session.start(path, lively_world(tmp_path, rich_seed(), tasks=5), each=each)
    assert seen == [1, 2, 3, 4, 5]


# -- the side file -----------------------------------------------------------------------------


def built(path: Path) -> Path:
    with EventLog.open(path) as log, Timeline(log) as found:
        found.catch_up()
    return side_path(path)


def statement(sql: str) -> Callable[[Path], object]:
    def run(side: Path) -> None:
        with closing(sqlite3.connect(side)) as connection:
            connection.execute(sql)
            connection.commit()

    return run


def overwrite(side: Path) -> None:
    content = bytearray(side.read_bytes())
    content[4096:] = b"x" * len(content[4096:])
    side.write_bytes(content)


def of_another_log(side: Path) -> None:
    other = side.with_name("other.db")
    with EventLog.create(other, run="r") as log:
        fill(log)
    shutil.copy(built(other), side)


SPOILT: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "empty": lambda side: side.write_bytes(b""),
    "no database": lambda side: side.write_bytes(b"not a database"),
    "overwritten": overwrite,
    "cut": lambda side: os.truncate(side, side.stat().st_size // 8192 * 4096),
    "without a table": statement("drop table memories"),
    "of another program": statement("pragma application_id = 1"),
    "of other code": statement("update checkpoint set code_version = 'other'"),
    "without a checkpoint": statement("delete from checkpoint"),
    "of another log": of_another_log,
    "ahead of the log": statement("update checkpoint set position = position + 1"),
    "of another past": statement("update checkpoint set log_hash = '00'"),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_side_file_costs_time_only(
    path: Path, stores: list[bytes], spoil: Callable[[Path], object]
) -> None:
    spoil(built(path))
    with EventLog.open(path) as log:
        assert_right(log, stores)
        assert_right(log, stores)


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_side_file_spoilt_while_it_is_open_costs_time_only(
    path: Path, stores: list[bytes], spoil: Callable[[Path], object]
) -> None:
    with PartOf.open(path) as log, Timeline(log) as found:
        log.end = len(stores) - 20
        assert found.serialised(log.end) == stores[log.end]
        spoil(side_path(path))
        log.end = None
        assert found.serialised(len(stores) - 1) == stores[-1]
        found.catch_up()
        assert_right(log, stores)


def test_a_side_file_that_cannot_be_made_costs_time_only(path: Path, stores: list[bytes]) -> None:
    side_path(path).mkdir()
    with EventLog.open(path) as log:
        assert_right(log, stores)
        with Timeline(log) as found:
            found.catch_up()
            assert found.serialised(len(stores) - 1) == stores[-1]


def test_a_side_file_that_may_only_be_read_is_used_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, path: Path, stores: list[bytes]
) -> None:
    with PartOf.open(path) as log:
        log.end = len(stores) - 20
        with Timeline(log) as found:
            found.catch_up()
        before = side_path(path).read_bytes()
        connect = sidefile.SideFile._connect
        monkeypatch.setattr(sidefile.SideFile, "_connect", lambda self, _: connect(self, "ro"))
        log.end = None
        with Timeline(log) as found:
            assert found.serialised(len(stores) - 20) == stores[-20]
            assert found.serialised(len(stores) - 1) == stores[-1]
    assert side_path(path).read_bytes() == before


def test_a_locked_side_file_is_read_and_otherwise_done_without(
    monkeypatch: pytest.MonkeyPatch, path: Path, stores: list[bytes]
) -> None:
    monkeypatch.setattr(sidefile, "BUSY_SECONDS", 0.01)
    with PartOf.open(path) as log:
        log.end = len(stores) - 20
        side = built(path)
        for lock in ("begin immediate", "begin exclusive"):
            with closing(sqlite3.connect(side, isolation_level=None)) as other:
                other.execute(lock)
                assert_right(log, stores[:-20])
    with EventLog.open(path) as log:
        assert_right(log, stores)


KILLED = """
import os, signal, sys
from discernmem.eventlog import EventLog
from discernmem.projections import filling, timeline

timeline.BATCH, filling.STORE_EVERY = int(sys.argv[2]), 7
write, left = filling.Filling.write, [int(sys.argv[3])]

def write_and_die(self):
    write(self)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

filling.Filling.write = write_and_die
with EventLog.open(sys.argv[1]) as log, timeline.Timeline(log) as found:
    # Pages leave memory at once, so that a half-done transaction is in the file.
    found._side._connection.execute("pragma cache_size = 1")
    found.catch_up()
"""


@pytest.mark.parametrize(("batch", "at"), [(1000, 1), (10, 1), (10, 6)])
def test_a_killed_catch_up_is_gone_on_with(
    path: Path, stores: list[bytes], batch: int, at: int
) -> None:
    arguments = [sys.executable, "-c", KILLED, str(path), str(batch), str(at)]
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert Path(f"{side_path(path)}-journal").exists(), "it was not killed in a transaction"
    assert verify_run(path).ok
    assert Path(f"{side_path(path)}-journal").exists(), "verify leaves it as it is"
    with EventLog.open(path) as log:
        assert_right(log, stores)
        with Timeline(log) as found:
            assert not found._side.in_memory
    whole = tables_of(path)
    side_path(path).unlink()
    built(path)
    assert tables_of(path) == whole


# -- damage that SQLite does not see -----------------------------------------------------------

DAMAGE = {
    "a memory": "update memories set json = replace(json, '\"inactive\"', '\"active\"'),"
    " until = until where until is null and json like '%\"inactive\"%'",
    "a memory gone": "delete from memories where memory = 1",
    "a memory ended too early": "update memories set until = since + 1 where until is null",
    "an effect": "update effects set json = replace(json, '\"positive\"', '\"negative\"')",
    "an effect gone": "delete from effects where position = (select max(position) from effects)",
    "a task": "update tasks set json = replace(json, '\"score\":', '\"score\":1')",
    "a task gone": "delete from tasks where task_index = 3",
    "no JSON": "update memories set json = 'x' || json",
    "another version": "update memories set version = version + 1",
    "another offset": "update memories set effects_at = effects_at + 1",
    "no zstd": "update stores set json = x'00'",
}


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE)
def test_verify_finds_a_damaged_row_and_says_what_to_do(path: Path, sql: str) -> None:
    side = built(path)
    assert verify_run(path).ok
    statement(sql)(side)
    before = side.read_bytes()
    (problem,) = verify_run(path).problems
    assert problem.kind == "projection"
    assert problem.message.startswith("run.store.db ")
    assert problem.message.endswith("; delete it, it is made anew from the log")
    assert side.read_bytes() == before
    side.unlink()
    assert verify_run(path).ok
    assert not side.exists()


DAMAGING = {"overwritten", "cut", "without a table"}


@pytest.mark.parametrize("name", SPOILT)
def test_verify_finds_a_damaged_file_and_asks_nothing_of_one_that_nobody_would_use(
    path: Path, name: str
) -> None:
    SPOILT[name](built(path))
    found = [(problem.kind, problem.message[:24]) for problem in verify_run(path).problems]
    assert found == ([("projection", "run.store.db is damaged;")] if name in DAMAGING else [])


def test_verify_compares_what_a_file_that_lags_behind_holds(
    path: Path, stores: list[bytes]
) -> None:
    with PartOf.open(path) as log:
        log.end = len(stores) // 2
        with Timeline(log) as found:
            found.catch_up()
    assert verify_run(path).ok
    statement("update tasks set task = 'x' where until is null")(side_path(path))
    assert verify_run(path).ok, "this column is for looking up only"
    statement("delete from memories")(side_path(path))
    assert [problem.kind for problem in verify_run(path).problems] == ["projection"]


@pytest.mark.parametrize("sql", [DAMAGE["a memory gone"], DAMAGE["an effect"]])
def test_a_run_never_goes_on_from_a_store_that_is_not_the_one_the_log_has_the_hash_of(
    path: Path, states: list[State], sql: str
) -> None:
    statement("delete from stores")(built(path))
    statement(sql)(side_path(path))
    with EventLog.open(path) as log, Timeline(log) as found:
        assert found.state(log.head().position) == states[-1]
    assert verify_run(path).ok, "the file was made anew"


# -- positions ---------------------------------------------------------------------------------


def test_a_settled_position_is_before_the_open_task_and_after_all_else(
    log: PartOf, tmp_path: Path
) -> None:
    assert settled_position(log) == log.head().position, "the run is finished"
    third = log.first_of_task(3)
    cut = tmp_path / "cut.db"
    shutil.copy(log.path, cut)
    with closing(sqlite3.connect(cut)) as connection:
        for trigger in ("events_no_delete", "event_blobs_no_delete"):
            connection.execute(f"drop trigger {trigger}")
        for table in ("event_blobs", "events"):
            connection.execute(f"delete from {table} where position > ?", (third + 2,))
        connection.commit()
    with EventLog.open(cut) as opened:
        assert timeline.last_completed(opened) == 2
        assert settled_position(opened) == third - 1 == timeline.completed_position(opened, 2)
