"""Lines 16-27 of Algorithm 1: abstain, admit and calibrate, or attach (§3.1, A.1, A.2)."""

from __future__ import annotations

import pytest
from golden import check_golden
from scenario import Scenario, Tell, attempt_of, defect, edit, edits, rule, same_as, task_of

from discernmem.eventlog import events as ev

RULE = "say the first herb"
PROXY = "user_proxy"


def test_a_task_that_teaches_nothing_leaves_the_store_empty(tell: Tell) -> None:
    story = tell(Scenario(tasks=2, scores={"": {"q2": 1.0}}))
    assert story.derived(2) == [
        "TaskScored",
        "ExtractionDecided",
        "ExtractionDecided",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    assert [e.store for e in story.of(ev.ExtractionDecided)] == [False] * 4
    assert [e.score for e in story.of(ev.TaskScored)] == [0.5, 1.0]
    assert [e.executions_asked for e in story.of(ev.TaskCompleted)] == [1, 1]
    assert len(story.state.store) == 0
    check_golden(story, "abstain")


def test_the_first_rule_is_admitted_provisional_without_anything_to_calibrate_on(
    tell: Tell,
) -> None:
    story = tell(Scenario(tasks=1, learn={"q1": rule(RULE, ["a"], ["b"])}))
    assert story.derived(1)[3:] == ["MemoryAdmitted", "TaskCompleted", "StoreCheckpointed"]
    memory = story.memory()
    assert (memory.owner, memory.state, memory.version) == (PROXY, "provisional", 1)
    assert (memory.body, memory.use_texts, memory.avoid_texts) == (RULE, ("a",), ("b",))
    assert memory.source_task == "q1"
    assert memory.source_execution == story.one(ev.TaskScored).execution


def test_each_role_learns_for_itself(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            scores={"look": {"q2": 1.0}},
            learn={("q1", "assistant"): rule("look"), ("q1", PROXY): rule("tell")},
        )
    )
    assert [story.memory(m).owner for m in ("m1", "m2")] == ["assistant", PROXY]
    used = story.one(ev.TaskScored, 2)
    assert [(i.memory, i.role) for i in used.supplied] == [("m1", "assistant"), ("m2", PROXY)]
    # The assistant's rule helped; the proxy's changed nothing when tried alone.
    assert [(e.memory, e.effect) for e in story.of(ev.EffectRecorded)] == [("m1", 0.5), ("m2", 0)]
    assert story.one(ev.TaskCompleted, index=2).executions_asked == 4


# -- calibration -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "sign"), [(1.0, "positive"), (0.5, "neutral")], ids=["positive", "neutral"]
)
def test_calibration_records_the_effect_on_an_earlier_task(
    tell: Tell, score: float, sign: str
) -> None:
    story = tell(Scenario(tasks=2, learn={"q2": rule(RULE)}, scores={RULE: {"q1": score}}))
    assert story.derived(2)[3:] == [
        "MemoryAdmitted",
        "CalibrationDrawn",
        "EffectMeasured",
        "EffectRecorded",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    (effect,) = story.effects()
    assert (effect.task, effect.origin, effect.sign) == ("q1", "calibration", sign)
    assert (effect.label, effect.context, effect.changed) == ("NONE", None, sign == "positive")
    assert story.transitions() == []
    assert story.one(ev.TaskCompleted, index=2).executions_asked == 3


def test_calibration_takes_the_nearest_task_and_never_the_source(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=3,
            topics={"q1": "on the green shelf", "q3": "on the green shelf"},
            learn={"q3": rule("look on the green shelf")},
        )
    )
    assert story.one(ev.CalibrationDrawn).tasks == ("q1",)


def test_calibration_effects_pass_through_the_lifecycle(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=3,
            learn={"q3": rule(RULE)},
            scores={RULE: {"q1": 1.0, "q2": 1.0}},
            method={"n2": 2},
        )
    )
    assert story.transitions() == [(3, "m1", "provisional", "active", "promotion")]
    assert story.one(ev.StateChanged).evidence == tuple(e.event_id for e in story.effects())


