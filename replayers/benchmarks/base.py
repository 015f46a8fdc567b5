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
    """The score of an episode in [0, 1] and the benchmark's other figures.

    ``grading`` says in words how the score came about, where that can differ from one execution to
    the next (which sandbox was in force, why a program failed).
    """

    score: float
    metrics: Mapping[str, float]
    grading: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Passage:
    """A piece of text that a search found."""

    title: str
    text: str


class Searcher(Protocol):
    """What a team may look things up in; raises `Infrastructure` when it cannot answer at all."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Plain JSON for the run header: what decides the answers (index digest, service)."""
        ...

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """The ``k`` nearest passages, best first; empty only where there is nothing to find."""
        ...


class Environment(Protocol):
    """One episode on one task: deterministic, no clock, budget in steps only."""

    def view(self) -> View:
        """What the team sees now; the first call gives the initial observation."""
        ...

    def step(self, action: str) -> str:
        """Apply the team's action and return the observation it caused.

        Raises:
            Infrastructure: the world failed, which is never a score.
        """
        ...

    @property
    def done(self) -> bool:
        """Whether the episode ended: solved, answered, or out of steps."""
        ...

    def outcome(self) -> Outcome:
        """The score so far."""
        ...


class Benchmark(Protocol):
    """A named stream of tasks with its scoring.

    ``protocol`` names the instructions by which a host plays it (``reading``, ``pddl``,
    ``kodcode``, ``qa``, or ``default``, which every host has). Where ``searcher`` is set, the roles
    that may search ask it at most ``searches`` times each, for ``passages`` passages at a time.
    """

    protocol: str = "default"
    searcher: Searcher | None = None
    searches: int = 4
    passages: int = 3

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
