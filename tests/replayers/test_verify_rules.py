"""`verify` names what breaks a rule of the method, even in a log whose every hash is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from lively import record
from sample_log import admitted, completed, task_started

from discernmem.eventlog import Draft, EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.verification import verify_run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return record(tmp_path, 1, tasks=3)


def append(log: Path, event: ev.Event) -> int:
    with EventLog.open(log, write=True) as opened:
        cause = opened.head().position
        recorded = opened.at(cause)
        assert recorded is not None
        draft = Draft(event=event, actor="test", cause=recorded.event_id)
        return opened.append([draft])[0].position


def condition(memory: str) -> ev.ConditionAdded:
    return ev.ConditionAdded(
        memory=memory, version=1, kind="avoid_when", text="it rains", source="scope check"
    )


def test_a_recorded_run_keeps_the_rules(log: Path) -> None:
    assert verify_run(log).problems == ()


def test_a_conclusion_that_follows_from_nothing_is_a_problem_at_its_position(log: Path) -> None:
    position = append(log, condition("m1"))
    (problem,) = verify_run(log).problems
    assert (problem.position, problem.kind) == (position, "invariant")
    assert problem.message == "ConditionAdded of m1: follows from nothing before it"


def test_what_is_about_a_memory_that_is_not_there_ends_the_check(log: Path) -> None:
    position = append(log, condition("m99"))
    append(log, condition("m1"))
    found = [(p.position, p.kind) for p in verify_run(log).problems]
    assert found == [(position, "invariant"), (position, "store")]


def test_a_log_made_by_hand_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with EventLog.create(path, run="test") as opened:
        opened.append([task_started(1), admitted(), completed(1)])
    (problem,) = verify_run(path).problems
    assert (problem.position, problem.kind) == (1, "invariant")
    assert problem.message == "TaskStarted: a log begins with RunStarted"


def test_an_empty_log_has_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    EventLog.create(path, run="test").close()
    assert verify_run(path).problems == ()
