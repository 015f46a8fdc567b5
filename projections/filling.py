"""Taking new events of a log into the tables of its side file."""

from __future__ import annotations

import sqlite3
from typing import Final

from ..eventlog import events as ev
from ..eventlog.log import Recorded
from . import encoding, evidence, history, store
from .evidence import Evidence
from .held import number_of
from .history import History
from .store import MemoryStore
from .stores import changes_since_store, keep_store

STORE_EVERY: Final = 500
"""Events that change a memory after which the whole store is kept once more."""


class Filling:
    """Takes the next events into the tables, by the fold itself over only what they touch.

    Rows are collected and written by `write`: a state that is ended soon is written once, and one
    call of SQLite costs as much as what it does.
    """

    def __init__(self, tables: sqlite3.Connection) -> None:
        self._tables = tables
        self._store = MemoryStore()
        self._history = History()
        self._memories = _Rows(tables, "memories", "memory")
        self._tasks = _Rows(tables, "tasks", "task")
        self._effects: list[tuple[object, ...]] = []
        self._changes = changes_since_store(tables)

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
        if name is not None:
            self._changes += 1
            if self._changes == STORE_EVERY:
                self.write()
                keep_store(self._tables, recorded.position)
                self._changes = 0

    def _effect(self, recorded: Recorded, event: ev.EffectRecorded) -> None:
        (effect,) = evidence.evolve(Evidence(), recorded).of(event.memory, event.version)
        key = (number_of(event.memory), event.version, recorded.position)
        self._effects.append((*key, encoding.encode(effect).decode()))

    def _memory(self, recorded: Recorded, name: str) -> None:
        if name not in self._store and not isinstance(recorded.event, ev.MemoryAdmitted):
            held = self._memories.current(number_of(name))
            if held is not None:
                memory = encoding.decode_memory(held)
                self._store = MemoryStore(self._store.memories.set(name, memory))
        self._store = store.evolve(self._store, recorded)
        memory = self._store[name]
        json, effects_at = encoding.encode_memory(memory)
        values = (memory.version, effects_at, json.decode())
        self._memories.put(memory.number, recorded.position, values)

    def _task(self, recorded: Recorded, task: str) -> None:
        known = self._history
        if task not in known.tasks and not isinstance(recorded.event, ev.TaskStarted):
            held = self._tasks.current(task)
            if held is not None:
                record = encoding.decode_task(held)
                known = History(known.tasks.set(task, record), known.order)
        self._history = history.evolve(known, recorded)
        record = self._history[task]
        values = (record.index, encoding.encode(record).decode())
        self._tasks.put(task, recorded.position, values)

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
            f"select cast(json as blob) from {self._table} where {self._key} = ? and until is null",
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
        for rows in (self._open, self._done, self._ended):
            rows.clear()
