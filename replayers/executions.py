"""Executions: full runs of the team on a task, each named by the digest of all that decides it.

`LiveExecutions` plays the team; `RecordedExecutions` knows only the log. Both answer the cycle the
same way, so the cycle cannot tell a live run from an offline replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.codec import canonical, digest, digest_json
from ..eventlog.log import Recorded
from ..projections.store import Memory
from ..projections.trajectories import Step, trajectory
from .benchmarks.base import Benchmark, Task
from .gateway import Gateway, Question
from .hosts.base import Host, Played, Spoken, Supply, Turn
from .hosts.prompts import memory_block
from .journal import Divergence, Journal, Observation
from .library import Library
from .models.base import ModelCall
from .plugins import blaming
from .seeds import derived_seed


@attrs.frozen(kw_only=True)
class Sampling:
    """How the team's roles sample; ``seed`` is the run's, None the actors' own temperature."""

    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    actor_temperature: float | None = None

    def facts(self) -> dict[str, Any]:
        """What enters a request."""
        return attrs.asdict(self, filter=lambda _, value: value is not None)

    def call(self, turn: Turn) -> ModelCall:
        """What a role's turn asks of the model."""
        own = self.actor_temperature if turn.actor else None
        return ModelCall(
            messages=turn.messages,
            temperature=self.temperature if own is None else own,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=derived_seed(self.seed, turn.role, turn.number),
            schema=turn.schema,
        )


@attrs.frozen(kw_only=True)
class Execution:
    """A finished execution as the cycle reads it."""

    request: str
    event_id: str
    task: str
    score: float
    steps: tuple[Step, ...]
    contexts: Mapping[str, str]

    def same_course(self, other: Execution) -> bool:
        """Whether both took the same steps to the same score."""
        return self.score == other.score and [step.said for step in self.steps] == [
            step.said for step in other.steps
        ]


Supplied = Mapping[str, Sequence[Memory]]
"""Role to the memories injected for it."""


class Executions(Protocol):
    """Runs the team on tasks of the stream, or knows that it was run."""

    def scored(self, task: str, supply: Supply, *, cause: str) -> Execution:
        """The execution whose score counts; memories are chosen by ``supply`` as roles come up."""
        ...

    def replay(self, task: str, supplied: Supplied, *, cause: str) -> Execution:
        """An execution for evidence only, under exactly ``supplied``; nothing is retrieved."""
        ...


@attrs.frozen(kw_only=True)
class Setting:
    """What all executions of a run share; its digest is part of every execution's request.

    ``conditions`` says whether a memory's owner reads its conditions too.
    """

    model: str
    host: Mapping[str, Any]
    benchmark: Mapping[str, Any]
    sampling: Sampling
    conditions: bool = True

    def block(self, memories: Sequence[Memory]) -> str:
        """The text by which memories reach their owner."""
        return memory_block(memories, conditions=self.conditions)

    def request(self, key: str, supplied: Supplied) -> str:
        """Digest of everything that can change the execution of a task, and nothing else.

        Memories count by the text their owner reads, not by identity, so equal texts are one
        execution.
        """
        blocks = {role: self.block(given) for role, given in supplied.items() if given}
        return digest_json(
            {
                "kind": "execution",
                "model": self.model,
                "host": dict(self.host),
                "benchmark": dict(self.benchmark),
                "sampling": self.sampling.facts(),
                "task": key,
                "blocks": blocks,
            }
        )


class RecordedExecutions:
    """Executions as the log holds them; a run that was never made is missing, never made up."""

    def __init__(self, journal: Journal, setting: Setting) -> None:
        self._journal = journal
        self._setting = setting

    def scored(self, task: str, supply: Supply, *, cause: str) -> Execution:
        """Repeats every retrieval of the recorded run, then reads the run itself."""
        supplied: dict[str, Sequence[Memory]] = {}
        for recorded in self._contexts():
            event = recorded.event
            assert isinstance(event, ev.ContextObserved)
            confirmed = self._journal.observe(
                event.request, _never, cause=cause, what=f"the context of {event.role}"
            )
            supplied[event.role] = supply(event.role, self._journal.log.text(event.context))
            assert confirmed.position == recorded.position
        return self.replay(task, supplied, cause=cause)

    def replay(self, task: str, supplied: Supplied, *, cause: str) -> Execution:
        """Reads the recorded run and checks that it cites the replies the log holds."""
        record = self._journal.state.history[task]
        key = task_key(task, self._journal.log.text(record.text))
        recorded = self._journal.observe(
            self._setting.request(key, supplied),
            _never,
            cause=cause,
            what=f"an execution of task {task} with {_named(supplied)}",
            repeats=True,
        )
        execution = read_execution(self._journal, recorded)
        self._check_replies(recorded, execution)
        return execution

    def _contexts(self) -> Iterable[Recorded]:
        index = self._journal.task_index
        assert index is not None
        log = self._journal.log
        return log.read(
            after=log.position_at_task(index - 1),
            until=log.position_at_task(index),
            types=("ContextObserved",),
        )

    def _check_replies(self, recorded: Recorded, execution: Execution) -> None:
        for step in execution.steps:
            if not step.reply:
                continue
            reply = self._journal.log.by_id(step.reply)
            said = self._text_of(reply) if reply else None
            if said != step.text:
                raise Divergence(recorded, f"trajectory.{step.id}.text", step.text, said)

    def _text_of(self, reply: Recorded) -> str:
        if isinstance(reply.event, ev.PassagesFound):
            return Library.text_of(self._journal.log, reply)
        return Gateway.text_of(self._journal.log, reply)


