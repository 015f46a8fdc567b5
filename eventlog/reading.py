"""Questions to a log: events in order, by place, by id, by stream, and blobs by digest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from . import chain, files
from .blobs import unpack
from .chain import Head
from .codec import decode
from .errors import BadInput, LogError
from .records import Recorded

PAGE = 250
"""Rows fetched at a time; more of them fall out of the processor's caches before their turn."""

WIDE = 20_000
"""Positions in a range that is worth an index to leave out the types that are not asked for."""

_COLUMNS = (
    "position, event_id, stream_id, stream_version, type, schema_version, task_index, recorded_at,"
    " actor, causation_id, correlation_id, cast(payload as blob), hash"
)


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


class Readable(ABC):
    """A log that can be asked.

    ``path`` is the file, ``run`` the name of the run it records, ``log_id`` what tells it from
    every other log.
    """

    path: Path
    run: str
    log_id: str

    @abstractmethod
    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[files.Row]:
        """All rows of a query over the schema and views of the file.

        Raises:
            LogError: the file is damaged.
        """

    def read(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        types: Collection[str] | None = None,
        stream: str | None = None,
    ) -> Iterator[Recorded]:
        """Events in order, a page at a time: nothing is held open while the caller works.

        Args:
            after: only events behind this position.
            until: only events up to this position; by default those there are at the call.
            types: only events of these types.
            stream: only events of this stream.
        """
        last = self.head().position if until is None else until
        if types is not None and stream is None and last - after > WIDE:
            return self._of_types(sorted(types), after, last)
        # A plus keeps SQLite from an index or a range that would cost more than it saves: what is
        # read is the table in order or, of one stream, its index in order, however many pages.
        where, parameters, order = "position > ? and position <= ?", [], "position"
        if stream is not None:
            where, parameters = "+position > ? and +position <= ? and stream_id = ?", [stream]
            order = "stream_version"
        if types is not None:
            where += f" and +type in ({_marks(types)})"
            parameters += sorted(types)
        return self._pages(where, parameters, order, after, last)

    def _of_types(self, types: Sequence[str], after: int, last: int) -> Iterator[Recorded]:
        """Events of some types in a wide range: found by the index, so the others are not read."""
        rows = self.rows(
            "select position from events"
            f" where type in ({_marks(types)}) and +position > ? and +position <= ?",
            (*types, after, last),
        )
        positions = sorted(position for (position,) in rows)
        for start in range(0, len(positions), PAGE):
            some = positions[start : start + PAGE]
            sql = f"select {_COLUMNS} from events where position in ({_marks(some)})"
            yield from map(self._recorded, self.rows(f"{sql} order by position", some))

    def _pages(
        self, where: str, parameters: list[str], order: str, after: int, last: int
    ) -> Iterator[Recorded]:
        sql = f"select {_COLUMNS} from events where {where} order by {order} limit {PAGE}"
        while True:
            rows = self.rows(sql, (after, last, *parameters))
            yield from map(self._recorded, rows)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def at(self, position: int) -> Recorded | None:
        """The event at a position."""
        return self._one("position = ?", position)

    def by_id(self, event_id: str) -> Recorded | None:
        """The event with an id."""
        return self._one("event_id = ?", event_id)

    def by_ids(self, event_ids: Collection[str]) -> dict[str, Recorded]:
        """The events with these ids, by id; those the log has not are left out."""
        found: dict[str, Recorded] = {}
        wanted = sorted(event_ids)
        for start in range(0, len(wanted), PAGE):
            some = wanted[start : start + PAGE]
            rows = self.rows(
                f"select {_COLUMNS} from events where event_id in ({_marks(some)})", some
            )
            found.update((row[1], self._recorded(row)) for row in rows)
        return found

    def find(self, stream_id: str, stream_version: int = 1) -> Recorded | None:
        """The event with this version in a stream; versions count from 1."""
        return self._one("stream_id = ? and stream_version = ?", stream_id, stream_version)

    def last(self, type_name: str, until: int | None = None) -> Recorded | None:
        """The newest event of a type, of those up to position ``until`` if it is given."""
        # Positions are in order only within one schema version of the type: ask each for its last.
        found = self._number(
            """
            with recursive versions (version) as (
              select min(schema_version) from events where type = ?1
              union all
              select (
                select min(schema_version) from events
                where type = ?1 and schema_version > versions.version
              )
              from versions where versions.version is not null
            )
            select coalesce(max((
              select max(position) from events
              where type = ?1 and schema_version = versions.version and position <= ?2
            )), 0)
            from versions
            """,
            type_name,
            self.head().position if until is None else until,
        )
        return self.at(found) if found else None

    def count(self, stream_id: str, before_task: int | None = None) -> int:
        """How many events a stream has, of tasks before ``before_task`` and outside tasks."""
        sql = "select count(*) from events where stream_id = ?"
        if before_task is None:
            return self._number(sql, stream_id)
        return self._number(f"{sql} and coalesce(task_index, 0) < ?", stream_id, before_task)

    def blob(self, sha256_hex: str) -> bytes:
        """The content with this SHA-256.

        Raises:
            BadInput: the log has none.
            LogError: it is damaged.
        """
        try:
            sha256 = bytes.fromhex(sha256_hex)
        except ValueError:
            raise BadInput(f"{sha256_hex!r} is not a SHA-256 in hex") from None
        rows = self.rows("select codec, size, content from blobs where sha256 = ?", (sha256,))
        if not rows:
            raise BadInput(f"{self.path} has no blob {sha256_hex[:12]}")
        codec, size, packed = rows[0]
        try:
            return unpack(codec, size, packed, sha256)
        except LogError as error:
            raise LogError(f"{self.path}: {error}") from None

    def text(self, sha256_hex: str) -> str:
        """The text with this SHA-256; as `blob`."""
        return self.blob(sha256_hex).decode()

    def head(self, position: int | None = None) -> Head:
        """The head of the log, or the head it had when it ended at ``position``.

        Raises:
            BadInput: it never ended there.
        """
        sql = "select position, hash from events where position ="
        if position is None:
            rows = self.rows(f"{sql} (select max(position) from events)")
        else:
            rows = self.rows(f"{sql} ?", (position,))
        if rows:
            position, hash_ = rows[0]
            if not isinstance(hash_, bytes):
                raise LogError(f"{self.path}: event {position}: its hash is damaged; run verify")
        elif position:
            raise BadInput(f"{self.path} has no event at position {position}")
        else:
            position, hash_ = 0, chain.genesis(self.log_id)
        return Head(chain.origin(self.log_id), position, hash_.hex())

    def position_at_task(self, task_index: int) -> int:
        """Position of the last event of the tasks up to this one; 0: the last before any task."""
        last = self._number(
            "select coalesce(max(position), 0) from events where task_index ="
            " (select max(task_index) from events where task_index <= ?)",
            task_index,
        )
        if last:
            return last
        first = self.first_of_task(
            self._number(
                "select coalesce(min(task_index), 0) from events where task_index is not null"
            )
        )
        return first - 1 if first else self.head().position

    def first_of_task(self, task_index: int) -> int:
        """Position of the first event of a task; 0: it has none."""
        sql = "select coalesce(min(position), 0) from events where task_index = ?"
        return self._number(sql, task_index)

    def last_task(self) -> int:
        """The highest task index there is, 0 when there is none."""
        # Without its condition the partial index is no help.
        sql = "select coalesce(max(task_index), 0) from events where task_index is not null"
        return self._number(sql)

    def _number(self, sql: str, *parameters: object) -> int:
        return int(self.rows(sql, parameters)[0][0])

    def _one(self, where: str, *parameters: object) -> Recorded | None:
        rows = self.rows(f"select {_COLUMNS} from events where {where}", parameters)
        return self._recorded(rows[0]) if rows else None

    def _recorded(self, row: files.Row) -> Recorded:
        try:
            type_name, schema_version, payload = row[4], row[5], row[11]
            event = decode(type_name, schema_version, payload)
            return Recorded._make((*row[:12], row[12].hex(), event))
        except (LogError, AttributeError, TypeError) as error:
            raise LogError(f"{self.path}: event {row[0]}: {error}") from None
