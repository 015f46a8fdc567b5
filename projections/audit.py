"""The causal tree behind a memory: every event of its life under the event that caused it."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.codec import plain as plain_event
from ..eventlog.errors import BadInput
from ..eventlog.log import EventLog, Recorded
from .facts import Facts, evidence_of
from .known import require_memory
from .lifeline import Stretch, stretches_of
from .store import Memory
from .tallies import Tally, tally_of
from .telling import tell
from .timeline import Timeline
from .trajectories import reply_text, trajectory


@attrs.frozen(kw_only=True)
class Node:
    """An event of a life, what a model said for it, what else it rests on, what it caused.

    ``deeper`` counts the events below it that are left out.
    """

    recorded: Recorded
    words: tuple[str, ...]
    evidence: tuple[Recorded, ...]
    children: tuple[Node, ...]
    deeper: int

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
            "left_out": self.deeper,
        }


@attrs.frozen
class Search:
    """A search that a role made, and the titles of what it found."""

    recorded: Recorded
    titles: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """The search as JSON data."""
        return {**_reference(self.recorded), "titles": list(self.titles)}


@attrs.frozen(kw_only=True)
class Life:
    """A memory as it stands and what made it so.

    Attributes:
        memory: as it stands.
        tally: its numbers.
        stretches: how it stood from task to task.
        roots: the events of its stream that something outside it caused, in order.
        leading: for each root the chain of outside events that led to it, nearest last.
        forks: where the log goes on from another one, since the first root.
        searches: what was searched for in an execution, by the position of its event.
        earlier: how many events before the first that was asked for are left out.
        deeper: how many events further down than was asked for are left out.
    """

    memory: Memory
    tally: Tally
    stretches: tuple[Stretch, ...]
    roots: tuple[Node, ...]
    leading: tuple[tuple[Recorded, ...], ...]
    forks: tuple[Recorded, ...]
    searches: Mapping[int, tuple[Search, ...]]
    earlier: int
    deeper: int

    def plain(self) -> dict[str, Any]:
        """The life as JSON data."""
        return {
            "memory": attrs.asdict(self.memory),
            "tally": attrs.asdict(self.tally),
            "life_line": [attrs.asdict(stretch) for stretch in self.stretches],
            "left_out": {"earlier": self.earlier, "deeper": self.deeper},
            "forks": [_reference(r) for r in self.forks],
            "searches": [
                {"execution": position, "found": [search.plain() for search in found]}
                for position, found in self.searches.items()
            ],
            "life": [
                {"led_to_by": [_reference(r) for r in outside], **root.plain()}
                for root, outside in zip(self.roots, self.leading, strict=True)
            ],
        }


def _reference(recorded: Recorded) -> dict[str, Any]:
    return {
        "position": recorded.position,
        "type": recorded.type,
        "says": tell(recorded.event),
    }


def memory_now(log: EventLog, name: str) -> Memory:
    """A memory as it stands at the end of the log; as `memory_at`."""
    return memory_at(log, name, log.head().position)


def memory_at(log: EventLog, name: str, position: int) -> Memory:
    """A memory as it stood after the event at a position.

    Raises:
        BadInput: there is none of that name, or there was none yet.
    """
    require_memory(log, name)
    admitted = log.find(f"memory:{name}")
    assert admitted is not None
    if admitted.position > position:
        raise BadInput(f"{log.path}: {name} was admitted later, in task {admitted.task_index}")
    with Timeline(log) as timeline:
        memory = timeline.memory(name, position)
    assert memory is not None
    return memory


def life(
    log: EventLog,
    name: str,
    *,
    version: int | None = None,
    since: int | None = None,
    depth: int | None = None,
) -> Life:
    """The life of a memory, or a part of it.

    Args:
        log: the log.
        name: the memory.
        version: only what happened to this version of its body.
        since: only what happened after the end of the task before this one.
        depth: only so many levels of events below each root.

    Raises:
        BadInput: there is no such memory, it has no such version, or the log has no such task.
    """
    require_memory(log, name)
    with _uncollected():
        return _life(log, name, version, since, depth)


@contextmanager
def _uncollected() -> Iterator[None]:
    """While a life is read nothing becomes garbage; to look for it takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _life(
    log: EventLog, name: str, version: int | None, since: int | None, depth: int | None
) -> Life:
    stream = tuple(log.read(stream=f"memory:{name}"))
    versions = 1 + sum(r.type == "MemoryRevised" for r in stream)
    if version is not None and not 1 <= version <= versions:
        raise BadInput(f"{name} has no version {version}; it has 1 to {versions}")
    last = log.last_task()
    if since is not None and not 1 <= since <= last:
        raise BadInput(f"{log.path}: has no task {since} (1 to {last})")
    before = 0 if since is None else log.position_at_task(since - 1)
    chosen = [r for r in stream if version is None or version_of(r) == version]
    own = {r.event_id: r for r in chosen if r.position > before}
    shown, hidden = _down_to(own, depth)
    children: dict[str | None, list[Recorded]] = {}
    for each in shown:
        cause = each.causation_id if each.causation_id in own else None
        children.setdefault(cause, []).append(each)
    roots = children.pop(None, [])
    known = {r.event_id: r for r in stream}
    cited = {event_id for each in shown for event_id in evidence_of(each)}
    _learn(log, known, cited)
    outside = {r.causation_id for r in roots if r.causation_id}
    while outside:
        _learn(log, known, outside)
        causes = (known[event_id].causation_id for event_id in outside if event_id in known)
        outside = {event_id for event_id in causes if event_id}
    leading = tuple(_leading(root, known) for root in roots)
    evidence = (known[event_id] for event_id in cited if event_id in known)
    return Life(
        memory=memory_now(log, name),
        tally=tally_of(name, stream),
        stretches=tuple(stretches_of(Facts(log, stream))),
        roots=tuple(_node(log, root, children, hidden, known) for root in roots),
        leading=leading,
        forks=tuple(log.read(after=roots[0].position, types=("RunForked",))) if roots else (),
        searches=_searches(log, chain(evidence, *leading)),
        earlier=len(chosen) - len(own),
        deeper=sum(hidden.values()),
    )


