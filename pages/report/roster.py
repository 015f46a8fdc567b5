"""Every memory of a run as the report lists it, and which of them it tells the story of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...eventlog import events as ev
from ...eventlog.log import EventLog, Recorded
from ...projections import store
from ...projections.facts import Facts
from ...projections.lifeline import Line, line_of
from ...projections.store import Memory, MemoryStore
from ...projections.tallies import Tally, tallies

_TYPES: Final = (*store.HANDLERS, "MemorySupplied", "EffectRecorded", "MemoryOverridden")
_STREAM: Final = "memory:"


@attrs.frozen(kw_only=True)
class Entry:
    """A memory in the list: as it stands, its numbers, its life line, how many events it has.

    ``turned`` is whether its words were ever changed or it was ever retired.
    """

    memory: Memory
    tally: Tally
    line: Line
    events: int
    turned: bool


def roster(log: EventLog, *, tasks: int, begun: int) -> tuple[Entry, ...]:
    """All memories at the end of a log, in order of admission.

    Args:
        log: the log.
        tasks: how long the stream is.
        begun: how many tasks of it were.
    """
    held = MemoryStore()
    streams: dict[str, list[Recorded]] = {}
    for recorded in log.read(types=_TYPES):
        held = store.evolve(held, recorded)
        streams.setdefault(recorded.stream_id.removeprefix(_STREAM), []).append(recorded)
    sizes: dict[str, int] = dict(
        log.rows(
            "select substr(stream_id, 8), count(*) from events"
            " where stream_id >= 'memory:' and stream_id < 'memory;' group by stream_id"
        )
    )
    # A running run may have admitted more since: those are left for the next report.
    numbers = {tally.memory: tally for tally in tallies(log)}
    return tuple(
        Entry(
            memory=memory,
            tally=numbers[memory.id],
            line=line_of(Facts(log, streams[memory.id]), tasks=tasks, begun=begun),
            events=sizes[memory.id],
            turned=any(map(_turned, streams[memory.id])),
        )
        for memory in held.ordered()
    )


def _turned(recorded: Recorded) -> bool:
    match recorded.event:
        case ev.MemoryRevised():
            return True
        case ev.StateChanged() as event:
            return event.after == "inactive"
    return False


def worth_telling(entries: Sequence[Entry], limit: int) -> tuple[Entry, ...]:
    """The turned memories with the most events, at most so many, in order of admission."""
    turned = sorted(
        (entry for entry in entries if entry.turned),
        key=lambda entry: (-entry.events, entry.memory.number),
    )
    return tuple(sorted(turned[:limit], key=lambda entry: entry.memory.number))
