"""Trajectories as they lie in the log."""

from __future__ import annotations

import attrs
from lively import quick_folder, record, rich_seed
from turned import told

from discernmem.eventlog import EventLog
from discernmem.projections.state import State
from discernmem.projections.story import story
from discernmem.projections.trajectories import sides, trajectory
from discernmem.replayers.executions import read_execution
from discernmem.replayers.journal import Journal


def test_the_steps_are_those_that_a_run_goes_on_with() -> None:
    with quick_folder() as folder, EventLog.open(record(folder, rich_seed())) as log:
        journal = Journal(log, state=State(), after=0)
        executions = list(log.read(types=("ExecutionFinished",)))
        assert executions
        for recorded in executions:
            played = read_execution(journal, recorded).steps
            read = trajectory(log, recorded)
            assert [attrs.asdict(step) for step in read] == [attrs.asdict(step) for step in played]


def test_the_sides_of_an_effect_are_the_run_with_the_rule_and_the_run_without() -> None:
    with told("committed") as log:
        use = story(log, "m1").turns[-1].use
        assert use is not None
        with_memory, without = sides(log, use)
        replies = [
            [s.text for s in side if s.role == "user_proxy"] for side in (with_memory, without)
        ]
        assert replies == [["nothing"] * 2, ["amber, basil"] * 2]
