"""Putting prepared events at the end of the log, inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from . import blobs, chain
from .chain import Head
from .errors import BadInput, Conflict
from .records import Prepared, Recorded

INSERT_EVENT = "insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_LINK = "insert into event_blobs values (?, ?, ?)"


class Writer:
    """Puts prepared events behind the head, inside a transaction of the one writer of a log.

    It remembers which blobs are stored and how far each stream goes: nobody else writes them.
    """

    def __init__(self, connection: sqlite3.Connection, run: str) -> None:
        self._connection = connection
        self._run = run
        self._versions: dict[str, int] = {}
        self._blobs: set[str] = set()

    def forget(self) -> None:
        """Remember nothing any more: the transaction was rolled back."""
        self._versions.clear()
        self._blobs.clear()

    def write(
        self, prepared: Sequence[Prepared], *, head: Head, recorded_at: str
    ) -> tuple[Recorded, ...]:
        """Insert events after ``head``; what they record refers only to what is there already.

        Raises:
            BadInput: a cited blob or event is not in the log.
        """
        position, prev = head.position, bytes.fromhex(head.hash)
        known: set[str] = set()
        rows, links, contents, recorded = [], [], [], []
        for item in prepared:
            contents += self._new_contents(item)
            self._check_events(item, known)
            position += 1
            version = self._next_version(item.stream)
            event_id = chain.event_id(self._run, item.stream, version, item.type)
            known.add(event_id)
            header = (
                position,
                event_id,
                item.stream,
                version,
                item.type,
                item.event.SCHEMA_VERSION,
                item.draft.task_index,
                recorded_at,
                item.draft.actor,
                item.draft.cause,
                self._run,
            )
            link = chain.link(prev, header, item.payload, chain.links(item.cited.items()))
            rows.append((*header, item.payload.decode(), prev, link))
            links += [(position, name, bytes.fromhex(ref)) for name, ref in item.cited.items()]
            recorded.append(Recorded(*header, item.payload, link.hex(), item.event))
            prev = link
        # One statement for all: calls into SQLite cost as much as what they do.
        blobs.store(self._connection, contents)
        self._connection.executemany(INSERT_LINK, links)
        self._connection.executemany(INSERT_EVENT, rows)
        return tuple(recorded)

    def _next_version(self, stream: str) -> int:
        last = self._versions.get(stream)
        if last is None:
            (last,) = self._connection.execute(
                "select coalesce(max(stream_version), 0) from events where stream_id = ?", (stream,)
            ).fetchone()
        self._versions[stream] = last + 1
        return last + 1

    def _new_contents(self, item: Prepared) -> list[tuple[bytes, bytes]]:
        """The contents an event brings, once sure that it cites no others than stored ones."""
        new = [sha256 for sha256 in item.blobs if sha256 not in self._blobs]
        self._blobs.update(new)
        for name, sha256 in item.cited.items():
            if sha256 in self._blobs:
                continue
            if not blobs.stored(self._connection, bytes.fromhex(sha256)):
                raise BadInput(
                    f"{item.type}: {name} cites blob {sha256[:12]}, which is not in the log; "
                    "give its content with the draft"
                )
            self._blobs.add(sha256)
        return [(bytes.fromhex(sha256), item.blobs[sha256]) for sha256 in new]

    def _check_events(self, item: Prepared, known: set[str]) -> None:
        cause = item.draft.cause
        cited = (*getattr(item.event, "evidence", ()), *((cause,) if cause is not None else ()))
        for event_id in cited:
            if event_id in known:
                continue
            # No cursor is kept: an interruption would leave its statement open.
            found = self._connection.execute(
                "select 1 from events where event_id = ?", (event_id,)
            ).fetchone()
            if found is None:
                raise BadInput(
                    f"{item.type}: cites event {event_id!r}, which is not recorded before it"
                )
            known.add(event_id)


def match(
    prepared: Sequence[Prepared],
    recorded: Sequence[Recorded],
    *,
    expected: int,
    newest: Recorded | None,
) -> None:
    """Refuse an append behind the head, unless it repeats what is recorded there.

    Args:
        prepared: what the writer wants after ``expected``.
        recorded: as many events of the log after ``expected``, or fewer at its end.
        expected: position of the head the writer has seen.
        newest: the event at the head, if there is one.

    Raises:
        Conflict: it does not; the message names both heads, or the digests that differ.
    """
    for item, old in zip(prepared, recorded, strict=False):
        if (item.stream, item.type) != (old.stream_id, old.type):
            break
        new_digest, old_digest = item.content, old.content
        if new_digest != old_digest:
            raise Conflict(
                f"event {old.event_id} is recorded at position {old.position} with content "
                f"{old_digest[:12]}, not {new_digest[:12]}; it is never rewritten"
            )
    else:
        if len(recorded) == len(prepared):
            return
    ends = f"{newest.position} with {newest.type}" if newest else "0, empty"
    raise Conflict(
        f"append expected the log to end at position {expected}, it ends at {ends}; "
        "read on from there and try again"
    )
