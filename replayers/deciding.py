"""How an LLM decision is asked: bounded attempts, each told what was wrong, then the fallback."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from ..decisions.llm import Decision, Problem, parse, reask
from ..eventlog.codec import digest
from .gateway import Gateway
from .models.base import Message, ModelCall
from .seeds import derived_seed

F = TypeVar("F")
V = TypeVar("V")


@attrs.frozen(kw_only=True)
class Answer(Generic[V]):
    """What a decision concluded.

    ``fallback`` is empty, or why every attempt was unusable; ``replies`` are digests of the texts
    read and ``evidence`` the ids of the events that hold them, one per attempt.
    """

    value: V
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Decider:
    """Asks the seven decisions of one model."""

    gateway: Gateway
    seed: int
    temperature: float
    top_p: float
    attempts: int

    def decide(
        self, decision: Decision[F, V], facts: F, *, role: str | None, cause: str
    ) -> Answer[V]:
        """The decision's value, or its fallback once all attempts are spent."""
        prompt = decision.prompt(facts)
        messages = tuple(Message(role, content) for role, content in prompt.messages)
        replies: list[str] = []
        evidence: list[str] = []
        problems: list[str] = []
        for attempt in range(1, self.attempts + 1):
            call = ModelCall(
                messages=messages,
                temperature=self.temperature,
                top_p=self.top_p,
                max_tokens=decision.max_tokens,
                seed=derived_seed(self.seed, decision.name, attempt),
                schema=decision.schema(facts),
            )
            answered = self.gateway.complete(call, purpose=decision.name, role=role, cause=cause)
            replies.append(digest(answered.text.encode()))
            evidence.append(answered.event_id)
            value = parse(decision, facts, answered.text)
            if not isinstance(value, Problem):
                return Answer(
                    value=value, fallback="", replies=tuple(replies), evidence=tuple(evidence)
                )
            problems.append(f"attempt {attempt}: {value.message}")
            messages = tuple(
                Message(role, content)
                for role, content in reask(prompt, answered.text, value, attempt)
            )
        return Answer(
            value=decision.fallback(facts),
            fallback="; ".join(problems)[:1000] or "no attempt allowed",
            replies=tuple(replies),
            evidence=tuple(evidence),
        )