class LiveExecutions:
    """Plays the team on the benchmark's tasks: every call and search is recorded as it is made."""

    def __init__(
        self,
        journal: Journal,
        setting: Setting,
        *,
        host: Host,
        benchmark: Benchmark,
        gateway: Gateway,
    ) -> None:
        self._journal = journal
        self._setting = setting
        self._host = host
        self._benchmark = benchmark
        self._gateway = gateway
        self._library = Library(journal, benchmark)
        self._tasks = {task.id: task for task in benchmark.tasks()}

    def scored(self, task: str, supply: Supply, *, cause: str) -> Execution:
        """Plays the task, recording each role's context before its memories are chosen."""
        supplied: dict[str, Sequence[Memory]] = {}

        def observed(role: str, context: str) -> Sequence[Memory]:
            text = context.encode()
            request = digest_json(
                {"kind": "context", "task": self._journal.task_index, "role": role}
            )
            self._journal.observe(
                request,
                lambda: Observation(
                    ev.ContextObserved(
                        request=request, task=task, role=role, context=ev.BlobRef(digest(text))
                    ),
                    (text,),
                ),
                cause=cause,
                what=f"the context of {role}",
                at_hand=True,
            )
            supplied[role] = supply(role, context)
            return supplied[role]

        played = self._play(self._tasks[task], observed, cause)
        return self._finish(self._tasks[task], supplied, cause, lambda: played)

    def replay(self, task: str, supplied: Supplied, *, cause: str) -> Execution:
        """Plays the task under exactly ``supplied``, unless that run is recorded already."""
        the_task = self._tasks[task]
        return self._finish(
            the_task,
            supplied,
            cause,
            lambda: self._play(the_task, lambda role, _: supplied.get(role, ()), cause),
        )

    def _play(self, task: Task, supply: Supply, cause: str) -> Played:
        stage = _Stage(self._setting, self._gateway, self._library, supply, cause, self._journal)
        what = f"host {self._host.name} on task {task.id} of {self._benchmark.name}"
        with self._journal.away(), blaming(what, "correct it, then resume the log"):
            return self._host.play(self._benchmark, task, stage)

    def _finish(
        self, task: Task, supplied: Supplied, cause: str, run: Callable[[], Played]
    ) -> Execution:
        request = self._setting.request(task_key(task.id, task.text), supplied)

        def ask() -> Observation:
            played = run()
            trajectory = canonical([attrs.asdict(step) for step in played.steps])
            contexts = canonical(dict(played.contexts))
            return Observation(
                ev.ExecutionFinished(
                    request=request,
                    task=task.id,
                    supplied=injected(supplied),
                    score=float(played.outcome.score),
                    metrics={name: float(x) for name, x in played.outcome.metrics.items()},
                    grading=dict(played.outcome.grading),
                    trajectory=ev.BlobRef(digest(trajectory)),
                    contexts=ev.BlobRef(digest(contexts)),
                    environment_steps=played.environment_steps,
                    model_calls=played.model_calls,
                ),
                (trajectory, contexts) if trajectory != contexts else (trajectory,),
            )

        recorded = self._journal.observe(
            request,
            ask,
            cause=cause,
            what=f"an execution of task {task.id} with {_named(supplied)}",
            repeats=True,
        )
        execution = read_execution(self._journal, recorded)
        if not self._journal.reuse:
            self._pass_over_replies(execution)
        return execution

    def _pass_over_replies(self, execution: Execution) -> None:
        """An execution served from the log asked nothing, but its replies are used up with it."""
        for step in execution.steps:
            reply = self._journal.log.by_id(step.reply) if step.reply else None
            if reply is not None:
                self._journal.pass_over(reply)


@attrs.frozen
class _Stage:
    """What a host may ask in one execution, each answer recorded before the host reads it."""

    setting: Setting
    gateway: Gateway
    library: Library
    choose: Supply
    cause: str
    journal: Journal

    def supply(self, role: str, context: str) -> str:
        with self.journal.asked_back():
            return self.setting.block(self.choose(role, context))

    def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
        questions = [
            Question(self.setting.sampling.call(turn), "role", turn.role) for turn in turns
        ]
        with self.journal.asked_back():
            answers = self.gateway.complete_all(questions, cause=self.cause)
        return [Spoken(answer.text, answer.event_id) for answer in answers]

    def search(self, query: str) -> Spoken:
        with self.journal.asked_back():
            found = self.library.search(query, cause=self.cause)
        return Spoken(found.text, found.event_id)


def task_key(task_id: str, text: str) -> str:
    """What names a task inside a request digest: its id and the digest of its text."""
    return f"{task_id}:{digest(text.encode())}"


def injected(supplied: Supplied) -> tuple[ev.Injected, ...]:
    """The supplied memories in the order of their roles."""
    return tuple(
        ev.Injected(
            memory=memory.id,
            version=memory.version,
            role=role,
            body=digest(memory.body.encode())[:12],
        )
        for role, memories in supplied.items()
        for memory in memories
    )


def read_execution(journal: Journal, recorded: Recorded) -> Execution:
    """The execution an event tells of, its trajectory read from the blobs."""
    event = recorded.event
    assert isinstance(event, ev.ExecutionFinished)
    return Execution(
        request=event.request,
        event_id=recorded.event_id,
        task=event.task,
        score=event.score,
        steps=trajectory(journal.log, recorded),
        contexts=orjson.loads(journal.log.blob(event.contexts)),
    )


def _named(supplied: Supplied) -> str:
    names = [f"{m.id}.v{m.version}" for memories in supplied.values() for m in memories]
    return " and ".join(names) if names else "no memory"


def _never() -> Observation:
    raise AssertionError("an offline journal never asks the world")
