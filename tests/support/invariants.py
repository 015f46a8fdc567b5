"""What holds in every log, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
from scenario import Story

from discernmem.eventlog import events as ev
from discernmem.eventlog.log import Recorded
from discernmem.projections.state import State, evolve, state_hash
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.verification import verify_run

RUN_BOUND = frozenset({"evidence", "run", "state_hash"})
"""Fields that hold event ids, which are made of the run's id, or digests of such."""


def check_story(story: Story) -> None:
    """Every invariant of one log."""
    verifies(story)
    replays_offline(story)
    stores_are_the_fold(story)
    scores_stand(story)
    effects_are_paired(story)
    effects_count_once(story)
    only_eligible_memories_are_supplied(story)
    memories_change_by_rule(story)
    repairs_look_back_only(story)


def check_saving(reused: Story, plain: Story) -> None:
    """Serving equal executions from earlier ones saves executions and changes nothing else."""
    assert _conclusions(reused) == _conclusions(plain)
    for completed in reused.of(ev.TaskCompleted):
        asked = completed.executions_asked
        assert reused.executions(completed.index) <= asked
        assert plain.executions(completed.index) == asked


def verifies(story: Story) -> None:
    """The file's own checks find nothing."""
    assert verify_run(story.path).problems == ()


def replays_offline(story: Story) -> None:
    """Every conclusion is derived again from the observations alone."""
    replayed = replay_offline(story.path)
    assert replayed.finished
    conclusions = [r for r in story.events if r.event.KIND == "derived"]
    assert replayed.agreed == len(conclusions)
    assert replayed.tasks == len(story.of(ev.TaskStarted))


def stores_are_the_fold(story: Story) -> None:
    """The store the run had after each task is the fold of the log up to there."""
    before = _states(story)
    for recorded in story.events:
        if isinstance(event := recorded.event, ev.StoreCheckpointed):
            assert event.state_hash == state_hash(before[recorded.position])
    assert len(story.of(ev.StoreCheckpointed)) == len(story.of(ev.TaskStarted))


def scores_stand(story: Story) -> None:
    """A task has one score, of its first execution, and no replay takes that one's place."""
    by_id = {recorded.event_id: recorded for recorded in story.events}
    scored = {event.index: event for event in story.of(ev.TaskScored)}
    assert len(scored) == len(story.of(ev.TaskScored)) == len(story.of(ev.TaskStarted))
    for recorded in story.events:
        event = recorded.event
        if not isinstance(event, ev.TaskScored):
            continue
        execution = by_id[recorded.causation_id or ""].event
        assert isinstance(execution, ev.ExecutionFinished)
        first = story.of(ev.ExecutionFinished, event.index)[0]
        assert execution is first
        assert execution.request == event.execution
        assert (execution.task, execution.score, execution.supplied) == (
            event.task,
            event.score,
            event.supplied,
        )
        assert story.state.history[event.task].score == event.score
    for completed in story.of(ev.TaskCompleted):
        assert completed.score == scored[completed.index].score
    mean = sum(event.score for event in scored.values()) / len(scored)
    assert story.one(ev.RunFinished).mean_score == round(mean, 9)


def effects_are_paired(story: Story) -> None:
    """An effect is the difference of two executions: with only this memory, and with none."""
    made = {(e.request): e for e in story.of(ev.ExecutionFinished)}
    for effect in story.of(ev.EffectMeasured):
        with_memory, without = made[effect.execution_with], made[effect.execution_without]
        assert [(i.memory, i.version) for i in with_memory.supplied] == [
            (effect.memory, effect.version)
        ]
        assert without.supplied == ()
        assert with_memory.task == without.task == effect.task
        assert (effect.score_with, effect.score_without) == (with_memory.score, without.score)


def effects_count_once(story: Story) -> None:
    """A task counts once per version, and never for the memory that was learned on it."""
    recorded = story.of(ev.EffectRecorded)
    counted = Counter((e.memory, e.version, e.task) for e in recorded)
    assert set(counted.values()) <= {1}
    assert all(e.task != story.memory(e.memory).source_task for e in recorded)


