"""Whole runs told in a few lines: what each rule does to each task, and what each decision says.

A task asks for four herbs, so a team scores 0, 0.25 … 1 by how many it names. A `Scenario` says in
a table how many that is under which rule; both roles look themselves up in it, and the last role
repeats its colleague where no rule of its own says otherwise.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs
from scripted import ABSTAIN, ScriptedModel, scripted_world, select_all

from discernmem.eventlog import events as ev
from discernmem.eventlog.log import EventLog, Recorded
from discernmem.projections.evidence import Effect
from discernmem.projections.state import State, fold
from discernmem.projections.store import Memory
from discernmem.replayers.session import start

HERBS = ("amber", "basil", "cedar", "dill")
BASE = 0.5
"""What a task scores where no table says otherwise."""

ALL = frozenset({f"q{number}" for number in range(1, 30)})
E = TypeVar("E", bound=ev.Event)


# -- scripts -----------------------------------------------------------------------------------


def task_of(prompt: str) -> str:
    """The first task a prompt speaks of."""
    found = re.search(r"of jar (q\d+)", prompt)
    assert found is not None, prompt
    return found[1]


def attempt_of(prompt: str) -> int:
    """Which attempt at its decision a prompt is, from 1."""
    complaint = re.search(r"^Answer (\d+) cannot be used", prompt, re.M)
    return int(complaint[1]) + 1 if complaint else 1


def round_of(prompt: str) -> int:
    """Which round of its repair a prompt is, from 1."""
    tried = re.findall(r"^\[round (\d+),", prompt, re.M)
    return 1 + max((int(number) for number in tried), default=0)


def by_task(answers: Mapping[str, Any], default: Any) -> Callable[[str], Any]:
    """A script that answers by the task of its prompt."""
    return lambda prompt: answers.get(task_of(prompt), default)


def bad_first(answer: Any, bad: int, text: str = "no idea") -> Callable[[str], Any]:
    """A script whose first ``bad`` attempts are unusable."""

    def script(prompt: str) -> Any:
        if attempt_of(prompt) <= bad:
            return text
        return answer(prompt) if callable(answer) else answer

    return script


def rule(body: str, use: Collection[str] = ("a jar is named",), avoid: Collection[str] = ()) -> Any:
    """An extraction that proposes a rule."""
    return {
        "reason": "",
        "store": True,
        "rule": body,
        "use_when": list(use),
        "avoid_when": list(avoid),
    }


def scope(use: bool = True, avoid: bool = False, boundary: str = "") -> Any:
    """An answer of the scope check."""
    return {"reason": "", "use": use, "avoid": avoid, "boundary": boundary}


def defect(*cited: str, kind: str = "missing_step", description: str = "it skips a herb") -> Any:
    """A diagnosis; it cites the last step of the run with the rule unless told otherwise."""
    return {
        "reason": "",
        "defect": kind,
        "description": description,
        "cited": list(cited) or ["with:s2"],
    }


def edit(
    text: str,
    anchor: str = "first herb",
    *,
    operation: str = "REPLACE",
    cited: Collection[str] = ("with:s2",),
    correction: str = "every herb is named",
) -> dict[str, Any]:
    """One edit; by default it replaces the words ``first herb`` of a rule."""
    return {
        "correction": correction,
        "operation": operation,
        "anchor": anchor,
        "text": text,
        "cited": list(cited),
    }


def edits(*rounds: list[dict[str, Any]]) -> Callable[[str], Any]:
    """A repair script: the edits of each round, then none."""

    def script(prompt: str) -> Any:
        number = round_of(prompt)
        return {"reason": "", "edits": rounds[number - 1] if number <= len(rounds) else []}

    return script


def same_as(memory: str) -> Any:
    """An identity match."""
    return {"reason": "the same steps", "match": memory}


# -- scenarios ---------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Scenario:
    """A world that behaves by table.

    Attributes:
        tasks: length of the stream; tasks are ``q1``, ``q2`` ….
        scores: rule body to task to score under it; the empty body stands for no rule.
        chatty: bodies that change what is said without changing the score.
        learn: task, or (task, role), to the extraction there; the role is ``user_proxy`` unless
            named. Everywhere else nothing is learned.
        supply: the tasks whose selector takes what it is offered; elsewhere it takes nothing.
        topics: task to words its question speaks of, which bring it nearer to texts with them.
        decisions: scripts of the other decisions by name, and over the above.
        method: settings that differ from the reference.
    """

    tasks: int
    scores: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict)
    chatty: Collection[str] = ()
    learn: Mapping[Any, Any] = attrs.field(factory=dict)
    supply: Collection[str] = ALL
    topics: Mapping[str, str] = attrs.field(factory=dict)
    decisions: Mapping[str, Any] = attrs.field(factory=dict)
    method: Mapping[str, Any] = attrs.field(factory=dict)

    def model(self) -> ScriptedModel:
        """A model that plays the scenario."""
        decisions = {"extraction": self._extract, "selection": self._select, **self.decisions}
        return ScriptedModel(self._say, decisions)

    def _say(self, role: str, prompt: str) -> str:
        task = task_of(prompt)
        read = re.findall(r'^- rule: "(.*)"$', prompt, re.M)
        remark = " as noted" if any(body in self.chatty for body in read) else ""
        for body in read:
            if task in self.scores.get(body, {}):
                return _named(self.scores[body][task]) + remark
        heard = re.search(r"^\[assistant\] (.*)$", prompt, re.M)
        if role == "user_proxy" and heard:
            return heard[1] + remark
        return _named(self.scores.get("", {}).get(task, BASE)) + remark

    def _extract(self, prompt: str) -> Any:
        task = task_of(prompt)
        role = prompt.split("TEAM MEMBER:\n> ")[1].split("\n")[0]
        if role == "user_proxy" and task in self.learn:
            return self.learn[task]
        return self.learn.get((task, role), ABSTAIN)

    def _select(self, prompt: str) -> Any:
        if task_of(prompt) in self.supply:
            return select_all(prompt)
        return {"reason": "", "selected": []}

    def write_stream(self, path: Path) -> None:
        """The scenario's tasks as a reading stream."""
        with path.open("w") as out:
            for number in range(1, self.tasks + 1):
                task = f"q{number}"
                topic = f" {self.topics[task]}" if task in self.topics else ""
                item = {
                    "id": task,
                    "family": "list",
                    "question": f"What are the herbs of jar {task}{topic}?",
                    "passages": [f"The herbs are {', '.join(HERBS)}."],
                    "groups": [[herb] for herb in HERBS],
                }
                out.write(json.dumps(item) + "\n")


