"""What the scripts of both frameworks share: the scripted world, and what a log tells of a team.

The scripts run where a framework is installed and pytest may not be; they print what they saw, and
the tests judge it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
from processes import story
from scripted import ABSTAIN, SYSTEMS, BagEmbedder, ScriptedModel, stream_file

from discernmem.eventlog import EventLog, plain
from discernmem.eventlog.errors import DiscernmemError, Infrastructure
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Benchmark, Passage
from discernmem.replayers.checking import check_team
from discernmem.replayers.config import parse_config
from discernmem.replayers.hosts.base import Host
from discernmem.replayers.models.base import ModelCall, Reply
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World

QUESTIONS = ("Which way?", "Which day?", "Which tree?")
_NAMED = re.compile(r"(?:You are|Never forget you are a) (\w+)")

Answer = Callable[[str, str], str]


class TeamModel(ScriptedModel):
    """Knows a role by the words ``You are NAME`` in the first message it reads."""

    def complete(self, call: ModelCall) -> Reply:
        if len(call.messages) == 1:  # which is prompt and instruction in one
            call = attrs.evolve(call, messages=call.messages * 2)
        return super().complete(call)

    def _purpose(self, system: str) -> str:
        named = _NAMED.search(system)
        return SYSTEMS.get(system) or (named[1] if named else "specifier")


def rule_for(role: str) -> Any:
    """An extraction that finds a rule for ``role`` and none for the others."""

    def extract(prompt: str) -> Any:
        if f"TEAM MEMBER:\n> {role}\n" not in prompt:
            return ABSTAIN
        found = {"rule": "look twice", "use_when": ["a question"], "avoid_when": []}
        return {"reason": "", "store": True, **found}

    return extract


class Shelf:
    """A searcher that finds one passage, which names the query."""

    facts: Mapping[str, Any] = {"shelf": 1}

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        found = Passage(title="Shelf", text=f"About {query}: the answer is right.")
        return (found,) * k


@attrs.frozen
class Lab:
    """A folder, and worlds whose teams are answered by scripts."""

    folder: Path

    def world(
        self,
        host: Host,
        answer: Answer,
        *,
        learns: str = "",
        search: bool = False,
        benchmark: Mapping[str, Any] | None = None,
    ) -> World:
        """Three questions, or ``benchmark``; ``learns`` is the role for which rules are found."""
        stream = stream_file(self.folder / "stream.jsonl", QUESTIONS)
        table = {
            "benchmark": benchmark or {"name": "reading", "source": str(stream)},
            "model": {"name": "scripted"},
            "embedder": {"name": "bag"},
            "method": {"theta": -1.0},
        }
        config = parse_config(table, "test")
        opened: Benchmark = open_benchmark(config.benchmark.name, config.benchmark.options)
        if search:
            opened.searcher = Shelf()
            opened.searches, opened.passages = 2, 1
        return World(
            config=config,
            host=host,
            benchmark=opened,
            model=TeamModel(answer, {"extraction": rule_for(learns)} if learns else {}),
            embedder=BagEmbedder(),
            tasks=opened.tasks()[: 1 if benchmark else None],
        )

    def play(self, name: str, host: Host, answer: Answer, **options: Any) -> dict[str, Any]:
        """Record the same run twice, check it, and tell of it."""
        logs = [self.folder / f"{name}-{copy}.db" for copy in (1, 2)]
        for log in logs:
            start(log, self.world(host, answer, **options))
        return {**tell(logs[0]), "same": story(logs[0]) == story(logs[1])}

    def break_off(self, name: str, host: Host, answer: Answer, **options: Any) -> dict[str, Any]:
        """Let the endpoint fail at every fifth call of the team, and resume until it is done."""
        whole, broken = self.folder / f"{name}.db", self.folder / f"{name}-broken.db"
        start(whole, self.world(host, answer, **options))
        calls = 0

        def failing(role: str, prompt: str) -> str:
            nonlocal calls
            calls += 1
            if calls % 5 == 0:
                raise Infrastructure("the endpoint is down; start it")
            return answer(role, prompt)

        world = self.world(host, failing, **options)
        failures = []
        begun = False
        while True:
            try:
                if begun:
                    resume(broken, open_=lambda _: world)
                else:
                    begun = True
                    start(broken, world)
                break
            except DiscernmemError as error:
                failures.append([type(error).__name__, str(error)])
        return {"failures": failures, "same": story(whole) == story(broken), **tell(broken)}

    def check(self, host: Host, answer: Answer, **options: Any) -> dict[str, Any]:
        """What check-team says of the team."""
        checked = check_team(self.world(host, answer, **options))
        return {"ok": checked.ok, **attrs.asdict(checked)}

    def refused(
        self, make: Callable[[], Host], answer: Answer = lambda *_: "right", **options: Any
    ) -> list[str]:
        """The error that making or playing a team ends with."""
        try:
            world = self.world(make(), answer, **options)
            check_team(world)
        except DiscernmemError as error:
            return [type(error).__name__, str(error)]
        return []


def tell(log: Path) -> dict[str, Any]:
    """What a log says of its team, and whether it holds."""
    with EventLog.open(log) as opened:
        events = [(recorded, plain(recorded.event)) for recorded in opened.read()]

        def of(kind: str) -> list[dict[str, Any]]:
            return [data for recorded, data in events if recorded.type == kind]

        calls = [call for call in of("ModelReplied") if call["purpose"] == "role"]
        replayed = replay_offline(log)
        return {
            "problems": [problem.message for problem in verify_run(log).problems],
            "replayed": replayed.finished,
            "host": of("RunStarted")[0]["host"],
            "calls": [
                {
                    "role": call["role"],
                    "messages": [
                        [each["role"], opened.text(each["content"])] for each in call["messages"]
                    ],
                    "schema": json.loads(opened.blob(call["schema"])) if call["schema"] else None,
                }
                for call in calls
            ],
            "contexts": [
                [each["role"], opened.text(each["context"])] for each in of("ContextObserved")
            ],
            "supplied": [[each["role"], each["task"]] for each in of("MemorySupplied")],
            "scores": [each["score"] for each in of("TaskScored")],
            "searches": [each["query"] for each in of("PassagesFound")],
            "steps": [
                json.loads(opened.blob(each["trajectory"])) for each in of("ExecutionFinished")
            ],
            "learned": [each["role"] for each in of("MemoryAdmitted")],
        }


def report(experiments: Callable[[Lab], Mapping[str, Any]]) -> None:
    """Run the experiments in the folder that is named, and print what came of them."""
    print(json.dumps(experiments(Lab(Path(sys.argv[1])))))