def only_eligible_memories_are_supplied(story: Story) -> None:
    """What reaches a role is its own and not inactive; the scored run saw just that."""
    before = _states(story)
    supplied: dict[str, list[tuple[str, int]]] = {}
    for recorded in story.events:
        if isinstance(event := recorded.event, ev.MemorySupplied):
            memory = before[recorded.position].store[event.memory]
            assert memory.state != "inactive"
            assert memory.owner == event.role
            assert memory.version == event.version
            supplied.setdefault(event.task, []).append((event.memory, event.version))
    for event in story.of(ev.TaskScored):
        assert [(i.memory, i.version) for i in event.supplied] == supplied.get(event.task, [])
        for injected in event.supplied:
            assert story.memory(injected.memory).owner == injected.role


def memories_change_by_rule(story: Story) -> None:
    """Conditions are only added, versions count up from an empty record, states change by event."""
    state = State()
    for recorded in story.events:
        after = evolve(state, recorded)
        for memory in state.store.ordered():
            now = after.store[memory.id]
            assert now.use_when[: len(memory.use_when)] == memory.use_when
            assert now.avoid_when[: len(memory.avoid_when)] == memory.avoid_when
            assert now.versions[: len(memory.versions)] == memory.versions
            assert (now.owner, now.source_task) == (memory.owner, memory.source_task)
            if now.state != memory.state:
                assert recorded.type == "StateChanged"
        _check_change(recorded, state, after)
        state = after


def _check_change(recorded: Recorded, before: State, after: State) -> None:
    event = recorded.event
    if isinstance(event, ev.MemoryAdmitted):
        memory = after.store[event.memory]
        assert (memory.state, memory.version) == ("provisional", 1)
    elif isinstance(event, ev.MemoryRevised):
        old, new = before.store[event.memory], after.store[event.memory]
        assert new.version == old.version + 1
        assert (new.use_when, new.avoid_when) == (old.use_when, old.avoid_when)
        assert new.body != old.body
        assert after.evidence.of(event.memory, event.version) == ()
    elif isinstance(event, ev.StateChanged):
        assert event.before == before.store[event.memory].state != event.after
        effects = before.evidence.of_all_versions(event.memory, event.version)
        assert set(event.evidence) <= {effect.event_id for effect in effects}
        assert event.evidence
    elif isinstance(event, ev.RepairEnded) and event.outcome == "committed":
        assert after.store[event.memory].state == "provisional"


def repairs_look_back_only(story: Story) -> None:
    """Validation tasks come before the trigger, are not the source, and never change."""
    index = {event.task: event.index for event in story.of(ev.TaskStarted)}
    for repair in story.of(ev.RepairStarted):
        source = story.memory(repair.memory).source_task
        history = repair.retention + repair.related
        assert len(set(history)) == len(history)
        assert all(index[task] < index[repair.trigger] for task in history)
        assert not {source, repair.trigger} & set(history)
        assert source not in repair.calibration
        expected = [
            *([] if repair.kind == "calibration" else [(repair.trigger, "trigger")]),
            *((task, "retention") for task in repair.retention),
            *((task, "related") for task in repair.related),
            *((task, "calibration") for task in repair.calibration),
        ]
        for judged in story.of(ev.CandidateJudged, repair=repair.repair):
            assert [(c.task, c.purpose) for c in judged.comparisons] == expected
        story.one(ev.RepairEnded, repair=repair.repair)


def _states(story: Story) -> dict[int, State]:
    """Position to the state before the event there."""
    states: dict[int, State] = {}
    state = State()
    for recorded in story.events:
        states[recorded.position] = state
        state = evolve(state, recorded)
    return states


def _conclusions(story: Story) -> list[tuple[int | None, str, dict[str, Any]]]:
    return [
        (
            recorded.task_index,
            recorded.type,
            {k: v for k, v in orjson.loads(recorded.payload).items() if k not in RUN_BOUND},
        )
        for recorded in story.events
        if recorded.event.KIND == "derived"
    ]
