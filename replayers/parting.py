"""Two runs of one team side by side: what each asked for, and where they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import attrs

from .hosts.base import Played

_EXCERPT = 60
"""Characters shown of each text where two differ."""

_ASKED = {"context": "context", "request": "prompt", "search": "search"}
_GOT = {"request": "reply", "search": "passages"}


@attrs.frozen(kw_only=True)
class Exchange:
    """One thing a team asked for: a role's memories, a model's reply, a search.

    ``kind`` is ``context``, ``request`` or ``search``; ``number`` is that of the model request in
    the episode, from 1, or of the one it comes before.
    """

    kind: str
    number: int
    role: str
    asked: str
    got: str


@attrs.frozen(kw_only=True)
class Difference:
    """The first place where two runs part.

    ``what`` is ``course`` (another role is asked, or for something else), ``context``, ``prompt``,
    ``reply``, ``search``, ``passages``, ``action`` or ``score``; ``request`` is numbered as in
    `Exchange`, for an action or a score it is the last. ``first`` and ``second`` are excerpts.
    """

    task: str
    request: int
    role: str
    what: str
    first: str
    second: str

    def __str__(self) -> str:
        role = f" ({self.role})" if self.role else ""
        return f"task {self.task}, request {self.request}{role}: another {self.what}"


def parting(
    task: str,
    first: Sequence[Exchange],
    second: Sequence[Exchange],
    one: Played,
    other: Played,
) -> Difference | None:
    """The first place where two runs on ``task`` part, None where they agree.

    Args:
        task: the task's id.
        first: what the one run asked for.
        second: what the other did.
        one: what came of the one.
        other: what came of the other.
    """
    for request, role, what, left, right in _pairs(first, second, one, other):
        if left != right:
            a, b = _excerpts(left, right)
            return Difference(task=task, request=request, role=role, what=what, first=a, second=b)
    return None


def _pairs(
    first: Sequence[Exchange], second: Sequence[Exchange], one: Played, other: Played
) -> Iterator[tuple[int, str, str, str, str]]:
    """What must be equal, in the order in which it came about."""
    last = 0
    for a, b in zip_longest(first, second):
        last = (a or b).number
        yield last, (a or b).role, "course", _step(a), _step(b)
        if a is not None and b is not None:
            yield last, a.role, _ASKED[a.kind], a.asked, b.asked
            if a.kind in _GOT:
                yield last, a.role, _GOT[a.kind], a.got, b.got
    for was, now in zip_longest(_actions(one), _actions(other), fillvalue=("", "")):
        yield last, was[0] or now[0], "action", was[1], now[1]
    yield last, "", "score", str(one.outcome), str(other.outcome)


def _step(exchange: Exchange | None) -> str:
    if exchange is None:
        return "the episode ends"
    return f"{exchange.kind} of {exchange.role}" if exchange.role else exchange.kind


def _actions(played: Played) -> list[tuple[str, str]]:
    return [(step.role, step.text) for step in played.steps if step.kind == "action"]


def _excerpts(left: str, right: str) -> tuple[str, str]:
    """Both texts around the first place where they differ."""
    at = next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    start = max(0, at - _EXCERPT // 2)
    return _cut(left, start), _cut(right, start)


def _cut(text: str, start: int) -> str:
    end = start + _EXCERPT
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
