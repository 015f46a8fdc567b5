"""The turning points of a memory: its state or its words changed, or a repair came to nothing.

A turning point gathers all that led to it: the uses it rests on, the repair, a person's decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from . import repairs, uses
from .facts import Fact, Facts, fact
from .meanings import bar, meaning
from .repairs import Repair
from .uses import Use
from .words import Piece, word_diff

Kind = Literal["state", "version", "repair"]


@attrs.frozen(kw_only=True)
class Turn:
    """One turning point.

    Attributes:
        kind: ``version`` for a new body, with the change of state it brought, if any; ``state`` for
            another change of state; ``repair`` for a repair that changed neither.
        position: of the event that made it.
        task_index: the task in whose cycle it came, None for a decision between two tasks.
        after_task: the last task begun by then.
        version: of the body it left.
        changed: the change of state.
        revised: the new body.
        parent: the body before it.
        override: the decision of a person that made it.
        repair: the repair that made it.
        rests_on: the uses whose effects the change of state rests on, oldest first.
        use: the newest use that led to it: the trigger of the repair, or the last straw.
        meaning: the rule behind the change of state in words, empty without one.
        bar: what the repair's candidates had to pass in words, empty without a repair.
        events: every event it rests on, the model's answers and executions included, in order.
    """

    kind: Kind
    position: int
    task_index: int | None
    after_task: int
    version: int
    changed: Fact[ev.StateChanged] | None
    revised: Fact[ev.MemoryRevised] | None
    parent: str
    override: Fact[ev.MemoryOverridden] | None
    repair: Repair | None
    rests_on: tuple[Use, ...]
    use: Use | None
    meaning: str
    bar: str
    events: tuple[Recorded, ...]

    @property
    def diff(self) -> tuple[Piece, ...]:
        """What changed of the body, word by word; empty without a new body."""
        return word_diff(self.parent, self.revised.event.body) if self.revised else ()


@attrs.frozen(kw_only=True)
class _Made:
    """The own events that are one turning point; the first of them made it."""

    revised: Recorded | None = None
    changed: Recorded | None = None
    ended: Recorded | None = None

    @property
    def events(self) -> list[Recorded]:
        given = (self.revised, self.changed, self.ended)
        return [each for each in given if each is not None]


def turns_of(facts: Facts, bodies: Sequence[str], headers: Sequence[Recorded]) -> tuple[Turn, ...]:
    """The turning points in the stream of a memory, in order.

    Args:
        facts: the stream; what its turning points rest on is learned.
        bodies: the rule by version, from version 1 on.
        headers: `RunStarted` and every `RunForked`, in order.
    """
    found = [(made, _in_order(_led_to(facts, made))) for made in _made(facts)]
    facts.learn(each for _, events in found for each in events)
    return tuple(
        _turn(facts, made, events, bodies, _method(headers, events[-1].position))
        for made, events in found
    )


def _in_order(recorded: Iterable[Recorded]) -> tuple[Recorded, ...]:
    """Each of these events once, in the order of the log."""
    by_position = {each.position: each for each in recorded}
    return tuple(by_position[position] for position in sorted(by_position))


def _method(headers: Sequence[Recorded], position: int) -> Mapping[str, Any]:
    """The settings of the method in force at an event."""
    (*_, header) = (each.event for each in headers if each.position < position)
    assert isinstance(header, ev.RunStarted)
    method: Mapping[str, Any] = header.config["method"]
    return method


def _made(facts: Facts) -> Iterator[_Made]:
    """The turning points by the events that are them; each event is of one."""
    taken: set[str] = set()
    for each in facts.own:
        if each.event_id in taken:
            continue
        match each.event:
            case ev.MemoryRevised():
                # An edit's change of state has the cause that the new body has.
                above = each if each.event.repair else facts.cause(each)
                changed = next(iter(facts.caused(above, ev.StateChanged)), None) if above else None
                ended = next(iter(facts.caused(each, ev.RepairEnded)), None)
                made = _Made(revised=each, changed=changed, ended=ended)
            case ev.StateChanged():
                made = _Made(changed=each)
            case ev.RepairEnded():
                changed = next(iter(facts.caused(each, ev.StateChanged)), None)
                made = _Made(ended=each, changed=changed)
            case _:
                continue
        taken.update(event.event_id for event in made.events)
        yield made


def _led_to(facts: Facts, made: _Made) -> Iterator[Recorded]:
    """The own events that a turning point rests on, in any order and perhaps more than once."""
    for each in made.events:
        for above in facts.ancestors(each):
            yield above
            if isinstance(above.event, ev.EffectMeasured):
                yield from uses.assessment(facts, above)
            elif isinstance(above.event, ev.RepairStarted):
                yield from repairs.course(facts, above)
    for measured in _measured(facts, made):
        yield from uses.assessment(facts, measured)


def _measured(facts: Facts, made: _Made) -> Iterator[Recorded]:
    """The `EffectMeasured` of every effect that a change of state rests on."""
    for recorded in facts.evidence(made.changed) if made.changed else ():
        measured = facts.above(recorded, ev.EffectMeasured)
        if measured is not None:
            yield measured


def _turn(
    facts: Facts,
    made: _Made,
    events: Sequence[Recorded],
    bodies: Sequence[str],
    method: Mapping[str, Any],
) -> Turn:
    first = made.events[0]
    started = facts.above(first, ev.RepairStarted)
    measured = facts.above(first, ev.EffectMeasured)
    override = facts.above(first, ev.MemoryOverridden)
    revised = fact(made.revised, ev.MemoryRevised) if made.revised else None
    changed = fact(made.changed, ev.StateChanged) if made.changed else None
    version = _version_left(first)
    repair = repairs.repair_of(facts, started, bodies[version - 1]) if started else None
    outside = (other for each in events for other in facts.evidence(each))
    return Turn(
        kind="version" if revised else "state" if changed else "repair",
        position=first.position,
        task_index=first.task_index,
        after_task=facts.task_of(first),
        version=version,
        changed=changed,
        revised=revised,
        parent=bodies[version - 1],
        override=fact(override, ev.MemoryOverridden) if override else None,
        repair=repair,
        rests_on=tuple(uses.use_of(facts, each) for each in _measured(facts, made)),
        use=uses.use_of(facts, measured) if measured else None,
        meaning=meaning(changed.event.rule, method, changed.event.before) if changed else "",
        bar=bar(repair.started.event.kind, method) if repair else "",
        events=_in_order((*events, *outside)),
    )


def _version_left(first: Recorded) -> int:
    event = first.event
    assert isinstance(event, ev.MemoryRevised | ev.StateChanged | ev.RepairEnded)
    return event.version - isinstance(event, ev.MemoryRevised)
