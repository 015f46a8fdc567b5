"""Content diagnosis: did the words of a rule cause the harm, and how? (§3.2, E.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ..attribution import DEFECT_TYPES, MAX_CITED
from . import facts as display
from . import rendering, shapes
from .decision import Decision, Prompt
from .parsing import Problem

DESCRIPTION_LIMIT = 300


@attrs.frozen(kw_only=True)
class DiagnosisFacts:
    """A harmful in-scope use: the same task run with only this memory, and with none."""

    role: str
    task_text: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    steps_with: tuple[display.Step, ...]
    steps_without: tuple[display.Step, ...]
    score_with: float
    score_without: float

    @property
    def displayed_ids(self) -> tuple[str, ...]:
        """The step ids the diagnosis may cite: those its prompt shows, in that order."""
        return display.evidence_ids("none", self.steps_without) + display.evidence_ids(
            "with", self.steps_with
        )


@attrs.frozen(kw_only=True)
class Diagnosis:
    """What the model named, unjudged: a defect type (or empty), its words, the ids it cites."""

    defect: str
    description: str
    cited: tuple[str, ...]
    reason: str = ""


SYSTEM = f"""\
The same task was run twice: without and with one rule for a team member. The rule applied, but \
the run with it went worse. Say whether following the rule caused the worse steps, and what it \
gets wrong:
- missing_step: it leaves out something the goal needs
- wrong_condition: it ties an action to the wrong circumstance
- wrong_order: it puts needed steps in a harmful order
- unexecutable_action: it demands something impossible or not allowed
- missing_progress_check: it repeats without looking whether anything improves
- wrong_stop_condition: it ends too early or too late
- none: the steps do not show any of these

description: one sentence on what the rule makes the member do wrong; empty for none.
cited: the few step ids from both runs that show it, at most {MAX_CITED}, copied exactly, like \
with:s2.
Claim only what the steps show. The situation is already known to be right for the rule.
{rendering.CLOSING}"""

QUESTION = (
    "Answer with reason (in a few words), defect (one of the seven words), description and cited "
    "(a list of step ids)."
)


def _prompt(facts: DiagnosisFacts) -> Prompt:
    scores = f"without the rule {facts.score_without:g}, with the rule {facts.score_with:g}"
    user = rendering.prompt_text(
        rendering.text("TASK", facts.task_text),
        rendering.trajectory("RUN WITHOUT THE RULE", "none", facts.steps_without),
        rendering.trajectory("RUN WITH THE RULE", "with", facts.steps_with),
        rendering.section("SCORES", scores),
        rendering.text("TEAM MEMBER", facts.role),
        rendering.rule("RULE", facts.body, facts.use_when, facts.avoid_when),
        QUESTION,
    )
    return Prompt(SYSTEM, user)


def _shape(cited: shapes.Schema) -> shapes.Schema:
    return shapes.answer(
        defect=shapes.one_of((*DEFECT_TYPES, shapes.NONE)),
        description=shapes.text(DESCRIPTION_LIMIT),
        cited=cited,
    )


def _schema(facts: DiagnosisFacts) -> shapes.Schema:
    return shapes.with_room(_shape(shapes.some_of(facts.displayed_ids, MAX_CITED)))


def _accepts(_: DiagnosisFacts) -> shapes.Schema:
    return _shape(shapes.array(shapes.text(shapes.ID_LIMIT), MAX_CITED))


def _read(found: Mapping[str, Any], _: DiagnosisFacts) -> Diagnosis | Problem:
    return Diagnosis(
        defect=shapes.read_text(found["defect"]),
        description=shapes.read_text(found["description"]),
        cited=shapes.read_ids(found["cited"]),
        reason=shapes.reason(found),
    )


DIAGNOSIS: Decision[DiagnosisFacts, Diagnosis] = Decision(
    name="content diagnosis",
    max_tokens=400,
    schema=_schema,
    accepts=_accepts,
    prompt=_prompt,
    read=_read,
    fallback=lambda _: Diagnosis(defect="", description="", cited=()),
)
