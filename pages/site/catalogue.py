"""What the pages look up: all memories after any event, counted and searchable, kept in memory.

The serving process keeps it up with the head of the log. The side file is left to commands that
come and go: whoever reads it can make a run wait that wants to bring it up to date.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from ...eventlog import events as ev
from ...eventlog.chain import Head
from ...eventlog.errors import BadInput
from ...eventlog.log import EventLog, Recorded
from ...projections import store
from ...projections.store import Memory, MemoryStore

_SCHEMA: Final = """
-- Every memory as it is now, with all that was counted over all its versions.
create table memories (
  number      integer primary key, -- 17 for m17
  id          text    not null,
  owner       text    not null,
  state       text    not null,
  version     integer not null,
  body        text    not null,
  supplied    integer not null default 0,
  positive    integer not null default 0,
  neutral     integer not null default 0,
  negative    integer not null default 0,
  mean_effect real,
  changed     integer not null default 0 -- position of its last event that says something of it
);
-- In which state and version a memory was, from the event at `since` on and before `until`.
create table spans (
  number integer not null, since integer not null, until integer,
  state text not null, version integer not null,
  primary key (number, since)
) without rowid;
-- Each rule and each condition a memory has had, likewise.
create table texts (
  id integer primary key,
  number integer not null, kind text not null, version integer not null,
  since integer not null, until integer, text text not null
);
create index texts_of on texts (number, kind);
-- Each use, effect and label.
create table marks (
  number integer not null, position integer not null, what text not null, effect real,
  primary key (number, position)
) without rowid;
create virtual table words using fts5 (
  text, content = texts, content_rowid = id, tokenize = 'unicode61 remove_diacritics 2'
);
"""
_READ: Final = (
    *store.HANDLERS, "MemorySupplied", "EffectRecorded", "UseAttributed", "TaskStarted"
)  # fmt: skip
_KINDS: Final = {"use_when": "use", "avoid_when": "avoid"}
_COUNT: Final = """
update memories set (supplied, positive, neutral, negative, mean_effect, changed) = (
  select count(*) filter (where what = 'supplied'), count(*) filter (where what = 'positive'),
    count(*) filter (where what = 'neutral'), count(*) filter (where what = 'negative'),
    round(avg(effect), 9) + 0.0, max(coalesce(max(position), 0), :changed)
  from marks where marks.number = :number
) where number = :number
"""


class Catalogue:
    """The memories of one log as they were after each of its events; safe between threads.

    ``tasks`` are the places of all begun tasks in the stream, by their ids.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._tables = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._tables.row_factory = sqlite3.Row
        self._tables.executescript(_SCHEMA)
        self._store = MemoryStore()
        self.tasks: dict[str, int] = {}
        self._reached: Head | None = None

    # -- asking --------------------------------------------------------------------------------

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[sqlite3.Row]:
        """All rows of a query over the tables.

        Raises:
            sqlite3.Error: there is something wrong with it.
        """
        with self._lock:
            return self._tables.execute(sql, parameters or {}).fetchall()

    def number(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """The one number a query answers with."""
        return int(self.rows(sql, parameters)[0][0])

    def memory(self, name: str) -> Memory | None:
        """A memory as it is now."""
        return self._store.memories.get(name)

    def __len__(self) -> int:
        return len(self._store)

    # -- keeping up ----------------------------------------------------------------------------

    def catch_up(self, log: EventLog) -> Head:
        """Take in all events of the log that are new; returns its head, up to which that is."""
        with self._lock:
            head = log.head()
            if self._reached is not None and not _ended_at(log, self._reached):
                self._tables.close()
                self._begin()
            reached = self._reached.position if self._reached else 0
            if reached < head.position:
                with self._writing():
                    self._take(log, reached, head.position)
            self._reached = head
            return head

    @contextmanager
    def _writing(self) -> Iterator[None]:
        before = self._store
        self._tables.execute("begin")
        try:
            yield
            self._tables.execute("commit")
        except BaseException:
            self._tables.execute("rollback")
            self._store = before
            raise

    def _take(self, log: EventLog, after: int, until: int) -> None:
        touched: dict[int, int] = {}
        for recorded in log.read(after=after, until=until, types=_READ):
            if isinstance(recorded.event, ev.TaskStarted):
                self.tasks[recorded.event.task] = recorded.event.index
                continue
            name: str = recorded.event.memory  # type: ignore[attr-defined]
            number = int(name[1:])
            if recorded.type in store.HANDLERS:
                before = self._store.memories.get(name)
                self._store = store.evolve(self._store, recorded)
                self._changed(before, self._store[name], recorded)
            else:
                self._mark(number, recorded)
            touched[number] = recorded.position
        for number, position in touched.items():
            self._tables.execute(_COUNT, {"number": number, "changed": position})

    def _changed(self, before: Memory | None, now: Memory, recorded: Recorded) -> None:
        number, position, run = now.number, recorded.position, self._tables.execute
        if before is None:
            run(
                "insert into memories (number, id, owner, state, version, body)"
                " values (?, ?, ?, ?, ?, ?)",
                (number, now.id, now.owner, now.state, now.version, now.body),
            )
        if before is None or (before.state, before.version) != (now.state, now.version):
            run("update spans set until = ? where number = ? and until is null", (position, number))
            run(
                "insert into spans values (?, ?, null, ?, ?)",
                (number, position, now.state, now.version),
            )
            run(
                "update memories set state = ?, version = ?, body = ? where number = ?",
                (now.state, now.version, now.body, number),
            )
        if before is None or before.version != now.version:
            self._end(number, "rule", position)
            self._begin_text(now, "rule", now.body, position)
        for field, kind in _KINDS.items():
            had = getattr(before, field) if before else ()
            has = getattr(now, field)
            for condition in had:
                if condition not in has:
                    self._end(number, kind, position, condition.text)
            for condition in has:
                if condition not in had:
                    self._begin_text(now, kind, condition.text, position)

    def _begin_text(self, memory: Memory, kind: str, text: str, position: int) -> None:
        made = self._tables.execute(
            "insert into texts (number, kind, version, since, text) values (?, ?, ?, ?, ?)",
            (memory.number, kind, memory.version, position, text),
        )
        self._tables.execute(
            "insert into words (rowid, text) values (?, ?)", (made.lastrowid, text)
        )

    def _end(self, number: int, kind: str, position: int, text: str | None = None) -> None:
        self._tables.execute(
            "update texts set until = :position where number = :number and kind = :kind"
            " and until is null and (:text is null or text = :text)",
            {"position": position, "number": number, "kind": kind, "text": text},
        )

    def _mark(self, number: int, recorded: Recorded) -> None:
        what, effect = _what(recorded.event)
        self._tables.execute(
            "insert into marks values (?, ?, ?, ?)", (number, recorded.position, what, effect)
        )


def _what(event: ev.Event) -> tuple[str, float | None]:
    match event:
        case ev.EffectRecorded():
            return event.sign, event.effect
        case ev.UseAttributed():
            return event.label, None
        case _:
            return "supplied", None


def _ended_at(log: EventLog, head: Head) -> bool:
    try:
        return log.head(head.position) == head
    except BadInput:
        return False
