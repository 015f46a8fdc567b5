"""The planning benchmark: where the problems come from, and the switches that shape them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import attrs

from ....eventlog.errors import BadInput
from ..base import Benchmark, Task
from .episode import RULES, Aids, PddlEnvironment
from .parse import read_domain, read_problem, read_text
from .problems import MAKERS, read_table
from .strips import Domain, Problem
from .text import describe, read_words

TABLES = ("paper", "demo")
PROFILES = {"conmem": True, "agentboard": False}
"""Whether a profile gives the two aids of the reference driver."""


class PddlBenchmark(Benchmark):
    """AgentBoard's planning stream, generated from its table or read from its own files.

    Args:
        problems: ``paper`` (60 problems), ``demo`` (8 small ones), or a folder of PDDL files laid
            out as AgentBoard's: ``<domain>.pddl`` beside ``<domain>/*.pddl``.
        profile: ``conmem`` (both aids on) or ``agentboard`` (both off).
        steps: the step budget of an episode.
        constrain_actions: offer the valid actions as the only replies.
        worked_example: end the rules with a solved example.
        valid_actions: overrides the profile: list the valid actions each step.
        unmet_goals: overrides the profile: list the unmet goals each step.

    Raises:
        BadInput: an argument, a folder or a file is not usable.
    """

    name = "pddl"
    protocol = "pddl"

    def __init__(
        self,
        problems: str = "paper",
        profile: str = "conmem",
        steps: int = 30,
        constrain_actions: bool = False,
        worked_example: bool = False,
        valid_actions: bool | None = None,
        unmet_goals: bool | None = None,
    ) -> None:
        if not isinstance(profile, str) or profile not in PROFILES:
            raise BadInput(f"profile {profile!r} is unknown; use {' or '.join(PROFILES)}")
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise BadInput(f"steps is {steps!r}; give a whole number of at least 1")
        self._steps = steps
        self._aids = Aids(
            valid_actions=_switch("valid_actions", valid_actions, PROFILES[profile]),
            unmet_goals=_switch("unmet_goals", unmet_goals, PROFILES[profile]),
            constrain_actions=_switch("constrain_actions", constrain_actions, False),
        )
        self._words = read_words(_shipped("words.toml"))
        self._domains = _shipped_domains()
        found = _load(str(problems), self._domains)
        example = _switch("worked_example", worked_example, False)
        stem = "pddl-demo" if problems == "demo" else "pddl"
        self._tasks = tuple(
            self._task(f"{stem}-{number:02}", domain, problem, example)
            for number, (domain, problem) in enumerate(found)
        )
        self._facts = {
            "problems": problems if problems in TABLES else "files",
            "profile": profile,
            "steps": steps,
            "worked_example": example,
            **attrs.asdict(self._aids),
            "rules": RULES,
            "tasks": len(self._tasks),
            "digest": self._digest(),
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """The switches, and a digest over every domain, sentence, task text and problem."""
        return self._facts

    def tasks(self) -> tuple[Task, ...]:
        """The stream in order; ``data`` holds the planning problem as plain JSON."""
        return self._tasks

    def environment(self, task: Task) -> PddlEnvironment:
        """A fresh episode of this task."""
        return PddlEnvironment(
            self._domains[task.domain],
            _from_data(task.data),
            self._words[task.domain],
            steps=self._steps,
            aids=self._aids,
        )

    def _task(self, number: str, name: str, problem: Problem, example: bool) -> Task:
        text = describe(self._domains[name], self._words[name], problem, self._steps, example)
        return Task(id=number, domain=name, text=text, data=_to_data(problem))

    def _digest(self) -> str:
        content = {
            "domains": {name: _domain_data(domain) for name, domain in self._domains.items()},
            "words": {name: attrs.asdict(words) for name, words in self._words.items()},
            "tasks": [attrs.asdict(task) for task in self._tasks],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _load(problems: str, domains: Mapping[str, Domain]) -> list[tuple[str, Problem]]:
    if problems in TABLES:
        entries = read_table(_shipped(f"{problems}.toml"), f"{problems}.toml")
        return [(entry.domain, entry.problem) for entry in entries]
    folder = Path(problems)
    if not folder.is_dir():
        raise BadInput(f"problems {problems!r} is no folder; use paper, demo or a folder of PDDL")
    found = []
    for name, domain in domains.items():
        # String order of the names is AgentBoard's order: problem10 comes before problem2.
        paths = sorted((folder / name).glob("*.pddl"), key=lambda path: path.name)
        if not paths:
            continue
        source = folder / f"{name}.pddl"
        if read_domain(read_text(source), str(source)) != domain:
            raise BadInput(
                f"{source}: its types, predicates or actions are not those of AgentBoard's {name}; "
                "restore the file"
            )
        for path in paths:
            problem = read_problem(read_text(path), domain, str(path))
            found.append((name, problem))
    if not found:
        raise BadInput(f"{folder}: no problems in it; want folders {', '.join(domains)} of PDDL")
    return found


def _shipped(name: str) -> str:
    return (resources.files("discernmem.data") / "pddl" / name).read_text(encoding="utf-8")


@cache
def _shipped_domains() -> Mapping[str, Domain]:
    names = {name: f"{name}.pddl" for name in MAKERS}
    return {name: read_domain(_shipped(file), file) for name, file in names.items()}


def _switch(name: str, value: bool | None, default: bool) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadInput(f"{name} is {value!r}; give true or false")
    return value


def _to_data(problem: Problem) -> dict[str, Any]:
    return {
        "objects": dict(problem.objects),
        "init": _lists(problem.init),
        "goals": _lists(problem.goals),
    }


def _from_data(data: Mapping[str, Any]) -> Problem:
    return Problem(
        objects=data["objects"],
        init=frozenset(map(tuple, data["init"])),
        goals=frozenset(map(tuple, data["goals"])),
    )


def _domain_data(domain: Domain) -> dict[str, Any]:
    return {
        "types": domain.types,
        "constants": domain.constants,
        "actions": {
            name: [action.types, *map(_lists, (action.needs, action.adds, action.removes))]
            for name, action in domain.actions.items()
        },
    }


def _lists(patterns: Iterable[tuple[str | int, ...]]) -> list[list[str | int]]:
    return sorted((list(pattern) for pattern in patterns), key=str)
