"""The evidence: effects per memory version and task, in the order they were recorded."""

from __future__ import annotations

import attrs
from immutables import Map

from ..eventlog import events as ev
from ..eventlog.log import Recorded


@attrs.frozen(kw_only=True)
class Effect:
    """One recorded effect of a version on a non-source task (an element of E, §3.3)."""

    event_id: str
    task: str
    task_index: int
    origin: ev.Origin
    effect: float
    sign: ev.Sign
    label: ev.Label
    avoid: bool
    changed: bool
    context: ev.BlobRef | None

    @property
    def qualifies(self) -> bool:
        """Positive without an avoid match: a task of T+ and of the pool B_i (Eq. 8, 12).

        Without a scope check that answered (calibration makes none) nobody can say that no avoid
        condition matched; such an effect has no context.
        """
        return self.sign == "positive" and not self.avoid and self.context is not None


@attrs.frozen
class Evidence:
    """Effects by (memory, version); a version without effects has no entry."""

    effects: Map[tuple[str, int], tuple[Effect, ...]] = attrs.field(factory=Map)

    def of(self, memory: str, version: int) -> tuple[Effect, ...]:
        """The effects of one version, oldest first."""
        return self.effects.get((memory, version), ())

    def of_all_versions(self, memory: str, version: int) -> tuple[Effect, ...]:
        """The effects of version 1 to ``version``, oldest first."""
        return tuple(
            effect for number in range(1, version + 1) for effect in self.of(memory, number)
        )


def evolve(evidence: Evidence, recorded: Recorded) -> Evidence:
    """The evidence after one event."""
    event = recorded.event
    if not isinstance(event, ev.EffectRecorded):
        return evidence
    key = (event.memory, event.version)
    effect = Effect(
        event_id=recorded.event_id,
        task=event.task,
        task_index=recorded.task_index or 0,
        origin=event.origin,
        effect=event.effect,
        sign=event.sign,
        label=event.label,
        avoid=event.avoid,
        changed=event.changed,
        context=event.context,
    )
    return Evidence(evidence.effects.set(key, (*evidence.effects.get(key, ()), effect)))
