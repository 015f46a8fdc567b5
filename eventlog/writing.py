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


def write(
    connection: sqlite3.Connection,
    prepared: Sequence[Prepared],
    *,
    head: Head,
    run: str,
    recorded_at: str,
) -> tuple[Recorded, ...]:
    """Insert events after ``head``; what they record refers only to what is there already.

    Raises:
        BadInput: a cited blob or event is not in the log.
    """
    position, prev = head.position, bytes.fromhex(head.hash)
    versions: dict[str, int] = {}
    known: set[str] = set()
    rows, links, recorded = [], [], []
    for item in prepared:
        draft, stream = item.draft, item.stream
        for content in draft.blobs:
            blobs.store(connection, content)
        _check_blobs(connection, item)
        _check_events(connection, item, known)
        position += 1
        version = versions.get(stream) or _next_version(connection, stream)
        versions[stream] = version + 1
        event_id = chain.event_id(run, stream, version, item.type)
        known.add(event_id)
        header = (
            position,
            event_id,
            stream,
            version,
            item.type,
            item.event.SCHEMA_VERSION,
            draft.task_index,
            recorded_at,
            draft.actor,
            draft.cause,
            run,
        )
        link = chain.link(prev, header, item.payload, item.links)
        rows.append((*header, item.payload.decode(), prev, link))
        links += [(position, name, bytes.fromhex(hex_)) for name, hex_ in item.cited.items()]
        recorded.append(
            Recorded(
                position=position,
                event_id=event_id,
                stream_id=stream,
                stream_version=version,
                type=item.type,
                schema_version=item.event.SCHEMA_VERSION,
                task_index=draft.task_index,
                recorded_at=recorded_at,
                actor=draft.actor,
                causation_id=draft.cause,
                correlation_id=run,
                payload=item.payload,
                hash=link.hex(),
                event=item.event,
            )
        )
        prev = link
    connection.executemany(INSERT_LINK, links)
    connection.executemany(INSERT_EVENT, rows)
    return tuple(recorded)


def _next_version(connection: sqlite3.Connection, stream: str) -> int:
    (last,) = connection.execute(
        "select coalesce(max(stream_version), 0) from events where stream_id = ?", (stream,)
    ).fetchone()
    return int(last) + 1


def _check_blobs(connection: sqlite3.Connection, item: Prepared) -> None:
    for name, hex_ in item.cited.items():
        if not blobs.stored(connection, bytes.fromhex(hex_)):
            raise BadInput(
                f"{item.type}: {name} cites blob {hex_[:12]}, which is not in the log; "
                "give its content with the draft"
            )


def _check_events(connection: sqlite3.Connection, item: Prepared, known: set[str]) -> None:
    cause = item.draft.cause
    cited = (*getattr(item.event, "evidence", ()), *((cause,) if cause is not None else ()))
    for event_id in cited:
        if event_id in known:
            continue
        found = connection.execute("select 1 from events where event_id = ?", (event_id,))
        if found.fetchone() is None:
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
