"""Repair: the smallest edits that would correct a diagnosed rule (Eq. 7, A.2, E.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import attrs

from ...eventlog.events import Capability, Operation
from ..attribution import MAX_CITED
from ..edits import Edit
from . import facts as display
from . import rendering, shapes
from .decision import Decision, Prompt
from .parsing import Problem

CORRECTION_LIMIT = 200
OPERATIONS: tuple[str, ...] = get_args(Operation)


@attrs.frozen(kw_only=True)
class Feedback:
    """What became of one candidate of an earlier round.

    ``edited_body`` is empty if the edit could not be made; ``reason`` says why it was rejected;
    ``comparisons`` sums up its scores on the validation tasks, empty if nothing was run.
    """

    round: int
    number: int
    operation: str
    edited_body: str
    reason: str
    comparisons: str = ""


@attrs.frozen(kw_only=True)
class RepairFacts:
    """Everything a round of the repair may rest on.

    ``cited`` are the displayed step ids the diagnosis rests on; ``source_steps`` is the trajectory
    the rule was extracted from; ``candidates`` is K, the most edits of one round.
    """

    role: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    capabilities: tuple[Capability, ...]
    defect: str
    description: str
    cited: tuple[str, ...]
    task_text: str
    steps_with: tuple[display.Step, ...]
    steps_without: tuple[display.Step, ...]
    source_steps: tuple[display.Step, ...]
    candidates: int
    feedback: tuple[Feedback, ...] = ()

    @property
    def displayed_ids(self) -> tuple[str, ...]:
        """The step ids an edit may cite: those its prompt shows, in that order."""
        return (
            *display.evidence_ids("source", self.source_steps),
            *display.evidence_ids("none", self.steps_without),
            *display.evidence_ids("with", self.steps_with),
        )


SYSTEM = f"""\
A rule for a team member was found to cause harm in a task. Propose the smallest edits of its text \
that would correct the fault. Each edit is tried on its own.

An edit has these parts:
- correction: what will go better
- operation and anchor: the anchor is a piece of the rule, copied exactly, that occurs in it once
- text: for ADD what to insert right after the anchor; for REPLACE what to put in its place; for \
DELETE empty; for REORDER another exact piece of the rule, after which the anchor is moved
- cited: ids of shown steps that justify the edit

Keep it one rule about the same thing and keep what it achieved earlier. Prefer general words to \
the names in this task. Propose only what the steps support, nothing that was tried before, and \
learn from why it failed. If no edit is justified, give an empty list.
{rendering.CLOSING}"""


def _prompt(facts: RepairFacts) -> Prompt:
    # All but the feedback stays the same over the rounds, so it comes first and can be reused.
    user = rendering.prompt_text(
        rendering.text("TEAM MEMBER", facts.role),
        rendering.trajectory("RUN THE RULE WAS LEARNED FROM", "source", facts.source_steps),
        rendering.text("TASK", facts.task_text),
        rendering.trajectory("RUN WITHOUT THE RULE", "none", facts.steps_without),
        rendering.trajectory("RUN WITH THE RULE", "with", facts.steps_with),
        rendering.section("WHAT EARLIER EDITS ACHIEVED", _capabilities(facts.capabilities)),
        rendering.rule("RULE", facts.body, facts.use_when, facts.avoid_when),
        rendering.section("FAULT", _fault(facts)),
        rendering.section("EDITS TRIED BEFORE", _tried(facts.feedback)),
        _question(facts.candidates),
    )
    return Prompt(SYSTEM, user)


def _question(candidates: int) -> str:
    operations = ", ".join(OPERATIONS)
    return (
        f"Answer with reason (in a few words) and edits (a list of at most {candidates}), each "
        f"with correction, operation ({operations}), anchor, text and cited (a list of step ids)."
    )


def _capabilities(capabilities: tuple[Capability, ...]) -> str:
    parts = [f"[{each.id}]\n{rendering.quote(each.correction)}" for each in capabilities]
    return "\n".join(parts) or "(none)"


def _fault(facts: RepairFacts) -> str:
    shown_by = ", ".join(facts.cited) or "(no step)"
    kind = facts.defect or "(not diagnosed)"
    return f"{kind}\n{rendering.quote(facts.description)}\nshown by: {shown_by}"


def _tried(feedback: tuple[Feedback, ...]) -> str:
    return "\n".join(_outcome(each) for each in feedback) or "(none)"


def _outcome(tried: Feedback) -> str:
    lines = [f"[round {tried.round}, edit {tried.number}] {tried.operation}"]
    if tried.edited_body:
        lines += ["made the rule:", rendering.quote(tried.edited_body)]
    lines += ["failed because:", rendering.quote(tried.reason)]
    if tried.comparisons:
        lines += ["scores:", rendering.quote(tried.comparisons)]
    return "\n".join(lines)


def _shape(candidates: int, cited: shapes.Schema) -> shapes.Schema:
    edit = shapes.record(
        correction=shapes.text(CORRECTION_LIMIT),
        operation=shapes.one_of(OPERATIONS),
        anchor=shapes.text(shapes.BODY_LIMIT, least=1),
        text=shapes.text(shapes.BODY_LIMIT),
        cited=cited,
    )
    return shapes.answer(edits=shapes.array(edit, candidates))


def _schema(facts: RepairFacts) -> shapes.Schema:
    shown = shapes.some_of(facts.displayed_ids, MAX_CITED)
    return shapes.with_room(_shape(facts.candidates, shown))


def _accepts(facts: RepairFacts) -> shapes.Schema:
    return _shape(facts.candidates, shapes.array(shapes.text(shapes.ID_LIMIT), MAX_CITED))


def _read(found: Mapping[str, Any], _: RepairFacts) -> tuple[Edit, ...] | Problem:
    # Anchor and text are taken as they stand: an anchor is exact, blanks included.
    return tuple(
        Edit(
            operation=edit["operation"],
            anchor=edit["anchor"],
            text=edit["text"],
            cited=shapes.read_ids(edit["cited"]),
            correction=shapes.read_text(edit["correction"]),
        )
        for edit in found["edits"]
    )


REPAIR: Decision[RepairFacts, tuple[Edit, ...]] = Decision(
    name="repair",
    max_tokens=1600,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: (),
)
