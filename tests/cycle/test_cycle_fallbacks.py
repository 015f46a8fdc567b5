"""Section 10 of the method: what each decision falls back to, and that the log shows it did."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from golden import check_golden
from scenario import (
    Scenario,
    Story,
    Tell,
    bad_first,
    by_task,
    defect,
    edit,
    edits,
    rule,
    same_as,
    scope,
)
from scripted import select_all

from discernmem.eventlog import events as ev
from discernmem.eventlog.codec import digest

RULE = "say the first herb"
ATTEMPTS = 3

REPLIES: dict[str, Any] = {
    "extraction": by_task({"q1": rule(RULE)}, {}),
    "identity": same_as("m1"),
    "selection": select_all,
    "scope check": scope(),
    "content diagnosis": defect(),
    "generalisation": {"reason": "", "use_when": ["herbs are listed"]},
    "repair": edits([edit("herbs")]),
}
EVENTS: dict[str, type[ev.Event]] = {
    "extraction": ev.ExtractionDecided,
    "identity": ev.IdentityJudged,
    "selection": ev.SelectionDecided,
    "scope check": ev.ScopeChecked,
    "content diagnosis": ev.ContentDiagnosed,
    "generalisation": ev.UseConditionsGeneralised,
    "repair": ev.RepairProposed,
}


def asked(name: str, script: Any) -> Scenario:
    """A run in which the decision is asked exactly once, and answered by ``script``.

    The rule of q1 helps on q2 and q3, which asks for a generalisation, or harms on q2, which asks
    for diagnosis and repair, or is proposed again on q2, which asks for identity.
    """
    harm = name in ("content diagnosis", "repair")
    decisions = {"scope check": scope(), "content diagnosis": defect(), name: script}
    learn = {"q1": rule(RULE)}
    if name == "identity":
        learn["q2"] = rule("say a herb")
    return Scenario(
        tasks={"extraction": 1, "generalisation": 3}.get(name, 2),
        learn=learn,
        supply=() if name == "identity" else ("q2", "q3"),
        scores={
            RULE: {"q2": 0.0 if harm else 1.0, "q3": 1.0},
            "say the herbs": {"q2": 1.0},
        },
        decisions=decisions,
        method={"attempts": ATTEMPTS, "n2": 0},
    )


def decided(story: Story, name: str) -> Any:
    """The event of the decision; for an extraction the last role's."""
    return story.of(EVENTS[name])[-1]


def replies(story: Story, name: str) -> list[str]:
    """What the model said for the decision, of the last role asked."""
    said = story.of(ev.ModelReplied, purpose=name)
    return [reply.text or "" for reply in said if reply.role == "user_proxy"]


@pytest.mark.parametrize("name", list(EVENTS))
def test_after_all_attempts_the_fallback_is_taken_and_recorded(tell: Tell, name: str) -> None:
    story = tell(asked(name, "no idea"))
    event = decided(story, name)
    assert event.fallback == "; ".join(
        f"attempt {n}: the answer holds no JSON object" for n in range(1, ATTEMPTS + 1)
    )
    assert replies(story, name) == ["no idea"] * ATTEMPTS
    assert event.replies == (digest(b"no idea"),) * ATTEMPTS
    said = story.of(ev.ModelReplied, purpose=name, role="user_proxy")
    assert event.evidence[:ATTEMPTS] == tuple(story.id_of(reply) for reply in said)
    FELL_BACK[name](story)


def _abstained(story: Story) -> None:
    assert not any(event.store for event in story.of(ev.ExtractionDecided))
    assert len(story.state.store) == 0


def _not_matched(story: Story) -> None:
    assert story.one(ev.IdentityJudged).matched == ""
    assert [memory.body for memory in story.state.store.ordered()] == [RULE, "say a herb"]


def _similarity_order(story: Story) -> None:
    assert story.one(ev.SelectionDecided).selected == ("m1",)
    assert [i.memory for i in story.one(ev.TaskScored, 2).supplied] == ["m1"]


