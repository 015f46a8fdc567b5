"""A generated log is a run like any other: it verifies, comes out exactly, and answers anywhere.

At a hundredth of the full size; `bench/log_scale_bench.py` measures the same log at all of it.
"""

from __future__ import annotations

import io
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from large_log import FULL, generate

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.export import export
from discernmem.eventlog.importing import import_
from discernmem.projections.audit import Node, life
from discernmem.projections.state import fold, serialise
from discernmem.projections.timeline import Timeline
from discernmem.replayers.verification import verify_run

SCALE = FULL.scaled(1 / 100)
SMALL = FULL.scaled(1 / 400)
PEOPLE = {"RunForked", "MemoryOverridden", "ConditionWithdrawn"}
SEARCHES = {"PassagesFound"}
"""What only a person brings into a log."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "run.db"
    generate(path, scale=SCALE)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "run.db"
    generate(path, scale=SMALL)
    return path


def exported(path: Path) -> bytes:
    with EventLog.open(path) as log:
        out = io.BytesIO()
        export(log, out)
        return out.getvalue()


def test_verification_finds_nothing(log: Path) -> None:
    report = verify_run(log)
    assert report.problems == ()
    assert report.checked == SCALE.events


def test_the_counts_are_exactly_those_asked_for(log: Path) -> None:
    with EventLog.open(log) as opened:
        assert opened.head().position == SCALE.events
        assert opened.last_task() == SCALE.tasks
        types = Counter(recorded.type for recorded in opened.read())
        assert opened.rows("select count(*) from blobs") == [(SCALE.blobs,)]
    assert types["TaskCompleted"] == SCALE.tasks
    assert types["MemoryAdmitted"] == SCALE.memories
    assert types["RunFinished"] == 1


def test_the_full_scale_is_that_of_the_longest_stream_and_the_largest_store() -> None:
    sizes = {"tasks": 7267, "memories": 5632, "events": 1_000_000, "blobs": 100_000}
    assert attrs.asdict(FULL) == sizes


def test_everything_that_a_run_can_record_without_a_person_is_in_it(log: Path) -> None:
    with EventLog.open(log) as opened:
        types = {type_ for (type_,) in opened.rows("select distinct type from events")}
    assert types == ev.EVENT_TYPES.keys() - PEOPLE - SEARCHES


def test_few_memories_have_most_of_the_uses(log: Path) -> None:
    with EventLog.open(log) as opened:
        supplied = opened.read(types=("MemorySupplied",))
        uses = [times for _, times in Counter(r.stream_id for r in supplied).most_common()]
    assert sum(uses[: SCALE.memories // 10]) > sum(uses) / 3
    assert uses[0] >= 10
    assert uses[-1] == 1


def test_the_same_seed_makes_the_same_log_and_another_seed_another(
    small: Path, tmp_path: Path
) -> None:
    generate(tmp_path / "again.db", scale=SMALL)
    generate(tmp_path / "other.db", seed=2, scale=SMALL)
    assert exported(tmp_path / "again.db") == exported(small) != exported(tmp_path / "other.db")


def test_the_store_after_any_task_is_the_plain_fold(log: Path) -> None:
    tasks = random.Random(1).sample(range(SCALE.tasks + 1), 12)
    with EventLog.open(log) as opened, Timeline(opened) as timeline:
        for task in tasks:
            position = opened.position_at_task(task)
            folded = serialise(fold(opened.read(until=position)))
            assert timeline.serialised(position) == folded, task


def test_the_life_of_the_most_used_memory_tells_every_event_of_it(log: Path) -> None:
    def told(node: Node) -> list[int]:
        return [node.recorded.position, *(at for child in node.children for at in told(child))]

    with EventLog.open(log) as opened:
        ((stream, events),) = opened.rows(
            "select stream_id, count(*) from events where stream_id like 'memory:%'"
            " group by 1 order by 2 desc limit 1"
        )
        whole = life(opened, stream.removeprefix("memory:"))
        positions = [recorded.position for recorded in opened.read(stream=stream)]
    assert events > 50
    assert sorted(at for root in whole.roots for at in told(root)) == positions


def test_exported_and_imported_it_is_the_same_log(log: Path, tmp_path: Path) -> None:
    lines = exported(log)
    import_(io.BytesIO(lines), tmp_path / "copy.db")
    assert exported(tmp_path / "copy.db") == lines


def test_opening_costs_by_the_types_of_events_there_are_and_not_by_the_events(
    log: Path, small: Path
) -> None:
    steps, fewer = opening(log) / types(log), opening(small) / types(small)
    assert steps <= fewer * 1.1 < SCALE.events / 50


def types(path: Path) -> int:
    with EventLog.open(path) as log:
        return len(log.rows("select distinct type from events"))


def opening(path: Path) -> int:
    """How many instructions SQLite's machine executes to open a log and see its head."""
    queries: list[tuple[str, tuple[object, ...]]] = []

    class Watched(EventLog):
        def rows(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
            queries.append((sql, parameters))
            return super().rows(sql, parameters)

    with Watched.open(path) as log:
        log.head()
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(count, 1)
        for sql, parameters in queries:
            connection.execute(sql, parameters).fetchall()
    assert taken > 0
    return taken
