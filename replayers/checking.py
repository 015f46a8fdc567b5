"""Whether a team can be replayed: measured, nothing recorded.

A paired replay shows a memory's effect only if nothing else can change a team's course. So two runs
without memory and with one seed must agree, and a memory must reach its owner and nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import attrs

from ..eventlog.codec import canonical
from ..eventlog.errors import CheckFailed
from .benchmarks.base import Benchmark, Task
from .executions import Sampling
from .hosts.base import Host, Spoken, Turn
from .models.base import Model, complete_all
from .models.cards import clean
from .parting import Difference, Exchange, parting
from .plugins import blaming
from .search.protocol import information
from .session import setting_of
from .world import World

PROBE = """<notes>
- rule: "This note is a probe: it says nothing and asks for nothing."
</notes>"""
"""What stands for a block of memories."""


@attrs.frozen(kw_only=True)
class Reached:
    """Where a probe given to ``role`` went on the first task that asks it.

    ``requests`` of the role hold it, once each; 0 where no task asks the role.
    """

    role: str
    requests: int = 0
    problems: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Checked:
    """What was measured; ``memory`` is empty where the team is not replayable to begin with.

    ``requests`` counts the model requests of one run over the ``tasks``.
    """

    tasks: tuple[str, ...]
    requests: int = 0
    difference: Difference | None = None
    memory: tuple[Reached, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the team is replayable and its memories reach their owners only."""
        return self.difference is None and not any(each.problems for each in self.memory)


def check_team(world: World) -> Checked:
    """Play the tasks of a world twice without memory and compare; then follow a probe per role.

    The probed runs are answered with the replies of the first run, so they cost no model.

    Raises:
        Infrastructure: the world failed.
    """
    host, benchmark = world.host, world.benchmark
    sampling = setting_of(world.header(), world.config).sampling
    checked = Checked(tasks=tuple(task.id for task in world.tasks))
    controls: list[tuple[Task, Sequence[Exchange]]] = []
    for task in world.tasks:
        stages = [_Asking(benchmark, world.model, sampling) for _ in range(2)]
        with _blaming(host, task):
            played = [host.play(benchmark, task, stage) for stage in stages]
        controls.append((task, stages[0].trace))
        checked = attrs.evolve(
            checked,
            requests=checked.requests + stages[0].requests,
            difference=parting(task.id, stages[0].trace, stages[1].trace, *played),
        )
        if checked.difference is not None:
            return checked
    memory = []
    for role in host.roles:
        asked = [control for control in controls if _asks(control[1], role)]
        memory.append(_follow(host, benchmark, *asked[0], role) if asked else Reached(role=role))
    return attrs.evolve(checked, memory=tuple(memory))


class _Asking:
    """A stage without memories that asks the world and writes down what was asked."""

    def __init__(self, benchmark: Benchmark, model: Model, sampling: Sampling) -> None:
        self.trace: list[Exchange] = []
        self.requests = 0
        self._benchmark = benchmark
        self._model = model
        self._sampling = sampling

    def supply(self, role: str, context: str) -> str:
        self._note("context", role, context, "")
        return ""

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        replies = complete_all(self._model, [self._sampling.call(turn) for turn in turns])
        spoken = []
        for turn, reply in zip(turns, replies, strict=True):
            self.requests += 1
            text = clean(reply.text)
            self._note("request", turn.role, _prompt(turn), text)
            spoken.append(Spoken(text, ""))
        return spoken

    def search(self, query: str) -> Spoken:
        assert self._benchmark.searcher is not None
        found = information(self._benchmark.searcher.search(query, self._benchmark.passages))
        self._note("search", "", query, found)
        return Spoken(found, "")

    def _note(self, kind: str, role: str, asked: str, got: str) -> None:
        number = self.requests if kind == "request" else self.requests + 1
        self.trace.append(Exchange(kind=kind, number=number, role=role, asked=asked, got=got))


class _Astray(CheckFailed):
    """A probed run asked for something else than the run without memory."""


class _Probing:
    """A stage that gives one role the probe and answers as a run without memory was answered."""

    def __init__(self, control: Sequence[Exchange], role: str) -> None:
        self.asked: list[tuple[Exchange, str]] = []
        self._control = iter(control)
        self._role = role

    def supply(self, role: str, context: str) -> str:
        self._next("context", role, context)
        return PROBE if role == self._role else ""

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        return [Spoken(self._next("request", turn.role, _prompt(turn)).got, "") for turn in turns]

    def search(self, query: str) -> Spoken:
        return Spoken(self._next("search", "", query).got, "")

    def _next(self, kind: str, role: str, asked: str) -> Exchange:
        control = next(self._control, None)
        if control is None or (control.kind, control.role) != (kind, role):
            raise _Astray(f"takes another course: it asks for a {kind} of {role or 'a role'}")
        self.asked.append((control, asked))
        return control


def _follow(
    host: Host, benchmark: Benchmark, task: Task, control: Sequence[Exchange], role: str
) -> Reached:
    """Where the probe for ``role`` goes; without it each prompt must be that of the control."""
    stage = _Probing(control, role)
    problems = []
    try:
        with _blaming(host, task):
            host.play(benchmark, task, stage)
    except _Astray as astray:
        problems.append(str(astray))
    reached = 0
    for was, asked in stage.asked:
        place = f"{was.kind} {was.number} of {was.role}"
        if was.kind != "request" or was.role != role:
            if PROBE in asked:
                problems.append(f"reached {place}")
            elif asked != was.asked:
                problems.append(f"changed {place}")
        elif asked.count(PROBE) != 1:
            problems.append(f"is in {place} {asked.count(PROBE)} times")
        else:
            reached += 1
            if asked.replace(PROBE, "").split() != was.asked.split():
                problems.append(f"is not all that differs in {place}")
    return Reached(role=role, requests=reached, problems=tuple(problems))


def _blaming(host: Host, task: Task) -> AbstractContextManager[None]:
    return blaming(f"host {host.name} on task {task.id}")


def _asks(trace: Sequence[Exchange], role: str) -> bool:
    return any((each.kind, each.role) == ("context", role) for each in trace)


def _prompt(turn: Turn) -> str:
    said = [f"{message.role}: {message.content}" for message in turn.messages]
    schema = [canonical(dict(turn.schema)).decode()] if turn.schema is not None else []
    return "\n\n".join([*said, *schema])
