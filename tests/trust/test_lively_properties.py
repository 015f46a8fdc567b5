"""What must hold of every run, over runs whose every answer is drawn by lot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lively import lively_world, quick_folder

from discernmem.eventlog import EventLog, Recorded
from discernmem.eventlog import events as ev
from discernmem.projections.state import State, evolve, state_hash
from discernmem.replayers import session
from discernmem.replayers.journal import Journal
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.run import Run
from discernmem.replayers.session import start

runs = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 10**6)


@contextmanager
def recorded(seed: int, **options: Any) -> Iterator[tuple[Path, list[Recorded]]]:
    with quick_folder() as folder:
        log = folder / "run.db"
        start(log, lively_world(folder, seed, tasks=5, **options))
        with EventLog.open(log) as opened:
            yield log, list(opened.read())


@runs
@given(SEEDS)
def test_the_live_state_is_the_fold_of_the_log_after_every_event(seed: int) -> None:
    live: dict[int, State] = {}

    class Watched(Journal):
        def observe(self, *args: Any, **options: Any) -> Recorded:
            return self._note(super().observe(*args, **options))

        def emit(self, *args: Any, **options: Any) -> Recorded:
            return self._note(super().emit(*args, **options))

        def _note(self, found: Recorded) -> Recorded:
            live[self.log.head().position] = self.state
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "Journal", Watched)
        with recorded(seed) as (_, events):
            state = State()
            for each in events:
                state = evolve(state, each)
                if each.position > 1:  # the header is written before there is a journal
                    assert live[each.position] == state, each.position


@runs
@given(SEEDS, st.booleans())
def test_a_replay_never_writes_to_the_store(seed: int, reuse: bool) -> None:
    replays = 0

    def watched(replay: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(replay)
        def run(self: Run, *args: Any, **options: Any) -> Any:
            nonlocal replays
            replays += 1
            before = self.state
            found = replay(self, *args, **options)
            assert self.state == before
            return found

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "replay", watched(Run.replay))
        with recorded(seed, reuse=reuse):
            pass
    assert replays > 0


@runs
@given(SEEDS, st.booleans())
def test_every_log_is_confirmed_offline_and_keeps_the_rules_of_the_store(
    seed: int, reuse: bool
) -> None:
    with recorded(seed, reuse=reuse) as (log, events):
        assert replay_offline(log).finished
        state = State()
        for at, each in enumerate(events):
            before, state = state, evolve(state, each)
            check_only_grows(before, state)
            match each.event:
                case ev.MemorySupplied() as supplied:
                    memory = before.store[supplied.memory]
                    assert memory.state != "inactive"
                    assert (memory.version, memory.owner) == (supplied.version, supplied.role)
                case ev.MemoryRevised() as revised:
                    assert state.evidence.of(revised.memory, revised.version) == ()
                    if state.store[revised.memory].state != "provisional":
                        following = next(
                            r for r in events[at + 1 :] if r.stream_id == each.stream_id
                        )
                        assert isinstance(following.event, ev.StateChanged)
                        assert following.event.after == "provisional"
                case ev.StateChanged() as changed:
                    assert before.store[changed.memory].state == changed.before != changed.after
                case ev.StoreCheckpointed() as checkpoint:
                    assert checkpoint.state_hash == state_hash(state)
                case _:
                    pass
        check_scores(events, state)


def check_only_grows(before: State, now: State) -> None:
    for memory in before.store.ordered():
        kept = now.store[memory.id]
        assert kept.avoid_when[: len(memory.avoid_when)] == memory.avoid_when
        assert kept.use_when[: len(memory.use_when)] == memory.use_when


def check_scores(events: list[Recorded], final: State) -> None:
    """The original score of a task is that of its scored execution, for ever."""
    executions = {
        r.event.request: r.event.score
        for r in reversed(events)
        if isinstance(r.event, ev.ExecutionFinished)
    }
    scored = [r.event for r in events if isinstance(r.event, ev.TaskScored)]
    completed = [r.event for r in events if isinstance(r.event, ev.TaskCompleted)]
    assert [s.task for s in scored] == [c.task for c in completed] == [f"q{n}" for n in range(1, 6)]
    for score, end in zip(scored, completed, strict=True):
        assert score.score == end.score == executions[score.execution]
        assert final.history[score.task].score == score.score
