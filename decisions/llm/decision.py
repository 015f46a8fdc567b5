"""One shape for all seven LLM decisions: what is asked, what may come back, what if nothing does.

A decision touches no model. The task cycle sends its prompt, hands the answer to `parse`, re-asks
with `reask` while attempts are left, and takes the fallback after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs
import jsonschema

from .parsing import Problem, extract_object
from .rendering import clip
from .shapes import Schema

F = TypeVar("F")
V = TypeVar("V")

MESSAGE_LIMIT = 240
REPLY_LIMIT = 2000


@attrs.frozen
class Prompt:
    """What a decision says to the model: who it is to be, and the facts with the question."""

    system: str
    user: str

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """The chat messages as (chat role, content)."""
        return (("system", self.system), ("user", self.user))


@attrs.frozen(kw_only=True)
class Decision(Generic[F, V]):
    """One of the seven decisions, over facts ``F``, with a value ``V``.

    Attributes:
        name: how the paper calls it; the purpose recorded with each reply.
        max_tokens: bound on the answer, enough for the longest one the schema allows.
        schema: the JSON schema to constrain the answer to. It lists the ids that may be named
            and leaves some room beyond the limits of texts (`shapes.with_room`).
        accepts: the JSON schema an answer must satisfy. It has the limits proper and no lists of
            ids: naming an unknown id is a fact for the rules to judge, and not every model can
            be constrained.
        prompt: renders the facts, purely.
        read: makes the value of an object that satisfies ``accepts``.
        fallback: the value when every attempt was unusable.
    """

    name: str
    max_tokens: int
    schema: Callable[[F], Schema]
    accepts: Callable[[F], Schema]
    prompt: Callable[[F], Prompt]
    read: Callable[[Mapping[str, Any], F], V | Problem]
    fallback: Callable[[F], V]


def parse(decision: Decision[F, V], facts: F, text: str) -> V | Problem:
    """Return the value a model's answer stands for, or what is wrong with it; never raises."""
    found = extract_object(text)
    if isinstance(found, Problem):
        return found
    errors = jsonschema.Draft202012Validator(decision.accepts(facts)).iter_errors(found)
    first = min(errors, key=lambda error: (len(error.path), str(error.json_path)), default=None)
    if first is not None:
        place = first.json_path.removeprefix("$").removeprefix(".") or "the object"
        return Problem(clip(_line(f"{place}: {first.message}"), MESSAGE_LIMIT))
    return decision.read(found, facts)


def reask(
    prompt: Prompt, reply: str, problem: Problem, attempt: int
) -> tuple[tuple[str, str], ...]:
    """Return the messages that ask again: the prompt, the answer, and what was wrong with it.

    ``attempt`` is the number of the answer just given, from 1. It is part of the text, so every
    attempt is another request even if a model repeats itself.
    """
    complaint = (
        f"Answer {attempt} cannot be used: {problem.message}. "
        "Answer the same question again with one JSON object and nothing else."
    )
    answered = clip(reply, REPLY_LIMIT) or "(no answer)"
    return (*prompt.messages, ("assistant", answered), ("user", complaint))


def _line(text: str) -> str:
    return " ".join(text.split())
