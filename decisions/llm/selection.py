"""Selection: which retrieved memories help their role right now? (A.3, E.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from . import rendering, shapes
from .decision import Decision, Prompt
from .facts import Listed
from .parsing import Problem


@attrs.frozen(kw_only=True)
class SelectionFacts:
    """What a role has observed before its first call, and the retrieved memories by similarity.

    ``context`` is the task text with the upstream messages (Eq. 13). Without ``conditions`` the
    rules are shown as their role will read them, by their bodies alone (App. C).
    """

    role: str
    context: str
    candidates: tuple[Listed, ...]
    conditions: bool = True


@attrs.frozen(kw_only=True)
class Selection:
    """The relevant memories in similarity order, and the ids named that were never offered."""

    selected: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    reason: str = ""


SYSTEM = f"""\
You name which of its remembered rules a team member should read before it acts, the most useful \
first.

Useful means useful for what this member has to do next in the situation shown. Name every rule \
that may be of use, all of them if you can; leave out only a rule that plainly does not belong \
here, as when one of its avoid conditions holds.

Go by the situation and the words of the rules alone. Do not solve the task and do not change any \
rule.
{rendering.CLOSING}"""

QUESTION = (
    "Answer with reason (in a few words) and selected (a list of ids from the rules above, such as "
    '["m1"]).'
)


def _prompt(facts: SelectionFacts) -> Prompt:
    show = rendering.listed if facts.conditions else rendering.listed_bodies
    user = rendering.prompt_text(
        rendering.text("SITUATION", facts.context),
        rendering.text("TEAM MEMBER", facts.role),
        show("RULES THE MEMBER REMEMBERS", facts.candidates),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _ids(facts: SelectionFacts) -> tuple[str, ...]:
    return tuple(candidate.memory for candidate in facts.candidates)


def _schema(facts: SelectionFacts) -> shapes.Schema:
    ids = _ids(facts)
    return shapes.answer(selected=shapes.some_of(ids, len(ids)))


def _accepts(_: SelectionFacts) -> shapes.Schema:
    # Repeated and unknown ids are told apart when reading, so there may be more than candidates.
    return shapes.answer(selected=shapes.array(shapes.text(shapes.ID_LIMIT), 100))


def _read(found: Mapping[str, Any], facts: SelectionFacts) -> Selection | Problem:
    offered = _ids(facts)
    named = shapes.read_ids(found["selected"])
    return Selection(
        selected=tuple(memory for memory in offered if memory in named),
        unknown=tuple(memory for memory in named if memory not in offered),
        reason=shapes.reason(found),
    )


SELECTION: Decision[SelectionFacts, Selection] = Decision(
    name="selection",
    max_tokens=250,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda facts: Selection(selected=_ids(facts)),
)
