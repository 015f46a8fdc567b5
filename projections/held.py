"""The side file's tables: every state of memories and tasks with the positions it held between.

One row a state: it holds from the event ``since`` on and before the event ``until``. Together with
the effects, each at the event that recorded it, the rows give the store after any event of the log.
"""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import Final

import attrs
from immutables import Map

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from . import encoding
from .evidence import Evidence
from .history import History
from .state import STATE_VERSION, State, evolve
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
)

_HELD = "since <= :position and (until is null or until > :position)"


# -- asking ------------------------------------------------------------------------------------


def serialised(tables: sqlite3.Connection, position: int) -> bytes:
    """The canonical bytes of the store after the event at ``position``."""
    effects = _effects(tables, position)
    none: dict[int, list[bytes]] = {}
    return encoding.whole(
        STATE_VERSION,
        (
            encoding.spliced(
                json,
                offset,
                (effects.get(memory, none).get(number, ()) for number in range(1, version + 1)),
            )
            for memory, version, offset, json in _memories(tables, position)
        ),
    )


def state(tables: sqlite3.Connection, position: int) -> State:
    """The state after the event at ``position``."""
    memories = [encoding.decode_memory(row[3]) for row in _memories(tables, position)]
    effects = {
        (f"m{memory}", version): tuple(map(encoding.decode_effect, each))
        for memory, versions in _effects(tables, position).items()
        for version, each in versions.items()
    }
    rows = tables.execute(
        f"select cast(json as blob) from tasks where {_HELD}", {"position": position}
    )
    tasks = [encoding.decode_task(json) for (json,) in rows]
    return State(
        MemoryStore(Map({memory.id: memory for memory in memories})),
        Evidence(Map(effects)),
        History(
            Map({task.id: task for task in tasks}), Map({task.index: task.id for task in tasks})
        ),
    )


def memory(tables: sqlite3.Connection, name: str, position: int) -> Memory | None:
    """One memory after the event at ``position``, if it was admitted by then."""
    row = tables.execute(
        "select cast(json as blob) from memories where memory = ? and since <= ?"
        " order by since desc limit 1",
        (_number(name), position),
    ).fetchone()
    return encoding.decode_memory(row[0]) if row else None


def count(tables: sqlite3.Connection, position: int) -> int:
    """How many memories there were after the event at ``position``."""
    sql = f"select count(*) from memories where {_HELD}"
    found: int = tables.execute(sql, {"position": position}).fetchone()[0]
    return found


def _memories(tables: sqlite3.Connection, position: int) -> list[tuple[int, int, int, bytes]]:
    sql = f"select memory, version, effects_at, cast(json as blob) from memories where {_HELD}"
    return sorted(tables.execute(sql, {"position": position}), key=itemgetter(0))


def _effects(tables: sqlite3.Connection, position: int) -> dict[int, dict[int, list[bytes]]]:
    """The encoded effects by memory and version, in order."""
    found: dict[int, dict[int, list[bytes]]] = {}
    for memory, version, json in tables.execute(
        "select memory, version, cast(json as blob) from effects where position <= ?"
        " order by memory, version, position",
        (position,),
    ):
        found.setdefault(memory, {}).setdefault(version, []).append(json)
    return found


def _number(memory: str) -> int:
    return int(memory[1:])


# -- filling -----------------------------------------------------------------------------------


class Filling:
    """Takes the next events into the tables, by the fold itself over only what they touch.

    Rows are collected and written by `write`: a state that is ended soon is written once, and one
    call of SQLite costs as much as what it does.
    """

    def __init__(self, tables: sqlite3.Connection) -> None:
        self._tables = tables
        self._state = State()
        self._memories = _Rows(tables, "memories", "memory")
        self._tasks = _Rows(tables, "tasks", "task")
        self._effects: list[tuple[object, ...]] = []

    def add(self, recorded: Recorded) -> None:
        """Take in the event after those taken so far.

        Raises:
            KeyError: it is about a memory or a task that no event before it began.
        """
        name, task = (getattr(recorded.event, field, None) for field in ("memory", "task"))
        if isinstance(recorded.event, ev.EffectRecorded):
            self._effect(recorded, recorded.event)
        elif name is not None:
            self._memory(recorded, name)
        elif task is not None:
            self._task(recorded, task)

    def _effect(self, recorded: Recorded, event: ev.EffectRecorded) -> None:
        (effect,) = evolve(State(), recorded).evidence.of(event.memory, event.version)
        key = (_number(event.memory), event.version, recorded.position)
        self._effects.append((*key, encoding.encode(effect).decode()))

    def _memory(self, recorded: Recorded, name: str) -> None:
        known = self._state.store
        if name not in known and not isinstance(recorded.event, ev.MemoryAdmitted):
            held = self._memories.current(_number(name))
            if held is not None:
                known = MemoryStore(known.memories.set(name, encoding.decode_memory(held)))
        self._state = evolve(attrs.evolve(self._state, store=known), recorded)
        memory = self._state.store[name]
        json, offset = encoding.encode_memory(memory)
        self._memories.put(
            memory.number, recorded.position, (memory.version, json.decode(), offset)
        )

    def _task(self, recorded: Recorded, task: str) -> None:
        known = self._state.history
        if task not in known.tasks and not isinstance(recorded.event, ev.TaskStarted):
            held = self._tasks.current(task)
            if held is not None:
                known = History(known.tasks.set(task, encoding.decode_task(held)))
        self._state = evolve(attrs.evolve(self._state, history=known), recorded)
        record = self._state.history[task]
        self._tasks.put(task, recorded.position, (record.index, encoding.encode(record).decode()))

    def write(self) -> None:
        """Write what was collected."""
        self._memories.write()
        self._tasks.write()
        self._tables.executemany("insert into effects values (?, ?, ?, ?)", self._effects)
        self._effects.clear()


class _Rows:
    """New rows of one of the tables of states, by the key of what they are about."""

    def __init__(self, tables: sqlite3.Connection, table: str, key: str) -> None:
        self._tables = tables
        self._table = table
        self._key = key
        self._open: dict[object, tuple[int, tuple[object, ...]]] = {}
        self._done: list[tuple[object, ...]] = []
        self._ended: list[tuple[object, ...]] = []

    def current(self, key: object) -> bytes | None:
        """The JSON of the state that holds now, as of the last write."""
        row = self._tables.execute(
            f"select cast(json as blob) from {self._table}"
            f" where {self._key} = ? and until is null",
            (key,),
        ).fetchone()
        return row[0] if row else None

    def put(self, key: object, position: int, values: tuple[object, ...]) -> None:
        """From ``position`` on another state holds."""
        if key in self._open:
            since, before = self._open[key]
            self._done.append((key, since, position, *before))
        else:
            self._ended.append((position, key))
        self._open[key] = position, values

    def write(self) -> None:
        """Write the rows: first the end of those there are, then the new ones."""
        self._tables.executemany(
            f"update {self._table} set until = ? where {self._key} = ? and until is null",
            self._ended,
        )
        self._done += [(key, since, None, *values) for key, (since, values) in self._open.items()]
        if self._done:
            marks = ", ".join("?" * len(self._done[0]))
            self._tables.executemany(f"insert into {self._table} values ({marks})", self._done)