def test_a_rule_that_harms_in_calibration_is_replaced_by_the_first_passing_candidate(
    tell: Tell,
) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn={"q2": rule(RULE)},
            scores={
                RULE: {"q1": 0.0},
                "say the last herb": {"q1": 0.25},
                "say two herbs": {"q1": 0.5},
                "say the herbs": {"q1": 1.0},
            },
            decisions={
                "repair": edits(
                    [
                        edit("last herb", cited=()),
                        edit("two herbs", "the first herb", cited=()),
                        edit("herbs", cited=()),
                    ]
                )
            },
        )
    )
    started = story.one(ev.RepairStarted)
    assert (started.kind, started.calibration) == ("calibration", ("q1",))
    assert (started.retention, started.related) == ((), ())
    judged = story.of(ev.CandidateJudged)
    assert [(j.accepted, j.rejected_by, j.trigger_gain) for j in judged] == [
        (False, "q1", 0.25),
        (True, "", 0.5),
    ]
    assert story.one(ev.RepairProposed).edits == 3
    revised = story.one(ev.MemoryRevised)
    assert (revised.version, revised.body, revised.capability) == (2, "say two herbs", None)
    assert story.one(ev.RepairEnded).outcome == "committed"
    assert story.memory().state == "provisional"
    assert story.effects(version=2) == ()
    assert story.of(ev.UseAttributed) == story.of(ev.ContentDiagnosed) == []
    check_golden(story, "calibration_repair")


def test_a_calibration_repair_that_fails_keeps_the_rule_as_it_is(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn={"q2": rule(RULE)},
            scores={RULE: {"q1": 0.0}, "say it": {"q1": 0.25}, "say all": {"q1": 0.0}},
            decisions={
                "repair": edits(
                    [edit("it", "the first herb", cited=())],
                    [edit("all", "the first herb", cited=())],
                )
            },
            method={"rounds": 2},
        )
    )
    ended = story.one(ev.RepairEnded)
    assert (ended.outcome, ended.rounds) == ("kept", 2)
    assert (story.memory().state, story.memory().version) == ("provisional", 1)
    assert story.transitions() == []
    assert [e.sign for e in story.effects()] == ["negative"]


def test_a_calibration_candidate_must_pass_on_every_task(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=3,
            learn={"q3": rule(RULE)},
            scores={
                RULE: {"q1": 1.0, "q2": 0.0},
                "say all": {"q1": 0.75, "q2": 1.0},
            },
            decisions={"repair": edits([edit("all", "the first herb", cited=())])},
            method={"n2": 2, "rounds": 1},
        )
    )
    started = story.one(ev.RepairStarted)
    assert (started.trigger, set(started.calibration)) == ("q2", {"q1", "q2"})
    assert started.calibration[0] == "q2"
    judged = story.one(ev.CandidateJudged)
    assert (judged.rejected_by, judged.reason) == ("q1", "scores below the parent")
    assert story.one(ev.RepairEnded).outcome == "kept"


# -- attachment --------------------------------------------------------------------------------

REPEATED = {"q1": rule(RULE), "q2": rule("name the first herb", ["a jar"], ["no jar"])}


def test_a_proposal_that_repeats_a_memory_is_tried_on_its_task(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn=REPEATED,
            supply=(),
            scores={RULE: {"q2": 1.0}},
            decisions={"identity": same_as("m1")},
        )
    )
    assert story.derived(2)[2:] == [
        "TaskScored",
        "ExtractionDecided",
        "ExtractionDecided",
        "IdentityJudged",
        "ExperienceAttached",
        "EffectMeasured",
        "ScopeChecked",
        "UseAttributed",
        "EffectRecorded",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    assert story.one(ev.IdentityJudged).matched == "m1"
    assert story.one(ev.ExperienceAttached).note == ""
    (effect,) = story.effects()
    assert (effect.task, effect.origin, effect.sign) == ("q2", "attachment", "positive")
    (read,) = story.model.asked("scope check")
    for line in ("Question: What are the herbs of jar q2?", "Rule: name the first herb"):
        assert f"> {line}\n" in read
    assert "> Use when: a jar\n> Avoid when: no jar\n" in read
    assert story.memory().body == RULE
    assert len(story.state.store) == 1
    assert story.one(ev.TaskCompleted, index=2).executions_asked == 3


def test_a_memory_assessed_on_the_task_already_is_not_replayed_again(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn=REPEATED,
            scores={RULE: {"q2": 1.0}},
            decisions={"identity": same_as("m1")},
        )
    )
    assert story.one(ev.ExperienceAttached).note == "already assessed on this task"
    assert story.derived(2)[-3:] == ["ExperienceAttached", "TaskCompleted", "StoreCheckpointed"]
    assert [e.origin for e in story.effects()] == ["reuse"]
    assert story.one(ev.TaskCompleted, index=2).executions_asked == 3


