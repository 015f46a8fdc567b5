"""Whole stores among the side file's tables: a large one is thousands of rows, too many to ask for.

The store after any event is the last one kept before it and the memories that changed since.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

import orjson
import zstandard

from . import encoding
from .held import HELD
from .state import STATE_VERSION

_LEVEL: Final = 1


def serialised(tables: sqlite3.Connection, position: int) -> bytes:
    """The canonical bytes of the store after the event at ``position``."""
    kept = _Kept.before(tables, position)
    changed = {number: memory.json for number, memory in _changed(tables, kept, position)}
    return b"".join(encoding.chunks(STATE_VERSION, kept.pieces(changed)))


def keep_store(tables: sqlite3.Connection, position: int) -> None:
    """Keep the whole store after the event at ``position``, the last one in the tables."""
    kept = _Kept.before(tables, position)
    memories = dict(kept.memories())
    memories.update(_changed(tables, kept, position))
    ordered = [memories[number] for number in sorted(memories)]
    columns = (
        sorted(memories),
        [len(memory.json) for memory in ordered],
        [memory.effects_at for memory in ordered],
        [len(memory.effects) for memory in ordered],
        [size for memory in ordered for size in memory.effects],
    )
    packer = zstandard.ZstdCompressor(_LEVEL, write_checksum=True)
    packed = packer.compress(b",".join(memory.json for memory in ordered))
    row = (position, orjson.dumps(columns).decode(), packed)
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


class _Memory(NamedTuple):
    """A memory with its effects as JSON, and the bytes that those of each version are of it."""

    json: encoding.Buffer
    effects_at: int
    effects: list[int]


class _Kept:
    """The store kept after the event at ``position``: its memories, with commas between."""

    def __init__(self, position: int, columns: list[list[int]], json: bytes) -> None:
        self.position = position
        self._numbers, self._sizes, self._effects_at, self._versions, self._effects = columns
        self._json = memoryview(json)
        self._starts = list(
            accumulate(self._sizes, lambda start, size: start + size + len(b","), initial=0)
        )
        self._first_versions = list(accumulate(self._versions, initial=0))

    @classmethod
    def before(cls, tables: sqlite3.Connection, position: int) -> _Kept:
        """The last one up to ``position``; the empty one at 0 if there is none."""
        row = tables.execute(
            "select position, memories, json from stores where position <= ?"
            " order by position desc limit 1",
            (position,),
        ).fetchone()
        if row is None:
            return cls(0, [[], [], [], [], []], b"")
        at, memories, packed = row
        return cls(at, orjson.loads(memories), zstandard.decompress(packed))

    def memories(self) -> Iterator[tuple[int, _Memory]]:
        """All memories by number."""
        return ((number, self._memory(at)) for at, number in enumerate(self._numbers))

    def _memory(self, at: int) -> _Memory:
        start, first = self._starts[at], self._first_versions[at]
        return _Memory(
            self._json[start : start + self._sizes[at]],
            self._effects_at[at],
            self._effects[first : first + self._versions[at]],
        )

    def effects(self, number: int) -> Iterator[encoding.Buffer]:
        """The joined effects of a memory by version, none if it is not there."""
        at = bisect_left(self._numbers, number)
        if self._numbers[at : at + 1] != [number]:
            return iter(())
        return encoding.unspliced(*self._memory(at))

    def pieces(self, changed: Mapping[int, encoding.Buffer]) -> Iterator[encoding.Buffer]:
        """All memories in order, some new or replaced; those in between are one piece."""
        begin = 0
        for number in sorted(changed):
            at = bisect_left(self._numbers, number)
            if begin < self._starts[at]:
                yield self._json[begin : self._starts[at] - len(b",")]
            yield changed[number]
            begin = self._starts[at + (self._numbers[at : at + 1] == [number])]
        if begin < self._starts[-1]:
            yield self._json[begin:]


def _changed(
    tables: sqlite3.Connection, kept: _Kept, position: int
) -> Iterator[tuple[int, _Memory]]:
    """The memories that changed since ``kept``, as they were after the event at ``position``."""
    span = {"after": kept.position, "position": position}
    new: dict[int, list[tuple[int, bytes]]] = {}
    for number, version, json in tables.execute(
        "select memory, version, cast(json as blob) from effects"
        " where position > :after and position <= :position order by position",
        span,
    ):
        new.setdefault(number, []).append((version, json))
    for number, version, effects_at, json in tables.execute(
        f"""
        with changed (memory) as (
          select memory from memories where since > :after and since <= :position
          union
          select memory from effects where position > :after and position <= :position
        )
        select memory, version, effects_at, cast(json as blob)
        from changed cross join memories using (memory) where {HELD}
        """,
        span,
    ):
        by_version: list[list[encoding.Buffer]] = [[] for _ in range(version)]
        for effects, old in zip(by_version, kept.effects(number), strict=False):
            effects.append(old)
        for of_version, effect in new.get(number, ()):
            by_version[of_version - 1].append(effect)
        joined = [encoding.joined(effects) for effects in by_version]
        spliced = encoding.spliced(json, effects_at, joined)
        yield number, _Memory(spliced, effects_at, list(map(len, joined)))
