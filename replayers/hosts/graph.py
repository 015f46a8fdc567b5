"""The engine of every team that is data: any directed acyclic graph of roles.

One pass of the team, in an order that respects who hears whom, makes one action of the
environment; the last role's reply is the action. Each call is single-shot: a system message and one
user message, no chat history. Roles that do not wait for each other are asked together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from ...eventlog.errors import BadInput
from ..benchmarks.base import Benchmark, Task
from ..benchmarks.reading import extract
from ..models.base import Message
from ..search.protocol import query_of
from .base import Played, Stage, Turn
from .episode import Episode
from .prompts import aloud, pre_action_context, user_message

Searching = Literal["", "asks", "once"]
"""How a role comes by passages: never, by asking, or by one lookup made for it."""

DEFAULT = "default"
"""The instructions for benchmarks that a host has no own ones for."""

NO_MORE = "No searches are left. Answer now from what was found."


@attrs.frozen(kw_only=True)
class Role:
    """A position in a team.

    ``hears`` are the roles whose messages it reads; ``plays`` names the instructions it shares with
    others of its kind; ``actor`` lets it sample at the actors' temperature.
    """

    name: str
    hears: tuple[str, ...] = ()
    plays: str = ""
    search: Searching = ""
    actor: bool = False


@attrs.frozen(kw_only=True)
class GraphHost:
    """A team as data: its roles in calling order, and what each is told per protocol.

    ``generations`` are the roles by depth: each waits for earlier ones only. ``instructions`` maps
    protocol to role, or kind of role, to system prompt.
    """

    name: str
    generations: tuple[tuple[Role, ...], ...]
    instructions: Mapping[str, Mapping[str, str]]

    @property
    def members(self) -> tuple[Role, ...]:
        """The roles in calling order."""
        return tuple(role for generation in self.generations for role in generation)

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles in calling order."""
        return tuple(role.name for role in self.members)

    @property
    def last(self) -> str:
        """The role whose reply is the team's action."""
        return self.generations[-1][-1].name

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:
        """Roles with what they hear, their instructions, and who searches or acts."""
        facts: dict[str, Any] = {
            "name": self.name,
            "roles": [[role.name, list(role.hears)] for role in self.members],
            "instructions": self._told(benchmark),
        }
        if benchmark.searcher is not None:
            facts["search"] = {role.name: role.search for role in self.members if role.search}
        actors = [role.name for role in self.members if role.actor]
        return {**facts, "actors": actors} if actors else facts

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode, pass by pass."""
        return _Performance(self, benchmark, task, stage).play()

    def _told(self, benchmark: Benchmark) -> dict[str, str]:
        told = self.instructions.get(benchmark.protocol) or self.instructions.get(DEFAULT)
        if told is None:
            raise BadInput(
                f"host {self.name} has no instructions for {benchmark.protocol} and no default "
                f"ones; add [instructions.{benchmark.protocol}] to its file"
            )
        return {role.name: told.get(role.name) or told[role.plays] for role in self.members}


class _Performance:
    """One episode of a team."""

    def __init__(self, host: GraphHost, benchmark: Benchmark, task: Task, stage: Stage) -> None:
        self.episode = Episode(benchmark, task)
        self.stage = stage
        self.searches = benchmark.searches if benchmark.searcher is not None else 0
        self._host = host
        self._told = host.facts(benchmark)["instructions"]
        self._contexts: dict[str, str] = {}
        self._blocks: dict[str, str] = {}
        self._calls: dict[str, int] = {}

    def play(self) -> Played:
        while not self.episode.done:
            said: dict[str, str] = {}
            for generation in self._host.generations:
                self._speak([_Part(self, role, said) for role in generation], said)
            self.episode.act(self._host.last, said[self._host.last])
        return self.episode.played(self._contexts)

    def _speak(self, parts: Sequence[_Part], said: dict[str, str]) -> None:
        """Ask the roles of one generation until each has said its last word of this pass.

        What a role reasons is in the trajectory; nobody else hears it, and it is no action.
        """
        while parts:
            replies = self.stage.ask([part.turn() for part in parts])
            for part, reply in zip(parts, replies, strict=True):
                self.episode.message(part.role.name, reply)
                said[part.role.name] = aloud(reply.text)
            parts = [part for part in parts if part.goes_on(said[part.role.name])]

    def block(self, role: str, heard: Sequence[tuple[str, str]]) -> str:
        """The role's memories, chosen at its first call."""
        if role not in self._blocks:
            context = pre_action_context(self.episode.task.text, self.episode.initial, heard)
            self._contexts[role] = context
            self._blocks[role] = self.stage.supply(role, context)
        return self._blocks[role]

    def turn(self, role: Role, prompt: str) -> Turn:
        """The role's next call."""
        self._calls[role.name] = self._calls.get(role.name, 0) + 1
        choices = self.episode.view.choices if role.name == self._host.last else ()
        return Turn(
            role=role.name,
            number=self._calls[role.name],
            messages=(Message("system", self._told[role.name]), Message("user", prompt)),
            schema=_one_of(choices) if choices else None,
            actor=role.actor,
        )


class _Part:
    """One role in one pass: what it heard, and what it looked up."""

    def __init__(self, performance: _Performance, role: Role, said: Mapping[str, str]) -> None:
        self.role = role
        self._performance = performance
        self._heard = [(name, said[name]) for name in role.hears]
        self._block = performance.block(role.name, self._heard)
        self._found: list[str] = []
        self._left = performance.searches if role.search == "asks" else 0
        if role.search == "once" and performance.searches:
            self._look_up(self._claim())

    def turn(self) -> Turn:
        prompt = user_message(self._performance.episode, self._heard, self._found, self._block)
        return self._performance.turn(self.role, prompt)

    def goes_on(self, reply: str) -> bool:
        """Whether the reply asks for a search that may still be made; makes it."""
        query = query_of(reply) if self._left else None
        if query is None:
            return False
        self._left -= 1
        self._found.append(f"<search>{query}</search>")
        self._look_up(query)
        if not self._left:
            self._found.append(NO_MORE)
        return True

    def _look_up(self, query: str) -> None:
        found = self._performance.stage.search(query)
        self._performance.episode.information(found)
        self._found.append(found.text)

    def _claim(self) -> str:
        """What a lookup made for a role asks: the question, and the answers it is to judge."""
        question = self._performance.episode.task.text.partition("\n")[0]
        return " ".join([question, *(extract(text) for _, text in self._heard)])


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"action": {"enum": list(choices)}},
        "required": ["action"],
        "additionalProperties": False,
    }