def _nothing_learned(story: Story) -> None:
    attributed = story.one(ev.UseAttributed)
    assert attributed.label == "NONE"
    assert attributed.reason == "the scope check gave no usable answer"
    (effect,) = story.effects()
    assert (effect.sign, effect.context) == ("positive", None)
    assert story.of(ev.ConditionAdded) == []


def _unsupported(story: Story) -> None:
    diagnosed = story.one(ev.ContentDiagnosed)
    assert (diagnosed.defect, diagnosed.supported) == ("", False)
    assert story.labels() == [("m1", "q2", "NONE")]
    assert story.of(ev.RepairStarted) == []


def _no_new_condition(story: Story) -> None:
    assert story.one(ev.UseConditionsGeneralised).returned == ()
    assert story.memory().use_texts == ("a jar is named",)


def _no_update(story: Story) -> None:
    assert story.one(ev.RepairProposed).edits == 0
    assert [change[-1] for change in story.transitions()] == ["failed repair"]


FELL_BACK = {
    "extraction": _abstained,
    "identity": _not_matched,
    "selection": _similarity_order,
    "scope check": _nothing_learned,
    "content diagnosis": _unsupported,
    "generalisation": _no_new_condition,
    "repair": _no_update,
}


@pytest.mark.parametrize("name", list(EVENTS))
def test_an_answer_to_a_re_ask_is_as_good_as_a_first_one(tell: Tell, name: str) -> None:
    story = tell(asked(name, bad_first(REPLIES[name], bad=ATTEMPTS - 1)))
    event = decided(story, name)
    assert event.fallback == ""
    assert len(event.replies) == ATTEMPTS
    assert replies(story, name)[: ATTEMPTS - 1] == ["no idea"] * (ATTEMPTS - 1)
    last = story.model.asked(name)[-1]
    for attempt in range(1, ATTEMPTS):
        assert (f"Answer {attempt} cannot be used" in last) == (attempt == ATTEMPTS - 1)
    USED[name](story)


def _extracted(story: Story) -> None:
    assert RULE in [memory.body for memory in story.state.store.ordered()]


def _matched(story: Story) -> None:
    assert story.one(ev.ExperienceAttached).memory == "m1"


def _checked(story: Story) -> None:
    assert story.one(ev.ScopeChecked).use
    assert story.effects()[0].context is not None


def _diagnosed(story: Story) -> None:
    assert story.labels() == [("m1", "q2", "CONTENT")]


def _grown(story: Story) -> None:
    assert story.memory().use_texts == ("a jar is named", "herbs are listed")


def _repaired(story: Story) -> None:
    assert story.memory().version == 2


USED = {
    "extraction": _extracted,
    "identity": _matched,
    "selection": _similarity_order,
    "scope check": _checked,
    "content diagnosis": _diagnosed,
    "generalisation": _grown,
    "repair": _repaired,
}


def test_an_unknown_scope_leaves_harm_without_a_diagnosis(tell: Tell) -> None:
    scenario = asked("scope check", "no idea")
    story = tell(attrs.evolve(scenario, scores={RULE: {"q2": 0.0}}))
    assert story.labels() == [("m1", "q2", "NONE")]
    assert story.of(ev.ContentDiagnosed) == story.of(ev.RepairStarted) == []
    assert [effect.sign for effect in story.effects()] == ["negative"]


def test_a_positive_use_of_unknown_scope_is_no_ground_for_growth(tell: Tell) -> None:
    scenario = asked("generalisation", REPLIES["generalisation"])
    checks = by_task({"q2": "no idea"}, scope())
    story = tell(attrs.evolve(scenario, decisions={**scenario.decisions, "scope check": checks}))
    assert [effect.sign for effect in story.effects()] == ["positive", "positive"]
    assert story.of(ev.UseConditionsGeneralised) == []


def test_a_model_that_never_answers_costs_a_run_its_memory_and_nothing_else(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            decisions=dict.fromkeys(EVENTS, "no idea"),
            method={"attempts": 2},
        )
    )
    assert [event.score for event in story.of(ev.TaskScored)] == [0.5, 0.5]
    assert len(story.of(ev.ExtractionDecided)) == 4
    assert all(event.fallback for event in story.of(ev.ExtractionDecided))
    check_golden(story, "mute_model")
