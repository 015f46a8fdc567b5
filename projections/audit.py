"""The causal tree behind a memory: every event of its life under the event that caused it."""

from __future__ import annotations

from typing import Any

import attrs

from ..eventlog import events as ev
from ..eventlog.codec import plain as plain_event
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog, Recorded
from .store import Memory
from .telling import tell
from .timeline import Timeline


@attrs.frozen(kw_only=True)
class Node:
    """An event of a life, what a model said for it, what else it rests on, what it caused."""

    recorded: Recorded
    words: tuple[str, ...]
    evidence: tuple[Recorded, ...]
    children: tuple[Node, ...]

    def plain(self) -> dict[str, Any]:
        """The node as JSON data."""
        return {
            "position": self.recorded.position,
            "event_id": self.recorded.event_id,
            "task_index": self.recorded.task_index,
            "type": self.recorded.type,
            "says": tell(self.recorded.event),
            "event": plain_event(self.recorded.event),
            "model_said": list(self.words),
            "evidence": [r.position for r in self.evidence],
            "caused": [child.plain() for child in self.children],
        }


@attrs.frozen(kw_only=True)
class Life:
    """A memory as it stands and everything that made it so.

    ``roots`` are the events of its stream that something outside it caused, in order; ``leading``
    gives for each root the chain of outside events that led to it, nearest last.
    """

    memory: Memory
    roots: tuple[Node, ...]
    leading: tuple[tuple[Recorded, ...], ...]

    def plain(self) -> dict[str, Any]:
        """The life as JSON data."""
        return {
            "memory": attrs.asdict(self.memory),
            "life": [
                {
                    "led_to_by": [
                        {"position": r.position, "type": r.type, "says": tell(r.event)}
                        for r in chain
                    ],
                    **root.plain(),
                }
                for root, chain in zip(self.roots, self.leading, strict=True)
            ],
        }


def memory_now(log: EventLog, name: str) -> Memory:
    """A memory as it stands at the end of the log.

    Raises:
        BadInput: there is none of that name.
    """
    if log.find(f"memory:{name}") is None:
        ((count,),) = log.rows("select count(*) from events where type = 'MemoryAdmitted'")
        known = f"m1 to m{count}" if count else "none"
        raise BadInput(f"{log.path}: has no memory {name!r} ({known})")
    with Timeline(log) as timeline:
        memory = timeline.memory(name, log.head().position)
    assert memory is not None
    return memory


def life(log: EventLog, name: str, *, version: int | None = None) -> Life:
    """The life of a memory, or of one ``version`` of its body.

    Raises:
        BadInput: there is no such memory, or it has no such version.
    """
    recorded = list(log.read(stream=f"memory:{name}"))
    versions = 1 + sum(r.type == "MemoryRevised" for r in recorded)
    if recorded and version is not None and not 1 <= version <= versions:
        raise BadInput(f"{name} has no version {version}; it has 1 to {versions}")
    own = {r.event_id: r for r in recorded if version is None or _version_of(r) == version}
    children: dict[str, list[Recorded]] = {}
    roots: list[Recorded] = []
    for each in own.values():
        cause = each.causation_id
        if cause is not None and cause in own:
            children.setdefault(cause, []).append(each)
        else:
            roots.append(each)
    known = {r.event_id: r for r in recorded}
    _learn(log, known, {event_id for each in own.values() for event_id in _evidence(each)})
    outside = roots
    while outside:
        outside = _learn(log, known, {r.causation_id for r in outside if r.causation_id})
    return Life(
        memory=memory_now(log, name),
        roots=tuple(_node(log, root, children, known) for root in roots),
        leading=tuple(_leading(root, known) for root in roots),
    )


def _learn(log: EventLog, known: dict[str, Recorded], wanted: set[str]) -> list[Recorded]:
    """Take the wanted events into the known ones; returns those that are new."""
    new = log.by_ids(wanted - known.keys())
    known.update(new)
    return list(new.values())


def _evidence(recorded: Recorded) -> tuple[str, ...]:
    cited: tuple[str, ...] = getattr(recorded.event, "evidence", ())
    return cited


def _version_of(recorded: Recorded) -> int:
    return int(getattr(recorded.event, "version", 1))


def _node(
    log: EventLog,
    recorded: Recorded,
    children: dict[str, list[Recorded]],
    known: dict[str, Recorded],
) -> Node:
    evidence = [known[event_id] for event_id in _evidence(recorded) if event_id in known]
    return Node(
        recorded=recorded,
        words=tuple(_words(log, r.event) for r in evidence if isinstance(r.event, ev.ModelReplied)),
        evidence=tuple(evidence),
        children=tuple(
            _node(log, child, children, known) for child in children.get(recorded.event_id, ())
        ),
    )


def _words(log: EventLog, reply: ev.ModelReplied) -> str:
    return log.text(reply.text_blob) if reply.text_blob else reply.text or ""


def _leading(recorded: Recorded, known: dict[str, Recorded]) -> tuple[Recorded, ...]:
    """The outside chain of causes, oldest first."""
    chain: list[Recorded] = []
    cause = recorded.causation_id
    while cause is not None and cause in known:
        chain.append(known[cause])
        cause = known[cause].causation_id
    return tuple(reversed(chain))
