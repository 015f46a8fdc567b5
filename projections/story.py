"""The story of a memory: what it is, what it did, and what changed it, with all that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ..eventlog import events as ev
from ..eventlog.log import EventLog, Recorded
from . import store
from .facts import Facts
from .known import require_memory
from .lifeline import Line, line_of
from .store import Memory, MemoryStore
from .tallies import Tally, tally_of
from .turning import Turn, turns_of

_TYPES: Final = frozenset(
    name for name, kind in ev.EVENT_TYPES.items() if kind.STREAM == ev.MemoryAdmitted.STREAM
) - {"UseConditionsGeneralised"}
"""What the story is made of; a generalisation shows in the conditions it added, and is long."""


@attrs.frozen(kw_only=True)
class Story:
    """One memory as a person would tell it.

    Attributes:
        memory: as it stands.
        tally: its numbers over all versions.
        line: how it stood from task to task.
        turns: its turning points, in order.
        places: the positions of the events that made its versions and conditions, by their ids.
    """

    memory: Memory
    tally: Tally
    line: Line
    turns: tuple[Turn, ...]
    places: Mapping[str, int]


def story(log: EventLog, name: str) -> Story:
    """The story of a memory up to the end of the log.

    It reads the memory's stream, and of the rest only what its turning points rest on;
    `trajectory` reads what was said in the executions among that.

    Raises:
        BadInput: there is no memory of that name.
        LogError: the log is damaged.
    """
    require_memory(log, name)
    recorded = tuple(log.read(stream=f"memory:{name}", types=_TYPES))
    memory = _fold(recorded)[name]
    facts = Facts(log, recorded)
    headers = tuple(log.read(types=("RunStarted", "RunForked")))
    header = headers[-1].event
    assert isinstance(header, ev.RunStarted)
    made_by = [each.made_by for each in memory.versions]
    added_by = [each.added_by for each in (*memory.use_when, *memory.avoid_when)]
    positions = {each.event_id: each.position for each in recorded}
    return Story(
        memory=memory,
        tally=tally_of(name, recorded),
        line=line_of(facts, tasks=header.tasks, begun=log.last_task()),
        turns=turns_of(facts, [each.body for each in memory.versions], headers),
        places={event_id: positions[event_id] for event_id in (*made_by, *added_by)},
    )


def _fold(recorded: tuple[Recorded, ...]) -> MemoryStore:
    held = MemoryStore()
    for each in recorded:
        held = store.evolve(held, each)
    return held
