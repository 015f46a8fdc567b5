"""What a person decided about a memory between two tasks, and what follows from it."""

from __future__ import annotations

from ...eventlog import events as ev
from ...eventlog.codec import digest
from ..overrides import consequences, refusal, resolved
from .scripts import Script, exactly
from .walk import Walk


def override(walk: Walk, event: ev.MemoryOverridden, event_id: str) -> Script[None]:
    """The consequences of a decision that could be carried out on the memory as it stood."""
    memory = walk.before.store.memories.get(event.memory)
    if memory is None:
        walk.broken("there is no such memory")
    walk.require(event.reason.strip() and event.by.strip(), "has no reason, or nobody's name")
    walk.same("version", event.version, memory.version)
    walk.same("body", event.body, digest(memory.body.encode()))
    refused = refusal(memory, event.action, event.text, event.kind)
    if refused:
        walk.broken(f"cannot be carried out: {refused}")
    text, kind = resolved(memory, event.action, event.text, event.kind)
    walk.same("text", event.text, text)
    walk.same("kind", event.kind, kind)
    for consequence in consequences(memory, event, event_id):
        yield from exactly(consequence, event_id)
