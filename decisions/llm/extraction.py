"""Extraction: did a role's part in a finished task teach one rule worth keeping? (§3.1, E.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from . import rendering, shapes
from .decision import Decision, Prompt
from .facts import Step
from .parsing import Problem


@attrs.frozen(kw_only=True)
class ExtractionFacts:
    """One role's view of a finished task.

    ``context`` is what the role had seen before it acted, ``role_messages`` what it said itself,
    ``outgoing`` what its teammates and the environment did afterwards; ``score`` is out of
    ``maximum``.
    """

    role: str
    task_text: str
    context: str
    role_messages: tuple[Step, ...]
    outgoing: tuple[Step, ...]
    score: float
    maximum: float


@attrs.frozen(kw_only=True)
class Extraction:
    """A proposed rule with its first conditions, or an abstention with everything empty."""

    store: bool
    body: str = ""
    use_when: tuple[str, ...] = ()
    avoid_when: tuple[str, ...] = ()
    reason: str = ""


# Small models copy a description of a field into it; an example from elsewhere they adapt.
EXAMPLE = """\
{"reason": "It went over its letter again before sending it and found a line missing.", \
"store": true, "rule": "Go over the result once more before handing it in.", \
"use_when": ["a result is about to be handed in"], "avoid_when": []}"""

SYSTEM = f"""\
You read one team member's part in a finished task and decide whether it taught a rule that would \
help the same member in other tasks.

Set store to true only if all of this holds:
- in its own messages the member made a choice, a check or a correction;
- something visible afterwards shows that this helped, or avoided or fixed a mistake;
- the rule still makes sense without the names, numbers, answers and words of this task.
A failed task can teach too. Set store to false for a score alone, an unexplained failure, routine \
work, agreeing, passing on, formatting, or a ready answer, program or plan. What others did is \
only proof. Add nothing unseen.

Write the rule as advice that begins with a verb and names nothing of this task. What one must see \
before it applies goes into use_when; exceptions this task showed go into avoid_when, mostly none.
For another kind of task an answer could be:
{EXAMPLE}
{rendering.CLOSING}"""

QUESTION = (
    "Answer with reason, store, rule, use_when and avoid_when. The rule and its conditions must "
    "fit other tasks of this kind: name no person, place, thing or number of this one. If store "
    "is false, leave the rule and both lists empty."
)


def _prompt(facts: ExtractionFacts) -> Prompt:
    user = rendering.prompt_text(
        rendering.text("TASK", facts.task_text),
        rendering.section("SCORE", f"{facts.score:g} out of {facts.maximum:g}"),
        rendering.text("TEAM MEMBER", facts.role),
        rendering.text("WHAT THE MEMBER HAD SEEN", facts.context),
        rendering.trajectory("WHAT THE MEMBER SAID", "own", facts.role_messages),
        rendering.trajectory("WHAT FOLLOWED", "after", facts.outgoing),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _accepts(_: ExtractionFacts) -> shapes.Schema:
    return shapes.answer(
        store=shapes.flag(),
        rule=shapes.text(shapes.BODY_LIMIT),
        use_when=shapes.conditions(),
        avoid_when=shapes.conditions(),
    )


def _schema(facts: ExtractionFacts) -> shapes.Schema:
    return shapes.with_room(_accepts(facts))


def _read(found: Mapping[str, Any], _: ExtractionFacts) -> Extraction | Problem:
    reason = shapes.reason(found)
    if not found["store"]:
        return Extraction(store=False, reason=reason)
    body = shapes.read_text(found["rule"])
    if not body:
        return Problem("rule: it is empty although store is true")
    use_when = shapes.read_texts(found["use_when"])
    avoid_when = shapes.read_texts(found["avoid_when"])
    if both := [each for each in use_when if each in avoid_when]:
        return Problem(f"avoid_when: it repeats the use condition {both[0]!r}")
    return Extraction(
        store=True, body=body, use_when=use_when, avoid_when=avoid_when, reason=reason
    )


EXTRACTION: Decision[ExtractionFacts, Extraction] = Decision(
    name="extraction",
    max_tokens=800,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: Extraction(store=False),
)
