"""The side file's tables: every state of memories and tasks with the positions it held between.

One row a state: it holds from the event ``since`` on and before the event ``until``. Together with
the effects, each at the event that recorded it, the rows give the store after any event of the log.
As a large store is thousands of rows, now and then a whole one is kept too: one at any event is the
last of these and the memories that changed since.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import orjson
import zstandard
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
  json       text    not null, -- the memory without its effects, canonical JSON
  effects_at integer not null, -- the offset in json where they belong
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
  memories text not null,       -- [number, bytes] of each memory, in order
  json     blob not null        -- their canonical JSON with effects, end to end, as zstd
) strict
""",
)

_NAME = re.compile("m[1-9][0-9]{0,17}")
_LEVEL = 1
_HELD = "since <= :position and (until is null or until > :position)"
_CHANGED = """
with changed (memory) as (
  select memory from memories where since > :after and since <= :position
  union
  select memory from effects where position > :after and position <= :position
)
"""


# -- asking ------------------------------------------------------------------------------------


def serialised(tables: sqlite3.Connection, position: int) -> bytes:
    """The canonical bytes of the store after the event at ``position``."""
    memories = _whole(tables, position)
    ordered = (memories[number] for number in sorted(memories))
    return b"".join(encoding.chunks(STATE_VERSION, ordered))


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
    held = f"select cast(json as blob) from {{}} where {_HELD}"
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
    sql = f"select count(*) from memories where {_HELD}"
    found: int = tables.execute(sql, {"position": position}).fetchone()[0]
    return found


def number_of(memory: str) -> int:
    """The number in the id of a memory."""
    return int(memory[1:])


# -- whole stores ------------------------------------------------------------------------------


def keep_store(tables: sqlite3.Connection, position: int) -> None:
    """Keep the whole store after the event at ``position``, the last one in the tables."""
    memories = sorted(_whole(tables, position).items())
    sizes = [(number, len(json)) for number, json in memories]
    packed = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(
        b"".join(json for _, json in memories)
    )
    row = (position, orjson.dumps(sizes).decode(), packed)
    tables.execute("insert into stores values (?, ?, ?)", row)


def changes_since_store(tables: sqlite3.Connection) -> int:
    """How many events changed a memory since the last store was kept."""
    (found,) = tables.execute(
        """
        with kept (position) as (select coalesce(max(position), 0) from stores)
        select (select count(*) from memories where since > kept.position)
             + (select count(*) from effects where effects.position > kept.position)
        from kept
        """
    ).fetchone()
    return int(found)


def _whole(tables: sqlite3.Connection, position: int) -> dict[int, encoding.Buffer]:
    """The JSON of every memory with its effects after the event at ``position``, by number."""
    memories: dict[int, encoding.Buffer] = {}
    kept = tables.execute(
        "select position, memories, json from stores where position <= ?"
        " order by position desc limit 1",
        (position,),
    ).fetchone()
    after, sizes, packed = kept or (0, "[]", b"")
    json = memoryview(zstandard.decompress(packed)) if packed else memoryview(b"")
    start = 0
    for number, size in orjson.loads(sizes):
        memories[number] = json[start : start + size]
        start += size
    memories.update(_changed(tables, after, position))
    return memories


def _changed(tables: sqlite3.Connection, after: int, position: int) -> Iterator[tuple[int, bytes]]:
    """The memories that changed behind ``after``, as they were after the event at ``position``."""
    span = {"after": after, "position": position}
    effects: dict[tuple[int, int], list[bytes]] = {}
    for number, version, json in tables.execute(
        f"{_CHANGED} select memory, version, cast(json as blob) from changed cross join effects"
        " using (memory) where position <= :position order by memory, version, position",
        span,
    ):
        effects.setdefault((number, version), []).append(json)
    for number, version, offset, json in tables.execute(
        f"{_CHANGED} select memory, version, effects_at, cast(json as blob)"
        f" from changed cross join memories using (memory) where {_HELD}",
        span,
    ):
        each = (effects.get((number, earlier), ()) for earlier in range(1, version + 1))
        yield number, encoding.spliced(json, offset, each)
