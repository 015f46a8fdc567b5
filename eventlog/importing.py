"""A log from its export: made anew, or extended by what the export has more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain as chained
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import attrs

from . import chain, files
from .chain import Head
from .checking import EventCheck
from .copying import Copier, drafted, extended
from .errors import BadInput
from .exported import Event, Export, Unreadable
from .lock import WriterLock
from .log import EventLog

_PAGE = 1000
_TYPES = frozenset(
    (int, str, str, int, str, int, task, str, str, cause, str)
    for task in (int, type(None))
    for cause in (str, type(None))
)
"""Of the values of a header: SQLite would turn others into these, and the hash be another."""


@attrs.frozen
class Imported:
    """The ``head`` of a log after an import, and how many events were ``added`` to it."""

    head: Head
    added: int


def import_(source: BinaryIO, path: str | Path) -> Imported:
    """Make a log from an export, or extend the same log; every line is checked before it counts.

    A log that has all the events already is not touched. A new one appears whole, an old one gets
    all that is new or nothing; its head is then beside it, as a writer leaves it.

    Args:
        source: the lines, see `open_export`.
        path: where the log is or will be.

    Raises:
        BadInput: the export is cut, changed, not one, or not of a sound log; or the log at the path
            is another one, has another history, or is further than the export.
        LogError: it holds events this code cannot read, or there is a file that is no log.
        LogBusy: another process is writing the log.
        Infrastructure: the disk is full or fails.
    """
    path = Path(path)
    lock = WriterLock(path)
    try:
        with files.reported(path):
            export = Export(source)
            with export.named():
                export.begin()
                take = _extend if path.exists() else _make
                return take(export, path)
    finally:
        lock.release()


def _make(export: Export, path: Path) -> Imported:
    with drafted(path, log_id=export.log_id, run=export.run) as copier:
        check = EventCheck(export.log_id, export.run, copier.rows)
        check.blobs = export.blobs
        for event in export.events():
            _add(event, copier, check)
    files.replace_text(files.head_of(path), export.head.to_text())
    return Imported(export.head, export.head.position)


def _extend(export: Export, path: Path) -> Imported:
    events = export.events()
    with EventLog.open(path) as log:
        if (log.log_id, log.run) != (export.log_id, export.run):
            raise BadInput(
                f"{path} is log {log.log_id} of run {log.run}, the export is of log "
                f"{export.log_id} of run {export.run}; import it to another path"
            )
        head = log.head()
        _compare(events, log, head.position)
    first = next(events, None)
    if first is None:
        return Imported(head, 0)
    with extended(path) as copier:
        last = (head.position, bytes.fromhex(head.hash))
        check = EventCheck(export.log_id, export.run, copier.rows, last=last)
        check.blobs = export.blobs
        for event in chained([first], events):
            _add(event, copier, check)
    files.replace_text(files.head_of(path), export.head.to_text())
    return Imported(export.head, export.head.position - head.position)


def _compare(events: Iterator[Event], log: EventLog, position: int) -> None:
    """Refuse events up to a position that are not those of the log."""
    sql = "select position, hash from events where position > ? order by position limit ?"
    there: dict[int, bytes] = {}
    prev, at = chain.genesis(log.log_id), 0
    for at, event in enumerate(islice(events, position), start=1):
        if at % _PAGE == 1:
            there = dict(log.rows(sql, (at - 1, _PAGE)))
        links = chain.links(event.links.items())
        if chain.link(prev, event.header, event.payload, links) != event.hash:
            raise ValueError("the event has another hash: it was changed, or one is missing")
        if there[at] != event.hash:
            raise BadInput(
                f"{log.path}: event {at} has hash {there[at].hex()[:12]}, in the export it has "
                f"{event.hash.hex()[:12]}: the histories differ; import it to another path"
            )
        prev = event.hash
    if at < position:
        raise BadInput(
            f"{log.path} goes to position {position}, the export is older and ends at {at}; "
            "nothing to import"
        )


def _add(event: Event, copier: Copier, check: EventCheck) -> None:
    if tuple(map(type, event.header)) not in _TYPES:
        raise TypeError("a field of the event is of another type than it has in a log")
    for sha256, content in event.contents:
        copier.blob(sha256, content)
    prev = check.hash
    for kind, message in check.check(event.header, event.payload, event.links, prev, event.hash):
        raise (Unreadable if kind == "payload" else ValueError)(message)
    copier.event(event.header, event.payload, event.links, prev, event.hash)
