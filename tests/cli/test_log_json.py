"""``--log-json``: what long commands do, in JSON lines that agree with the log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import story
from standing_in import StandIn, standing_in

from discernmem.cli import main
from discernmem.eventlog import EventLog

SUMMED = ("executions_run", "executions_saved", "prompt_tokens", "completion_tokens")


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with standing_in(tmp_path) as running:
        yield running


def told(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    """The lines of a command; nothing else may be on its standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "discernmem.cli", *arguments, "--log-json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(line["time"].endswith("+00:00") for line in lines)
    return lines


def of(lines: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == event]


def rows(log: Path) -> list[dict[str, Any]]:
    """What each task cost, by SQL over the log."""
    with EventLog.open(log) as opened:
        found = opened.rows(
            """
            select c.task_index, c.payload ->> 'task', c.payload ->> 'score',
              (select count(*) from events e
                where e.type = 'ExecutionFinished' and e.task_index = c.task_index),
              c.payload ->> 'executions_asked',
              (select sum(prompt_tokens) from model_calls m where m.task_index = c.task_index),
              (select sum(completion_tokens) from model_calls m where m.task_index = c.task_index)
            from events c where c.type = 'TaskCompleted' order by c.position
            """
        )
    return [
        {
            "index": index,
            "task": task,
            "score": score,
            "executions_run": run,
            "executions_saved": asked - run,
            "prompt_tokens": read,
            "completion_tokens": written,
        }
        for index, task, score, run, asked, read, written in found
    ]


def test_the_lines_of_a_run_add_up_to_what_its_log_says(stand_in: StandIn) -> None:
    lines = told(*stand_in.run)
    assert lines[0]["event"] == "run_started"
    assert (lines[0]["tasks"], lines[0]["done"], lines[0]["host"]) == (4, 0, "autogen")
    assert [line["index"] for line in of(lines, "task_started")] == [1, 2, 3, 4]
    for line, row in zip(of(lines, "task_done"), rows(stand_in.log), strict=True):
        assert {name: line[name] for name in row} == row
        assert line["tokens_per_second"] > 0
    (finished,) = of(lines, "finished")
    assert lines[-1] is finished
    for name in SUMMED:
        assert finished[name] == sum(line[name] for line in of(lines, "task_done"))


def test_the_executions_of_a_task_add_up_to_the_task(stand_in: StandIn) -> None:
    lines = told(*stand_in.run)
    for task in of(lines, "task_done"):
        made = [e for e in of(lines, "execution_done") if e["index"] == task["index"]]
        saved = [e for e in of(lines, "execution_saved") if e["index"] == task["index"]]
        assert (len(made), len(saved)) == (task["executions_run"], task["executions_saved"])
        assert made[0]["why"] == "score"


def test_telling_it_changes_no_event(stand_in: StandIn) -> None:
    told(*stand_in.run)
    first = stand_in.log.rename(stand_in.folder / "first.db")
    main(stand_in.run)
    assert story(first) == story(stand_in.log)


def test_a_run_that_is_resumed_tells_the_rest(stand_in: StandIn) -> None:
    first = told(*stand_in.run, "--until", "2")
    second = told("resume", str(stand_in.log))
    done = [*of(first, "task_done"), *of(second, "task_done")]
    recorded = rows(stand_in.log)
    assert [line["executions_run"] for line in done] == [r["executions_run"] for r in recorded]
    assert (second[0]["tasks"], second[0]["done"]) == (4, 2)
    assert of(told("resume", str(stand_in.log)), "finished")


def test_a_sweep_tells_its_settings(stand_in: StandIn) -> None:
    sweep = ["sweep", str(stand_in.folder / "s"), "--vary", "k_inj=0,1", *stand_in.options]
    lines = told(*sweep, "--tasks", "1", "--json")
    assert [line["name"] for line in of(lines, "setting_started")] == ["k_inj=0", "k_inj=1"]
    assert len(of(lines, "run_started")) == len(of(lines, "task_done")) == 2
    assert lines[-1]["event"] == "sweep_finished"


def test_checks_and_an_index_tell_their_steps(stand_in: StandIn) -> None:
    main(stand_in.run)
    replay = told("replay", "--offline", str(stand_in.log))
    assert [line["index"] for line in of(replay, "task_done")] == [1, 2, 3, 4]
    assert replay[-1]["event"] == "finished"
    assert replay[-1]["agreed"] > replay[-2]["agreed"]
    verify = told("verify", str(stand_in.log))
    steps = [line["step"] for line in of(verify, "step_done")]
    assert steps == ["file", "blobs", "events", "links", "rules"]
    assert verify[-1]["events"] == of(verify, "step_done")[2]["of"]
    passages = stand_in.folder / "p.jsonl"
    passages.write_text('{"title": "a", "text": "b"}\n')
    index = told("index", str(passages))
    assert index[-1]["passages"] == 1


def test_failures_are_told_in_json_too(stand_in: StandIn, tmp_path: Path) -> None:
    (failed,) = told("resume", str(tmp_path / "absent.db"), status=2)
    assert (failed["event"], failed["exit_status"]) == ("failed", 2)
    assert "absent.db" in failed["message"]
    (failed,) = told(*stand_in.run, "--tasks", "many", status=2)
    assert "many" in failed["message"]
    (tmp_path / "none.db").write_text("not a log" * 1000)
    (failed,) = told("verify", str(tmp_path / "none.db"), status=1)
    assert failed["exit_status"] == 1


def test_a_reader_that_leaves_stops_nothing(stand_in: StandIn) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "discernmem.cli", *stand_in.run, "--log-json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(timeout=120) == 0