def _learn(log: EventLog, known: dict[str, Recorded], wanted: set[str]) -> None:
    """Take the wanted events into the known ones."""
    known.update(log.by_ids(wanted - known.keys()))


def version_of(recorded: Recorded) -> int:
    """The version of a memory that an event of its stream is about; an admission makes 1."""
    return int(getattr(recorded.event, "version", 1))


def _down_to(own: Mapping[str, Recorded], depth: int | None) -> tuple[list[Recorded], Counter[str]]:
    """The events down to this level below their root, and how many are left out below each."""
    level: dict[str, int] = {}
    shown_above: dict[str, str] = {}
    shown: list[Recorded] = []
    hidden: Counter[str] = Counter()
    for event_id, each in own.items():
        cause = each.causation_id or ""
        level[event_id] = level.get(cause, -1) + 1
        if depth is None or level[event_id] <= depth:
            shown_above[event_id] = event_id
            shown.append(each)
        else:
            shown_above[event_id] = shown_above[cause]
            hidden[shown_above[event_id]] += 1
    return shown, hidden


def _node(
    log: EventLog,
    recorded: Recorded,
    children: Mapping[str | None, list[Recorded]],
    hidden: Mapping[str, int],
    known: Mapping[str, Recorded],
) -> Node:
    evidence = [known[event_id] for event_id in evidence_of(recorded) if event_id in known]
    return Node(
        recorded=recorded,
        words=tuple(
            reply_text(log, r.event) for r in evidence if isinstance(r.event, ev.ModelReplied)
        ),
        evidence=tuple(evidence),
        children=tuple(
            _node(log, child, children, hidden, known)
            for child in children.get(recorded.event_id, ())
        ),
        deeper=hidden.get(recorded.event_id, 0),
    )


def _leading(recorded: Recorded, known: Mapping[str, Recorded]) -> tuple[Recorded, ...]:
    """The outside chain of causes, oldest first."""
    found: list[Recorded] = []
    cause = recorded.causation_id
    while cause is not None and cause in known:
        found.append(known[cause])
        cause = known[cause].causation_id
    return tuple(reversed(found))


def _searches(log: EventLog, events: Iterable[Recorded]) -> dict[int, tuple[Search, ...]]:
    """What was searched for in those of the events that are executions, in order."""
    if log.last("PassagesFound") is None:
        return {}
    executions = {r.position: r for r in events if r.type == "ExecutionFinished"}
    searches: dict[int, tuple[Search, ...]] = {}
    for position in sorted(executions):
        steps = trajectory(log, executions[position])
        cited = [step.reply for step in steps if step.kind == "information"]
        known = log.by_ids(set(cited))
        found = tuple(_search(log, known[event_id]) for event_id in cited if event_id in known)
        if found:
            searches[position] = found
    return searches


def _search(log: EventLog, recorded: Recorded) -> Search:
    event = recorded.event
    assert isinstance(event, ev.PassagesFound)
    passages = orjson.loads(log.blob(event.passages))
    return Search(recorded, tuple(passage["title"] for passage in passages))
