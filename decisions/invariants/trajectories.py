"""Executions as the log stores them: what the steps say, and whose replies they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs
import orjson

from ...eventlog import events as ev
from ...eventlog.codec import canonical, digest
from ...eventlog.log import Recorded
from ..llm.facts import Step

_FIELDS: Final = frozenset({"id", "kind", "role", "text", "reply"})
_TEXTS: Final = {str}


@attrs.frozen(kw_only=True)
class Ran:
    """An execution, as much of it as later events are compared with.

    ``supplied`` are the roles that were given a memory, with the digest of its rule; ``course``
    is a digest of what was done and said.
    """

    event_id: str
    position: int
    request: str
    task: str
    score: float
    supplied: tuple[tuple[str, str], ...]
    trajectory: str
    course: str


def read(recorded: Recorded, blob: Callable[[str], bytes]) -> tuple[Ran, list[dict[str, str]]]:
    """The execution an event tells of, and its steps.

    Raises:
        ValueError: the stored trajectory is not one.
    """
    event = recorded.event
    assert isinstance(event, ev.ExecutionFinished)
    steps = parse(blob(event.trajectory))
    ran = Ran(
        event_id=recorded.event_id,
        position=recorded.position,
        request=event.request,
        task=event.task,
        score=event.score,
        supplied=tuple((each.role, each.body) for each in event.supplied),
        trajectory=event.trajectory,
        course=digest(canonical([[step["kind"], step["role"], step["text"]] for step in steps])),
    )
    return ran, steps


def parse(content: bytes) -> list[dict[str, str]]:
    """The steps a trajectory's blob holds.

    Raises:
        ValueError: it holds something else.
    """
    steps: Any = orjson.loads(content)
    if not isinstance(steps, list) or not all(_is_step(step) for step in steps):
        raise ValueError("not a list of steps")
    return steps


def shown(content: bytes) -> tuple[Step, ...]:
    """The steps of a trajectory's blob that have ids a decision may cite: all but actions."""
    return tuple(
        Step(step["id"], step["role"], step["text"])
        for step in parse(content)
        if step["kind"] != "action"
    )


def faults(
    event: ev.ExecutionFinished,
    steps: Sequence[dict[str, str]],
    answer_of: Callable[[str], ev.Event | None],
) -> list[str]:
    """What is wrong with the steps of an execution.

    Args:
        event: the execution.
        steps: its trajectory.
        answer_of: the earlier event with an id, if there is one.
    """
    found = []
    kinds = [step["kind"] for step in steps]
    for name, recorded, counted in (
        ("model_calls", event.model_calls, kinds.count("message")),
        ("environment_steps", event.environment_steps, kinds.count("action")),
    ):
        if recorded != counted:
            found.append(f"{name} is {recorded}, the trajectory has {counted}")
    for number, step in enumerate(steps, start=1):
        if step["id"] != f"s{number}":
            found.append(f"step {number} of the trajectory is called {step['id']}")
        if step["kind"] == "message":
            found += _message(step, answer_of(step["reply"]))
        elif step["kind"] == "information":
            found += _information(step, answer_of(step["reply"]))
    return found


def _message(step: dict[str, str], reply: ev.Event | None) -> Iterator[str]:
    if not isinstance(reply, ev.ModelReplied):
        yield f"step {step['id']} cites {step['reply']!r}, no earlier reply of a model"
    elif (reply.purpose, reply.role) != ("role", step["role"]):
        yield f"step {step['id']} cites a reply for {reply.purpose} of {reply.role}"
    elif not _says(reply, step["text"]):
        yield f"step {step['id']} does not say what its reply says"


def _information(step: dict[str, str], found: ev.Event | None) -> Iterator[str]:
    if not isinstance(found, ev.PassagesFound):
        yield f"step {step['id']} cites {step['reply']!r}, no earlier search"


def _says(reply: ev.ModelReplied, text: str) -> bool:
    if reply.text_blob is None:
        return reply.text == text
    return reply.text_blob == digest(text.encode())


def _is_step(step: object) -> bool:
    return type(step) is dict and step.keys() == _FIELDS and {*map(type, step.values())} == _TEXTS
