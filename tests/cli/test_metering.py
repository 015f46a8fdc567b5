"""How far, how fast, and what is left, by a clock that the test moves."""

from __future__ import annotations

import attrs
import pytest

from discernmem.cli.metering import Meter
from discernmem.projections.summary import TaskRow
from discernmem.replayers.progress import (
    Asking,
    ExecutionBegun,
    Observed,
    RunBegun,
    TaskBegun,
    TaskFinished,
    TaskReplayed,
)


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def play(meter: Meter, clock: Clock, index: int, *, run: int, saved: int = 0) -> None:
    """A task of executions that take 2 s each, in which the model writes 20 tokens in 1 s."""
    meter.hear(TaskBegun(index=index, task=f"q{index}"))
    execute(meter, clock, run, saved)
    row = TaskRow(index=index, executions_asked=run + saved, executions_run=run)
    meter.hear(TaskFinished(row))


def execute(meter: Meter, clock: Clock, run: int, saved: int = 0) -> None:
    for number in range(run + saved):
        meter.hear(ExecutionBegun(task="q1", why="reuse"))
        if number < run:
            clock.now += 1
            meter.hear(Asking("answer of writer"))
            clock.now += 1
            meter.hear(Observed("ModelReplied", "world", False, 50, 20))
            meter.hear(Observed("ExecutionFinished", "world"))
        else:
            meter.hear(Observed("ExecutionFinished", "log", saved=True))


def test_executions_left_are_the_mean_of_each_task_to_come_less_what_the_open_one_made() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(RunBegun(tasks=10, done=0))
    assert meter.executions_left is None
    play(meter, clock, 1, run=2)
    play(meter, clock, 2, run=6, saved=3)
    assert meter.executions_left == 4 * 8
    meter.hear(TaskBegun(index=3, task="q3"))
    execute(meter, clock, run=3, saved=1)
    assert meter.executions_left == 4 * 7 + 1
    execute(meter, clock, run=7)
    assert meter.executions_left == 4 * 7, "an open task never owes less than nothing"
    assert meter.executions_saved == 4


def test_time_left_and_tokens_follow_the_pace_of_late() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(RunBegun(tasks=4, done=0))
    assert meter.seconds_left is None
    assert meter.tokens_per_second is None
    play(meter, clock, 1, run=5)
    assert meter.tokens_per_second == 20
    assert meter.seconds_left == pytest.approx(3 * 5 * 2)


def test_what_was_done_before_the_run_was_stopped_counts() -> None:
    meter = Meter(Clock())
    meter.hear(RunBegun(tasks=20, done=10, run=50, saved=20))
    assert (meter.behind, meter.of) == (10, 20)
    assert meter.executions_left == 50
    assert meter.executions_saved == 20


def test_what_the_log_answers_is_no_speed_of_the_model() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(RunBegun(tasks=2, done=0))
    meter.hear(TaskBegun(index=1, task="q1"))
    clock.now += 5
    meter.hear(Observed("ModelReplied", "log", False, 50, 20))
    assert meter.tokens_per_second is None
    assert (meter.open.read, meter.open.written, meter.open.waited) == (50, 20, 0)


def test_answers_given_at_once_took_the_time_of_all() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(RunBegun(tasks=2, done=0))
    meter.hear(TaskBegun(index=1, task="q1"))
    meter.hear(Asking("answer of writer", 2))
    clock.now += 4
    meter.hear(Observed("ModelReplied", "world", False, 1, 30))
    clock.now += 1
    meter.hear(Observed("ModelReplied", "world", False, 1, 10))
    assert meter.tokens_per_second == 10
    assert meter.open.waited == 4


def test_runs_in_a_row_are_one_way_to_go() -> None:
    clock = Clock()
    meter = Meter(clock, before=5, after=5)
    meter.hear(RunBegun(tasks=5, done=0))
    play(meter, clock, 1, run=3)
    assert (meter.behind, meter.of) == (6, 15)
    assert meter.executions_left == 3 * 9


def test_a_replay_is_paced_by_its_tasks() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.hear(RunBegun(tasks=8, done=0))
    for index in (1, 2):
        meter.hear(TaskBegun(index=index, task="q"))
        clock.now += 3
        meter.hear(TaskReplayed(index=index, agreed=index * 10))
    assert meter.seconds_by_task == 6 * 3
