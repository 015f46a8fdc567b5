"""All faults of the campaign, with how often each is tried."""

from __future__ import annotations

from . import damage, killing, moving, racing, storage
from .stage import Fault

KILLED = (
    Fault(name="killed after an event", attempt=killing.after_an_event, full=None, short=6),
    Fault(
        name="killed after an event, no reuse",
        attempt=killing.after_any_event,
        full=200,
        short=3,
        reuse=False,
    ),
    Fault(
        name="killed after every event in turn",
        attempt=killing.after_each_event_in_turn,
        full=killing.PARTS,
        short=1,
    ),
    Fault(name="killed inside an append", attempt=killing.inside_an_append, full=80, short=4),
    Fault(name="killed inside a write", attempt=killing.inside_a_write, full=80, short=3),
    Fault(name="killed while the log is made", attempt=killing.while_it_is_made, full=4, short=4),
    Fault(name="killed while it is closed", attempt=killing.while_it_is_closed, full=5, short=5),
)

FULL = (
    Fault(name="full disk", attempt=storage.full_disk, full=60, short=4),
    Fault(name="full disk, found by SQLite", attempt=storage.full_log, full=30, short=1),
    Fault(name="full file system", attempt=storage.full_file_system, full=30, short=2),
    Fault(name="no room for the head", attempt=storage.no_room_for_the_head, full=1, short=1),
)

READ_ONLY = (
    Fault(name="read-only folder", attempt=storage.read_only_folder, full=10, short=2),
    Fault(name="read-only file system", attempt=storage.read_only_file_system, full=10, short=2),
    Fault(name="read-only file", attempt=storage.read_only_file, full=4, short=1),
)

DAMAGED = (
    Fault(name="log truncated", attempt=damage.truncated, full=60, short=2),
    Fault(name="page overwritten", attempt=damage.page_overwritten, full=60, short=3),
    Fault(name="header destroyed", attempt=damage.header_destroyed, full=6, short=1),
    Fault(name="write-ahead log missing", attempt=damage.wal_missing, full=10, short=1),
    Fault(name="write-ahead log cut or changed", attempt=damage.wal_cut, full=30, short=2),
    Fault(name="write-ahead log older", attempt=damage.wal_older, full=10, short=1),
    Fault(
        name="write-ahead log of another time",
        attempt=damage.wal_of_another_time,
        full=20,
        short=1,
    ),
    Fault(
        name="shared memory spoiled or gone",
        attempt=damage.index_of_wal_spoiled,
        full=9,
        short=1,
    ),
)

CHANGED = (
    Fault(name="clock going backwards", attempt=moving.clock_backwards, full=10, short=1),
    Fault(name="log moved", attempt=moving.moved, full=12, short=2),
    Fault(name="log behind a link", attempt=moving.linked, full=6, short=1),
    Fault(name="model's server down", attempt=moving.server_down, full=60, short=2),
)

RACED = (
    Fault(
        name="three writers racing and killed for a minute",
        attempt=racing.for_a_minute,
        full=1,
        short=0,
    ),
    Fault(
        name="three writers racing for two seconds", attempt=racing.for_two_seconds, full=5, short=1
    ),
)

FAULTS = (*KILLED, *FULL, *READ_ONLY, *DAMAGED, *CHANGED, *RACED)
