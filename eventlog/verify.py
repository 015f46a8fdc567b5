"""Whether a log holds what it should: every link, id, reference and blob derived again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

from . import chain
from .blobs import unpack
from .chain import Head
from .citations import citations
from .codec import decode
from .errors import DiscernmemError, LogError
from .files import OBJECTS, Row, schema
from .log import EventLog

Links = list[tuple[str, str]]

_PAGE = 1000
_UNREADABLE = 100
"""Events that cannot be read after which the rest of the file is given up."""

_HEADER = len(attrs.fields(chain.Header))
_COLUMNS = (
    "position, event_id, stream_id, stream_version, type, schema_version, task_index, recorded_at,"
    " actor, causation_id, correlation_id, cast(payload as blob), prev_hash, hash"
)


@attrs.frozen
class Problem:
    """One thing that is not as it should be; ``position`` is 0 when it is about the whole file."""

    position: int
    kind: str
    message: str


@attrs.frozen(kw_only=True)
class Report:
    """What verification found: events ``checked``, their ``head``, and the ``problems``."""

    checked: int
    head: Head | None
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(log: EventLog, *, head: Head | None = None) -> Report:
    """Check a whole log; damage is reported, never raised.

    Args:
        log: the log, opened with ``check=False`` if it may be damaged.
        head: an earlier head that was kept elsewhere; the log must continue it.
    """
    check = _Check(log, head)
    check.run()
    return Report(checked=check.checked, head=check.head, problems=tuple(check.problems))


def verify_file(path: str | Path, *, head: Head | None = None) -> Report:
    """Check the log at a path, even one too damaged to be opened.

    Raises:
        BadInput: there is no such file.
    """
    try:
        with EventLog.open(path, check=False) as log:
            return verify(log, head=head)
    except LogError as error:
        return Report(checked=0, head=None, problems=(Problem(0, "file", str(error)),))


class _Check:
    """One pass over a log with what must be remembered of the events before."""

    def __init__(self, log: EventLog, expected: Head | None) -> None:
        self.log = log
        self.expected = expected
        self.problems: list[Problem] = []
        self.checked = 0
        self.head: Head | None = None
        self._position = 0
        self._hash: object = chain.genesis(log.log_id)
        self._hash_at_expected: object = self._hash
        self._versions: dict[str, int] = {}
        self._ids: set[str] = set()
        self._blobs: set[str] = set()

    def add(self, position: int, kind: str, message: str) -> None:
        self.problems.append(Problem(position, kind, message))

    def run(self) -> None:
        self._guarded("file", self._check_file)
        self._guarded("table", self._check_schema)
        self._guarded("blob", self._check_blobs)
        self._guarded("event", self._check_events)
        self._guarded("blob", self._check_stray_links)
        if isinstance(self._hash, bytes):
            self.head = Head(chain.origin(self.log.log_id), self._position, self._hash.hex())
        if self.expected is not None:
            self._check_head(self.expected)

    def _guarded(self, what: str, step: Callable[[], None]) -> None:
        try:
            step()
        except (sqlite3.Error, DiscernmemError) as error:
            self.add(self._position, "sqlite", f"{what}s cannot be read on from here: {error}")

    # -- the file ------------------------------------------------------------------------------

    def _check_file(self) -> None:
        for (message,) in self.log.rows("pragma integrity_check(20)"):
            if message != "ok":
                self.add(0, "sqlite", str(message).replace("\n", " "))
        genesis = self.log.rows("select value from log_meta where key = 'genesis'")
        if genesis != [(chain.genesis(self.log.log_id).hex(),)]:
            self.add(0, "meta", "log_meta: genesis is not that of log_id")

    def _check_schema(self) -> None:
        """Without the guards, or with other views, the file is another promise than ours."""
        missing = dict(schema())
        for type_, name, sql in self.log.rows(OBJECTS):
            expected = missing.pop((type_, name), None)
            if expected is None:
                self.add(0, "schema", f"{type_} {name!r} is foreign: no log has it")
            elif sql != expected:
                self.add(0, "schema", f"{type_} {name!r} is changed: it is not that of a log")
        for type_, name in missing:
            self.add(0, "schema", f"{type_} {name!r} is missing")

    def _check_blobs(self) -> None:
        after = 0
        sql = (
            "select id, sha256, size, codec, content from blobs where id > ? order by id limit 100"
        )
        while rows := self.log.rows(sql, (after,)):
            for id_, sha256, size, codec, content in rows:
                try:
                    if len(unpack(codec, size, content, sha256)) != size:
                        raise LogError(f"blob {sha256.hex()[:12]} has another size than {size}")
                    self._blobs.add(sha256.hex())
                except (LogError, AttributeError, TypeError) as error:
                    self.add(self._cited_at(sha256), "blob", f"blob row {id_}: {error}")
            after = rows[-1][0]

    def _cited_at(self, sha256: Any) -> int:
        """The first event that cites a blob, 0 if none does."""
        rows = self.log.rows("select min(position) from event_blobs where sha256 = ?", (sha256,))
        return rows[0][0] or 0

    def _check_stray_links(self) -> None:
        rows = self.log.rows(
            "select distinct position from event_blobs where position not in"
            " (select position from events)"
        )
        for (position,) in rows:
            self.add(position, "blob", "blobs are linked to an event that is not there")

    # -- the events ----------------------------------------------------------------------------

    def _check_events(self) -> None:
        for row, links in self._rows():
            try:
                self._check_event(row, links)
            except (AttributeError, TypeError, ValueError, LogError) as error:
                self.add(self._position, "row", f"the row is damaged: {error}")

    def _rows(self) -> Iterator[tuple[Row, Links]]:
        """All events with their blobs; around damage one by one, to tell which cannot be read."""
        ((last,),) = self.log.rows("select coalesce(max(position), 0) from events")
        after, limit, unreadable = 0, _PAGE, 0
        while after < last and unreadable < _UNREADABLE:
            try:
                page = self._page(after, limit)
            except DiscernmemError as error:
                if limit > 1:
                    limit = 1
                    continue
                after, unreadable = after + 1, unreadable + 1
                self.add(after, "sqlite", f"the event cannot be read: {error}")
                self._position, self._hash = after, None
                continue
            yield from page
            if not page:
                return
            after = page[-1][0][0]

    def _page(self, after: int, limit: int) -> list[tuple[Row, Links]]:
        rows = self.log.rows(
            f"select {_COLUMNS} from events where position > ? order by position limit {limit}",
            (after,),
        )
        linked: dict[int, Links] = {}
        for position, name, hex_ in self.log.rows(
            "select position, name, lower(hex(sha256)) from event_blobs"
            " where position > ? and position <= ?",
            (after, rows[-1][0] if rows else after),
        ):
            linked.setdefault(position, []).append((name, hex_))
        return [(row, linked.get(row[0], [])) for row in rows]

    def _check_event(self, row: Row, links: Links) -> None:
        header = chain.Header(*row[:_HEADER])
        payload, prev_hash, hash_ = row[_HEADER:]
        position = header.position
        self.checked += 1
        if position != self._position + 1:
            self.add(position, "gap", f"follows position {self._position}")
        if self._hash is not None and prev_hash != self._hash:
            self.add(position, "chain", "prev_hash is not the hash of the event before")
        # From here the stored hash counts, so that one damaged event is one problem.
        self._position, self._hash = position, hash_
        if self.expected is not None and position == self.expected.position:
            self._hash_at_expected = hash_
        if chain.link(prev_hash, row[:_HEADER], payload, chain.links(links)) != hash_:
            self.add(position, "hash", "the hash is not that of the header, payload and blobs")
        self._check_identity(header)
        self._check_payload(header, payload, dict(links))
        self._ids.add(header.event_id)

    def _check_identity(self, header: chain.Header) -> None:
        position, stream, version = header.position, header.stream_id, header.stream_version
        expected = self._versions.get(stream, 0) + 1
        self._versions[stream] = version
        if version != expected:
            self.add(position, "stream", f"{stream} goes to version {version}, not {expected}")
        if header.event_id != chain.event_id(self.log.run, stream, version, header.type):
            self.add(position, "id", f"event_id {header.event_id} is not derived from the event")
        if header.causation_id is not None and header.causation_id not in self._ids:
            self.add(position, "reference", f"cause {header.causation_id} is not an earlier event")

    def _check_payload(self, header: chain.Header, payload: bytes, links: dict[str, str]) -> None:
        position = header.position
        try:
            event = decode(header.type, header.schema_version, payload)
        except LogError as error:
            self.add(position, "payload", str(error))
            return
        if event.stream != header.stream_id:
            self.add(position, "stream", f"recorded in {header.stream_id}, is of {event.stream}")
        for event_id in getattr(event, "evidence", ()):
            if event_id not in self._ids:
                self.add(position, "reference", f"evidence {event_id} is not an earlier event")
        cited = citations(event)
        for name, sha256 in cited.items():
            if links.get(name) != sha256:
                self.add(position, "blob", f"{name} cites {sha256[:12]}, which is not linked")
            if sha256 not in self._blobs:
                self.add(position, "blob", f"{name} cites {sha256[:12]}, which is not there")
        for name in sorted(links.keys() - cited.keys()):
            self.add(position, "blob", f"a blob is linked as {name}, which is not cited")

    # -- the head ------------------------------------------------------------------------------

    def _check_head(self, head: Head) -> None:
        if head.origin != chain.origin(self.log.log_id):
            self.add(0, "head", f"the head is of another log, {head.origin}")
        elif head.position > self._position:
            self.add(
                self._position,
                "head",
                f"the log ends at {self._position}, it is shorter than its head at {head.position}",
            )
        elif bytes.fromhex(head.hash) != self._hash_at_expected:
            self.add(head.position, "head", "the log has another history than its head")
