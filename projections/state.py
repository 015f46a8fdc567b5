"""The state of a run's memory after any event: store, evidence and history folded together.

The canonical form covers store and evidence; equal states are equal bytes, so a state can be
named by its hash (`StoreCheckpointed`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_origin

import attrs
import cattrs
import orjson
from immutables import Map

from ..eventlog.codec import canonical, digest
from ..eventlog.log import Recorded
from . import evidence, history, store

STATE_VERSION: Final = 1
"""Version of the canonical form and of the folds behind it; a snapshot of another is discarded."""

EVENT_TYPES: Final = (
    "TaskStarted",
    "ContextObserved",
    "TaskScored",
    "MemoryAdmitted",
    "ConditionAdded",
    "ConditionWithdrawn",
    "StateChanged",
    "MemoryRevised",
    "EffectRecorded",
)
"""The event types the fold reads; a rebuild need not decode any other."""


@attrs.frozen
class State:
    """Everything the task cycle knows from earlier events."""

    store: store.MemoryStore = attrs.field(factory=store.MemoryStore)
    evidence: evidence.Evidence = attrs.field(factory=evidence.Evidence)
    history: history.History = attrs.field(factory=history.History)


def evolve(state: State, recorded: Recorded) -> State:
    """The state after one event."""
    if recorded.type not in EVENT_TYPES:
        return state
    return State(
        store.evolve(state.store, recorded),
        evidence.evolve(state.evidence, recorded),
        history.evolve(state.history, recorded),
    )


def fold(events: Iterable[Recorded], state: State | None = None) -> State:
    """The state after all of ``events``, from ``state`` or from nothing."""
    state = state or State()
    for recorded in events:
        state = evolve(state, recorded)
    return state


def plain(state: State) -> dict[str, Any]:
    """Store and evidence as plain JSON data, memories in order of admission."""
    return {
        "state_version": STATE_VERSION,
        "memories": [
            {
                **attrs.asdict(memory),
                "effects": [
                    {
                        "version": number,
                        "effects": [
                            attrs.asdict(effect) for effect in state.evidence.of(memory.id, number)
                        ],
                    }
                    for number in range(1, memory.version + 1)
                ],
            }
            for memory in state.store.ordered()
        ],
    }


def serialise(state: State) -> bytes:
    """The canonical bytes of store and evidence."""
    return canonical(plain(state))


def dump(state: State) -> bytes:
    """The whole state, history included, for a snapshot; `load` gives an equal state back."""
    return canonical(
        {
            "memories": [attrs.asdict(memory) for memory in state.store.ordered()],
            "effects": [
                [memory.id, number, [attrs.asdict(e) for e in state.evidence.of(memory.id, number)]]
                for memory in state.store.ordered()
                for number in range(1, memory.version + 1)
                if state.evidence.of(memory.id, number)
            ],
            "tasks": [
                {**attrs.asdict(record, recurse=False), "contexts": dict(record.contexts)}
                for _, record in sorted(
                    (index, state.history[task]) for index, task in state.history.order.items()
                )
            ],
        }
    )


def load(dumped: bytes) -> State:
    """The state a snapshot holds."""
    plain_state = orjson.loads(dumped)
    memories = _CONVERTER.structure(plain_state["memories"], list[store.Memory])
    tasks = _CONVERTER.structure(plain_state["tasks"], list[history.TaskRecord])
    effects = {
        (memory, number): _CONVERTER.structure(effects, tuple[evidence.Effect, ...])
        for memory, number, effects in plain_state["effects"]
    }
    return State(
        store.MemoryStore(Map({memory.id: memory for memory in memories})),
        evidence.Evidence(Map(effects)),
        history.History(
            Map({task.id: task for task in tasks}), Map({task.index: task.id for task in tasks})
        ),
    )


def _is_map(kind: object) -> bool:
    return get_origin(kind) == Map


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook_func(_is_map, lambda value, _: Map(value))
    return converter


_CONVERTER: Final = _converter()


def state_hash(state: State) -> str:
    """SHA-256 of the canonical bytes, hex."""
    return digest(serialise(state))
