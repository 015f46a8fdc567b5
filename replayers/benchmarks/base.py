"""What a benchmark is to this project: a stream of tasks, and an environment that scores each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs


@attrs.frozen(kw_only=True)
class Task:
    """One item of a stream.

    ``text`` is all a team may read of it; ``data`` is what only the environment may read (answers,
    the planning problem) and never reaches a prompt.
    """

    id: str
    domain: str
    text: str
    data: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class View:
    """What a team sees of the environment before its next action.

    ``observation`` is what changed or holds now; ``aids`` are helps that are renewed each step and
    not kept in the history (valid actions, unmet goals); ``choices`` are the actions a constrained
    reply may be limited to, empty when any text is an action.
    """

    observation: str = ""
    aids: str = ""
    choices: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Outcome:
    """The score of an episode in [0, 1] and the benchmark's other figures."""

    score: float
    metrics: Mapping[str, float]


class Environment(Protocol):
    """One episode on one task: deterministic, no clock, budget in steps only."""

    def view(self) -> View:
        """What the team sees now; the first call gives the initial observation."""
        ...

    def step(self, action: str) -> str:
        """Apply the team's action and return the observation it caused."""
        ...

    @property
    def done(self) -> bool:
        """Whether the episode ended: solved, answered, or out of steps."""
        ...

    def outcome(self) -> Outcome:
        """The score so far."""
        ...


class Benchmark(Protocol):
    """A named stream of tasks with its scoring."""

    @property
    def name(self) -> str:
        """Short name: ``pddl``, ``reading``."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """Plain JSON for the run header: everything that can change a text, a score or a budget."""
        ...

    def tasks(self) -> tuple[Task, ...]:
        """The stream, in order; ids are unique."""
        ...

    def environment(self, task: Task) -> Environment:
        """A fresh episode of this task."""
        ...
