"""Damage to a log by whoever holds the file: any value, row or byte, drawn with a seed.

A damage is told with the positions of which at least one has to be named; 0 is the file itself.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs
import orjson

from discernmem.eventlog import chain

TABLES = {
    "events": (*(field.name for field in attrs.fields(chain.Header)), "payload", "prev_hash"),
    "blobs": ("id", "sha256", "size", "codec", "content"),
    "event_blobs": ("position", "name", "sha256"),
    "log_meta": ("key", "value"),
}
KEYS = {"events": "position", "blobs": "id", "log_meta": "key"}

Positions = Collection[int]


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A log without its guards and checks, which are back afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        triggers = sql.execute("select name, sql from sqlite_master where type = 'trigger'")
        triggers = triggers.fetchall()
        for name, _ in triggers:
            sql.execute(f"drop trigger {name}")
        sql.execute("pragma ignore_check_constraints = on")
        yield sql
        for _, create in triggers:
            sql.execute(create)


def tamper(path: Path, *statements: str) -> None:
    """Run statements that the guards of a log would refuse."""
    with opened(path) as sql:
        for statement in statements:
            sql.execute(statement)


@attrs.frozen
class Tampering:
    """Damages to one log, each drawn with ``dice``; each says which positions it is at."""

    sql: sqlite3.Connection
    dice: random.Random

    # -- what a damage is made of --------------------------------------------------------------

    def ask(self, query: str, *parameters: Any) -> Any:
        return self.sql.execute(query, parameters).fetchone()

    def last(self) -> int:
        (last,) = self.ask("select max(position) from events")
        return int(last)

    def event(self, highest: int = 0) -> int:
        return self.dice.randint(1, self.last() + highest)

    def citing(self, sha256: bytes) -> int:
        """The first event that cites a blob: there, damage to it shows."""
        return int(
            self.ask("select min(position) from event_blobs where sha256 = ?", sha256)[0] or 0
        )

    def row(self, table: str) -> tuple[str, tuple[Any, ...], Positions]:
        """A row: a condition for it, its values, and where damage to it shows."""
        rows = self.sql.execute(f"select * from {table}").fetchall()
        row = self.dice.choice(rows)
        if table == "event_blobs":
            return "position = ?1 and name = ?2", row, {row[0]}
        at = {"events": {row[0]}, "blobs": {0, self.citing(row[1])}, "log_meta": {0, 1}}[table]
        return f"{KEYS[table]} = ?1", row, at

    def other(self, value: Any) -> Any:
        """A value that differs by one byte, or by little."""
        if value is None:
            return self.dice.choice([1, 2])
        if isinstance(value, int):
            return value + self.dice.choice([-1, 1, 256])
        at = self.dice.randrange(len(value))
        if isinstance(value, bytes):
            return value[:at] + bytes([value[at] ^ 1 << self.dice.randrange(8)]) + value[at + 1 :]
        return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]

    def shift(self, behind: int, by: int) -> None:
        """Renumber all events behind one."""
        for table in ("events", "event_blobs"):
            # By way of the negative numbers, since one position after the other is changed.
            self.sql.execute(
                f"update {table} set position = -(position + ?) where position > ?", (by, behind)
            )
            self.sql.execute(f"update {table} set position = -position where position < 0")

    def rehash(self, position: int) -> bytes:
        """Make the own hash of an event right again, and no other."""
        row = self.ask("select * from events where position = ?", position)
        links = self.sql.execute(
            "select name, lower(hex(sha256)) from event_blobs where position = ?", (position,)
        ).fetchall()
        header, payload, prev = row[:11], row[11], row[12]
        hash_ = chain.link(prev, header, payload.encode(), chain.links(links))
        self.sql.execute("update events set hash = ? where position = ?", (hash_, position))
        return hash_

    def chain_anew(self, begin: int) -> None:
        """Make every hash from an event on right again."""
        prev = None
        for position in range(begin, self.last() + 1):
            if prev is not None:
                update = "update events set prev_hash = ? where position = ?"
                self.sql.execute(update, (prev, position))
            prev = self.rehash(position)

    # -- damages -------------------------------------------------------------------------------

    def change(self, table: str, column: str) -> Positions:
        """One byte of one value."""
        while True:
            where, row, at = self.row(table)
            names = [name for _, name, *_ in self.sql.execute(f"pragma table_info({table})")]
            value = self.other(row[names.index(column)])
            try:
                self.sql.execute(
                    f"update {table} set {column} = ?3 where {where}", (*row[:2], value)
                )
            except sqlite3.IntegrityError:
                continue  # Another row has this key.
            if column == "position":
                return {*at, row[0] + 1, value}
            return at

    def change_hash(self) -> Positions:
        position = self.event()
        (value,) = self.ask("select hash from events where position = ?", position)
        update = "update events set hash = ? where position = ?"
        self.sql.execute(update, (self.other(value), position))
        return {position}

    def change_and_rehash(self, column: str) -> Positions:
        """One byte of one value, and the hash of the row made right."""
        at = self.change("events", column)
        for position in at:
            if self.ask("select 1 from events where position = ?", position):
                self.rehash(position)
        return {*at, *(position + 1 for position in at)}

    def change_json(self, fixed: bool) -> Positions:
        """One leaf of a payload, which stays JSON; ``fixed`` with the row's own hash."""
        position = self.event()
        (payload,) = self.ask("select payload from events where position = ?", position)
        fields = orjson.loads(payload)
        while True:
            name = self.dice.choice(list(fields))
            if type(fields[name]) in (str, int) and fields[name] != "":
                break
        fields[name] = self.other(fields[name])
        changed = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()
        update = "update events set payload = ? where position = ?"
        self.sql.execute(update, (changed, position))
        if not fixed:
            return {position}
        self.rehash(position)
        return {position, position + 1} if position < self.last() else {position}

    def remove(self, table: str) -> Positions:
        where, row, at = self.row(table)
        self.sql.execute(
            f"delete from {table} where {where}", row[:2] if "?2" in where else row[:1]
        )
        return {*at, row[0] + 1, row[0] - 1} if table == "events" else at

    def remove_and_renumber(self) -> Positions:
        position = self.event()
        for table in ("events", "event_blobs"):
            self.sql.execute(f"delete from {table} where position = ?", (position,))
        self.shift(position, -1)
        return {position, position - 1}

    def insert_event(self) -> Positions:
        """A row of its own kind, with everything behind it renumbered."""
        position = self.event(1)
        self.shift(position - 1, 1)
        row = list(self.ask("select * from events where position <> ? limit 1", position))
        row[0], row[1], row[2], row[3] = position, f"{position:024x}", "task:7777", 1
        self.sql.execute(f"insert into events values ({', '.join('?' * len(row))})", row)
        self.rehash(position)
        return {position}

    def insert_blob(self) -> Positions:
        content = b"nobody asked"
        row = (sha256(content).digest(), len(content), "none", content)
        self.sql.execute(
            "insert into blobs (sha256, size, codec, content) values (?, ?, ?, ?)", row
        )
        return {0}

    def insert_link(self) -> Positions:
        position = self.event(3)
        (_, row, _) = self.row("blobs")
        self.sql.execute("insert into event_blobs values (?, 'zz', ?)", (position, row[1]))
        return {position}

    def insert_fact(self) -> Positions:
        self.sql.execute("insert into log_meta values ('owner', 'me')")
        return {0}

    def swap(self, *columns: str) -> Positions:
        """Values of two events that differ in them."""
        names = ", ".join(columns)
        while True:
            a, b = sorted(self.dice.sample(range(1, self.last() + 1), 2))
            query = f"select {names} from events where position = ?"
            first, second = self.ask(query, a), self.ask(query, b)
            if first == second:
                continue
            update = (
                f"update events set {', '.join(f'{c} = ?' for c in columns)} where position = ?"
            )
            self.sql.execute(update, (*second, a))
            self.sql.execute(update, (*first, b))
            return {a, b}

    def swap_rows(self) -> Positions:
        """Two whole events, with their blobs, each in the place of the other."""
        a, b = self.dice.sample(range(1, self.last() + 1), 2)
        for table in ("events", "event_blobs"):
            for was, becomes in ((a, -1), (b, a), (-1, b)):
                update = f"update {table} set position = ? where position = ?"
                self.sql.execute(update, (becomes, was))
        return {a, b}

    def swap_blobs(self) -> Positions:
        """The contents of two blobs."""
        rows = self.sql.execute("select id, sha256, size, codec, content from blobs").fetchall()
        a, b = self.dice.sample(rows, 2)
        update = "update blobs set size = ?, codec = ?, content = ? where id = ?"
        self.sql.execute(update, (*a[2:], b[0]))
        self.sql.execute(update, (*b[2:], a[0]))
        return {self.citing(a[1]), self.citing(b[1])}

    def make_chain_anew(self) -> Positions:
        """A change with every hash from there on made right: only a head kept outside shows it."""
        position = self.event()
        self.sql.execute("update events set actor = 'x' where position = ?", (position,))
        self.chain_anew(position)
        return {self.last()}


