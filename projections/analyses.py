"""What became of the memories of a run: the figures of the paper's analyses (§4.4, App. D).

A share whose whole is empty is None: nothing was stored, or nothing was injected.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, Final, get_args

import attrs

from ..eventlog import events as ev
from ..eventlog.log import EventLog, Recorded

_TYPES: Final = (
    "RunStarted",
    "RunForked",
    "MemoryAdmitted",
    "MemoryRevised",
    "StateChanged",
    "MemorySupplied",
    "TaskCompleted",
)
STATES: Final[tuple[ev.State, ...]] = get_args(ev.State)
_DECIMALS: Final = 6
_CURVE: Final = 50
"""Places of the store at which its concentration is told, if it has so many memories."""

_PARTS: Final = 50
"""Parts of the stream after each of which the store is counted."""

AGES: Final = (1, 2, 5, 10, 20, 50, 100)
"""Ages up to which the injections are counted, in percent of the stream."""


@attrs.frozen(kw_only=True)
class Ages:
    """Ages of memories when they were injected, as fractions of the stream (Fig. 7).

    An age is what passed of the stream since the memory was admitted; percentiles are interpolated.
    ``counts`` are the injections by age, each class at most as old as `AGES` says.
    """

    median: float
    p5: float
    p95: float
    counts: tuple[int, ...]


@attrs.frozen(kw_only=True)
class Growth:
    """The store when ``tasks`` were done (Fig. 3): its size, by state too, and the share used.

    ``states`` are in the order of `STATES`; used is what was injected by then.
    """

    tasks: int
    memories: int
    states: tuple[int, ...]
    used: float | None


@attrs.frozen(kw_only=True)
class Analyses:
    """The memories of a run, counted.

    Attributes:
        memories: size of the store, inactive ones included.
        states: share of the store by lifecycle state (Fig. 5).
        revised: share of the store with a body that a repair committed (Fig. 2, hollow).
        injections: how often a memory was supplied to a scored execution.
        revised_in_injections: their share of the injections, before and after it (Fig. 2, filled).
        used: share of the store injected at least once.
        top_tenth: share of the injections that the most used tenth of the store got, rounded up
            to whole memories (Fig. 6).
        concentration: the share of the injections that so many of the most used memories got, from
            none to all of them (Fig. 6, the curve); empty without an injection.
        ages: ages at injection, None without one.
        depths: memories by how often their body was revised, those never left out (Fig. 8).
        growth: the store after each fiftieth of the stream that was reached.
    """

    memories: int
    states: Mapping[str, float | None]
    revised: float | None
    injections: int
    revised_in_injections: float | None
    used: float | None
    top_tenth: float | None
    concentration: tuple[tuple[int, float], ...]
    ages: Ages | None
    depths: Mapping[int, int]
    growth: tuple[Growth, ...]

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return attrs.asdict(self) | {"depths": {str(n): count for n, count in self.depths.items()}}


def analyse_log(log: EventLog) -> Analyses:
    """The analyses of a log, finished or not."""
    return analyse(log.read(types=_TYPES))


def analyse(events: Iterable[Recorded]) -> Analyses:
    """The analyses of a run from its events, in order; of those it needs, the others may miss."""
    stream = 0
    states: dict[str, str] = {}
    admitted: dict[str, int] = {}
    revisions: Counter[str] = Counter()
    injected: Counter[str] = Counter()
    ages: list[int] = []
    growth: list[Growth] = []
    for recorded in events:
        index = recorded.task_index or 0
        match recorded.event:
            case ev.RunStarted() as event:
                stream = event.tasks
            case ev.MemoryAdmitted() as event:
                states[event.memory] = "provisional"
                admitted[event.memory] = index
            case ev.StateChanged() as event:
                states[event.memory] = event.after
            case ev.MemoryRevised() as event:
                # A person's edit is no repair and has no name.
                revisions[event.memory] += bool(event.repair)
            case ev.MemorySupplied() as event:
                injected[event.memory] += 1
                ages.append(index - admitted[event.memory])
            case ev.TaskCompleted() as event if _ends_part(event.index, stream):
                growth.append(_grown(event.index, states, len(injected)))
            case _:
                pass
    size, injections = len(states), injected.total()
    depths = Counter(depth for depth in revisions.values() if depth)
    most = sorted(injected.values(), reverse=True)
    of_revised = sum(injected[name] for name, depth in revisions.items() if depth)
    return Analyses(
        memories=size,
        states={
            state: _share(sum(each == state for each in states.values()), size) for state in STATES
        },
        revised=_share(depths.total(), size),
        injections=injections,
        revised_in_injections=_share(of_revised, injections),
        used=_share(len(injected), size),
        top_tenth=_share(sum(most[: ceil(size / 10)]), injections),
        concentration=_concentration(most, size),
        ages=_ages(ages, stream),
        depths=dict(sorted(depths.items())),
        growth=tuple(growth),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, _DECIMALS) if whole else None


def _grown(tasks: int, states: Mapping[str, str], injected: int) -> Growth:
    counts = Counter(states.values())
    return Growth(
        tasks=tasks,
        memories=len(states),
        states=tuple(counts[state] for state in STATES),
        used=_share(injected, len(states)),
    )


def _concentration(most: Sequence[int], size: int) -> tuple[tuple[int, float], ...]:
    """The curve of Fig. 6 from the injections of the memories that had any, most of all first."""
    if not most:
        return ()
    got = [0, *accumulate(most)]
    places = sorted({size * part // _CURVE for part in range(_CURVE + 1)})
    return tuple(
        (place, round(got[min(place, len(most))] / got[-1], _DECIMALS)) for place in places
    )


def _ends_part(index: int, stream: int) -> bool:
    """Whether a part of the stream ends with this task; of a short stream one does every time."""
    return index * _PARTS // stream > (index - 1) * _PARTS // stream


def _ages(ages: Sequence[int], stream: int) -> Ages | None:
    if not ages:
        return None
    ordered = sorted(ages)

    def percentile(percent: int) -> float:
        place = (len(ordered) - 1) * percent
        low, rest = divmod(place, 100)
        high = min(low + 1, len(ordered) - 1)
        value = ordered[low] + (ordered[high] - ordered[low]) * rest / 100
        return round(value / stream, _DECIMALS)

    bounds = [bisect_right(ordered, percent * stream / 100) for percent in AGES]
    return Ages(
        median=percentile(50),
        p5=percentile(5),
        p95=percentile(95),
        counts=tuple(after - before for before, after in pairwise([0, *bounds])),
    )
