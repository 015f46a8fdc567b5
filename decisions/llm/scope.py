"""Scope check: was a memory used in a situation its conditions describe? (Eq. 5, E.4).

The value is the attribution rules' own `Scope`. That a memory without use conditions fits nothing
is left to those rules (`effective_scope`), whatever the model says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ..attribution import UNKNOWN, Scope
from . import rendering, shapes
from .decision import Decision, Prompt
from .parsing import Problem

BOUNDARY_LIMIT = 200


@attrs.frozen(kw_only=True)
class ScopeFacts:
    """A memory and the contexts its owner had seen before acting on it, nothing later."""

    role: str
    contexts: tuple[str, ...]
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]


SYSTEM = f"""\
You check whether a rule was handed to a team member in a situation that the rule is meant for.

use: true only if in every situation shown at least one of the use conditions visibly holds. With \
no use conditions it is false.
avoid: true if an avoid condition visibly holds. With no avoid conditions it is false.
boundary: if use is false or avoid is true, name in one short phrase the visible circumstance \
because of which the rule does not belong there. Name only what the situations show; if there is \
nothing definite, or no mismatch, leave it empty.

Do not guess at what is hidden. Whether the rule is good, and what happened later, does not matter \
here.
{rendering.CLOSING}"""

QUESTION = (
    "Answer with reason (in a few words), use (true or false), avoid (true or false) and boundary "
    "(a short phrase or an empty text)."
)


def _prompt(facts: ScopeFacts) -> Prompt:
    user = rendering.prompt_text(
        rendering.texts("SITUATIONS", facts.contexts),
        rendering.text("TEAM MEMBER", facts.role),
        rendering.rule("RULE", facts.body, facts.use_when, facts.avoid_when),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _accepts(_: ScopeFacts) -> shapes.Schema:
    return shapes.answer(
        use=shapes.flag(), avoid=shapes.flag(), boundary=shapes.text(BOUNDARY_LIMIT)
    )


def _schema(facts: ScopeFacts) -> shapes.Schema:
    return shapes.with_room(_accepts(facts))


def _read(found: Mapping[str, Any], _: ScopeFacts) -> Scope | Problem:
    return Scope(
        use=found["use"],
        avoid=found["avoid"],
        boundary=shapes.read_text(found["boundary"]),
    )


SCOPE: Decision[ScopeFacts, Scope] = Decision(
    name="scope check",
    max_tokens=250,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: UNKNOWN,
)
