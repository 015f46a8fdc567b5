"""Why two runs part at a task: the first thing that was different and can have made it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, Literal

import attrs

from ..eventlog.log import EventLog, Recorded
from .telling import tell

_WORLD: Final = ("ModelReplied", "PassagesFound", "ExecutionFinished", "TextEmbedded")
_ANSWERS: Final = ("text", "text_blob", "passages", "score", "trajectory", "vector")

Pair = tuple[Recorded | None, Recorded | None]
"""The same place of two runs; None where one has nothing there."""

Past = Mapping[str, Sequence[str]]
"""Memory to what happened to it so far, in words."""


@attrs.frozen(kw_only=True)
class Cause:
    """Why two runs part at a task.

    ``kind`` is ``override`` (a person decided in one of them), ``answer`` (the world answered the
    same request differently), ``store`` (what they remembered differed before), ``settings`` or
    ``unknown``; ``says`` tells it in words.
    """

    kind: Literal["override", "answer", "store", "settings", "unknown"]
    says: str


def cause_of(
    logs: tuple[EventLog, EventLog],
    pasts: tuple[Past, Past],
    index: int,
    first: Pair,
    settings: Mapping[str, tuple[Any, Any]],
) -> Cause:
    """The nearest reason there is, looked for in the order in which it would have worked.

    Args:
        logs: the two runs.
        pasts: what happened to the memories of each before the task.
        index: the task on which they part.
        first: the first conclusion that differs there.
        settings: what differs in their configurations, by dotted names.
    """
    for recorded in first:
        if recorded is not None and recorded.task_index is None:
            what = tell(recorded.event)
            return Cause(kind="override", says=f"a person's decision: {what}")
    if answer := _other_answer(logs, index, first):
        return Cause(kind="answer", says=answer)
    for memory in {**pasts[0], **pasts[1]}:
        told = [past.get(memory, ()) for past in pasts]
        if told[0] != told[1]:
            left, right = next(p for p in zip_longest(*told, fillvalue="nothing") if p[0] != p[1])
            return Cause(kind="store", says=f"{memory} differs already: {left} | {right}")
    if settings:
        return Cause(kind="settings", says=f"settings differ: {in_words(settings)}")
    return Cause(kind="unknown", says="nothing recorded tells why")


def _other_answer(logs: tuple[EventLog, EventLog], index: int, first: Pair) -> str:
    """The first request of the task that both made and that was answered differently."""
    answers: list[dict[tuple[str, int], Recorded]] = []
    for log, until in zip(logs, first, strict=True):
        read = log.read(
            after=log.position_at_task(index - 1),
            until=until.position if until is not None else log.position_at_task(index),
            types=_WORLD,
        )
        answers.append({(r.stream_id, r.stream_version): r for r in read})
    for key, left in answers[0].items():
        right = answers[1].get(key)
        if right is not None and _answer(left) != _answer(right):
            return (
                "the world answered the same request differently: "
                f"{tell(left.event)} [{left.position}] | {tell(right.event)} [{right.position}]"
            )
    return ""


def _answer(recorded: Recorded) -> list[Any]:
    return [getattr(recorded.event, name, None) for name in _ANSWERS]


def in_words(settings: Mapping[str, tuple[Any, Any]]) -> str:
    """Settings that differ, in one line."""
    return ", ".join(f"{name} {a!s:.60} → {b!s:.60}" for name, (a, b) in settings.items())
