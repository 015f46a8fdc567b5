"""The life line of a memory: how it stood from task to task, and what happened on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from .facts import Facts
from .telling import tell

MarkKind = Literal["supplied", "effect", "revised", "override"]


@attrs.frozen(kw_only=True)
class Stretch:
    """How a memory stood from the end of task ``after`` on, until the next stretch begins.

    What a person decides between two tasks counts to the one before.
    """

    after: int
    state: ev.State
    version: int


@attrs.frozen(kw_only=True)
class Mark:
    """Something that happened to a memory, and the event that says so.

    ``after`` is the task in whose cycle it happened or after which a person decided it; ``sign``
    and ``label`` are those of an effect.
    """

    kind: MarkKind
    after: int
    position: int
    sign: ev.Sign | None = None
    label: ev.Label | None = None
    event: ev.Event

    @property
    def says(self) -> str:
        """The event's sentence."""
        return tell(self.event)


@attrs.frozen(kw_only=True)
class Line:
    """A life line over a stream of ``tasks`` of which ``begun`` are; stretches touch."""

    tasks: int
    begun: int
    stretches: tuple[Stretch, ...]
    marks: tuple[Mark, ...]


def line_of(facts: Facts, *, tasks: int, begun: int) -> Line:
    """The life line of the memory whose stream ``facts`` hold, over a stream of ``tasks``."""
    return Line(
        tasks=tasks, begun=begun, stretches=tuple(stretches_of(facts)), marks=tuple(_marks(facts))
    )


def stretches_of(facts: Facts) -> Iterator[Stretch]:
    """How a memory stood from task to task, from its admission on."""
    current: Stretch | None = None
    for recorded in facts.own:
        match recorded.event:
            case ev.MemoryAdmitted():
                stood = Stretch(after=facts.task_of(recorded), state="provisional", version=1)
            case ev.StateChanged() as event:
                assert current is not None
                after = facts.task_of(recorded)
                stood = attrs.evolve(current, after=after, state=event.after)
            case ev.MemoryRevised() as event:
                assert current is not None
                after = facts.task_of(recorded)
                stood = attrs.evolve(current, after=after, version=event.version)
            case _:
                continue
        if current is not None and current.after != stood.after:
            yield current
        current = stood
    if current is not None:
        yield current


def _marks(facts: Facts) -> Iterator[Mark]:
    for recorded in facts.own:
        match recorded.event:
            case ev.MemorySupplied():
                yield _mark(facts, recorded, "supplied")
            case ev.EffectRecorded() as event:
                yield attrs.evolve(
                    _mark(facts, recorded, "effect"), sign=event.sign, label=event.label
                )
            case ev.MemoryRevised():
                yield _mark(facts, recorded, "revised")
            case ev.MemoryOverridden():
                yield _mark(facts, recorded, "override")
            case _:
                pass


def _mark(facts: Facts, recorded: Recorded, kind: MarkKind) -> Mark:
    return Mark(
        kind=kind,
        after=facts.task_of(recorded),
        position=recorded.position,
        event=recorded.event,
    )