HARMED = {"q2": 0.0, "q3": 0.0, "q4": 0.0}


def revival(score: float, **decisions: object) -> Scenario:
    """Three harmful uses retire m1; q5 proposes it again; q6 offers it."""
    return Scenario(
        tasks=6,
        learn={"q1": rule(RULE), "q5": rule("name the first herb")},
        scores={RULE: {**HARMED, "q5": score}},
        decisions={"identity": same_as("m1"), **decisions},
    )


def test_a_positive_attachment_revives_an_inactive_memory(tell: Tell) -> None:
    story = tell(revival(1.0))
    assert story.transitions() == [
        (4, "m1", "provisional", "inactive", "sustained harm"),
        (5, "m1", "inactive", "provisional", "revival"),
    ]
    assert story.of(ev.MemoriesRetrieved, 5) == []
    assert story.of(ev.StateChanged)[1].evidence == (story.effects()[3].event_id,)
    assert [i.memory for i in story.one(ev.TaskScored, 6).supplied] == ["m1"]
    assert [e.origin for e in story.effects()] == ["reuse"] * 3 + ["attachment", "reuse"]
    check_golden(story, "revival")


@pytest.mark.parametrize("score", [0.5, 0.0], ids=["neutral", "negative"])
def test_any_other_attachment_leaves_it_inactive(tell: Tell, score: float) -> None:
    story = tell(revival(score))
    assert story.memory().state == "inactive"
    assert [t[-1] for t in story.transitions()] == ["sustained harm"]
    assert story.one(ev.TaskScored, 6).supplied == ()


def test_a_harmful_attachment_may_repair_an_inactive_memory_back_into_use(tell: Tell) -> None:
    def diagnosis(prompt: str) -> object:
        found = defect()
        return found if task_of(prompt) == "q5" else {**found, "defect": "none"}

    scenario = revival(0.0, repair=edits([edit("herbs")]), **{"content diagnosis": diagnosis})
    story = tell(scenario)
    assert story.labels()[-2:] == [("m1", "q5", "CONTENT"), ("m1", "q6", "NONE")]
    assert story.transitions()[-1] == (5, "m1", "inactive", "provisional", "new version")
    assert story.memory().body == "say the herbs"
    assert [(i.memory, i.version) for i in story.one(ev.TaskScored, 6).supplied] == [("m1", 2)]


# -- identity ----------------------------------------------------------------------------------


def twice(**method: int) -> Scenario:
    """The same rule proposed twice, with a judge that always sees the first in it."""
    return Scenario(
        tasks=2,
        learn=REPEATED,
        supply=(),
        decisions={"identity": same_as("m1")},
        method={"n2": 0, **method},
    )


def test_a_proposal_is_compared_with_the_memories_of_its_own_role_only(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=2,
            learn={("q1", "assistant"): rule(RULE), "q2": rule(RULE)},
            decisions={"identity": same_as("m1")},
            method={"n2": 0},
        )
    )
    assert story.of(ev.IdentityJudged) == []
    assert [m.owner for m in story.state.store.ordered()] == ["assistant", PROXY]


def test_without_identity_candidates_every_proposal_is_admitted(tell: Tell) -> None:
    story = tell(twice(k_id=0))
    assert story.of(ev.IdentityJudged) == story.of(ev.ExperienceAttached) == []
    assert [m.id for m in story.state.store.ordered()] == ["m1", "m2"]


def test_identity_considers_no_more_than_k_id_memories(tell: Tell) -> None:
    learn = {f"q{n}": rule(f"{word} herb {n}") for n, word in enumerate("abcd", start=1)}
    story = tell(Scenario(tasks=4, learn=learn, supply=(), method={"k_id": 2, "n2": 0}))
    assert [len(e.candidates) for e in story.of(ev.IdentityJudged)] == [1, 2, 2]
    assert len(story.state.store) == 4


def test_an_id_outside_the_list_is_asked_again(tell: Tell) -> None:
    scenario = twice()
    answers = {1: same_as("m7"), 2: same_as("m1")}
    story = tell(
        Scenario(
            tasks=2,
            learn=scenario.learn,
            supply=(),
            decisions={"identity": lambda prompt: answers[attempt_of(prompt)]},
        )
    )
    judged = story.one(ev.IdentityJudged)
    assert (judged.matched, judged.fallback, len(judged.replies)) == ("m1", "", 2)
