"""Generalisation: what do the situations share in which a memory helped? (Eq. 12, E.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from . import rendering, shapes
from .decision import Decision, Prompt
from .parsing import Problem


@attrs.frozen(kw_only=True)
class GeneralisationFacts:
    """A memory and the recorded contexts of its qualifying positive tasks T+, in task order."""

    role: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    contexts: tuple[str, ...]


SYSTEM = f"""\
A rule helped a team member in several situations. Describe when it helps, so that the rule can be \
used in similar situations.

use_when: at most {shapes.CONDITIONS_LIMIT} short conditions that hold in the situations shown and \
can be seen before acting. Say what they have in common instead of copying the details of one; \
prefer how things relate to what they are called.
Do not mention team members, scores, results or anything that happens afterwards, do not change \
the rule, and add nothing that the situations do not show. Do not repeat a condition the rule \
already has; if nothing is to be added, leave the list empty.
{rendering.CLOSING}"""

QUESTION = "Answer with reason (in a few words) and use_when (a list of short conditions)."


def _prompt(facts: GeneralisationFacts) -> Prompt:
    user = rendering.prompt_text(
        rendering.text("TEAM MEMBER", facts.role),
        rendering.rule("RULE", facts.body, facts.use_when, facts.avoid_when),
        rendering.texts("SITUATIONS IN WHICH IT HELPED", facts.contexts),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _accepts(_: GeneralisationFacts) -> shapes.Schema:
    return shapes.answer(use_when=shapes.conditions())


def _schema(facts: GeneralisationFacts) -> shapes.Schema:
    return shapes.with_room(_accepts(facts))


def _read(found: Mapping[str, Any], _: GeneralisationFacts) -> tuple[str, ...] | Problem:
    return shapes.read_texts(found["use_when"])


GENERALISATION: Decision[GeneralisationFacts, tuple[str, ...]] = Decision(
    name="generalisation",
    max_tokens=400,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: (),
)
