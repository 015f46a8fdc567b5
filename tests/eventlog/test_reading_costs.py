"""Opening a log and asking it costs the same however long the log is: nothing reads all of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sample_log import SHORT, admitted, changed, completed, draft, ref, reply, task_started

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.reading import PAGE

Query = tuple[str, Sequence[Any]]

QUESTIONS: dict[str, Callable[[EventLog], object]] = {
    "the head": lambda log: log.head(),
    "an earlier head": lambda log: log.head(3),
    "the last task": lambda log: log.last_task(),
    "the end of a task": lambda log: log.position_at_task(2),
    "the end of what was before all tasks": lambda log: log.position_at_task(0),
    "the beginning of a task": lambda log: log.first_of_task(2),
    "the newest event of a type": lambda log: log.last("ModelReplied"),
    "the newest event of a type up to a position": lambda log: log.last("ModelReplied", until=9),
    "the newest event of a type there is none of": lambda log: log.last("RunFinished"),
    "the event at a position": lambda log: log.at(3),
    "an event by its id": lambda log: log.by_id(log.rows(FIRST)[0][0]),
    "events by their ids": lambda log: log.by_ids({log.rows(FIRST)[0][0], "none"}),
    "an event by its place in a stream": lambda log: log.find("request:3-1"),
    "the length of a stream": lambda log: log.count("request:3-1"),
    "the length of a stream before a task": lambda log: log.count("request:3-1", before_task=2),
    "a stream": lambda log: list(log.read(stream="memory:m1")),
    "the newest events": lambda log: list(log.read(after=log.head().position - 3)),
    "the newest events of a type": lambda log: list(
        log.read(after=log.head().position - 3, types=("TaskStarted",))
    ),
    "a blob": lambda log: log.blob(ref(SHORT)),
}
FIRST = "select event_id from events where position = 1"


def write(path: Path, tasks: int) -> Path:
    with EventLog.create(path, run="r") as log:
        log.append([task_started(1), admitted()])
        for task in range(2, tasks + 1):
            replies = [reply(f"{task}-{number}", task) for number in range(3)]
            log.append([task_started(task), *replies, completed(task)])
    return path


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("short") / "run.db", 30)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("long") / "run.db", 300)


def asked(path: Path, question: Callable[[EventLog], object] | None) -> list[Query]:
    """The queries that a question makes; without one, those that opening the log makes."""
    queries: list[Query] = []

    class Watched(EventLog):
        def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
            queries.append((sql, parameters))
            return super().rows(sql, parameters)

    with Watched.open(path) as log:
        if question is not None:
            queries.clear()
            question(log)
    assert queries
    return queries


def steps(path: Path, queries: list[Query]) -> int:
    """How many instructions SQLite's machine executes for the queries."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with closing(sqlite3.connect(path)) as connection:
        for sql, parameters in queries:
            connection.set_progress_handler(count, 1)
            connection.execute(sql, parameters).fetchall()
            connection.set_progress_handler(None, 1)
    return taken


CASES = [pytest.param(None, id="opening")] + [
    pytest.param(question, id=name) for name, question in QUESTIONS.items()
]


@pytest.mark.parametrize("question", CASES)
def test_no_question_scans_the_events(
    short: Path, question: Callable[[EventLog], object] | None
) -> None:
    with closing(sqlite3.connect(short)) as connection:
        for sql, parameters in asked(short, question):
            plan = connection.execute(f"explain query plan {sql}", parameters).fetchall()
            assert not [row for row in plan if row[3].startswith("SCAN events")], sql


@pytest.mark.parametrize("question", CASES)
def test_a_question_costs_the_same_in_a_log_ten_times_as_long(
    short: Path, long: Path, question: Callable[[EventLog], object] | None
) -> None:
    assert steps(long, asked(long, question)) <= steps(short, asked(short, question)) + 5


# -- the answers -------------------------------------------------------------------------------


def test_the_newest_event_of_a_type_is_found_whatever_its_schema_version(
    monkeypatch: pytest.MonkeyPatch, log: EventLog
) -> None:
    assert log.last("ModelReplied") is None
    for number, version in enumerate((2, 1, 2, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(ev.ModelReplied, "SCHEMA_VERSION", version)
            log.append([reply(str(number)), completed(number)])
    assert log.rows("select distinct schema_version from events order by 1") == [(1,), (2,)]
    for until in (None, *range(1, 9)):
        events = list(log.read(until=until, types=("ModelReplied",)))
        assert log.last("ModelReplied", until=until) == events[-1], until
    assert log.last("ModelReplied", until=0) is None


def test_the_first_event_of_a_task_is_found(log: EventLog) -> None:
    log.append([draft(ev.RunFinished(run="r", tasks=0, mean_score=0.0), None)])
    log.append([task_started(1), completed(1), task_started(3), completed(3)])
    assert [log.first_of_task(task) for task in range(5)] == [0, 2, 0, 4, 0]
    assert [log.position_at_task(task) for task in range(5)] == [1, 3, 3, 5, 5]


def test_a_stream_of_several_pages_is_read_in_order(log: EventLog) -> None:
    log.append([task_started(1), admitted()])
    (first,) = log.append([completed(1)])
    log.append([each for _ in range(PAGE) for each in (changed(first.event_id), completed(1))])
    whole = [r for r in log.read() if r.stream_id == "memory:m1"]
    assert len(whole) == PAGE + 1
    assert list(log.read(stream="memory:m1")) == whole
    middle = whole[100].position, whole[-100].position
    assert list(log.read(after=middle[0], until=middle[1], stream="memory:m1")) == whole[101:-99]
    assert list(log.read(stream="memory:m1", types=("MemoryAdmitted",))) == whole[:1]
