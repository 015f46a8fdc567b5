"""The memory store: identity, owner, versions, scope with the origin of each condition, state."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from immutables import Map

from ..eventlog import events as ev
from ..eventlog.log import Recorded


@attrs.frozen
class Condition:
    """One use or avoid condition and the event that added it."""

    text: str
    added_by: str
    source: str


@attrs.frozen
class Version:
    """One body of a memory and the event that made it; numbers start at 1."""

    number: int
    body: str
    made_by: str


@attrs.frozen(kw_only=True)
class Memory:
    """A role-owned rule as it stands (m_i^v of §3.1, its effects apart: see `Evidence`)."""

    id: str
    owner: str
    state: ev.State
    version: int
    body: str
    use_when: tuple[Condition, ...]
    avoid_when: tuple[Condition, ...]
    source_task: str
    source_execution: str
    admitted_at: int
    capabilities: tuple[ev.Capability, ...]
    versions: tuple[Version, ...]

    @property
    def number(self) -> int:
        """The number in the id: order of admission, and the tie-break of every ranking."""
        return int(self.id[1:])

    @property
    def use_texts(self) -> tuple[str, ...]:
        """The use conditions as plain texts."""
        return tuple(condition.text for condition in self.use_when)

    @property
    def avoid_texts(self) -> tuple[str, ...]:
        """The avoid conditions as plain texts."""
        return tuple(condition.text for condition in self.avoid_when)


@attrs.frozen
class MemoryStore:
    """All memories by id; a persistent map, so every past store stays what it was."""

    memories: Map[str, Memory] = attrs.field(factory=Map)

    def __getitem__(self, memory: str) -> Memory:
        return self.memories[memory]

    def __contains__(self, memory: object) -> bool:
        return memory in self.memories

    def __len__(self) -> int:
        return len(self.memories)

    def ordered(self) -> list[Memory]:
        """All memories in order of admission."""
        return sorted(self.memories.values(), key=lambda memory: memory.number)

    def owned_by(self, role: str) -> list[Memory]:
        """The memories of a role, inactive ones included, in order of admission."""
        return [memory for memory in self.ordered() if memory.owner == role]

    def eligible(self, role: str) -> list[Memory]:
        """What retrieval may consider for a role: its provisional and active memories (Eq. 13)."""
        return [memory for memory in self.owned_by(role) if memory.state != "inactive"]

    def next_id(self) -> str:
        """The id the next admitted memory gets."""
        return f"m{len(self.memories) + 1}"


def _with(store: MemoryStore, memory: Memory) -> MemoryStore:
    return MemoryStore(store.memories.set(memory.id, memory))


def _admitted(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    event = recorded.event
    assert isinstance(event, ev.MemoryAdmitted)

    def conditions(texts: tuple[str, ...]) -> tuple[Condition, ...]:
        return tuple(Condition(text, recorded.event_id, "extraction") for text in texts)

    return _with(
        store,
        Memory(
            id=event.memory,
            owner=event.role,
            state="provisional",
            version=1,
            body=event.body,
            use_when=conditions(event.use_when),
            avoid_when=conditions(event.avoid_when),
            source_task=event.source_task,
            source_execution=event.source_execution,
            admitted_at=recorded.task_index or 0,
            capabilities=(),
            versions=(Version(1, event.body, recorded.event_id),),
        ),
    )


def _condition_added(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    event = recorded.event
    assert isinstance(event, ev.ConditionAdded)
    memory = store[event.memory]
    added = Condition(event.text, recorded.event_id, event.source)
    if event.kind == "use_when":
        return _with(store, attrs.evolve(memory, use_when=(*memory.use_when, added)))
    return _with(store, attrs.evolve(memory, avoid_when=(*memory.avoid_when, added)))


def _condition_withdrawn(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    event = recorded.event
    assert isinstance(event, ev.ConditionWithdrawn)
    memory = store[event.memory]

    def without(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return tuple(condition for condition in conditions if condition.text != event.text)

    if event.kind == "use_when":
        return _with(store, attrs.evolve(memory, use_when=without(memory.use_when)))
    return _with(store, attrs.evolve(memory, avoid_when=without(memory.avoid_when)))


def _state_changed(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    event = recorded.event
    assert isinstance(event, ev.StateChanged)
    return _with(store, attrs.evolve(store[event.memory], state=event.after))


def _revised(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    event = recorded.event
    assert isinstance(event, ev.MemoryRevised)
    memory = store[event.memory]
    earned = (event.capability,) if event.capability else ()
    return _with(
        store,
        attrs.evolve(
            memory,
            version=event.version,
            body=event.body,
            capabilities=(*memory.capabilities, *earned),
            versions=(*memory.versions, Version(event.version, event.body, recorded.event_id)),
        ),
    )


HANDLERS: dict[str, Callable[[MemoryStore, Recorded], MemoryStore]] = {
    "MemoryAdmitted": _admitted,
    "ConditionAdded": _condition_added,
    "ConditionWithdrawn": _condition_withdrawn,
    "StateChanged": _state_changed,
    "MemoryRevised": _revised,
}


def evolve(store: MemoryStore, recorded: Recorded) -> MemoryStore:
    """The store after one event; events that say nothing about memories change nothing."""
    handler = HANDLERS.get(recorded.type)
    return handler(store, recorded) if handler else store
