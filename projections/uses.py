"""One use of a memory from its two executions to its label: the evidence e_u of §3.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import attrs

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from .facts import Fact, Facts, fact

E = TypeVar("E", bound=ev.Event)


@attrs.frozen(kw_only=True)
class Use:
    """A measured use and what was concluded from it, each with its place in the log.

    Calibration attributes nothing: it has neither scope check nor label. A diagnosis is made of a
    harmful use in scope only.

    Attributes:
        begun: the injection (`MemorySupplied`), attachment or calibration that was measured.
        measured: the paired effect (Eq. 4).
        with_memory: the execution with only this memory.
        without: the execution with none.
        scope: the scope check (Eq. 5).
        diagnosis: the content diagnosis.
        label: the attribution (Eq. 6).
        recorded: the effect as it entered the record E of the version, None if it did not.
        boundary: the avoid condition that the label added, if it added one.
    """

    begun: Fact[ev.Event]
    measured: Fact[ev.EffectMeasured]
    with_memory: Fact[ev.ExecutionFinished]
    without: Fact[ev.ExecutionFinished]
    scope: Fact[ev.ScopeChecked] | None
    diagnosis: Fact[ev.ContentDiagnosed] | None
    label: Fact[ev.UseAttributed] | None
    recorded: Fact[ev.EffectRecorded] | None
    boundary: Fact[ev.ConditionAdded] | None

    @property
    def cited(self) -> tuple[str, ...]:
        """Ids of the steps that the diagnosis cites: ``with:s2``, ``none:s1``."""
        return self.diagnosis.event.cited if self.diagnosis else ()


def assessment(facts: Facts, measured: Recorded) -> Iterator[Recorded]:
    """The events of the use that an `EffectMeasured` belongs to, in order."""
    begun = next(iter([*facts.ancestors(measured)][1:2]), None)
    if begun is not None:
        yield begun
    yield measured
    waiting = [measured]
    while waiting:
        for each in facts.caused(waiting.pop(), *_ASSESSING):
            yield each
            waiting.append(each)


_ASSESSING = (
    ev.ScopeChecked,
    ev.ContentDiagnosed,
    ev.UseAttributed,
    ev.EffectRecorded,
    ev.ConditionAdded,
)


def use_of(facts: Facts, measured: Recorded) -> Use:
    """The use that an `EffectMeasured` of the stream belongs to; its evidence was learned."""
    begun, *parts = assessment(facts, measured)

    def part(kind: type[E]) -> Fact[E] | None:
        return next((fact(each, kind) for each in parts if isinstance(each.event, kind)), None)

    effect = fact(measured, ev.EffectMeasured)
    with_memory, without = effect.event.evidence
    return Use(
        begun=fact(begun, ev.Event),
        measured=effect,
        with_memory=facts.named(with_memory, ev.ExecutionFinished),
        without=facts.named(without, ev.ExecutionFinished),
        scope=part(ev.ScopeChecked),
        diagnosis=part(ev.ContentDiagnosed),
        label=part(ev.UseAttributed),
        recorded=part(ev.EffectRecorded),
        boundary=part(ev.ConditionAdded),
    )
