"""The side file's tables: every state of memories and tasks with the positions it held between.

One row a state: it holds from the event ``since`` on and before the event ``until``. Together with
the effects, each at the event that recorded it, the rows give the store after any event of the log.
As a large store is thousands of rows, now and then a whole one is kept too (`stores`).
"""

from __future__ import annotations

import re
import sqlite3
from itertools import groupby
from operator import itemgetter
from typing import Final

from immutables import Map

from . import encoding
from .evidence import Effect, Evidence
from .history import History
from .state import STATE_VERSION, State
from .store import Memory, MemoryStore

CODE_VERSION: Final = f"state {STATE_VERSION}, tables 1"
"""Version of the folds and of these tables; what another version filled is thrown away."""

SCHEMA: Final = (
    """
create table memories (
  memory     integer not null, -- its number: 17 for m17
  since      integer not null, -- position of the event that made it so
  until      integer,          -- position of the event that ended that; null: it still is so
  version    integer not null, -- of its body
  effects_at integer not null, -- the offset in json at which its effects belong
  json       text    not null, -- the memory without its effects, canonical JSON
  primary key (memory, since)
) strict
""",
    "create index memories_held on memories (since, until)",
    """
create table effects (
  memory   integer not null,
  version  integer not null,
  position integer not null, -- of the event that recorded it
  json     text    not null,
  primary key (memory, version, position)
) strict, without rowid
""",
    "create index effects_recorded on effects (position)",
    """
create table tasks (
  task       text    not null,
  since      integer not null,
  until      integer,
  task_index integer not null,
  json       text    not null,
  primary key (task, since)
) strict
""",
    """
create table stores (
  position integer primary key, -- of the event after which the store was this
  memories text not null,       -- five lists: of each memory in order its number, its bytes, its
                                -- effects_at and its version; of each version the effects' bytes
  json     blob not null        -- the memories and their effects, with commas between, as zstd
) strict
""",
)

_NAME = re.compile("m[1-9][0-9]{0,17}")
HELD: Final = "since <= :position and (until is null or until > :position)"
"""The rows of a table of states that held after the event at ``position``."""


def state(tables: sqlite3.Connection, position: int) -> State:
    """The state after the event at ``position``."""
    at = {"position": position}
    effects: dict[tuple[str, int], tuple[Effect, ...]] = {
        (f"m{number}", version): tuple(encoding.decode_effect(json) for *_, json in rows)
        for (number, version), rows in groupby(
            tables.execute(
                "select memory, version, cast(json as blob) from effects"
                " where position <= :position order by memory, version, position",
                at,
            ),
            itemgetter(0, 1),
        )
    }
    held = f"select cast(json as blob) from {{}} where {HELD}"
    memories = [
        encoding.decode_memory(json) for (json,) in tables.execute(held.format("memories"), at)
    ]
    tasks = [encoding.decode_task(json) for (json,) in tables.execute(held.format("tasks"), at)]
    return State(
        MemoryStore(Map({memory.id: memory for memory in memories})),
        Evidence(Map(effects)),
        History(
            Map({task.id: task for task in tasks}), Map({task.index: task.id for task in tasks})
        ),
    )


def memory(tables: sqlite3.Connection, name: str, position: int) -> Memory | None:
    """One memory after the event at ``position``, if it was admitted by then."""
    if not _NAME.fullmatch(name):
        return None
    row = tables.execute(
        "select cast(json as blob) from memories where memory = ? and since <= ?"
        " order by since desc limit 1",
        (number_of(name), position),
    ).fetchone()
    return encoding.decode_memory(row[0]) if row else None


def count(tables: sqlite3.Connection, position: int) -> int:
    """How many memories there were after the event at ``position``."""
    sql = f"select count(*) from memories where {HELD}"
    found: int = tables.execute(sql, {"position": position}).fetchone()[0]
    return found


def number_of(memory: str) -> int:
    """The number in the id of a memory."""
    return int(memory[1:])
