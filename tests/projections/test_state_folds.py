"""The fold of any sequence of events: what it keeps, and that tables give back every state of it.

The sequences are generated: anything the vocabulary allows in an order that makes sense, not only
what today's rules conclude.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discernmem.eventlog import Recorded, encode
from discernmem.eventlog import events as ev
from discernmem.eventlog.codec import canonical
from discernmem.projections import encoding, filling, held, stores
from discernmem.projections.changes import CHANGING
from discernmem.projections.state import (
    EVENT_TYPES,
    Serialiser,
    State,
    evolve,
    fold,
    plain,
    serialise,
    state_hash,
)

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
BLOBS = st.binary(min_size=32, max_size=32).map(lambda raw: ev.BlobRef(raw.hex()))
SCORES = st.floats(-1, 1, allow_nan=False)
ROLES = ("assistant", "user_proxy")

modest = settings(max_examples=60, deadline=None)
few = settings(max_examples=25, deadline=None)


def recorded(event: ev.Event, position: int, task: int) -> Recorded:
    payload = encode(event)
    return Recorded(
        position=position,
        event_id=f"{position:024x}",
        stream_id=event.stream,
        stream_version=position,
        type=type(event).__name__,
        schema_version=event.SCHEMA_VERSION,
        task_index=task,
        recorded_at="2026-01-01T00:00:00.000000Z",
        actor="test",
        causation_id=None,
        correlation_id="run",
        payload=payload,
        hash="",
        event=event,
    )


@attrs.define
class Author:
    """Writes events that make sense: only of memories there are, only of their newest version."""

    draw: Any
    versions: dict[str, int] = attrs.field(factory=dict)

    def admit(self, task: str) -> ev.Event:
        name = f"m{len(self.versions) + 1}"
        self.versions[name] = 1
        return ev.MemoryAdmitted(
            memory=name,
            role=self.draw(st.sampled_from(ROLES)),
            body=self.draw(TEXTS),
            use_when=tuple(self.draw(st.lists(TEXTS, max_size=2))),
            avoid_when=tuple(self.draw(st.lists(TEXTS, max_size=2))),
            source_task=task,
            source_execution="e" * 64,
        )

    def condition(self, memory: str, _: str) -> ev.Event:
        return ev.ConditionAdded(
            memory=memory,
            version=self.versions[memory],
            kind=self.draw(st.sampled_from(("use_when", "avoid_when"))),
            text=self.draw(TEXTS),
            source=self.draw(st.sampled_from(("scope check", "generalisation"))),
        )

    def transition(self, memory: str, _: str) -> ev.Event:
        states = st.sampled_from(("provisional", "active", "inactive"))
        return ev.StateChanged(
            memory=memory,
            version=self.versions[memory],
            before=self.draw(states),
            after=self.draw(states),
            rule="promotion",
            evidence=(),
        )

    def revision(self, memory: str, task: str) -> ev.Event:
        self.versions[memory] += 1
        earned = ev.Capability(id="c1", correction=self.draw(TEXTS), tasks=(task,))
        return ev.MemoryRevised(
            memory=memory,
            version=self.versions[memory],
            body=self.draw(TEXTS),
            repair="r",
            round=1,
            number=1,
            capability=self.draw(st.sampled_from((None, earned))),
        )

    def effect(self, memory: str, task: str) -> ev.Event:
        return ev.EffectRecorded(
            memory=memory,
            version=self.versions[memory],
            task=task,
            origin=self.draw(st.sampled_from(("reuse", "attachment", "calibration"))),
            effect=self.draw(SCORES),
            sign=self.draw(st.sampled_from(("positive", "negative", "neutral"))),
            label=self.draw(st.sampled_from(("CONTENT", "SCOPE", "NONE"))),
            avoid=self.draw(st.booleans()),
            changed=self.draw(st.booleans()),
            context=self.draw(st.none() | BLOBS),
        )

    def anything(self, task: str) -> ev.Event:
        if not self.versions or self.draw(st.integers(0, 3)) == 0:
            return self.admit(task)
        memory = self.draw(st.sampled_from(sorted(self.versions)))
        kinds = (self.condition, self.transition, self.revision, self.effect)
        return self.draw(st.sampled_from(kinds))(memory, task)


@st.composite
def histories(draw: Any) -> list[Recorded]:
    author = Author(draw)
    written: list[Recorded] = []

    def write(event: ev.Event, task: int) -> None:
        written.append(recorded(event, len(written) + 1, task))

    for index in range(1, draw(st.integers(1, 4)) + 1):
        task = f"q{index}"
        write(ev.TaskStarted(index=index, task=task, domain="d", text=draw(BLOBS)), index)
        for role in ROLES[: draw(st.integers(0, 2))]:
            seen = ev.ContextObserved(
                request=f"{index}{role}", task=task, role=role, context=draw(BLOBS)
            )
            write(seen, index)
        scored = ev.TaskScored(
            index=index, task=task, score=draw(SCORES), execution="e" * 64, supplied=()
        )
        write(scored, index)
        for _ in range(draw(st.integers(0, 6))):
            write(author.anything(task), index)
    return written


@modest
@given(histories())
def test_memories_effects_and_tasks_are_decoded_as_they_were(history: list[Recorded]) -> None:
    state = fold(history)
    for memory in state.store.ordered():
        json, _ = encoding.encode_memory(memory)
        assert json == canonical(attrs.asdict(memory))
        assert encoding.decode_memory(json) == memory
    for effects in state.evidence.effects.values():
        assert tuple(encoding.decode_effect(encoding.encode(each)) for each in effects) == effects
    for task in state.history.tasks.values():
        assert encoding.decode_task(encoding.encode(task)) == task


@few
@given(histories(), st.data())
def test_the_tables_give_every_state_of_the_fold_however_they_were_filled(
    history: list[Recorded], data: st.DataObject
) -> None:
    states = [State()]
    for each in history:
        states.append(evolve(states[-1], each))
    with closing(sqlite3.connect(":memory:")) as tables, pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "STORE_EVERY", data.draw(st.integers(1, 5)))
        for statement in held.SCHEMA:
            tables.execute(statement)
        left = list(history)
        while left:
            taken = data.draw(st.integers(1, len(left)))
            batch = filling.Filling(tables)
            for each in left[:taken]:
                batch.add(each)
            batch.write()
            del left[:taken]
        for position, state in enumerate(states):
            assert stores.serialised(tables, position) == serialise(state), position
            assert held.state(tables, position) == state, position
            assert held.count(tables, position) == len(state.store)
            for name in ("m1", "m2", "m9"):
                known = state.store.memories.get(name)
                assert held.memory(tables, name, position) == known
        for table, key in (("memories", "memory"), ("tasks", "task")):
            rows = tables.execute(f"select {key}, since, until from {table} order by 1, 2")
            for _, spans in groupby(rows, itemgetter(0)):
                _, begun, ended = zip(*spans, strict=True)
                assert ended == (*begun[1:], None)


@modest
@given(histories(), st.data())
def test_a_serialiser_gives_the_bytes_of_any_state_in_any_order(
    history: list[Recorded], data: st.DataObject
) -> None:
    states = [State()]
    for each in history:
        states.append(evolve(states[-1], each))
    in_order, jumping = Serialiser(), Serialiser()
    for state in states:
        assert in_order.serialise(state) == serialise(state)
        assert in_order.state_hash(state) == state_hash(state)
    for state in data.draw(st.lists(st.sampled_from(states), max_size=12)):
        assert jumping.serialise(state) == serialise(state)


@modest
@given(histories())
def test_conditions_scores_and_versions_are_only_ever_added(history: list[Recorded]) -> None:
    state = State()
    for each in history:
        before, state = state, evolve(state, each)
        for memory in before.store.ordered():
            now = state.store[memory.id]
            assert now.avoid_when[: len(memory.avoid_when)] == memory.avoid_when
            assert now.use_when[: len(memory.use_when)] == memory.use_when
            assert now.versions[: len(memory.versions)] == memory.versions
            assert now.capabilities[: len(memory.capabilities)] == memory.capabilities
            assert (now.owner, now.source_task) == (memory.owner, memory.source_task)
        for task, record in before.history.tasks.items():
            if record.score is not None:
                assert state.history[task].score == record.score


@modest
@given(histories())
def test_a_new_version_starts_without_effects_and_keeps_the_old_ones(
    history: list[Recorded],
) -> None:
    state = State()
    for each in history:
        before, state = state, evolve(state, each)
        if isinstance(each.event, ev.MemoryRevised):
            memory, version = each.event.memory, each.event.version
            assert state.store[memory].version == version
            assert state.evidence.of(memory, version) == ()
            assert state.evidence.of_all_versions(memory, version - 1) == (
                before.evidence.of_all_versions(memory, version - 1)
            )


@modest
@given(histories())
def test_every_condition_version_and_effect_names_the_event_it_came_from(
    history: list[Recorded],
) -> None:
    by_id = {each.event_id: each for each in history}
    state = fold(history)
    for memory in state.store.ordered():
        for version in memory.versions:
            made = by_id[version.made_by].event
            assert version.body == made.body  # type: ignore[attr-defined]
        for kind, conditions in (("use_when", memory.use_when), ("avoid_when", memory.avoid_when)):
            for condition in conditions:
                added = by_id[condition.added_by].event
                if isinstance(added, ev.MemoryAdmitted):
                    assert condition.text in getattr(added, kind)
                else:
                    assert isinstance(added, ev.ConditionAdded)
                    assert (added.kind, added.text) == (kind, condition.text)
        for effect in state.evidence.of_all_versions(memory.id, memory.version):
            told = by_id[effect.event_id].event
            assert isinstance(told, ev.EffectRecorded)
            assert (told.task, told.effect) == (effect.task, effect.effect)


@modest
@given(histories())
def test_the_canonical_form_is_named_by_its_hash_and_covers_every_change(
    history: list[Recorded],
) -> None:
    state = State()
    for each in history:
        before, state = state, evolve(state, each)
        assert canonical(plain(state)) == serialise(state)
        unchanged = state_hash(before) == state_hash(state)
        if each.type in CHANGING:
            a_standstill = isinstance(each.event, ev.StateChanged) and (
                before.store[each.event.memory].state == each.event.after
            )
            assert unchanged == a_standstill
        else:
            assert unchanged


def test_events_the_fold_does_not_read_change_nothing() -> None:
    ended = ev.TaskCompleted(index=1, task="q1", score=1.0, executions_asked=1)
    state = State()
    assert type(ended).__name__ not in EVENT_TYPES
    assert evolve(state, recorded(ended, 1, 1)) is state
