"""Lines 7-11 of Algorithm 1: what a use did, why, and what its scope learns (Eq. 4-6, 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from golden import check_golden
from scenario import Scenario, Tell, by_task, defect, rule, scope

from discernmem.eventlog import events as ev

RULE = "say the first herb"
USE = ["a jar is named"]
LEARNED = {"q1": rule(RULE, USE, ["the jar is empty"])}


def used(score: float, checked: Any, learned: Any = None, **decisions: Any) -> Scenario:
    """A rule learned on q1 and used on q2, where it scores ``score`` and the check says so."""
    return Scenario(
        tasks=2,
        learn={"q1": learned} if learned else LEARNED,
        scores={RULE: {"q2": score}},
        decisions={"scope check": checked, **decisions},
    )


# -- scope -------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0], ids=["negative", "neutral", "positive"])
def test_an_avoid_match_is_scope_whatever_the_effect_and_adds_its_boundary(
    tell: Tell, score: float
) -> None:
    story = tell(used(score, scope(use=True, avoid=True, boundary="the lid is on")))
    assert story.labels() == [("m1", "q2", "SCOPE")]
    added = story.one(ev.ConditionAdded)
    assert (added.kind, added.text, added.source) == ("avoid_when", "the lid is on", "scope check")
    assert story.memory().avoid_texts == ("the jar is empty", "the lid is on")
    (effect,) = story.effects()
    assert (effect.label, effect.avoid) == ("SCOPE", True)
    assert story.of(ev.ContentDiagnosed) == story.of(ev.UseConditionsGeneralised) == []
    assert story.memory().version == 1


def test_a_condition_knows_the_event_that_added_it(tell: Tell) -> None:
    story = tell(used(0.0, scope(avoid=True, boundary="the lid is on")))
    old, new = story.memory().avoid_when
    assert old.added_by == story.id_of(story.one(ev.MemoryAdmitted))
    assert new.added_by == story.id_of(story.one(ev.ConditionAdded))


@pytest.mark.parametrize(
    "boundary", ["", "none", "The jar  is EMPTY"], ids=["empty", "a word for it", "known already"]
)
def test_a_boundary_that_says_nothing_new_adds_nothing(tell: Tell, boundary: str) -> None:
    story = tell(used(0.0, scope(avoid=True, boundary=boundary)))
    assert story.labels() == [("m1", "q2", "SCOPE")]
    assert story.of(ev.ConditionAdded) == []
    assert [e.label for e in story.effects()] == ["SCOPE"]


def test_harm_outside_the_use_conditions_is_scope(tell: Tell) -> None:
    story = tell(used(0.0, scope(use=False, boundary="the jar is blue")))
    attributed = story.one(ev.UseAttributed)
    assert (attributed.label, attributed.reason) == ("SCOPE", "harm outside the use conditions")
    assert story.memory().avoid_texts == ("the jar is empty", "the jar is blue")
    (effect,) = story.effects()
    assert (effect.label, effect.avoid) == ("SCOPE", False)
    assert story.of(ev.ContentDiagnosed) == []


def test_no_harm_outside_the_use_conditions_is_nothing(tell: Tell) -> None:
    story = tell(used(0.5, scope(use=False, boundary="the jar is blue")))
    assert story.labels() == [("m1", "q2", "NONE")]
    assert story.memory().avoid_texts == ("the jar is empty",)


def test_nothing_fits_a_memory_without_use_conditions(tell: Tell) -> None:
    story = tell(used(0.0, scope(use=True, boundary="the jar is blue"), learned=rule(RULE, use=[])))
    assert story.one(ev.ScopeChecked).use is False
    assert story.labels() == [("m1", "q2", "SCOPE")]
    assert story.memory().avoid_texts == ("the jar is blue",)


def test_no_avoid_condition_matches_where_there_is_none(tell: Tell) -> None:
    story = tell(used(0.5, scope(avoid=True, boundary="the lid is on"), learned=rule(RULE)))
    assert story.one(ev.ScopeChecked).avoid is False
    assert story.labels() == [("m1", "q2", "NONE")]


def test_the_scope_check_reads_the_context_without_any_memory(tell: Tell) -> None:
    story = tell(used(1.0, scope()))
    (read,) = story.model.asked("scope check")
    situation = read.split("TEAM MEMBER")[0]
    assert "> [assistant] amber, basil" in situation
    assert RULE not in situation
    observed = story.one(ev.ContextObserved, 2, role="user_proxy")
    assert story.one(ev.ScopeChecked).context == observed.context
    assert story.effects()[0].context == observed.context


# -- content -----------------------------------------------------------------------------------


def test_harm_in_scope_with_a_supported_defect_is_content_and_stops_extraction(
    tell: Tell,
) -> None:
    story = tell(used(0.0, scope(), **{"content diagnosis": defect("with:s2", "none:s2")}))
    assert story.derived(2) == [
        "MemoriesRetrieved",
        "SelectionDecided",
        "MemorySupplied",
        "TaskScored",
        "EffectMeasured",
        "ScopeChecked",
        "ContentDiagnosed",
        "UseAttributed",
        "EffectRecorded",
        "RepairStarted",
        "RepairProposed",
        "RepairEnded",
        "StateChanged",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    diagnosed = story.one(ev.ContentDiagnosed)
    assert (diagnosed.supported, diagnosed.cited) == (True, ("with:s2", "none:s2"))
    assert story.labels() == [("m1", "q2", "CONTENT")]
    assert len(story.of(ev.ExtractionDecided, 1)) == 2


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (defect(kind="none"), "unknown defect type: "),
        (defect(description="none"), "empty description"),
        ({**defect(), "cited": []}, "no step cited"),
        (defect("with:s2", "with:s3"), "step not displayed: with:s3"),
    ],
    ids=["no defect", "no description", "nothing cited", "an action is no displayed step"],
)
def test_an_unsupported_diagnosis_is_recorded_and_leaves_the_memory_alone(
    tell: Tell, found: Mapping[str, Any], problem: str
) -> None:
    story = tell(used(0.0, scope(), **{"content diagnosis": found}))
    diagnosed = story.one(ev.ContentDiagnosed)
    assert (diagnosed.supported, diagnosed.problem) == (False, problem)
    attributed = story.one(ev.UseAttributed)
    assert attributed.label == "NONE"
    assert attributed.reason == "harm in scope without a supported defect"
    assert [e.sign for e in story.effects()] == ["negative"]
    assert story.of(ev.RepairStarted) == []
    assert len(story.of(ev.ExtractionDecided, 2)) == 2


def test_extraction_goes_on_after_a_scope_label(tell: Tell) -> None:
    story = tell(used(0.0, scope(use=False)))
    assert len(story.of(ev.ExtractionDecided, 2)) == 2


# -- use conditions ----------------------------------------------------------------------------


def helped(n_plus: int, *, checks: Mapping[str, Any] | None = None) -> Scenario:
    """A rule that helps on q2, q3 and q4; the generaliser repeats one condition and adds one."""
    return Scenario(
        tasks=4,
        learn={"q1": rule(RULE, USE, ["the jar is empty"])},
        scores={RULE: {"q2": 1.0, "q3": 1.0, "q4": 1.0}},
        decisions={
            "generalisation": {"reason": "", "use_when": ["A jar is named", "herbs  are listed"]},
            "scope check": by_task(checks or {}, scope()),
        },
        method={"n_plus": n_plus},
    )


def test_use_conditions_grow_once_enough_tasks_were_helped(tell: Tell) -> None:
    story = tell(helped(2))
    first, second = story.of(ev.UseConditionsGeneralised)
    assert (first.tasks, second.tasks) == (("q2", "q3"), ("q2", "q3", "q4"))
    added = story.one(ev.ConditionAdded)
    assert (added.kind, added.text, added.source) == (
        "use_when",
        "herbs are listed",
        "generalisation",
    )
    assert story.memory().use_texts == ("a jar is named", "herbs are listed")
    assert story.memory().use_when[1].added_by == story.id_of(added)
    read = story.model.asked("generalisation")[0]
    assert "of jar q2?" in read
    assert "of jar q3?" in read
    check_golden(story, "promotion_and_growth")


def test_the_threshold_of_growth_is_n_plus(tell: Tell) -> None:
    story = tell(helped(3))
    assert [e.tasks for e in story.of(ev.UseConditionsGeneralised)] == [("q2", "q3", "q4")]


def test_a_helpful_use_need_not_match_the_use_conditions_to_widen_them(tell: Tell) -> None:
    story = tell(helped(2, checks={"q3": scope(use=False, boundary="another jar")}))
    assert story.of(ev.UseConditionsGeneralised)[0].tasks == ("q2", "q3")


def test_a_helpful_use_with_an_avoid_match_does_not_count_towards_growth(tell: Tell) -> None:
    story = tell(helped(2, checks={"q3": scope(avoid=True)}))
    assert [e.tasks for e in story.of(ev.UseConditionsGeneralised)] == [("q2", "q4")]


def test_a_calibration_effect_does_not_count_towards_growth(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=3,
            learn={"q2": rule(RULE)},
            scores={RULE: {"q1": 1.0, "q3": 1.0}},
        )
    )
    assert [e.origin for e in story.effects()] == ["calibration", "reuse"]
    assert story.of(ev.UseConditionsGeneralised) == []


# -- injection ---------------------------------------------------------------------------------


def test_without_injection_the_rest_of_the_pipeline_goes_on(tell: Tell) -> None:
    scenario = helped(2)
    story = tell(
        Scenario(
            tasks=2,
            learn={**scenario.learn, "q2": rule("say all")},
            scores=scenario.scores,
            method={"k_inj": 0},
        )
    )
    assert story.of(ev.MemoriesRetrieved) == story.of(ev.MemorySupplied) == []
    assert [e.supplied for e in story.of(ev.TaskScored)] == [(), ()]
    assert len(story.of(ev.IdentityJudged)) == 1
    assert len(story.state.store) == 2


def test_memories_supplied_together_are_assessed_one_by_one_against_one_baseline(
    tell: Tell,
) -> None:
    story = tell(
        Scenario(
            tasks=3,
            learn={"q1": rule("say herbs in jar"), "q2": rule("say the first")},
            scores={"say herbs in jar": {"q3": 1.0}, "say the first": {"q3": 0.0}},
            method={"k_inj": 2, "n2": 0},
        )
    )
    supplied = [i.memory for i in story.one(ev.TaskScored, 3).supplied]
    assert sorted(supplied) == ["m1", "m2"]
    measured = story.of(ev.EffectMeasured, 3)
    assert [e.memory for e in measured] == supplied
    assert {e.memory: e.effect for e in measured} == {"m1": 0.5, "m2": -0.5}
    assert len({e.execution_without for e in measured}) == 1
    # Scored with both, none, and each alone: the baseline is shared.
    assert story.one(ev.TaskCompleted, index=3).executions_asked == 4


def test_the_scored_run_of_one_memory_is_its_replay(tell: Tell) -> None:
    story = tell(used(1.0, scope()))
    assert story.one(ev.EffectMeasured).execution_with == story.one(ev.TaskScored, 2).execution
    assert story.executions(2) == 2
    assert story.one(ev.TaskCompleted, index=2).executions_asked == 3


def test_an_unknown_id_is_recorded_and_ignored(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn=LEARNED,
            decisions={"selection": {"reason": "", "selected": ["m9", "m1"]}},
        )
    )
    decided = story.one(ev.SelectionDecided)
    assert (decided.selected, decided.unknown) == (("m1",), ("m9",))


def test_a_memory_too_far_from_the_context_is_not_offered(tell: Tell) -> None:
    story = tell(Scenario(tasks=2, learn=LEARNED, method={"theta": 0.99}))
    assert story.one(ev.MemoriesRetrieved).candidates == ()
    assert story.of(ev.SelectionDecided) == []
