"""Teams behind the role gateway, and a world whose model answers them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import attrs
from scripted import SYSTEMS, ScriptedModel, scripted_world, stream_file

from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Benchmark
from discernmem.replayers.hosts.base import Played, Spoken, Turn
from discernmem.replayers.models.base import ModelCall, Reply
from discernmem.replayers.serving.files import parse_gateway
from discernmem.replayers.serving.host import GatewayHost
from discernmem.replayers.session import start
from discernmem.replayers.world import World

TEAMS = Path(__file__).parent.parent / "replayers" / "serving" / "teams"
ROLES = ("planner", "writer")
RULE = "Look at the end of the passage"


def gateway_host(**gateway: Any) -> GatewayHost:
    """A host of a planner and a writer whose scripts are those of the tests."""
    table = {"name": "pair", "gateway": {"roles": [*ROLES], **gateway}}
    return parse_gateway(table, TEAMS, "pair.toml")


def command_host(
    script: str, *arguments: str, python: str = sys.executable, **more: Any
) -> GatewayHost:
    """A host whose command is a script of the tests."""
    return gateway_host(command=[python, script, *arguments], **more)


class TeamModel(ScriptedModel):
    """Answers a team whose roles are told ``You are the ROLE.``; keeps the calls of its roles.

    With a note, or without ``misled``, the planner aims right; the writer does what it planned. One
    rule is learned, by the planner from the first task.
    """

    def __init__(self, decisions: Mapping[str, Any] | None = None) -> None:
        super().__init__(_say, {"extraction": _learn, **(decisions or {})})
        self.made: list[ModelCall] = []

    def complete(self, call: ModelCall) -> Reply:
        if call.messages[0].content not in SYSTEMS:
            self.made.append(call)
        return super().complete(call)

    def _purpose(self, system: str) -> str:
        if system.startswith("You are the "):
            return system.removeprefix("You are the ").partition(".")[0]
        return super()._purpose(system)


def _say(role: str, prompt: str) -> str:
    if role == "planner":
        return "aim right" if "<notes>" in prompt else "aim wrong"
    return "right" if "aim right" in prompt else "wrong"


def _learn(prompt: str) -> Any:
    stored = "TEAM MEMBER:\n> planner" in prompt and "jar 1" in prompt
    return {
        "reason": "",
        "store": stored,
        "rule": RULE if stored else "",
        "use_when": ["a jar is named"] if stored else [],
        "avoid_when": [],
    }


def team_world(folder: Path, host: GatewayHost, *, tasks: int = 2, **options: Any) -> World:
    """A world of ``tasks`` questions, played by ``host`` and answered by a `TeamModel`."""
    questions = [f"What is in jar {number}?" for number in range(1, tasks + 1)]
    stream = stream_file(folder / "stream.jsonl", questions)
    return attrs.evolve(scripted_world(stream, TeamModel(), **options), host=host)


@attrs.define
class Echo:
    """A stage that says back the last message, after its role and the number of the call."""

    blocks: Mapping[str, str] = attrs.field(factory=dict)
    turns: list[Turn] = attrs.field(factory=list)
    supplied: list[tuple[str, str]] = attrs.field(factory=list)
    threads: set[int] = attrs.field(factory=set)

    def supply(self, role: str, context: str) -> str:
        self.threads.add(threading.get_ident())
        self.supplied.append((role, context))
        return self.blocks.get(role, "")

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        self.threads.add(threading.get_ident())
        self.turns += turns
        return [
            Spoken(f"{turn.role} {turn.number}: {turn.messages[-1].content}", f"e{len(self.turns)}")
            for turn in turns
        ]

    def search(self, query: str) -> Spoken:
        return Spoken(f"<information>{query}</information>", "search")


def drive(
    host: GatewayHost,
    stage: Any,
    driver: Callable[[str], None],
    folder: Path,
    benchmark: Benchmark | None = None,
) -> Played:
    """One episode, played in a thread, its work fetched here by ``driver``, given the address.

    The task is the first of ``benchmark``, or one that is solved by the word ``right``.
    """
    stream = stream_file(folder / "stream.jsonl", ["What is in jar 1?"])
    benchmark = benchmark or open_benchmark("reading", {"source": str(stream)})
    task = benchmark.tasks()[0]
    played: Future[Played] = Future()

    def play() -> None:
        try:
            played.set_result(host.play(benchmark, task, stage))
        except BaseException as error:
            played.set_exception(error)

    with host.serving() as url:
        threading.Thread(target=play, daemon=True).start()
        driver(url)
        return played.result(timeout=60)


def record_driven(log: Path, world: World, *driver: str | Path) -> None:
    """Record a run in a thread while a driver, given the address too, fetches its work."""
    host = world.host
    assert isinstance(host, GatewayHost)
    recorded: Future[None] = Future()

    def record() -> None:
        try:
            recorded.set_result(start(log, world))
        except BaseException as error:
            recorded.set_exception(error)

    with host.serving() as url:
        process = subprocess.Popen([*driver, url])
        try:
            threading.Thread(target=record, daemon=True).start()
            while not recorded.done():
                wait([recorded], timeout=0.05)
                assert not process.poll(), "the driver failed"
        finally:
            process.kill()
            process.wait()
    recorded.result()
