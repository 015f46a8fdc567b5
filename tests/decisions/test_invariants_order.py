"""What is missing, too much or elsewhere in a log is named, and what cannot be judged is not."""

from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest
from judging import Tale, judged, made, named
from judging import rich_tale as tale

from discernmem.eventlog import events as ev

# -- what is missing, too much or elsewhere ----------------------------------------------------


@pytest.mark.parametrize("kind", [name for name in ev.DERIVED if name in dir(ev)])
def test_a_conclusion_left_out_is_named_at_what_came_instead(kind: str) -> None:
    left_out = [r.position for r in tale().events if r.type == kind and r.position > 1]
    for position in left_out[:3]:
        following = next(
            (
                r.position
                for r in tale().events
                if r.position > position
                and (r.event.KIND == "derived" or r.type in ("TaskStarted", "ContextObserved"))
            ),
            None,
        )
        if following is not None:
            message = named(tale().without(position), following)
            assert kind in message
            assert "is due" in message or "the rules give" in message


def test_a_transition_that_was_not_made_is_named() -> None:
    position = tale().position(ev.StateChanged)
    memory = tale().at(position).event.memory  # type: ignore[attr-defined]
    assert f"StateChanged of {memory} is due here" in judged(tale().without(position))[0][1]


@pytest.mark.parametrize("kind", ["EffectRecorded", "MemoryAdmitted", "TaskScored", "StateChanged"])
def test_a_conclusion_drawn_twice_is_named_the_second_time(kind: str) -> None:
    position = tale().position(getattr(ev, kind))
    again = tale().at(position)._replace(position=position, event_id="again")
    ((at, message), *_) = judged(tale().with_after(position, again))
    assert at == position
    assert message.startswith(kind)
    assert "is due here" in message or "the rules give" in message


def test_two_conclusions_in_the_wrong_order_are_named_at_the_first() -> None:
    position = tale().position(ev.UseAttributed)
    moved = tale().at(position)
    swapped = (
        tale()
        .without(position)
        .with_after(tale().position(ev.EffectRecorded, lambda e: e.origin == "reuse"), moved)
    )
    assert "UseAttributed of" in judged(swapped)[0][1]


def test_after_a_content_label_nothing_new_is_learned() -> None:
    position = tale().position(ev.UseAttributed, lambda e: e.label == "CONTENT")
    index = tale().at(position).task_index
    completed = tale().position(ev.TaskCompleted, lambda e: e.index == index)
    elsewhere = tale().at(tale().position(ev.ExtractionDecided))
    learned = elsewhere._replace(position=completed, task_index=index)
    before = max(r.position for r in tale().events if r.position < completed)
    assert "TaskCompleted is due here" in named(tale().with_after(before, learned), completed)


def test_a_wrong_cause_is_named() -> None:
    position = tale().position(ev.EffectRecorded)
    assert "cause is 'another'" in named(tale().caused(position, "another"), position)


def test_an_event_ascribed_to_another_task_is_named() -> None:
    position = tale().position(ev.EffectMeasured)
    assert "as an event of task 99" in named(tale().placed(position, 99), position)


def test_a_conclusion_between_tasks_follows_from_nothing() -> None:
    position = tale().position(ev.StoreCheckpointed)
    changed = (
        tale().at(tale().position(ev.StateChanged))._replace(position=position, task_index=None)
    )
    told = judged(tale().with_after(position, changed), until=position + 1)
    assert [at for at, _ in told] == [position]
    assert "follows from nothing before it" in told[0][1]


def test_a_task_begins_when_the_one_before_is_complete() -> None:
    position = tale().position(ev.StoreCheckpointed)
    assert "StoreCheckpointed is due before it" in named(tale().without(position), position + 1)


def test_a_second_beginning_is_named() -> None:
    position = tale().position(ev.StoreCheckpointed)
    again = tale().at(1)._replace(position=position)
    told = judged(tale().with_after(position, again), until=position + 1)
    assert told == [(position, "RunStarted: a log has one RunStarted")]


# -- stored executions -------------------------------------------------------------------------


def first_execution() -> tuple[int, ev.ExecutionFinished, list[dict[str, str]]]:
    position = tale().position(ev.ExecutionFinished)
    event = tale().at(position).event
    assert isinstance(event, ev.ExecutionFinished)
    return position, event, orjson.loads(tale().blobs[event.trajectory])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("text", "something else", "does not say what its reply says"),
        ("reply", "0" * 24, "no earlier reply of a model"),
        ("role", "another", "cites a reply for role of"),
        ("id", "s9", "step 1 of the trajectory is called s9"),
    ],
)
def test_a_step_that_is_not_its_reply_is_named(field: str, value: str, words: str) -> None:
    position, event, steps = first_execution()
    steps[0][field] = value
    changed = tale().with_blob(event.trajectory, orjson.dumps(steps))
    assert words in judged(changed, until=position)[0][1]


