"""Identity: is a proposed rule one its role already has? (Eq. 3, E.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from . import rendering, shapes
from .decision import Decision, Prompt
from .facts import Listed
from .parsing import Problem


@attrs.frozen(kw_only=True)
class IdentityFacts:
    """A proposal and the role's most similar memories, the most similar first."""

    role: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    candidates: tuple[Listed, ...]


@attrs.frozen(kw_only=True)
class Identity:
    """The memory that is the same rule, or an empty id; and why."""

    matched: str
    reason: str = ""


SYSTEM = f"""\
You check whether a new rule only repeats a rule that the same team member already has.

Two rules are the same if following one instead of the other would lead to the same steps in the \
same order, begun in the same kind of situation and ended at the same point. Other words, more or \
less detail, or conditions that fit together do not make them different.
They are different if one needs a step the other lacks, if one is only a part of the other, or if \
the order, the kind of situation, or the sign of progress or of being done differs. A shared topic \
is not enough.

Do not judge which rule is better and do not rewrite any. If several are the same, name the \
closest; the list begins with the most similar one.
{rendering.CLOSING}"""

QUESTION = (
    "Answer with reason (what decided it, in a few words) and match (the id of the same rule from "
    'the list, or "none").'
)


def _prompt(facts: IdentityFacts) -> Prompt:
    user = rendering.prompt_text(
        rendering.text("TEAM MEMBER", facts.role),
        rendering.rule("NEW RULE", facts.body, facts.use_when, facts.avoid_when),
        rendering.listed("RULES THE MEMBER HAS", facts.candidates),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _schema(facts: IdentityFacts) -> shapes.Schema:
    ids = (candidate.memory for candidate in facts.candidates)
    return shapes.answer(match=shapes.one_of((*ids, shapes.NONE)))


def _accepts(_: IdentityFacts) -> shapes.Schema:
    return shapes.answer(match=shapes.text(shapes.ID_LIMIT))


def _read(found: Mapping[str, Any], facts: IdentityFacts) -> Identity | Problem:
    matched = shapes.read_text(found["match"])
    if matched and matched not in {candidate.memory for candidate in facts.candidates}:
        return Problem(f'match: {matched!r} is not in the list; take an id from it or "none"')
    return Identity(matched=matched, reason=shapes.reason(found))


IDENTITY: Decision[IdentityFacts, Identity] = Decision(
    name="identity",
    max_tokens=200,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: Identity(matched=""),
)
