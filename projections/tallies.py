"""The numbers of a memory over all its versions: uses, effects, labels, changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import attrs
import orjson

from ..eventlog import events as ev
from ..eventlog.log import EventLog, Recorded

_DECIMALS: Final = 9
_STREAM: Final = "memory:"

# Of each type the two fields that are counted; what has none is counted as it is.
_FIELDS: Final = {
    "MemoryAdmitted": ("use_when", "avoid_when"),
    "MemorySupplied": (),
    "EffectRecorded": ("sign", "effect"),
    "UseAttributed": ("label",),
    "MemoryRevised": ("version",),
    "StateChanged": ("after",),
    "ConditionAdded": ("kind", "text"),
    "ConditionWithdrawn": ("kind", "text"),
}


@attrs.frozen(kw_only=True)
class Tally:
    """A memory in numbers, over all its versions.

    Attributes:
        memory: its id.
        state: as it stands.
        version: of its body as it stands, from 1.
        supplied: how often it was injected into a scored execution.
        positive: effects recorded with this sign, whatever they came from; so the next two.
        neutral: see ``positive``.
        negative: see ``positive``.
        mean_effect: mean of all recorded effects to nine decimals, None without any.
        content: uses labelled ``CONTENT``.
        scope: uses labelled ``SCOPE``.
        revisions: new bodies, from repairs and from persons.
        use_conditions: conditions it has now; so ``avoid_conditions``.
        avoid_conditions: see ``use_conditions``.
        transitions: changes of state.
    """

    memory: str
    state: ev.State
    version: int
    supplied: int
    positive: int
    neutral: int
    negative: int
    mean_effect: float | None
    content: int
    scope: int
    revisions: int
    use_conditions: int
    avoid_conditions: int
    transitions: int


def tally_of(name: str, recorded: Iterable[Recorded]) -> Tally:
    """The numbers of a memory from the events of its stream, those that count at least."""
    counting = _Counting(name)
    for each in recorded:
        fields = _FIELDS.get(each.type)
        if fields is not None:
            counting.add(each.type, *(getattr(each.event, field) for field in fields))
    return counting.tally()


def tallies(log: EventLog) -> tuple[Tally, ...]:
    """The numbers of every memory at the end of the log, in order of admission.

    They are read as columns: to decode the events would take several times as long.
    """
    counted: dict[str, _Counting] = {}
    for stream, kind, first, second in log.rows(_columns()):
        name = stream.removeprefix(_STREAM)
        if kind == "MemoryAdmitted":
            counted[name] = _Counting(name)
            first, second = orjson.loads(first), orjson.loads(second)
        counted[name].add(kind, *(first, second)[: len(_FIELDS[kind])])
    return tuple(counting.tally() for counting in counted.values())


def _columns() -> str:
    """A query for stream, type and the counted fields of every event that counts, in order."""
    first, second = (
        " ".join(
            f"when '{kind}' then payload ->> '{names[at]}'"
            for kind, names in _FIELDS.items()
            if len(names) > at
        )
        for at in (0, 1)
    )
    kinds = ", ".join(f"'{kind}'" for kind in _FIELDS)
    return (
        f"select stream_id, type, case type {first} end, case type {second} end"
        f" from events where type in ({kinds}) order by position"
    )


@attrs.define
class _Counting:
    """The numbers of one memory in the making; events are taken in their order."""

    memory: str
    counts: Counter[str] = attrs.field(factory=Counter, init=False)
    effects: list[float] = attrs.field(factory=list, init=False)
    conditions: dict[str, list[str]] = attrs.field(factory=dict, init=False)
    state: ev.State = attrs.field(default="provisional", init=False)
    version: int = attrs.field(default=1, init=False)

    def add(self, kind: str, *fields: Any) -> None:
        """Take one event: its type and the fields of it that count."""
        self.counts[kind] += 1
        match kind:
            case "MemoryAdmitted":
                self.conditions = dict(zip(_FIELDS[kind], map(list, fields), strict=True))
            case "EffectRecorded":
                self.counts[fields[0]] += 1
                self.effects.append(fields[1])
            case "UseAttributed":
                self.counts[fields[0]] += 1
            case "MemoryRevised":
                (self.version,) = fields
            case "StateChanged":
                (self.state,) = fields
            case "ConditionAdded":
                self.conditions[fields[0]].append(fields[1])
            case "ConditionWithdrawn":
                held = self.conditions[fields[0]]
                self.conditions[fields[0]] = [text for text in held if text != fields[1]]
            case _:
                pass

    def tally(self) -> Tally:
        """The numbers so far."""
        counts, effects = self.counts, self.effects
        mean = round(math.fsum(effects) / len(effects), _DECIMALS) + 0.0 if effects else None
        return Tally(
            memory=self.memory,
            state=self.state,
            version=self.version,
            supplied=counts["MemorySupplied"],
            positive=counts["positive"],
            neutral=counts["neutral"],
            negative=counts["negative"],
            mean_effect=mean,
            content=counts["CONTENT"],
            scope=counts["SCOPE"],
            revisions=counts["MemoryRevised"],
            use_conditions=len(self.conditions["use_when"]),
            avoid_conditions=len(self.conditions["avoid_when"]),
            transitions=counts["StateChanged"],
        )
