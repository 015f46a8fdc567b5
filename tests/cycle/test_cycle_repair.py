"""Lines 12-14 of Algorithm 1: a rule with a supported defect is repaired or retired (§3.2, A.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from golden import check_golden
from scenario import Scenario, Tell, by_task, defect, edit, edits, play, rule

from discernmem.eventlog import events as ev

RULE = "say the first herb"
Scores = Mapping[str, float]


def harmed(
    *rounds: list[dict[str, Any]],
    candidates: Mapping[str, Scores],
    parent: Scores | None = None,
    none: Scores | None = None,
    method: Mapping[str, Any] | None = None,
) -> Scenario:
    """A rule learned on q1 that helps on q2, is not used on q3 and harms on q4.

    So q2 is what a repair must retain and q3 the only other earlier task. ``candidates`` are named
    by what they say instead of ``first herb``.
    """
    bodies = {f"say the {words}": scores for words, scores in candidates.items()}
    return Scenario(
        tasks=4,
        learn={"q1": rule(RULE)},
        supply=("q2", "q4"),
        scores={"": none or {}, RULE: parent or {"q2": 0.75, "q4": 0.0}, **bodies},
        decisions={"content diagnosis": defect(), "repair": edits(*rounds)},
        method=method or {},
    )


WIDE = {"epsilon": 0.3}
HELPS_WIDELY = {"q2": 1.0, "q4": 0.0}
GOOD = {"q2": 0.75, "q3": 0.5, "q4": 1.0}


# -- accepted ----------------------------------------------------------------------------------


def test_an_accepted_candidate_becomes_a_new_provisional_version_without_effects(
    tell: Tell,
) -> None:
    story = tell(harmed([edit("herbs")], candidates={"herbs": GOOD}))
    assert story.derived(4)[8:] == [
        "EffectRecorded",
        "RepairStarted",
        "RepairProposed",
        "CandidateProposed",
        "CandidateJudged",
        "MemoryRevised",
        "RepairEnded",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    started = story.one(ev.RepairStarted)
    assert (started.trigger, started.retention, started.related) == ("q4", ("q2",), ("q3",))
    judged = story.one(ev.CandidateJudged)
    assert [(c.task, c.candidate, c.parent, c.none) for c in judged.comparisons] == [
        ("q4", 1.0, 0.0, 0.5),
        ("q2", 0.75, 0.75, 0.5),
        ("q3", 0.5, 0.5, 0.5),
    ]
    assert (judged.accepted, judged.improving, judged.trigger_gain) == (True, True, 1.0)
    assert (judged.worst_margin, judged.failures, judged.parent_failures) == (0.0, 0, 1)
    memory = story.memory()
    assert (memory.version, memory.body, memory.state) == (2, "say the herbs", "provisional")
    assert [version.body for version in memory.versions] == [RULE, "say the herbs"]
    assert [e.task for e in story.effects(version=1)] == ["q2", "q4"]
    assert story.effects(version=2) == ()
    assert story.one(ev.TaskScored, 4).score == 0.0
    # 1 scored, 2 paired, 2 for each historical task, 3 for the candidate.
    assert story.one(ev.TaskCompleted, index=4).executions_asked == 10


@pytest.mark.parametrize(
    ("scenario", "earned"),
    [
        (harmed([edit("herbs")], candidates={"herbs": GOOD}), ("q3",)),
        (harmed([edit("herbs")], candidates={"herbs": GOOD}, method={"n2": 0}), None),
        (
            harmed(
                [edit("herbs")],
                candidates={"herbs": {"q2": 1.0, "q4": 0.25}},
                parent=HELPS_WIDELY,
                method=WIDE,
            ),
            None,
        ),
    ],
    ids=["improving", "no related task", "not improving"],
)
def test_a_capability_is_earned_by_an_improvement_that_a_related_task_confirms(
    tell: Tell, scenario: Scenario, earned: tuple[str, ...] | None
) -> None:
    story = tell(scenario)
    capability = story.one(ev.MemoryRevised).capability
    if earned is None:
        assert capability is None
    else:
        assert capability == ev.Capability(id="c1", correction="every herb is named", tasks=earned)
    assert story.memory().capabilities == ((capability,) if capability else ())


@pytest.mark.parametrize(
    ("candidates", "winner"),
    [
        ({"herbs": {**GOOD, "q4": 0.75}, "full list": GOOD}, 2),
        ({"herbs": GOOD, "full list": {"q2": 1.0, "q3": 0.75, "q4": 1.0}}, 2),
        ({"full list of herbs": GOOD, "herbs": GOOD}, 2),
        ({"herb 1": GOOD, "herb 2": GOOD}, 1),
        ({"herbs": {**GOOD, "q2": 0.5}, "full list": GOOD, "herb": {**GOOD, "q4": 0.75}}, 2),
    ],
    ids=["larger gain", "larger worst margin", "smaller edit", "earlier", "accepted only"],
)
def test_of_several_accepted_candidates_the_best_is_committed(
    tell: Tell, candidates: Mapping[str, Scores], winner: int
) -> None:
    story = tell(harmed([edit(words) for words in candidates], candidates=candidates))
    assert len(story.of(ev.CandidateJudged)) == len(candidates)
    revised = story.one(ev.MemoryRevised)
    assert (revised.round, revised.number) == (1, winner)
    assert revised.body == f"say the {list(candidates)[winner - 1]}"


def test_an_active_memory_is_provisional_again_under_its_new_version(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=5,
            learn={"q1": rule(RULE)},
            scores={RULE: {"q2": 1.0, "q3": 1.0, "q4": 0.0}, "say the herbs": {}},
            decisions={"content diagnosis": defect(), "repair": edits([edit("herbs")])},
            method={"n1": 0},
        )
    )
    assert story.transitions() == [
        (3, "m1", "provisional", "active", "promotion"),
        (4, "m1", "active", "provisional", "new version"),
    ]
    changed = story.of(ev.StateChanged)[1]
    assert (changed.version, changed.evidence) == (2, (story.effects()[2].event_id,))
    assert [(i.memory, i.version) for i in story.one(ev.TaskScored, 5).supplied] == [("m1", 2)]
    assert [(e.task, e.sign) for e in story.effects(version=2)] == [("q5", "neutral")]


def test_a_second_repair_stands_on_what_the_first_one_showed(tell: Tell) -> None:
    scenario = harmed([edit("herbs")], candidates={"herbs": {**GOOD, "q5": 1.0, "q6": 0.0}})

    def repair(prompt: str) -> Any:
        if "> say the herbs" in prompt.split("RULE:\n")[-1].split("FAULT")[0]:
            found = edit("herbs of the jar", "herbs", correction="the jar is read")
        else:
            found = edit("herbs")
        return {"reason": "", "edits": [found]}

    story = tell(
        attrs.evolve(
            scenario,
            tasks=6,
            supply=("q2", "q4", "q5", "q6"),
            scores={
                **scenario.scores,
                "say the herbs of the jar": {**GOOD, "q5": 1.0, "q6": 0.75},
            },
            decisions={**scenario.decisions, "repair": repair},
            method={"n1": 3},
        )
    )
    first, second = story.of(ev.RepairStarted)
    assert (first.retention, first.related) == (("q2",), ("q3",))
    # Helped by either version, or validated a correction: all of it is to be retained.
    assert (second.retention, second.related) == (("q2", "q3", "q5"), ("q4",))
    assert [c.id for c in story.memory().capabilities] == ["c1", "c2"]
    assert [c.tasks for c in story.memory().capabilities] == [("q3",), ("q4",)]
    assert story.memory().version == 3
    assert "[c1]\n> every herb is named" in story.model.asked("repair")[-1]
    check_golden(story, "two_repairs")


# -- rejected ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "task", "reason"),
    [
        (
            harmed([edit("herbs")], candidates={"herbs": {**GOOD, "q2": 0.5}}),
            "q2",
            "scores below the parent",
        ),
        (
            harmed([edit("herbs")], candidates={"herbs": {**GOOD, "q3": 0.25}}),
            "q3",
            "scores below the parent",
        ),
        (
            harmed(
                [edit("herbs")],
                candidates={"herbs": {**GOOD, "q3": 0.25}},
                parent={"q2": 0.75, "q3": 0.0, "q4": 0.0},
            ),
            "q3",
            "scores below no memory",
        ),
        (
            harmed([edit("herbs")], candidates={"herbs": {**GOOD, "q4": 0.25}}),
            "q4",
            "scores below no memory",
        ),
        (
            harmed(
                [edit("herbs")],
                candidates={"herbs": {"q2": 1.0, "q3": 0.0, "q4": 0.75}},
                parent={"q2": 1.0, "q3": 0.25, "q4": 0.25},
                none={"q3": 0.25, "q4": 0.75},
                method=WIDE,
            ),
            "",
            "more complete failures than the parent",
        ),
        (
            harmed(
                [edit("herbs", cited=["with:s1"])],
                candidates={"herbs": {"q2": 1.0, "q4": 0.25}},
                parent=HELPS_WIDELY,
                method=WIDE,
            ),
            "",
            "not improving and cites no diagnosed evidence",
        ),
        (
            harmed(
                [edit("herbs", correction=" ")],
                candidates={"herbs": {"q2": 1.0, "q4": 0.25}},
                parent=HELPS_WIDELY,
                method=WIDE,
            ),
            "",
            "not improving and states no correction",
        ),
    ],
    ids=[
        "a retained task got worse",
        "a related task got worse than the parent",
        "a related task got worse than nothing",
        "the trigger stays worse than nothing",
        "more failures",
        "no improvement and no evidence",
        "no improvement and no purpose",
    ],
)
def test_the_gate_rejects(tell: Tell, scenario: Scenario, task: str, reason: str) -> None:
    story = tell(scenario)
    judged = story.one(ev.CandidateJudged)
    assert (judged.accepted, judged.rejected_by, judged.reason) == (False, task, reason)
    assert story.of(ev.MemoryRevised) == []
    assert story.memory().body == RULE
    assert story.transitions() == [(4, "m1", "provisional", "inactive", "failed repair")]


def test_without_improvement_a_candidate_passes_if_it_is_justified(tell: Tell) -> None:
    story = tell(
        harmed(
            [edit("herbs")],
            candidates={"herbs": {"q2": 1.0, "q4": 0.25}},
            parent=HELPS_WIDELY,
            method=WIDE,
        )
    )
    judged = story.one(ev.CandidateJudged)
    assert (judged.accepted, judged.improving) == (True, False)
    assert story.memory().version == 2


def test_a_candidate_that_cannot_be_made_is_rejected_with_its_reason_and_no_replay(
    tell: Tell,
) -> None:
    story = tell(
        harmed(
            [
                edit("herbs", anchor="second herb"),
                edit("H", anchor="h"),
                edit("herbs", cited=["with:s2", "with:s9"]),
            ],
            [edit("first  herb"), edit("herbs")],
            [edit(" herbs"), edit("", anchor=RULE, operation="DELETE")],
            candidates={"herbs": {"q2": 0.75, "q4": 0.25}},
        )
    )
    proposed = story.of(ev.CandidateProposed)
    assert [(c.round, c.number, c.problem) for c in proposed] == [
        (1, 1, "anchor not found"),
        (1, 2, "anchor not unique"),
        (1, 3, "unknown evidence id: with:s9"),
        (2, 1, "body unchanged"),
        (2, 2, ""),
        (3, 1, "body already tried"),
        (3, 2, "resulting body empty"),
    ]
    assert [(c.round, c.number) for c in story.of(ev.CandidateJudged)] == [(2, 2)]
    assert story.one(ev.TaskCompleted, index=4).executions_asked == 10
    second, third = story.model.asked("repair")[1:]
    for reason in ("anchor not found", "anchor not unique", "unknown evidence id: with:s9"):
        assert f"failed because:\n> {reason}" in second
    assert "> scores below no memory" in third
    assert "> trigger q4: edited 0.25, rule 0, without 0.5;" in third
    check_golden(story, "failed_repair")


def test_a_body_rejected_for_its_citation_may_be_proposed_again_with_a_better_one(
    tell: Tell,
) -> None:
    story = tell(
        harmed([edit("herbs", cited=["with:s9"])], [edit("herbs")], candidates={"herbs": GOOD})
    )
    assert [c.problem for c in story.of(ev.CandidateProposed)] == [
        "unknown evidence id: with:s9",
        "",
    ]
    assert story.one(ev.MemoryRevised).round == 2


def test_a_later_round_may_succeed(tell: Tell) -> None:
    story = tell(
        harmed(
            [edit("herb")],
            [edit("herbs")],
            candidates={"herb": {**GOOD, "q2": 0.5}, "herbs": GOOD},
        )
    )
    ended = story.one(ev.RepairEnded)
    assert (ended.outcome, ended.rounds) == ("committed", 2)
    assert len(story.of(ev.RepairStarted)) == 1


def test_after_all_rounds_the_body_stays_and_the_memory_is_retired(tell: Tell) -> None:
    story = tell(
        harmed([edit("a")], [edit("b")], [edit("c")], [edit("herbs")], candidates={"herbs": GOOD})
    )
    ended = story.one(ev.RepairEnded)
    assert (ended.outcome, ended.rounds) == ("failed", 3)
    assert [r.round for r in story.of(ev.RepairProposed)] == [1, 2, 3]
    memory = story.memory()
    assert (memory.body, memory.version, memory.state) == (RULE, 1, "inactive")
    changed = story.one(ev.StateChanged)
    assert changed.rule == "failed repair"
    assert changed.evidence == (story.effects()[-1].event_id,)


def test_no_update_is_a_failed_repair(tell: Tell) -> None:
    story = tell(harmed(candidates={}))
    assert [(r.edits, r.fallback) for r in story.of(ev.RepairProposed)] == [(0, "")]
    assert story.of(ev.CandidateProposed) == []
    assert story.one(ev.RepairEnded).outcome == "failed"
    assert [t[-1] for t in story.transitions()] == ["failed repair"]


def test_no_round_at_all_is_a_failed_repair(tell: Tell) -> None:
    story = tell(harmed([edit("herbs")], candidates={"herbs": GOOD}, method={"rounds": 0}))
    assert story.of(ev.RepairProposed) == []
    ended = story.one(ev.RepairEnded)
    assert (ended.outcome, ended.rounds) == ("failed", 0)


# -- validation tasks --------------------------------------------------------------------------


def saturated(*full: str, method: Mapping[str, Any] | None = None) -> Scenario:
    """Four unused earlier tasks, nearest to the defect in the order q2, q3, q4, q5; q6 harms."""
    return Scenario(
        tasks=6,
        topics={
            "q2": "on the old green oak shelf",
            "q3": "on the old green oak",
            "q4": "on the old green",
            "q5": "on the old",
        },
        learn={"q1": rule(RULE)},
        supply=("q6",),
        scores={"": dict.fromkeys(full, 1.0), RULE: {"q6": 0.0}},
        decisions={
            "content diagnosis": defect(description="on the old green oak shelf"),
            "repair": edits([edit("herbs")]),
        },
        method=method or {},
    )


def test_related_tasks_skip_those_that_can_show_nothing(tell: Tell) -> None:
    story = tell(saturated("q2", "q3"))
    started = story.one(ev.RepairStarted)
    assert (started.skipped, started.related) == (("q2", "q3"), ("q4",))
    assert [c.task for c in story.one(ev.CandidateJudged).comparisons] == ["q6", "q4"]
    # 1 scored, 2 paired, 2 for each task looked at, 2 for the candidate.
    assert story.one(ev.TaskCompleted, index=6).executions_asked == 11


def test_a_task_that_only_no_memory_solves_is_not_skipped(tell: Tell) -> None:
    scenario = saturated("q2")
    table = {**scenario.scores, RULE: {"q2": 0.75, "q6": 0.0}}
    story = tell(attrs.evolve(scenario, scores=table))
    started = story.one(ev.RepairStarted)
    assert (started.skipped, started.related) == ((), ("q2",))


def test_the_search_for_related_tasks_is_bounded(tell: Tell) -> None:
    story = tell(saturated("q2", "q3", method={"related_tries": 2}))
    started = story.one(ev.RepairStarted)
    assert (started.skipped, started.related) == (("q2", "q3"), ())


def test_the_sample_of_retained_tasks_is_bounded_and_follows_the_seed(folder: Path) -> None:
    helped = [f"q{number}" for number in range(2, 7)]
    drawn = set()
    for seed in (1, 2, 3):
        scenario = Scenario(
            tasks=7,
            learn={"q1": rule(RULE)},
            scores={RULE: {**dict.fromkeys(helped, 1.0), "q7": 0.0}},
            decisions={"content diagnosis": defect(), "repair": edits([edit("herbs")])},
            method={"seed": seed, "n2": 0},
        )
        started = play(scenario, folder / str(seed)).one(ev.RepairStarted)
        assert len(started.retention) == 2
        assert set(started.retention) <= set(helped)
        drawn.add(started.retention)
    assert len(drawn) > 1


def test_a_memory_that_its_trigger_retired_comes_back_with_a_repaired_rule(tell: Tell) -> None:
    story = tell(retired_by_its_trigger([edit("herbs")]))
    assert story.transitions() == [
        (4, "m1", "provisional", "inactive", "sustained harm"),
        (4, "m1", "inactive", "provisional", "new version"),
    ]
    assert story.memory().version == 2


def retired_by_its_trigger(*rounds: list[dict[str, Any]]) -> Scenario:
    """Harm on q2 and q3 without a diagnosis, and on q4 with one: the third harmful use."""
    unclear = defect(kind="none")
    return Scenario(
        tasks=4,
        learn={"q1": rule(RULE)},
        scores={RULE: dict.fromkeys(("q2", "q3", "q4"), 0.0)},
        decisions={
            "content diagnosis": by_task({"q2": unclear, "q3": unclear}, defect()),
            "repair": edits(*rounds),
        },
    )


def test_two_harmful_memories_of_one_task_are_each_repaired(tell: Tell) -> None:
    story = tell(
        Scenario(
            tasks=3,
            learn={("q1", "assistant"): rule("see the first herb"), "q1": rule(RULE)},
            supply=("q3",),
            scores={
                "see the first herb": {"q3": 0.0},
                RULE: {"q3": 0.0},
                "see the herbs": {"q3": 1.0},
            },
            decisions={
                "content diagnosis": defect(),
                "repair": edits([edit("herbs")]),
            },
        )
    )
    assert story.labels() == [("m1", "q3", "CONTENT"), ("m2", "q3", "CONTENT")]
    assert [e.outcome for e in story.of(ev.RepairEnded)] == ["committed", "committed"]
    assert [story.memory(m).body for m in ("m1", "m2")] == ["see the herbs", "say the herbs"]
    assert story.of(ev.ExtractionDecided, 3) == []
