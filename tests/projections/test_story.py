"""Turning points: each tells all that led to it, with the place of every number."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lively import admitted, quick_folder, record
from scenario import play
from scripted import BagEmbedder
from turned import RULE, SCENARIOS, stepped_into, told

from discernmem.decisions import lifecycle
from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.eventlog.errors import BadInput
from discernmem.eventlog.log import Recorded
from discernmem.projections.facts import Fact
from discernmem.projections.meanings import meaning
from discernmem.projections.state import fold
from discernmem.projections.story import Story, story
from discernmem.projections.turning import Turn
from discernmem.projections.uses import Use
from discernmem.replayers.config import Config
from discernmem.replayers.forking import Branch, fork
from discernmem.replayers.world import World, open_world

METHOD = {"epsilon": 0.01, "n1": 2, "n2": 1, "rounds": 3, "candidates": 3}


def last(name: str) -> tuple[Turn, dict[int, Recorded]]:
    """The last turning point of m1 in a scenario, and the events of the log by position."""
    with told(name) as log:
        turn = story(log, "m1").turns[-1]
        events = {recorded.position: recorded for recorded in log.read()}
    check_places(turn, events)
    return turn, events


def facts_of(turn: Turn) -> Iterator[Fact[ev.Event] | None]:
    yield from (turn.changed, turn.revised, turn.override)
    for use in (*turn.rests_on, *([turn.use] if turn.use else [])):
        yield from facts_of_use(use)
    if turn.repair is not None:
        yield from (turn.repair.started, turn.repair.ended)
        yield from facts_of_use(turn.repair.trigger)
        for judge in turn.repair.judges:
            yield from (judge.parent, judge.none)
        for each in turn.repair.rounds:
            yield each.proposed
        for candidate in turn.repair.candidates:
            yield from (candidate.proposed, candidate.judged)
            yield from (trial.execution for trial in candidate.trials)


def facts_of_use(use: Use) -> Iterator[Fact[ev.Event] | None]:
    yield from (use.begun, use.measured, use.with_memory, use.without, use.scope)
    yield from (use.diagnosis, use.label, use.recorded, use.boundary)


def check_places(turn: Turn, events: dict[int, Recorded]) -> None:
    """Every fact is what the log says at its place, and is among the events it rests on."""
    listed = {recorded.position for recorded in turn.events}
    for fact in facts_of(turn):
        if fact is not None:
            assert events[fact.position].event == fact.event
            assert events[fact.position].event_id == fact.event_id
            assert fact.position in listed
    assert [r.position for r in turn.events] == sorted(listed)


def signs(turn: Turn) -> list[tuple[str, str]]:
    return [(use.measured.event.task, use.measured.event.sign) for use in turn.rests_on]


def test_a_committed_repair_tells_the_harm_the_edits_and_what_each_scored() -> None:
    turn, _ = last("committed")
    assert (turn.kind, turn.version, turn.task_index) == ("version", 1, 4)
    assert turn.changed is not None
    assert (turn.changed.event.before, turn.changed.event.after) == ("active", "provisional")
    assert "empty record" in turn.meaning
    assert "".join(p.text for p in turn.diff if p.kind != "new") == RULE
    assert "".join(p.text for p in turn.diff if p.kind != "gone") == "say the herbs"
    use = turn.use
    assert use is not None
    effect = use.measured.event
    assert (effect.score_with, effect.score_without, effect.effect) == (0.0, 0.5, -0.5)
    assert (use.with_memory.event.score, use.without.event.score) == (0.0, 0.5)
    assert use.scope is not None
    assert (use.scope.event.use, use.scope.event.avoid) == (True, False)
    assert use.diagnosis is not None
    assert use.diagnosis.event.supported
    assert use.cited == ("with:s2", "none:s1")
    assert use.label is not None
    assert use.label.event.label == "CONTENT"
    repair = turn.repair
    assert repair is not None
    assert repair.trigger == use
    assert [(judge.purpose, judge.none.event.score) for judge in repair.judges] == [
        ("trigger", 0.5),
        ("retention", 0.5),
    ]
    assert [judge.parent.event.score for judge in repair.judges] == [0.0, 1.0]
    worse, absent, good = repair.candidates
    assert absent.proposed.event.problem == "anchor not found"
    assert (absent.judged, absent.trials, absent.diff) == (None, (), ())
    assert worse.judged is not None
    assert not worse.judged.event.accepted
    assert [t.comparison.candidate for t in worse.trials] == [
        t.execution.event.score for t in worse.trials
    ]
    assert (worse.committed, good.committed) == (False, True)
    assert (good.trials[0].comparison.task, good.trials[0].execution.event.score) == ("q4", 1.0)
    assert repair.ended is not None
    assert repair.ended.event.outcome == "committed"
    assert "0.01" in turn.bar


def test_a_failed_repair_tells_every_round_and_why_each_candidate_was_rejected() -> None:
    turn, _ = last("failed")
    assert turn.kind == "state"
    assert turn.changed is not None
    assert turn.changed.event.rule == "failed repair"
    assert "up to 1 task for retention" in turn.meaning
    repair = turn.repair
    assert repair is not None
    assert [len(each.candidates) for each in repair.rounds] == [1, 1, 0]
    judged, absent = repair.candidates
    assert judged.judged is not None
    assert (judged.judged.event.rejected_by, judged.judged.event.accepted) == ("q2", False)
    assert absent.proposed.event.problem
    assert repair.ended is not None
    assert (repair.ended.event.outcome, repair.ended.event.rounds) == ("failed", 3)
    assert signs(turn) == [("q4", "negative")]


def test_a_calibration_repair_that_kept_the_rule_is_told_though_nothing_changed() -> None:
    turn, _ = last("kept")
    assert (turn.kind, turn.changed, turn.revised, turn.meaning) == ("repair", None, None, "")
    assert turn.repair is not None
    assert [judge.purpose for judge in turn.repair.judges] == ["calibration"]
    use = turn.repair.trigger
    assert (use.scope, use.diagnosis, use.label) == (None, None, None)
    assert use.recorded is not None
    assert turn.repair.ended is not None
    assert turn.repair.ended.event.outcome == "kept"


def test_a_candidate_committed_untried_has_no_verdict() -> None:
    turn, _ = last("untried")
    assert turn.repair is not None
    (candidate,) = turn.repair.candidates
    assert (candidate.judged, candidate.trials, candidate.committed) == (None, (), True)
    assert "tries no candidate" in turn.bar


@pytest.mark.parametrize(
    ("name", "rests_on"),
    [
        ("promotion", [("q2", "positive"), ("q3", "positive")]),
        ("sustained harm", [("q4", "negative"), ("q5", "negative"), ("q6", "negative")]),
        ("ineffectiveness", [(f"q{number}", "neutral") for number in range(2, 7)]),
        ("revival", [("q5", "positive")]),
    ],
)
def test_a_transition_by_effects_lists_all_that_it_rests_on(
    name: str, rests_on: list[tuple[str, str]]
) -> None:
    turn, _ = last(name)
    assert turn.changed is not None
    assert (turn.kind, turn.changed.event.rule) == ("state", name)
    assert signs(turn) == rests_on
    assert turn.use == turn.rests_on[-1]
    assert (turn.repair, turn.override, turn.diff) == (None, None, ())
    assert turn.meaning


def test_a_persons_decisions_are_turning_points_with_name_and_reason() -> None:
    with stepped_into() as (log, name):
        turns = [turn for turn in story(log, name).turns if turn.override is not None]
        events = {recorded.position: recorded for recorded in log.read()}
    for turn in turns:
        check_places(turn, events)
        assert (turn.task_index, turn.after_task) == (None, 3)
        assert turn.override is not None
        assert turn.override.event.by == "ada"
        assert turn.override.event.reason == f"to {turn.override.event.action}"
        assert (turn.use, turn.repair) == (None, None)
    assert [t.kind for t in turns] == ["version", "state", "state"]
    assert [t.changed.event.after for t in turns[1:] if t.changed] == ["inactive", "provisional"]
    assert "".join(p.text for p in turns[0].diff if p.kind != "gone") == "Look <b>once</b>"


def test_a_turning_point_after_a_fork_is_told_with_the_settings_of_the_fork() -> None:
    with quick_folder() as folder:
        origin, forked = play(SCENARIOS["failed"], folder / "run"), folder / "forked.db"
        branch = Branch(origin=origin.path, at=3, changed={"method.rounds": 1, "method.n1": 2})

        def world(config: Config, *_: object) -> World:
            with contextlib.chdir(folder / "run"):
                return open_world(config, model=origin.model, embedder=BagEmbedder())

        fork(branch, forked, open_=world)
        with EventLog.open(forked) as log:
            before, after = story(log, "m1").turns
    assert (before.task_index, after.task_index) == (3, 4)
    assert "up to 2 tasks for retention and up to 1 related task, " in after.meaning
    assert "in up to 1 round of up to 3 edits" in after.meaning
    assert after.repair is not None
    assert len(after.repair.rounds) == 1


def test_words_name_the_numbers_that_the_rules_have() -> None:
    assert f"at least {lifecycle.PROMOTION_TASKS} tasks" in meaning("promotion", METHOD)
    harm = meaning("sustained harm", METHOD)
    assert f"at least {lifecycle.HARM_TASKS} tasks" in harm
    assert f"at least {lifecycle.HARM_NEGATIVES} of them negative" in harm
    assert f"its {lifecycle.HARM_STREAK} latest" in harm
    assert "while provisional" in harm
    assert "while active" in harm
    assert f"at least {lifecycle.INEFFECTIVE_TASKS} tasks" in meaning("ineffectiveness", METHOD)


def test_harm_is_told_by_the_state_it_ended() -> None:
    provisional = meaning("sustained harm", METHOD, "provisional")
    active = meaning("sustained harm", METHOD, "active")
    assert f"at least {lifecycle.HARM_TASKS} tasks" in provisional
    assert "latest" not in provisional
    assert active.endswith(f": its {lifecycle.HARM_STREAK} latest effects all negative")


def test_a_run_that_tries_no_candidate_does_not_say_that_none_passed() -> None:
    untried = meaning("failed repair", {**METHOD, "without": ["repair-validation"]})
    assert "passed" not in untried
    assert "passed" in meaning("failed repair", {**METHOD, "without": ["meta-memory"]})


def test_every_rule_has_its_words() -> None:
    for rule in {each.name for each in lifecycle.RULES} | {"override"}:
        assert meaning(rule, METHOD)  # type: ignore[arg-type]


@settings(max_examples=12)
@given(st.integers(0, 400))
def test_every_change_is_told_once_and_the_line_is_the_fold_at_each_task(seed: int) -> None:
    with quick_folder() as folder, EventLog.open(record(folder, seed, tasks=8)) as log:
        for name in admitted(log):
            told_story = story(log, name)
            check_line(log, told_story)
            check_turns(log, told_story)


def check_line(log: EventLog, told_story: Story) -> None:
    name = told_story.memory.id
    for task in range(told_story.line.begun + 1):
        next_begins = log.first_of_task(task + 1)
        state = fold(log.read(until=next_begins - 1 if next_begins else None))
        stretches = reversed(told_story.line.stretches)
        stretch = next((each for each in stretches if each.after <= task), None)
        if name not in state.store:
            assert stretch is None
        else:
            assert stretch is not None
            memory = state.store[name]
            assert (stretch.state, stretch.version) == (memory.state, memory.version)
    assert told_story.memory == fold(log.read()).store[name]


def check_turns(log: EventLog, told_story: Story) -> None:
    events = {recorded.position: recorded for recorded in log.read()}
    stream = list(log.read(stream=f"memory:{told_story.memory.id}"))
    shown: list[int] = []
    for turn in told_story.turns:
        check_places(turn, events)
        ended = turn.repair.ended if turn.repair and turn.kind != "state" else None
        failed = turn.repair.ended if turn.repair and turn.kind == "state" else None
        made = (turn.changed, turn.revised, ended, failed)
        shown += [fact.position for fact in made if fact is not None]
    turning = ("StateChanged", "MemoryRevised", "RepairEnded")
    assert sorted(shown) == [r.position for r in stream if r.type in turning]


def test_the_line_of_a_memory_that_a_person_changed_is_the_fold_at_each_task() -> None:
    with stepped_into() as (log, name):
        check_line(log, story(log, name))


def test_a_story_of_a_memory_that_is_not_there_is_refused() -> None:
    with told("promotion") as log, pytest.raises(BadInput, match="has no memory 'm7'"):
        story(log, "m7")
