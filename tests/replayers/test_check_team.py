"""check-team: what it finds in teams that are data, and in teams that cannot be replayed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from scripted import BagEmbedder, ScriptedModel, scripted_world, stream_file

from discernmem.cli import main
from discernmem.replayers import world as worlds
from discernmem.replayers.checking import PROBE, Checked, check_team
from discernmem.replayers.hosts import open_host
from discernmem.replayers.hosts.base import Host, Played, Stage
from discernmem.replayers.world import World

TICKS = itertools.count()


@attrs.frozen
class Bent:
    """The shipped team of two, played on another task or another stage."""

    task: Callable[[Any], Any] = lambda task: task
    stage: Callable[[Stage], Any] = lambda stage: stage
    inner: Host = attrs.field(factory=lambda: open_host("autogen"))
    name: str = "bent"

    @property
    def roles(self) -> tuple[str, ...]:
        return self.inner.roles

    def facts(self, benchmark: Any) -> dict[str, Any]:
        return self.inner.facts(benchmark)

    def play(self, benchmark: Any, task: Any, stage: Stage) -> Played:
        return self.inner.play(benchmark, self.task(task), self.stage(stage))


@attrs.frozen
class Tampering:
    """A stage that passes everything on, but for what a test replaces."""

    stage: Stage

    def supply(self, role: str, context: str) -> str:
        return self.stage.supply(role, context)

    def ask(self, turns: Any) -> Any:
        return self.stage.ask(turns)

    def search(self, query: str) -> Any:
        return self.stage.search(query)


class Shared(Tampering):
    """Gives everyone the memories of the assistant, whom it asks for each."""

    blocks: dict[Stage, str] = {}  # noqa: RUF012

    def supply(self, role: str, context: str) -> str:
        own = self.stage.supply(role, context)
        return self.blocks.setdefault(self.stage, own)


class Forgetful(Tampering):
    """Asks for memories and drops them."""

    def supply(self, role: str, context: str) -> str:
        self.stage.supply(role, context)
        return ""


class Doubting(Tampering):
    """Adds a word of its own to whatever memories there are."""

    def supply(self, role: str, context: str) -> str:
        block = self.stage.supply(role, context)
        return f"{block}\nDo you believe this?" if block else ""


class Restless(Tampering):
    """Asks twice where a memory is."""

    def ask(self, turns: Any) -> Any:
        if any(PROBE in message.content for turn in turns for message in turn.messages):
            self.stage.ask(turns)
        return self.stage.ask(turns)


def ticking(task: Any) -> Any:
    return attrs.evolve(task, text=f"{task.text} It is {next(TICKS):04} o'clock.")


def say(role: str, _: str) -> str:
    return "right" if role == "user_proxy" else "I see."


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., Checked]:
    def checked(host: Host | None = None, answer: Any = say) -> Checked:
        return check_team(made(tmp_path, host, answer))

    return checked


def made(folder: Path, host: Host | None, answer: Any = say) -> World:
    stream = stream_file(folder / "stream.jsonl", ["Which?", "What?"])
    world = scripted_world(stream, ScriptedModel(answer))
    return attrs.evolve(world, host=host or world.host)


@pytest.mark.parametrize("name", ["autogen", "camel", "macnet"])
def test_a_shipped_team_replays_and_gives_memories_to_their_owners_only(
    look: Callable[..., Checked], name: str
) -> None:
    checked = look(open_host(name))
    assert checked.ok
    assert [each.requests for each in checked.memory] == [1] * len(checked.memory)
    assert checked.requests == 2 * len(checked.memory)


def test_probing_asks_no_model(tmp_path: Path) -> None:
    world = made(tmp_path, None)
    check_team(world)
    assert len(world.model.calls) == 2 * 2 * 2  # type: ignore[attr-defined]


def test_another_prompt_is_named_with_the_place_where_it_parts(
    look: Callable[..., Checked],
) -> None:
    found = look(Bent(task=ticking)).difference
    assert found is not None
    assert (found.task, found.request, found.role, found.what) == ("q1", 1, "assistant", "context")
    at = found.first.index("It is")
    assert found.first[at:].startswith("It is 000")
    assert found.first != found.second


def test_another_reply_to_the_same_prompt_is_a_reply(look: Callable[..., Checked]) -> None:
    found = look(answer=lambda role, _: f"{role} says {next(TICKS):04}").difference
    assert found is not None
    assert (found.request, found.role, found.what) == (1, "assistant", "reply")


def test_a_team_that_goes_on_longer_is_another_course(look: Callable[..., Checked]) -> None:
    turn = itertools.count()

    class Once(Tampering):
        def ask(self, turns: Any) -> Any:
            if next(turn) == 3:
                self.stage.ask(turns)
            return self.stage.ask(turns)

    found = look(Bent(stage=Once)).difference
    assert found is not None
    assert (found.request, found.what) == (3, "course")
    assert (found.first, found.second) == ("the episode ends", "request of user_proxy")


def test_another_action_after_the_same_replies_is_an_action(look: Callable[..., Checked]) -> None:
    class Acting(Bent):
        def play(self, benchmark: Any, task: Any, stage: Stage) -> Played:
            played = super().play(benchmark, task, stage)
            steps = [
                attrs.evolve(step, text=f"{next(TICKS):04}") if step.kind == "action" else step
                for step in played.steps
            ]
            return attrs.evolve(played, steps=tuple(steps))

    found = look(Acting()).difference
    assert found is not None
    assert found.what == "action"
    assert found.role == "user_proxy"


@pytest.mark.parametrize(
    ("stage", "role", "problem"),
    [
        (Shared, "assistant", "reached request 2 of user_proxy"),
        (Forgetful, "assistant", "is in request 1 of assistant 0 times"),
        (Doubting, "user_proxy", "is not all that differs in request 2 of user_proxy"),
        (Restless, "assistant", "takes another course: it asks for a request of assistant"),
    ],
)
def test_a_memory_that_goes_astray_is_told_with_its_place(
    look: Callable[..., Checked], stage: Any, role: str, problem: str
) -> None:
    checked = look(Bent(stage=stage))
    assert checked.difference is None
    assert not checked.ok
    (found,) = [each for each in checked.memory if each.role == role]
    assert problem in found.problems


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setattr(worlds, "open_model", lambda *_, **__: ScriptedModel(say))
    monkeypatch.setattr(worlds, "open_embedder", lambda *_: BagEmbedder())
    stream = stream_file(tmp_path / "stream.jsonl", ["Which?", "What?", "Who?"])

    def run(*options: str) -> tuple[int, str, str]:
        status = 0
        try:
            main(["check-team", "--set", f"benchmark.source={stream}", *options])
        except SystemExit as stop:
            status = int(stop.code or 0)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_the_command_says_what_it_measured(command: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = command()
    assert status == 0
    assert out.splitlines() == [
        "2 tasks, 4 requests each time: two runs without memory agree",
        "assistant: a memory is once in each request (1), nowhere else",
        "user_proxy: a memory is once in each request (1), nowhere else",
    ]


def test_the_command_fails_and_shows_both_places(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    team = tmp_path / "team.py"
    team.write_text(
        "import itertools, attrs\n"
        "from discernmem.replayers.hosts import open_host\n"
        "ticks = itertools.count(10)\n"
        "def Ticking():\n"
        "    host = open_host('autogen')\n"
        "    class Team:\n"
        "        name, roles, facts = 'ticking', host.roles, host.facts\n"
        "        def play(self, benchmark, task, stage):\n"
        "            task = attrs.evolve(task, text=f'It is {next(ticks)}. {task.text}')\n"
        "            return host.play(benchmark, task, stage)\n"
        "    return Team()\n"
    )
    status, out, err = command("--host", f"{team}:Ticking")
    assert status == 1
    assert out.splitlines() == [
        "task q1, request 1 (assistant): another context",
        "  first   It is 10. Passage 1: In passage 1 the answer is right. Ques…",
        "  second  It is 11. Passage 1: In passage 1 the answer is right. Ques…",
    ]
    assert err.startswith("discernmem: host ticking cannot be replayed")


def test_the_command_prints_json_and_records_nothing(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    status, out, _ = command("--json", "--tasks", "3", "--host", "macnet")
    told = json.loads(out)
    assert (status, told["ok"], told["tasks"]) == (0, True, ["q1", "q2", "q3"])
    assert [each["role"] for each in told["memory"]][-1] == "summarizer"
    assert sorted(tmp_path.iterdir()) == before
