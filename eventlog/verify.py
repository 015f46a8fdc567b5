"""Whether a log holds what it should: every link, id, reference and blob derived again."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

from . import chain, files
from .blobs import unpack
from .chain import Head
from .checking import HEADER, EventCheck, linked
from .errors import DiscernmemError, LogError
from .files import OBJECTS, Row, schema
from .log import EventLog

_PAGE = 1000
_BLOBS = 100
_UNREADABLE = 100
"""Events that cannot be read after which the rest of the file is given up."""
_NO_LAST = 1 << 62
_LISTED = 1000
"""Problems that are listed; one changed fact of a log can be one in every event."""

Told = Callable[[str, int, int], object]
"""Is told from time to time what is checked, how many of them were, and of how many.

Of what cannot be counted on the way it is told before and after, as 0 and 1 of 1.
"""

_COLUMNS = f"{HEADER}, cast(payload as blob), prev_hash, hash"
_ROW = re.compile(r"\brow (\d+)\b")


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


def verify(log: EventLog, *, head: Head | None = None, told: Told | None = None) -> Report:
    """Check a whole log; damage is reported, never raised.

    Args:
        log: the log, opened with ``check=False`` if it may be damaged.
        head: an earlier head that was kept elsewhere; the log must continue it.
        told: is told how far it is.
    """
    verification = _Verification(log, head, told or _silent)
    verification.run()
    return verification.report()


def verify_file(path: str | Path, *, head: Head | None = None, told: Told | None = None) -> Report:
    """Check the log at a path, even one too damaged to be opened; arguments as of `verify`.

    Raises:
        BadInput: there is no such file.
    """
    try:
        with EventLog.open(path, check=False) as log:
            return verify(log, head=head, told=told)
    except LogError as error:
        return Report(checked=0, head=None, problems=(Problem(0, "file", str(error)),))


def _silent(what: str, done: int, of: int) -> None:
    """Nobody watches."""


class _Verification:
    """One pass over a log, as far as it went when the pass began."""

    def __init__(self, log: EventLog, expected: Head | None, told: Told) -> None:
        self.log = log
        self.told = told
        self.expected = expected
        self.problems: list[Problem] = []
        self.unlisted = 0
        self.checked = 0
        self._last = 0
        self._events = EventCheck(log.log_id, log.run, log.rows)
        self._hash_at_expected: object = self._events.hash

    def add(self, position: int, kind: str, message: str) -> None:
        if len(self.problems) < _LISTED:
            self.problems.append(Problem(position, kind, message.replace("\n", " ")))
        else:
            self.unlisted += 1

    def run(self) -> None:
        self._guarded("file", self._check_file)
        self._guarded("fact", self._check_facts)
        self._guarded("table", self._check_schema)
        # Before the blobs: what a live log gets meanwhile may cite blobs it got meanwhile.
        self._guarded("event", self._find_last)
        self._guarded("blob", self._check_blobs)
        self._guarded("event", self._check_events)
        self._guarded("blob", self._check_links)
        if self.expected is not None:
            self._check_head(self.expected)

    def report(self) -> Report:
        hash_ = self._events.hash
        head = None
        if isinstance(hash_, bytes) and hash_:
            head = Head(chain.origin(self.log.log_id), self._events.position, hash_.hex())
        problems = self.problems
        if self.unlisted:
            more = Problem(0, "more", f"{self.unlisted} more problems are not listed")
            problems = [*problems, more]
        return Report(checked=self.checked, head=head, problems=tuple(problems))

    def _guarded(self, what: str, step: Callable[[], None]) -> None:
        try:
            step()
        except (sqlite3.Error, DiscernmemError) as error:
            message = f"{what}s cannot be read on from here: {error}"
            self.add(self._events.position, "sqlite", message)

    # -- the file ------------------------------------------------------------------------------

    def _check_file(self) -> None:
        self.told("file", 0, 1)
        for (message,) in self.log.rows("pragma integrity_check(20)"):
            if message != "ok":
                row = _ROW.search(message) if "events" in message else None
                self.add(int(row[1]) if row else 0, "sqlite", message)
        self.told("file", 1, 1)

    def _check_facts(self) -> None:
        missing = files.facts(self.log.log_id, self.log.run)
        for key, value in self.log.rows("select key, value from log_meta"):
            expected = missing.pop(key, None)
            if expected is None:
                self.add(0, "meta", f"log_meta: {key} is foreign: no log has it")
            elif value != expected:
                self.add(0, "meta", f"log_meta: {key} is {value!r}, not {expected!r}")
        for key in missing:
            self.add(0, "meta", f"log_meta: {key} is missing")

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
        last = self._last_blob()
        sql = (
            "select id, sha256, size, codec, content from blobs where id > ?"
            f" order by id limit {_BLOBS}"
        )
        while rows := self.log.rows(sql, (after,)):
            self.told("blobs", after, last)
            for id_, sha256, size, codec, content in rows:
                if id_ != after + 1:
                    self.add(0, "blob", f"blob row {id_} follows row {after}")
                if id_ <= after:
                    return  # Pages that point back to each other have no end.
                after = id_
                try:
                    unpack(codec, size, content, sha256)
                    self._events.blobs.add(sha256)
                except (LogError, AttributeError, TypeError) as error:
                    self.add(self._cited_at(sha256), "blob", f"blob row {id_}: {error}")
        self.told("blobs", last, last)

    def _last_blob(self) -> int:
        """The number of the last blob; 0 where damage hides it, which is found on the way there."""
        try:
            return int(self.log.rows("select coalesce(max(id), 0) from blobs")[0][0])
        except (sqlite3.Error, DiscernmemError, TypeError, ValueError):
            return 0

    def _cited_at(self, sha256: Any) -> int:
        """The first event that cites a blob, 0 if none does."""
        rows = self.log.rows("select min(position) from event_blobs where sha256 = ?", (sha256,))
        return rows[0][0] or 0

    def _check_links(self) -> None:
        """Links without an event and blobs without a link; the other way is with the events."""
        self.told("links", 0, 1)
        for (position,) in self.log.rows(
            "select distinct position from event_blobs where position not in"
            " (select position from events)"
        ):
            self.add(position, "blob", "blobs are linked to an event that is not there")
        for (id_,) in self.log.rows(
            "select id from blobs where sha256 not in (select sha256 from event_blobs)"
        ):
            self.add(0, "blob", f"blob row {id_}: no event cites it")
        self.told("links", 1, 1)

    # -- the events ----------------------------------------------------------------------------

    def _find_last(self) -> None:
        # Should it not be found, the events are read until no more can be.
        self._last = _NO_LAST
        ((self._last,),) = self.log.rows("select coalesce(max(position), 0) from events")

    def _check_events(self) -> None:
        events = self._events
        for row, links in self._rows():
            self.checked += 1
            *header, payload, prev, hash_ = row
            if self.expected is not None and header[0] == self.expected.position:
                self._hash_at_expected = hash_
            try:
                for kind, message in events.check(tuple(header), payload, links, prev, hash_):
                    self.add(events.position, kind, message)
            except (AttributeError, TypeError, ValueError, LogError) as error:
                self.add(events.position, "row", f"the row is damaged: {error}")

    def _rows(self) -> Iterator[tuple[Row, dict[str, str]]]:
        """All events with their blobs; at damage one by one, to tell which cannot be read."""
        after, limit, unreadable = 0, _PAGE, 0
        while after < self._last and unreadable < _UNREADABLE:
            try:
                page = self._page(after, limit)
            except DiscernmemError as error:
                if limit > 1:
                    limit = 1
                    continue
                after, unreadable = after + 1, unreadable + 1
                self.add(after, "sqlite", f"the event cannot be read: {error}")
                self._events.lose(after)
                continue
            yield from page
            if not page:
                return
            if self._last < _NO_LAST:
                self.told("events", page[-1][0][0], self._last)
            limit = min(2 * limit, _PAGE)
            if page[-1][0][0] > after:
                after = page[-1][0][0]
            else:
                # Pages that point back to each other have no end.
                after, unreadable = after + 1, unreadable + 1

    def _page(self, after: int, limit: int) -> list[tuple[Row, dict[str, str]]]:
        rows = self.log.rows(
            f"select {_COLUMNS} from events where position > ? and position <= ?"
            f" order by position limit {limit}",
            (after, self._last),
        )
        links = linked(self.log.rows, after, rows[-1][0]) if rows else {}
        return [(row, links.get(row[0], {})) for row in rows]

    # -- the head ------------------------------------------------------------------------------

    def _check_head(self, head: Head) -> None:
        position = self._events.position
        if head.origin != chain.origin(self.log.log_id):
            self.add(0, "head", f"the head is of another log, {head.origin}")
        elif head.position > position:
            message = f"the log ends at {position}, it is shorter than its head at {head.position}"
            self.add(position, "head", message)
        elif bytes.fromhex(head.hash) != self._hash_at_expected:
            self.add(head.position, "head", "the log has another history than its head")
