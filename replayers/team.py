"""A team as data, and the engine that plays it: any directed acyclic graph of roles.

One pass of the team, in a topological order of its roles, makes one action of the environment; the
last role's reply is the action. Each call is single-shot: a system message and one user message,
no chat history.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from typing import Any

import attrs

from ..eventlog.codec import digest
from ..eventlog.errors import BadInput
from ..projections.store import Memory
from .benchmarks.base import Benchmark, Outcome, Task, View
from .models.base import Message


@attrs.frozen
class Role:
    """A position in a team: its name and the roles whose messages it hears."""

    name: str
    hears: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Host:
    """A team: its roles in calling order and what each is told per benchmark.

    ``instructions`` maps benchmark name to role name to system prompt.
    """

    name: str
    roles: tuple[Role, ...]
    instructions: Mapping[str, Mapping[str, str]]

    @property
    def last(self) -> str:
        """The role whose reply is the team's action."""
        return self.roles[-1].name

    def facts(self, benchmark: str) -> dict[str, Any]:
        """What enters the run header and every execution's request digest."""
        return {
            "name": self.name,
            "roles": [[role.name, list(role.hears)] for role in self.roles],
            "instructions": dict(self.instructions[benchmark]),
        }


def load_host(name: str) -> Host:
    """A host that ships with the package, by name.

    Raises:
        BadInput: no such host, or its file is not a usable team.
    """
    folder = resources.files(__package__) / "hosts"
    known = sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))
    if name not in known:
        raise BadInput(f"host {name!r} is unknown; known hosts: {', '.join(known)}")
    return parse_host(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")), name)


def parse_host(table: Mapping[str, Any], source: str) -> Host:
    """A host from its TOML table, its roles put in a calling order that respects who hears whom.

    Raises:
        BadInput: unknown role, cycle, no single last role, or a role without instructions.
    """
    hears = {role["name"]: tuple(role.get("hears", ())) for role in table["roles"]}
    for name, heard in hears.items():
        for other in heard:
            if other not in hears:
                raise BadInput(f"host {source}: role {name!r} hears {other!r}, which is no role")
    try:
        order = tuple(TopologicalSorter(hears).static_order())
    except CycleError as error:
        raise BadInput(
            f"host {source}: roles hear each other in a circle: {error.args[1]}"
        ) from None
    unheard = [name for name in hears if all(name not in heard for heard in hears.values())]
    if len(unheard) != 1:
        raise BadInput(f"host {source}: one role must be heard by none, found {unheard}")
    for benchmark, told in table["instructions"].items():
        for name in hears:
            if name not in told:
                raise BadInput(f"host {source}: no instructions for {name!r} in {benchmark}")
    return Host(
        name=table["name"],
        roles=tuple(Role(name, hears[name]) for name in order),
        instructions=table["instructions"],
    )


@attrs.frozen(kw_only=True)
class Step:
    """One step of a trajectory.

    ``kind`` is ``message`` (a role's reply), ``action`` (what reached the environment) or
    ``observation`` (what came back); ``reply`` is the id of the event that holds a message.
    """

    id: str
    kind: str
    role: str
    text: str
    reply: str = ""

    @property
    def said(self) -> tuple[str, str, str]:
        """What two trajectories are compared by: not how it came about."""
        return (self.kind, self.role, self.text)


@attrs.frozen(kw_only=True)
class Played:
    """What one episode produced."""

    steps: tuple[Step, ...]
    contexts: Mapping[str, str]
    outcome: Outcome
    environment_steps: int
    model_calls: int


@attrs.frozen(kw_only=True)
class Turn:
    """One call of a role: what is asked and, for a constrained action, of which choices."""

    role: str
    number: int
    messages: tuple[Message, ...]
    choices: tuple[str, ...] = ()


@attrs.frozen
class Spoken:
    """A role's reply: its text and the id of the event that recorded it."""

    text: str
    event_id: str


Supply = Callable[[str, str], Sequence[Memory]]
"""Role and its pre-action context, at its first call, to the memories injected for the episode."""

Ask = Callable[[Turn], Spoken]
"""Asks the role's model."""


def memory_block(memories: Sequence[Memory]) -> str:
    """The one delimited block by which memories reach their owner; empty for none.

    Rules and conditions stand in double quotes: they are data the role may apply, not orders.
    """
    if not memories:
        return ""
    lines = ["<notes>", "Rules from earlier tasks. Apply one only where its conditions hold."]
    for memory in memories:
        lines.append(f"- rule: {_quoted(memory.body)}")
        lines.append(f"  use when: {_listed(memory.use_texts)}")
        lines.append(f"  avoid when: {_listed(memory.avoid_texts)}")
    lines.append("</notes>")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace('"', "'").replace("</notes>", "(notes)").replace("\n", " ")
    return f'"{escaped}"'


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(_quoted(text) for text in texts) if texts else "(none stated)"


def pre_action_context(task: str, initial: str, heard: Sequence[tuple[str, str]]) -> str:
    """What a role has seen before its first call: task, initial observation, upstream messages."""
    parts = [task, initial, *(f"[{role}] {text}" for role, text in heard)]
    return "\n\n".join(part for part in parts if part)


def user_message(
    task: str,
    initial: str,
    history: Sequence[tuple[str, str]],
    view: View,
    heard: Sequence[tuple[str, str]],
    block: str,
) -> str:
    """A role's user message: what all replays share first, the memory block last.

    Shared text first lets a backend reuse its prefix; a rule moves a small model most at the end.
    """
    parts = [task, initial]
    parts += [f"> {action}\n{observation}" for action, observation in history]
    parts += [view.aids, *(f"[{role}] {text}" for role, text in heard), block]
    return "\n\n".join(part for part in parts if part)


def play(host: Host, benchmark: Benchmark, task: Task, supply: Supply, ask: Ask) -> Played:
    """Run one episode of ``task``.

    ``supply`` is called once per role, at its first call; the block it yields stays the same on
    every later step of the episode.
    """
    environment = benchmark.environment(task)
    instructions = host.instructions[benchmark.name]
    view = environment.view()
    initial = view.observation
    history: list[tuple[str, str]] = []
    blocks: dict[str, str] = {}
    contexts: dict[str, str] = {}
    steps: list[Step] = []
    calls = 0

    def note(kind: str, role: str, text: str, reply: str = "") -> None:
        steps.append(Step(id=f"s{len(steps) + 1}", kind=kind, role=role, text=text, reply=reply))

    while not environment.done:
        said: dict[str, str] = {}
        for role in host.roles:
            heard = [(name, said[name]) for name in role.hears]
            if role.name not in blocks:
                contexts[role.name] = pre_action_context(task.text, initial, heard)
                blocks[role.name] = memory_block(supply(role.name, contexts[role.name]))
            prompt = user_message(task.text, initial, history, view, heard, blocks[role.name])
            calls += 1
            spoken = ask(
                Turn(
                    role=role.name,
                    number=len(history) + 1,
                    messages=(
                        Message("system", instructions[role.name]),
                        Message("user", prompt),
                    ),
                    choices=view.choices if role.name == host.last else (),
                )
            )
            said[role.name] = spoken.text
            note("message", role.name, spoken.text, spoken.event_id)
        action = said[host.last]
        observation = environment.step(action)
        note("action", host.last, action)
        if observation:
            note("observation", "environment", observation)
        history.append((action, observation))
        view = environment.view()
    return Played(
        steps=tuple(steps),
        contexts=contexts,
        outcome=environment.outcome(),
        environment_steps=len(history),
        model_calls=calls,
    )


def task_key(task_id: str, text: str) -> str:
    """What names a task inside a request digest: its id and the digest of its text."""
    return f"{task_id}:{digest(text.encode())}"