Damage = Callable[[Tampering], Positions]


def damages() -> dict[str, Damage]:
    """Every kind of damage to values and rows."""
    found: dict[str, Damage] = {
        f"{table}.{column} changed": _changing(table, column)
        for table, columns in TABLES.items()
        for column in columns
    }
    for column in TABLES["events"][1:]:
        found[f"events.{column} changed, own hash right"] = _fixing(column)
    found |= {f"row of {table} removed": _removing(table) for table in TABLES}
    return found | {
        "events.hash changed": Tampering.change_hash,
        "payload changed as JSON": lambda t: t.change_json(fixed=False),
        "payload changed as JSON, own hash right": lambda t: t.change_json(fixed=True),
        "event removed, the others renumbered": Tampering.remove_and_renumber,
        "event inserted": Tampering.insert_event,
        "blob inserted": Tampering.insert_blob,
        "link inserted": Tampering.insert_link,
        "fact inserted": Tampering.insert_fact,
        "payloads swapped": lambda t: t.swap("payload"),
        "times swapped": lambda t: t.swap("recorded_at"),
        "links swapped": lambda t: t.swap("prev_hash", "hash"),
        "events swapped": Tampering.swap_rows,
        "blobs swapped": Tampering.swap_blobs,
        "chain made anew": Tampering.make_chain_anew,
    }


def _changing(table: str, column: str) -> Damage:
    return lambda tampering: tampering.change(table, column)


def _fixing(column: str) -> Damage:
    return lambda tampering: tampering.change_and_rehash(column)


def _removing(table: str) -> Damage:
    return lambda tampering: tampering.remove(table)
