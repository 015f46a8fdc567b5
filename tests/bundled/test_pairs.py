"""Every host of the paper plays every benchmark, from the command line, on the bundled model."""

from pathlib import Path

import pytest

from discernmem.cli.app import main
from discernmem.eventlog import events as ev
from discernmem.eventlog.log import EventLog
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.verification import verify_run

HOSTS = {"autogen": 2, "camel": 4, "macnet": 5}
"""The hosts with the number of their roles."""

TWO_TASKS = ("autogen", "kodcode")
"""The pair whose second task uses what its first one taught; with more roles that takes minutes."""

BENCHMARKS = {
    "pddl": {"problems": "demo", "steps": "2", "constrain_actions": "true"},
    "kodcode": {},
    "triviaqa": {},
    "popqa": {},
}

TIGHT = {
    "sampling.max_tokens": "16",
    "theta": "-1.0",
    "k_ret": "1",
    "k_id": "0",
    "attempts": "1",
    "rounds": "1",
    "candidates": "1",
    "n1": "0",
    "n2": "0",
}


@pytest.mark.model
@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_pair_of_the_paper_runs_and_its_log_is_valid(
    host: str, benchmark: str, tmp_path: Path
) -> None:
    path, tasks = tmp_path / "run.db", 1 + ((host, benchmark) == TWO_TASKS)
    options = {f"benchmark.{key}": value for key, value in BENCHMARKS[benchmark].items()}
    pairs = [f"--set={key}={value}" for key, value in {**TIGHT, **options}.items()]
    main(
        ["run", str(path), f"--host={host}", f"--benchmark={benchmark}", f"--tasks={tasks}", *pairs]
    )
    assert verify_run(path).problems == ()
    assert replay_offline(path).finished
    with EventLog.open(path) as log:
        events = [recorded.event for recorded in log.read()]
    scored = [event for event in events if isinstance(event, ev.TaskScored)]
    spoke = {event.role for event in events if isinstance(event, ev.ContextObserved)}
    executions = [event for event in events if isinstance(event, ev.ExecutionFinished)]
    assert [event.index for event in scored] == list(range(1, tasks + 1))
    assert len(spoke) == HOSTS[host]
    assert all(0 <= event.score <= 1 for event in executions)
    if benchmark == "kodcode":
        assert {event.grading.get("verdict") for event in executions} <= {"pass", "fail", "error"}
