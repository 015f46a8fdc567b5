"""What the ablations of App. C change: exactly that, and nothing before or beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from golden import listing
from invariants import check_saving, check_story
from judging import judged, tale_of
from lively import LivelyModel, lively_world, quick_folder
from scenario import (
    Scenario,
    Story,
    Tell,
    by_task,
    defect,
    edit,
    edits,
    play,
    rule,
    scope,
)
from scripted import select_all

from discernmem.decisions.settings import ABLATIONS, META_MEMORY, REPAIR_VALIDATION
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.config import Config
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import start
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World

RULE = "say the first herb"
ARMS = [(META_MEMORY,), (REPAIR_VALIDATION,), ABLATIONS]


@pytest.fixture(scope="module")
def tell() -> Iterator[Tell]:
    """As elsewhere, for several scenarios in one test; each is played once."""
    told: list[tuple[Scenario, Story]] = []

    def run(scenario: Scenario) -> Story:
        for known, story in told:
            if known == scenario:
                return story
        reused = play(scenario, folder / f"{len(told)} reused")
        plain = play(scenario, folder / f"{len(told)} plain", reuse=False)
        check_story(reused)
        check_story(plain)
        check_saving(reused, plain)
        told.append((scenario, reused))
        return reused

    with quick_folder() as folder:
        yield run


def without(scenario: Scenario, *ablations: str) -> Scenario:
    return attrs.evolve(scenario, method={**scenario.method, "without": list(ablations)})


def common(full: Story, ablated: Story) -> int:
    """How many of their first events are the same, but for what the header says is left out."""
    pairs = zip(_lines(full), _lines(ablated), strict=False)
    return next(n for n, (left, right) in enumerate(pairs) if left != right)


def _lines(story: Story) -> list[str]:
    header, *others = listing(story)
    fields = json.loads(header)
    del fields[2]["config"]["method"]["without"]
    return [json.dumps(fields), *others]


def place(story: Story, kind: type[ev.Event], task: int) -> int:
    """Where the first event of a type in the cycle of a task is, from 0."""
    return next(
        n for n, r in enumerate(story.events) if r.task_index == task and type(r.event) is kind
    )


def texts(story: Story, kind: str) -> list[str]:
    """The texts of the blobs that the events of a type cite as ``text``."""
    with EventLog.open(story.path) as log:
        return [log.text(r.event.text) for r in log.read(types=[kind])]  # type: ignore[attr-defined]


# -- repair validation -------------------------------------------------------------------------

HARMED = Scenario(
    tasks=5,
    learn={"q1": rule(RULE)},
    supply=("q2", "q4", "q5"),
    scores={
        RULE: {"q2": 0.75, "q4": 0.0},
        "say the worst herb": {"q2": 0.0, "q3": 0.0, "q4": 0.0, "q5": 0.0},
        "say the herbs": {"q2": 0.75, "q3": 0.5, "q4": 1.0, "q5": 1.0},
    },
    decisions={
        "content diagnosis": by_task({"q4": defect()}, {**defect(), "defect": "none"}),
        "repair": edits([edit("nothing", anchor="absent"), edit("worst herb"), edit("herbs")]),
    },
)
"""A rule that helps on q2 and harms on q4, where the last of three edits would mend it."""


def test_without_repair_validation_the_first_candidate_that_can_be_made_is_committed_untried(
    tell: Tell,
) -> None:
    full, ablated = tell(HARMED), tell(without(HARMED, REPAIR_VALIDATION))
    assert full.memory().body == "say the herbs"
    assert ablated.derived(4)[9:] == [
        "RepairStarted",
        "RepairProposed",
        "CandidateProposed",
        "CandidateProposed",
        "MemoryRevised",
        "RepairEnded",
        "TaskCompleted",
        "StoreCheckpointed",
    ]
    assert [e.problem != "" for e in ablated.of(ev.CandidateProposed)] == [True, False]
    revised = ablated.one(ev.MemoryRevised)
    assert (revised.body, revised.round, revised.number) == ("say the worst herb", 1, 2)
    assert revised.capability is None
    assert ablated.memory().state == "provisional"
    assert ablated.one(ev.RepairEnded).outcome == "committed"


def test_nothing_differs_before_the_first_repair_that_is_not_validated(tell: Tell) -> None:
    full, ablated = tell(HARMED), tell(without(HARMED, REPAIR_VALIDATION))
    # The full run replays the parent on the history before its repair starts.
    assert common(full, ablated) == place(ablated, ev.RepairStarted, 4)
    assert ablated.events[place(ablated, ev.RepairStarted, 4) - 1].type == "EffectRecorded"


def test_an_unvalidated_repair_costs_no_execution_and_draws_no_history(tell: Tell) -> None:
    full, ablated = tell(HARMED), tell(without(HARMED, REPAIR_VALIDATION))
    started = full.one(ev.RepairStarted)
    assert (started.retention, started.related) == (("q2",), ("q3",))
    bare = ablated.one(ev.RepairStarted)
    assert (bare.retention, bare.related, bare.skipped, len(bare.evidence)) == ((), (), (), 2)
    # One scored, and the pair that measured the harm.
    assert ablated.one(ev.TaskCompleted, index=4).executions_asked == 3
    assert ablated.of(ev.CandidateJudged) == []


def test_the_repair_itself_is_asked_for_as_ever(tell: Tell) -> None:
    full, ablated = tell(HARMED), tell(without(HARMED, REPAIR_VALIDATION))
    assert ablated.model.asked("repair") == full.model.asked("repair")


def test_effects_and_lifecycle_go_on_after_an_unvalidated_repair(tell: Tell) -> None:
    ablated = tell(without(HARMED, REPAIR_VALIDATION))
    assert [(e.task, e.sign, e.label) for e in ablated.effects(version=2)] == [
        ("q5", "negative", "NONE")
    ]
    assert ("m1", "q5", "NONE") in ablated.labels()


def test_a_repair_none_of_whose_edits_can_be_made_fails_in_all_its_rounds(tell: Tell) -> None:
    hopeless = [edit("nothing", anchor="absent")]
    decisions = {**HARMED.decisions, "repair": edits(hopeless, hopeless, hopeless)}
    story = tell(without(attrs.evolve(HARMED, decisions=decisions), REPAIR_VALIDATION))
    ended = story.one(ev.RepairEnded)
    assert (ended.outcome, ended.rounds) == ("failed", 3)
    assert story.memory().state == "inactive"
    assert story.transitions()[-1][4] == "failed repair"


def test_a_repair_after_calibration_is_not_validated_either(tell: Tell) -> None:
    scenario = Scenario(
        tasks=2,
        learn={"q2": rule(RULE)},
        supply=(),
        scores={RULE: {"q1": 0.0}, "say the worst herb": {"q1": 0.0}},
        decisions={
            "repair": edits([edit("worst herb", cited=()), edit("herbs", cited=())]),
        },
    )
    full, ablated = tell(scenario), tell(without(scenario, REPAIR_VALIDATION))
    assert full.memory().body == "say the herbs"
    assert ablated.memory().body == "say the worst herb"
    assert ablated.one(ev.RepairStarted).calibration == ("q1",)
    assert ablated.of(ev.CandidateJudged) == []
    assert common(full, ablated) == place(full, ev.CandidateProposed, 2) + 1


# -- meta-memory -------------------------------------------------------------------------------

SHARED = Scenario(
    tasks=4,
    learn={"q1": rule(RULE, use=("a jar is named",), avoid=("the jar is empty",))},
    supply=("q2", "q3", "q4"),
    scores={RULE: {"q2": 0.75, "q3": 0.75, "q4": 0.0}},
    decisions={
        "generalisation": {"reason": "", "use_when": ["herbs are asked for"]},
        "scope check": by_task({"q4": scope(use=False, boundary="the jar is the fourth")}, scope()),
    },
)
"""A rule of the last role that helps on q2 and q3 and harms on q4."""

LEADING = Scenario(
    tasks=3,
    learn={"q1": rule(RULE)},
    supply=("q2", "q3"),
    scores={RULE: {"q2": 0.75, "q3": 0.0}, "say the herbs": {"q2": 0.75, "q3": 1.0}},
    decisions={
        "selection": lambda prompt: (
            select_all(prompt)
            if "TEAM MEMBER:\n> assistant" in prompt
            else {"reason": "", "selected": []}
        ),
        "content diagnosis": defect("with:s1"),
        "repair": edits([edit("herbs", cited=("with:s1",))]),
    },
)
"""A rule of the last role that only its colleague is given."""


def test_without_meta_memory_a_rule_reaches_every_role_that_retrieves_it(tell: Tell) -> None:
    full, ablated = tell(SHARED), tell(without(SHARED, META_MEMORY))
    assert {(e.role, e.memory) for e in full.of(ev.MemorySupplied)} == {("user_proxy", "m1")}
    assert [(e.role, e.memory) for e in ablated.of(ev.MemorySupplied, 2)] == [
        ("assistant", "m1"),
        ("user_proxy", "m1"),
    ]
    assert [(e.role, e.memory) for e in ablated.one(ev.TaskScored, 2).supplied] == [
        ("assistant", "m1"),
        ("user_proxy", "m1"),
    ]
    assert ablated.memory().owner == "user_proxy"


def test_nothing_differs_before_the_first_retrieval_without_meta_memory(tell: Tell) -> None:
    full, ablated = tell(SHARED), tell(without(SHARED, META_MEMORY))
    assert common(full, ablated) == place(ablated, ev.ContextObserved, 2) + 1


def test_rules_are_found_by_their_bodies_alone_and_shown_without_conditions(tell: Tell) -> None:
    full, ablated = tell(SHARED), tell(without(SHARED, META_MEMORY))
    assert f"{RULE}\na jar is named" in texts(full, "TextEmbedded")
    assert RULE not in texts(full, "TextEmbedded")
    assert RULE in texts(ablated, "TextEmbedded")
    assert not any("a jar is named" in text for text in texts(ablated, "TextEmbedded"))
    conditions = {c.text for c in (*ablated.memory().use_when, *ablated.memory().avoid_when)}
    reading = ("assistant", "user_proxy", "selection")
    for story, shown in ((full, True), (ablated, False)):
        prompts = [p for purpose in reading for p in story.model.asked(purpose) if RULE in p]
        assert len(prompts) > 4
        assert any(text in p for p in prompts for text in conditions) == shown
        assert any("use when" in p or "avoid when" in p for p in prompts) == shown


def test_a_memory_supplied_to_two_roles_is_one_use_under_what_both_had_seen(tell: Tell) -> None:
    ablated = tell(without(SHARED, META_MEMORY))
    measured = ablated.one(ev.EffectMeasured, 2)
    assert measured.effect == 0.25
    scored = ablated.one(ev.TaskScored, 2)
    assert measured.execution_with == scored.execution
    assert ablated.one(ev.TaskCompleted, index=2).executions_asked == 3
    with EventLog.open(ablated.path) as log:
        read = log.text(ablated.one(ev.ScopeChecked, 2).context)
        seen = [log.text(e.context) for e in ablated.of(ev.ContextObserved, 2)]
    assert read == "\n\n".join(seen)
    (prompt, *_) = ablated.model.asked("scope check")
    assert "TEAM MEMBER:\n> assistant and user_proxy" in prompt
    assert "a jar is named" in prompt


def test_effects_conditions_and_states_are_learned_all_the_same(tell: Tell) -> None:
    full, ablated = tell(SHARED), tell(without(SHARED, META_MEMORY))
    for story in (full, ablated):
        assert [(e.task, e.sign, e.label) for e in story.effects()] == [
            ("q2", "positive", "NONE"),
            ("q3", "positive", "NONE"),
            ("q4", "negative", "SCOPE"),
        ]
        memory = story.memory()
        assert memory.use_texts == ("a jar is named", "herbs are asked for")
        assert memory.avoid_texts == ("the jar is empty", "the jar is the fourth")
        assert story.transitions() == [(3, "m1", "provisional", "active", "promotion")]


def test_a_rule_is_measured_and_repaired_where_it_was_used(tell: Tell) -> None:
    ablated = tell(without(LEADING, META_MEMORY))
    assert {e.role for e in ablated.of(ev.MemorySupplied)} == {"assistant"}
    given = {each.role for e in ablated.of(ev.ExecutionFinished) for each in e.supplied}
    assert given == {"assistant"}
    assert [(e.task, e.effect) for e in ablated.of(ev.EffectMeasured)] == [
        ("q2", 0.25),
        ("q3", -0.5),
    ]
    assert ablated.one(ev.RepairStarted).retention == ("q2",)
    assert ablated.one(ev.CandidateJudged).accepted
    assert ablated.memory().body == "say the herbs"
    assert ablated.memory().owner == "user_proxy"


def test_a_new_rule_is_still_tried_with_its_owner_and_matched_among_its_own(tell: Tell) -> None:
    scenario = Scenario(
        tasks=2,
        learn={"q1": rule(RULE), ("q2", "assistant"): rule("name a herb"), "q2": rule("say herb")},
        supply=(),
    )
    full, ablated = tell(scenario), tell(without(scenario, META_MEMORY))
    judged_by = [(e.role, [c.memory for c in e.candidates]) for e in full.of(ev.IdentityJudged)]
    assert judged_by == [("user_proxy", ["m1"])]
    assert [
        (e.role, [c.memory for c in e.candidates]) for e in ablated.of(ev.IdentityJudged)
    ] == judged_by
    given = [(each.memory, each.role) for e in ablated.of(ev.ExecutionFinished, 2)
             for each in e.supplied]  # fmt: skip
    assert given == [("m2", "assistant"), ("m3", "user_proxy")]


def test_nothing_that_is_inactive_reaches_anyone(tell: Tell) -> None:
    retired = attrs.evolve(
        HARMED, decisions={**HARMED.decisions, "repair": {"reason": "", "edits": []}}
    )
    story = tell(without(retired, META_MEMORY))
    assert story.memory().state == "inactive"
    assert story.of(ev.MemoriesRetrieved, 5) == []


# -- all arms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ablations", ARMS, ids=["meta-memory", "repair-validation", "both"])
@pytest.mark.parametrize("seed", range(2))
def test_an_ablated_run_verifies_and_replays_offline(
    folder: Path, seed: int, ablations: tuple[str, ...]
) -> None:
    log = folder / "run.db"
    start(log, lively_world(folder, seed, tasks=8, method={"without": list(ablations)}))
    assert verify_run(log).problems == ()
    assert replay_offline(log).finished


@pytest.mark.parametrize(
    ("scenario", "done", "said", "problem"),
    [
        (HARMED, (), (REPAIR_VALIDATION,), "RepairStarted of m1: retention is ('q2',)"),
        (HARMED, (REPAIR_VALIDATION,), (), "RepairStarted of m1: retention is ()"),
        (SHARED, (), (META_MEMORY,), "MemoriesRetrieved of assistant is due here"),
        (SHARED, (META_MEMORY,), (), "ContextObserved of user_proxy is due here"),
        (LEADING, ABLATIONS, (REPAIR_VALIDATION,), "ContextObserved of user_proxy is due here"),
        (LEADING, ABLATIONS, (META_MEMORY,), "RepairStarted of m1: retention is ()"),
    ],
)
def test_a_header_that_says_otherwise_is_seen_through(
    tell: Tell, scenario: Scenario, done: tuple[str, ...], said: tuple[str, ...], problem: str
) -> None:
    tale = tale_of(tell(without(scenario, *done)).path)
    assert judged(tale) == []
    config = tale.at(1).event.config  # type: ignore[attr-defined]
    method = config["method"] | {"without": list(said)}
    found = judged(tale.changed(1, config=config | {"method": method}))
    assert problem in found[0][1]


@pytest.mark.parametrize("ablations", ARMS, ids=["meta-memory", "repair-validation", "both"])
def test_a_fork_goes_on_without_and_leaves_the_past_as_it_was(
    folder: Path, ablations: tuple[str, ...]
) -> None:
    seed, at = 3, 4
    full, forked = folder / "full.db", folder / "forked.db"
    start(full, lively_world(folder, seed, tasks=10))

    def open_(config: Config, *_: object) -> World:
        world = lively_world(folder, seed, tasks=10)
        return attrs.evolve(world, config=config, model=LivelyModel(seed))

    changed = {"method.without": list(ablations)}
    fork(Branch(origin=full, at=at, changed=changed), forked, open_=open_)
    assert verify_run(forked).problems == ()
    assert replay_offline(forked).finished
    with EventLog.open(forked) as log:
        kinds = {r.type for r in log.read(after=log.position_at_task(at))}
        (header,) = log.read(types=["RunForked"])
        assert header.event.config["method"]["without"] == list(ablations)  # type: ignore[attr-defined]
    assert ("CandidateJudged" in kinds) == (REPAIR_VALIDATION not in ablations)
