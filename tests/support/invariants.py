"""What holds in every log, whatever happened in it."""

from __future__ import annotations

from typing import Any

import orjson
from scenario import Story

from discernmem.eventlog import events as ev
from discernmem.projections.state import State, evolve
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.verification import verify_run

RUN_BOUND = frozenset({"evidence", "run", "state_hash"})
"""Fields that hold event ids, which are made of the run's id, or digests of such."""


def check_story(story: Story) -> None:
    """Every invariant of one log."""
    verifies(story)
    replays_offline(story)
    scores_stand(story)
    memories_only_grow(story)


def check_saving(reused: Story, plain: Story) -> None:
    """Serving equal executions from earlier ones saves executions and changes nothing else."""
    assert _conclusions(reused) == _conclusions(plain)
    for completed in reused.of(ev.TaskCompleted):
        asked = completed.executions_asked
        assert reused.executions(completed.index) <= asked
        assert plain.executions(completed.index) == asked


def verifies(story: Story) -> None:
    """File, stores and the rules of the method: nothing is wrong with the log."""
    assert verify_run(story.path).problems == ()


def replays_offline(story: Story) -> None:
    """Every conclusion is derived again from the observations alone."""
    replayed = replay_offline(story.path)
    assert replayed.finished
    conclusions = [r for r in story.events if r.event.KIND == "derived"]
    assert replayed.agreed == len(conclusions)
    assert replayed.tasks == len(story.of(ev.TaskStarted))


def scores_stand(story: Story) -> None:
    """The fold gives each task the score of its own execution, whatever was replayed later."""
    scored = story.of(ev.TaskScored)
    assert len(scored) == len(story.of(ev.TaskStarted))
    for event in scored:
        record = story.state.history[event.task]
        assert (record.score, record.execution) == (event.score, event.execution)


def memories_only_grow(story: Story) -> None:
    """The fold keeps what a memory is and was: no rule takes a condition or a version away."""
    state = State()
    for recorded in story.events:
        after = evolve(state, recorded)
        for memory in state.store.ordered():
            now = after.store[memory.id]
            assert now.use_when[: len(memory.use_when)] == memory.use_when
            assert now.avoid_when[: len(memory.avoid_when)] == memory.avoid_when
            assert now.versions[: len(memory.versions)] == memory.versions
            assert (now.owner, now.source_task) == (memory.owner, memory.source_task)
            if now.version != memory.version:
                assert after.evidence.of(now.id, now.version) == ()
        state = after


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