def _named(score: float) -> str:
    return ", ".join(HERBS[: round(score * len(HERBS))]) or "nothing"


# -- what a run left ---------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Story:
    """A finished run: its log, read back."""

    path: Path
    events: tuple[Recorded, ...]
    state: State
    model: ScriptedModel

    def of(self, kind: type[E], task: int | None = None, **fields: Any) -> list[E]:
        """The events of one type, of the cycle of one task, with these values."""
        return [
            recorded.event
            for recorded in self.events
            if isinstance(recorded.event, kind)
            and (task is None or recorded.task_index == task)
            and all(getattr(recorded.event, name) == value for name, value in fields.items())
        ]

    def one(self, kind: type[E], task: int | None = None, **fields: Any) -> E:
        """The only such event."""
        (found,) = self.of(kind, task, **fields)
        return found

    def derived(self, task: int) -> list[str]:
        """The types of the conclusions in the cycle of one task."""
        return [r.type for r in self.events if r.task_index == task and r.event.KIND == "derived"]

    def memory(self, name: str = "m1") -> Memory:
        """A memory as it stands at the end."""
        return self.state.store[name]

    def effects(self, memory: str = "m1", version: int = 1) -> tuple[Effect, ...]:
        """The record E of a version at the end."""
        return self.state.evidence.of(memory, version)

    def transitions(self) -> list[tuple[int, str, str, str, str]]:
        """(task index, memory, before, after, rule) of every change of state."""
        return [
            (recorded.task_index or 0, event.memory, event.before, event.after, event.rule)
            for recorded in self.events
            if isinstance(event := recorded.event, ev.StateChanged)
        ]

    def labels(self) -> list[tuple[str, str, str]]:
        """(memory, task, label) of every attribution."""
        return [(e.memory, e.task, e.label) for e in self.of(ev.UseAttributed)]

    def executions(self, task: int) -> int:
        """How many team executions the cycle of a task made."""
        return len(self.of(ev.ExecutionFinished, task))

    def id_of(self, event: ev.Event) -> str:
        """The id an event was recorded under."""
        return next(recorded.event_id for recorded in self.events if recorded.event is event)


Tell = Callable[[Scenario], Story]
"""Runs a scenario and checks all that must hold of any run (the fixture ``tell``)."""


def play(scenario: Scenario, folder: Path, *, reuse: bool = True) -> Story:
    """Run a scenario to its end on a new log in ``folder``."""
    folder.mkdir(parents=True)
    scenario.write_stream(folder / "stream.jsonl")
    model = scenario.model()
    # The path of the stream enters the run's header; a relative one is the same everywhere.
    with contextlib.chdir(folder):
        world = scripted_world(Path("stream.jsonl"), model, method=scenario.method, reuse=reuse)
    path = folder / "run.db"
    start(path, world)
    with EventLog.open(path) as log:
        events = tuple(log.read())
    return Story(path=path, events=events, state=fold(events), model=model)
