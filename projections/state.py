"""The state of a run's memory after any event: store, evidence and history folded together.

The canonical form covers store and evidence; equal states are equal bytes, so a state can be
named by its hash (`StoreCheckpointed`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import attrs

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
    "StateChanged",
    "MemoryRevised",
    "EffectRecorded",
)
"""The event types the fold reads; a rebuild need not decode any other."""


@attrs.frozen
class State:
    """Everything the task cycle knows from earlier events."""

    store: store.MemoryStore = store.MemoryStore()
    evidence: evidence.Evidence = evidence.Evidence()
    history: history.History = history.History()


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


def state_hash(state: State) -> str:
    """SHA-256 of the canonical bytes, hex."""
    return digest(serialise(state))