def test_a_reply_that_no_longer_says_its_step_is_named_at_the_execution() -> None:
    position, _, steps = first_execution()
    reply = next(r for r in tale().events if r.event_id == steps[0]["reply"])
    assert "does not say" in named(tale().changed(reply.position, text="another"), position)


def test_a_trajectory_that_is_none_is_named() -> None:
    position, event, _ = first_execution()
    changed = tale().with_blob(event.trajectory, b'{"steps":[]}')
    assert "trajectory is none" in judged(changed, until=position)[0][1]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}"])
def test_contexts_that_were_not_observed_are_named(content: bytes) -> None:
    position, event, _ = first_execution()
    message = named(tale().with_blob(event.contexts, content), position)
    assert message.startswith("ExecutionFinished: contexts")


def test_an_effect_of_swapped_executions_is_named() -> None:
    position = tale().position(ev.EffectMeasured)
    event = tale().at(position).event
    assert isinstance(event, ev.EffectMeasured)
    told = judged(tale().changed(position, evidence=event.evidence[::-1]), until=position)
    assert {at for at, _ in told} == {position}
    assert "ran with other memories than this one" in told[0][1]


def test_an_execution_served_again_although_none_is_reused_is_named() -> None:
    config = tale().at(1).event.config  # type: ignore[attr-defined]
    told = judged(tale().changed(1, config=config | {"reuse": False}))
    assert told
    assert all("executions are not reused" in message for _, message in told)


# -- forks and people --------------------------------------------------------------------------


def forked(at: int, **changed: Any) -> tuple[Tale, int]:
    """The rich run with a fork after a task that changes settings of the method."""
    header = tale().at(1).event
    assert isinstance(header, ev.RunStarted)
    config = header.config | {"method": header.config["method"] | changed}
    fork = ev.RunForked(
        **{**header.__dict__, "config": config},
        origin="another",
        position=1,
        hash="0" * 64,
        path="run.db",
        changed={},
    )
    position = tale().position(ev.StoreCheckpointed, lambda e: e.index == at)
    return tale().with_after(position, made(fork, "fork", position=position)), position


def decided(memory: str, *, reason: str = "a test") -> ev.MemoryOverridden:
    return ev.MemoryOverridden(
        memory=memory,
        version=1,
        body="0" * 64,
        action="retire",
        kind=None,
        text="",
        reason=reason,
        by="a tester",
    )


def test_a_fork_that_changes_nothing_breaks_no_rule() -> None:
    assert judged(forked(4)[0]) == []


def test_a_fork_changes_the_settings_from_there_on() -> None:
    changed, position = forked(4, epsilon=2.0)
    told = judged(changed)
    assert told
    assert all(at > position for at, _ in told)
    assert "the rules give 'neutral'" in told[0][1]


def test_a_decision_of_nobody_is_named() -> None:
    position = tale().position(ev.StoreCheckpointed, lambda e: e.index == 11)
    event = ev.StateChanged(
        memory="m1",
        version=1,
        before="active",
        after="inactive",
        rule="override",
        evidence=(),
    )
    changed = tale().with_after(position, made(event, "x", "y", position))
    told = judged(changed, until=position + 1)
    assert told == [(position, "StateChanged of m1: follows from nothing before it")]


def test_a_decision_without_a_reason_is_named() -> None:
    position = tale().position(ev.StoreCheckpointed, lambda e: e.index == 11)
    admitted = tale().at(tale().position(ev.MemoryAdmitted)).event
    assert isinstance(admitted, ev.MemoryAdmitted)
    decision = decided(admitted.memory, reason=" ")
    told = judged(tale().with_after(position, made(decision, "x", None, position)))
    assert (position, "MemoryOverridden of m1: has no reason, or nobody's name") in told


def test_a_decision_that_could_not_be_carried_out_is_named() -> None:
    position = tale().position(ev.StoreCheckpointed, lambda e: e.index == 11)
    decision = decided("m99")
    told = judged(tale().with_after(position, made(decision, "x", None, position)))
    assert told[0] == (position, "MemoryOverridden of m99: there is no such memory")


# -- logs that cannot be judged ----------------------------------------------------------------


def test_a_log_that_does_not_begin_with_a_run_is_named_once() -> None:
    assert judged(tale().without(1)) == [(2, "TaskStarted: a log begins with RunStarted")]


def test_a_log_of_other_rules_is_not_judged() -> None:
    other = (
        tale()
        .changed(1, decision_version="another")
        .changed(tale().position(ev.TaskScored), score=0.3)
    )
    assert judged(other) == []


def test_a_header_that_cannot_be_read_is_named() -> None:
    assert "is none of a run" in named(tale().changed(1, config={}), 1)


def test_any_beginning_of_a_run_breaks_no_rule() -> None:
    for length in range(0, len(tale().events), 37):
        assert judged(attrs.evolve(tale(), events=tale().events[:length])) == []
