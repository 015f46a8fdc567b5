"""The state of a run's memory after any event: store, evidence and history folded together.

The canonical form covers store and evidence; equal states are equal bytes, so a state can be
named by its hash (`StoreCheckpointed`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs

from ..eventlog.codec import canonical, digest
from ..eventlog.log import Recorded
from . import evidence, history, store
from .encoding import Buffer, chunks, encode, encode_memory, joined, spliced

STATE_VERSION: Final = 1
"""Version of the canonical form and of the folds behind it; a side file of another is discarded."""


@attrs.frozen
class State:
    """Everything the task cycle knows from earlier events."""

    store: store.MemoryStore = attrs.field(factory=store.MemoryStore)
    evidence: evidence.Evidence = attrs.field(factory=evidence.Evidence)
    history: history.History = attrs.field(factory=history.History)


def _of_store(state: State, recorded: Recorded) -> State:
    return State(store.evolve(state.store, recorded), state.evidence, state.history)


def _of_evidence(state: State, recorded: Recorded) -> State:
    return State(state.store, evidence.evolve(state.evidence, recorded), state.history)


def _of_history(state: State, recorded: Recorded) -> State:
    return State(state.store, state.evidence, history.evolve(state.history, recorded))


_FOLDS: Final = {
    "TaskStarted": _of_history,
    "ContextObserved": _of_history,
    "TaskScored": _of_history,
    **dict.fromkeys(store.HANDLERS, _of_store),
    "EffectRecorded": _of_evidence,
}

EVENT_TYPES: Final = tuple(_FOLDS)
"""The event types the fold reads; a rebuild need not decode any other."""


def evolve(state: State, recorded: Recorded) -> State:
    """The state after one event."""
    fold_one = _FOLDS.get(recorded.type)
    return fold_one(state, recorded) if fold_one else state


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


class Serialiser:
    """Gives the bytes of one state after another, encoding only what changed in between.

    What it keeps it trusts as long as a memory and its effects are the very same objects, which a
    fold leaves as they are where an event changes nothing.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._memories: dict[str, store.Memory] = {}
        self._effects: dict[tuple[str, int], tuple[evidence.Effect, ...]] = {}
        self._encoded: dict[str, bytes] = {}
        self._order: list[str] = []

    def serialise(self, state: State) -> bytes:
        """The same bytes as the function `serialise`."""
        return b"".join(self._chunks(state))

    def state_hash(self, state: State) -> str:
        """The same hash as the function `state_hash`."""
        sha256 = hashlib.sha256()
        for chunk in self._chunks(state):
            sha256.update(chunk)
        return sha256.hexdigest()

    def _chunks(self, state: State) -> Iterator[Buffer]:
        for memory in sorted(self._changed(state)):
            if memory in state.store:
                self._encoded[memory] = _encoded(state, state.store[memory])
        if len(self._order) != len(self._memories):
            self._order = [memory.id for memory in state.store.ordered()]
        whole = b",".join(map(self._encoded.__getitem__, self._order))
        return chunks(STATE_VERSION, [whole] if whole else [])

    def _changed(self, state: State) -> set[str]:
        memories, effects = self._memories, self._effects
        new_memories = {
            memory.id: memory
            for memory in state.store.memories.values()
            if memories.get(memory.id) is not memory
        }
        new_effects = {
            key: recorded
            for key, recorded in state.evidence.effects.items()
            if effects.get(key) is not recorded
        }
        memories.update(new_memories)
        effects.update(new_effects)
        if len(memories) == len(state.store) and len(effects) == len(state.evidence.effects):
            return new_memories.keys() | {memory for memory, _ in new_effects}
        # Something kept is not in this state: it is no later one than the last.
        self._forget()
        return self._changed(state)


def _encoded(state: State, memory: store.Memory) -> bytes:
    effects = [
        joined(map(encode, state.evidence.of(memory.id, number)))
        for number in range(1, memory.version + 1)
    ]
    return spliced(*encode_memory(memory), effects)
