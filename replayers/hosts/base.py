"""What a host is to this project: a team that plays one episode of a task on a stage.

The stage is everything a team may ask while it plays: its models, its memories, a search. What
each of them answers is recorded before the team sees it, so a host needs no recording of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from ...projections.store import Memory
from ...projections.trajectories import Step
from ..benchmarks.base import Benchmark, Outcome, Task
from ..models.base import Message


@attrs.frozen(kw_only=True)
class Played:
    """What one episode produced; ``contexts`` are the pre-action contexts by role."""

    steps: tuple[Step, ...]
    contexts: Mapping[str, str]
    outcome: Outcome
    environment_steps: int
    model_calls: int


@attrs.frozen(kw_only=True)
class Turn:
    """One call of a role, the ``number``-th of the episode, from 1.

    ``schema`` is a JSON schema the whole reply must satisfy, None for free text; ``actor`` says
    that the role samples at the actors' temperature.
    """

    role: str
    number: int
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    actor: bool = False


@attrs.frozen
class Spoken:
    """What was answered: its text and the id of the event that recorded it."""

    text: str
    event_id: str


class Stage(Protocol):
    """What a host may ask while it plays one episode; raises `Infrastructure` when that fails."""

    def supply(self, role: str, context: str) -> str:
        """The block of memories for ``role``, empty for none.

        Asked once per role and episode, at its first call, with its pre-action context; the block
        stays the same on every later call.
        """
        ...

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        """What the roles reply, in the order of ``turns``; they may be asked side by side."""
        ...

    def search(self, query: str) -> Spoken:
        """What a search finds, as the block that a role reads."""
        ...


class Host(Protocol):
    """A team, playable again and again: without memory, one seed gives one trajectory."""

    @property
    def name(self) -> str:
        """Short name: ``autogen``, ``camel``."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that own memories, in calling order."""
        ...

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:
        """What enters the run header and every execution's request: all that decides a prompt.

        Plain JSON; ``name`` is the host's, ``roles`` lists each role with the roles it hears. A
        team that decides as it plays which role speaks, and whether, says ``"order": "free"``.

        Raises:
            BadInput: the host cannot play this benchmark.
        """
        ...

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode of ``task``.

        Raises:
            Infrastructure: the world failed; nothing was scored.
        """
        ...


Supply = Callable[[str, str], Sequence[Memory]]
"""Role and its pre-action context, at its first call, to the memories injected for the episode."""
