"""Processes that are killed: between events, inside an append, while a log is made or closed."""

from __future__ import annotations

import signal

from processes import story

from . import mishaps
from .stage import Scene, Trial, require

KILLED = "nothing: it was killed"

INSIDE = ("insert into blobs", "insert into event_blobs", "insert into events", "commit")
"""Statements of an append; killed at one, a process has executed those before it."""

PARTS = 48
"""Into which a run is cut to die after each event of one of them."""

CREATING = tuple(
    mishaps.die_creating(*step)
    for step in (("initialise", 1), ("publish", 1), ("sync", 1), ("sync", 2))
)
CLOSING = (
    mishaps.die_at_statement(1, "pragma wal_checkpoint"),
    *(
        mishaps.die_closing(*step)
        for step in (("replace_text", 1), ("sync", 1), ("sync", 2), ("release", 1))
    ),
)


def after_an_event(scene: Scene) -> Trial:
    """kill -9 as soon as one event is acknowledged."""
    return _after(scene, scene.number + 1)


def after_any_event(scene: Scene) -> Trial:
    """As `after_an_event`, wherever that is."""
    return _after(scene, scene.rng.randrange(1, scene.calm.length + 1))


def _after(scene: Scene, event: int) -> Trial:
    seen = scene.killed_by(mishaps.die_after(event))
    require(seen.acknowledged == event, f"acknowledged {seen.acknowledged}")
    return scene.resumed(KILLED, event)


def after_each_event_in_turn(scene: Scene) -> Trial:
    """kill -9 after every single event of a part of the run, each time resumed to the next."""
    first, end = (part * scene.calm.length // PARTS for part in (scene.number, scene.number + 1))
    lost = 0
    for event in range(first + 1, end + 1):
        scene.killed_by(mishaps.die_after(event))
        lost += scene.calm.lost(scene.log, event)
    trial = scene.resumed(KILLED, end)
    return Trial(told=KILLED, lost=lost + trial.lost)


def inside_an_append(scene: Scene) -> Trial:
    """kill -9 between two statements of an append: what was written is not committed."""
    event, statement = scene.place(), INSIDE[scene.number % len(INSIDE)]
    seen = scene.killed_by(mishaps.die_at_statement(event, statement))
    require(event <= seen.acknowledged, f"killed before event {event}")
    require(len(story(scene.log)) == seen.acknowledged, "half an append is there")
    return scene.resumed(KILLED, seen.acknowledged)


def inside_a_write(scene: Scene) -> Trial:
    """Killed in the middle of writing to a file, which keeps only a part of what was written."""
    size = scene.rng.randrange(4096, 3_000_000)
    seen = scene.killed_by(mishaps.file_limit(size, deadly=True), signal.SIGXFSZ)
    return scene.resumed(KILLED, seen.acknowledged)


def while_it_is_made(scene: Scene) -> Trial:
    """kill -9 while the file is made: it is there whole or not at all."""
    scene.killed_by(CREATING[scene.number % len(CREATING)])
    return scene.resumed(KILLED, 0)


def while_it_is_closed(scene: Scene) -> Trial:
    """kill -9 while all is brought into the one file and its head is written."""
    seen = scene.killed_by(CLOSING[scene.number % len(CLOSING)])
    require(seen.acknowledged == scene.calm.length, f"acknowledged {seen.acknowledged}")
    return scene.resumed(KILLED, seen.acknowledged)
