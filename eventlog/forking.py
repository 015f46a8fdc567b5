"""A log that begins as another one did, to go on differently."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from . import chain, files
from .copying import drafted
from .lock import WriterLock
from .log import Draft, EventLog, stamp, utc_now
from .prefix import proven
from .records import prepare


def copy_prefix(
    origin: EventLog,
    position: int,
    path: str | Path,
    *first: Draft,
    clock: Callable[[], datetime] = utc_now,
) -> EventLog:
    """Make a log of the first events of another and open it to write.

    Ids, payloads and times are those of the origin; the chain is the new log's own.

    Args:
        origin: the log to copy from; it is not changed.
        position: of the last event to copy, 0 for none.
        path: where the new log appears, whole or not at all.
        first: what the new log records behind the copy, for it never to be seen without.
        clock: source of ``recorded_at`` of all that is new.

    Raises:
        BadInput: the origin never ended there, or the path is taken or cannot be written.
        LogError: what is to be copied is damaged.
        LogBusy: another process is making or writing a log at the path.
        Infrastructure: the disk is full or fails.
    """
    path = Path(path)
    last = origin.head(position).position
    prepared = [prepare(draft) for draft in first]
    log_id = uuid.uuid4().hex
    lock = WriterLock(path)
    try:
        with files.reported(path):
            with drafted(path, log_id=log_id, run=origin.run) as copier:
                prev = chain.genesis(log_id)
                for event in proven(origin, last):
                    for sha256, content in event.contents:
                        copier.blob(sha256, content)
                    links = chain.links(event.links.items())
                    hash_ = chain.link(prev, event.header, event.payload, links)
                    copier.event(event.header, event.payload, event.links, prev, hash_)
                    prev = hash_
                head = chain.Head(chain.origin(log_id), last, prev.hex())
                copier.write(prepared, run=origin.run, head=head, recorded_at=stamp(clock()))
            return EventLog(path, lock=lock, clock=clock)
    except BaseException:
        lock.release()
        raise
