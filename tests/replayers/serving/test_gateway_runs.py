"""A team behind the gateway is recorded, taught and replayed like any other."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import attrs
import pytest
from gateways import RULE, TeamModel, command_host, gateway_host, team_world
from processes import story

from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.checking import check_team
from discernmem.replayers.models.base import ModelCall, Reply
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.seeds import derived_seed
from discernmem.replayers.serving import performance
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run

E = TypeVar("E", bound=ev.Event)


def events(log: Path) -> list[Recorded]:
    with EventLog.open(log) as opened:
        return list(opened.read())


def of(log: Path, kind: type[E]) -> list[E]:
    return [each.event for each in events(log) if isinstance(each.event, kind)]


@pytest.fixture(params=[True, False], ids=["reuse", "no reuse"])
def reuse(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_only_the_owner_reads_its_memory_and_every_control_run_has_none(
    tmp_path: Path, reuse: bool
) -> None:
    world = team_world(tmp_path, command_host("plain.py"), reuse=reuse)
    log = tmp_path / "run.db"
    start(log, world)
    assert isinstance(world.model, TeamModel)
    noted = [
        call.messages[-1].content
        for call in world.model.made
        if "<notes>" in call.messages[-1].content
    ]
    assert noted
    for prompt in noted:
        assert "Plan:" not in prompt, "a note reached the writer"
        assert RULE in prompt
        assert prompt.split("\n\n<notes>")[0] in [
            call.messages[-1].content for call in world.model.made
        ], "with and without the note, the prompt differs by the note alone"
    scores = {
        (each.task, bool(each.supplied)): each.score for each in of(log, ev.ExecutionFinished)
    }
    assert scores == {("q1", False): 0, ("q2", False): 0, ("q2", True): 1}
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_the_seed_and_temperature_of_the_run_are_recorded_not_those_of_the_client(
    tmp_path: Path,
) -> None:
    log = tmp_path / "run.db"
    world = team_world(tmp_path, command_host("plain.py"), tasks=1)
    start(log, world)
    replies = [each for each in of(log, ev.ModelReplied) if each.purpose == "role"]
    assert {reply.role for reply in replies} == {"planner", "writer"}
    for reply in replies:
        assert reply.temperature == 0
        assert reply.seed == derived_seed(world.config.method.seed, reply.role or "", 1)


def test_a_run_made_twice_is_the_same_log(tmp_path: Path) -> None:
    logs = [tmp_path / "one.db", tmp_path / "two.db"]
    for log in logs:
        start(log, team_world(tmp_path, command_host("plain.py")))
    assert story(logs[0]) == story(logs[1])


def test_after_a_command_died_resume_goes_on_from_what_was_recorded(
    tmp_path: Path, reuse: bool
) -> None:
    flag = tmp_path / "unlucky"
    host = command_host("plain.py", "--die-once", str(flag))
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    start(whole, team_world(tmp_path, host, reuse=reuse))

    world = team_world(tmp_path, host, reuse=reuse)
    flag.touch()
    with pytest.raises(Infrastructure, match="ended with status 1: out of luck"):
        start(broken, world)
    assert of(broken, ev.ExecutionFinished) == []
    assert len(of(broken, ev.ModelReplied)) == 1
    resume(broken, open_=lambda _: world)
    assert story(broken) == story(whole)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import sys; print('right'); sys.exit(3)",
            "ended with status 3 and said nothing about it",
        ),
        ("import sys; sys.exit('one\\ntwo')", "ended with status 1: one / two"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("print()", "printed no answer"),
        ("print('{\"answer\": 4}')", "printed no answer"),
    ],
)
def test_a_team_that_fails_is_no_score(tmp_path: Path, code: str, words: str) -> None:
    log = tmp_path / "run.db"
    host = gateway_host(command=[sys.executable, "-c", code])
    with pytest.raises(Infrastructure) as caught:
        start(log, team_world(tmp_path, host))
    assert words in str(caught.value)
    assert of(log, ev.ExecutionFinished) == []


def test_a_team_that_never_ends_is_stopped_and_is_no_score(tmp_path: Path) -> None:
    log = tmp_path / "run.db"
    sleepy = [sys.executable, "-c", "import time; time.sleep(600)"]
    with pytest.raises(Infrastructure, match=r"no answer within 0\.2 s; give it a longer timeout"):
        start(log, team_world(tmp_path, gateway_host(command=sleepy, timeout=0.2)))
    assert of(log, ev.ExecutionFinished) == []


def test_what_the_model_takes_is_not_the_teams_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    monkeypatch.setattr(performance, "time", SimpleNamespace(monotonic=lambda: passed[0]))

    class Slow(TeamModel):
        def complete(self, call: ModelCall) -> Reply:
            passed[0] += 1000.0
            return super().complete(call)

    world = team_world(tmp_path, command_host("plain.py", timeout=500), tasks=1)
    start(tmp_path / "run.db", attrs.evolve(world, model=Slow()))
    assert verify_run(tmp_path / "run.db").ok


def test_a_team_may_decide_as_it_plays_who_speaks(tmp_path: Path, reuse: bool) -> None:
    log = tmp_path / "run.db"
    start(log, team_world(tmp_path, command_host("plain.py", "--alone"), reuse=reuse))
    seen = [
        (e.task, e.role) for e in of(log, ev.ContextObserved) if isinstance(e, ev.ContextObserved)
    ]
    assert seen == [("q1", "writer"), ("q2", "writer"), ("q2", "planner")]
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_whether_a_team_repeats_itself_can_be_measured(tmp_path: Path) -> None:
    steady = check_team(team_world(tmp_path, command_host("plain.py")))
    assert steady.ok
    assert [each.requests for each in steady.memory] == [1, 1]
    moody = check_team(team_world(tmp_path, command_host("plain.py", "--moody")))
    assert moody.difference is not None
    assert moody.difference.what == "context"
