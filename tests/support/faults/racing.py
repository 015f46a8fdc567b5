"""Processes that all want to write one log, and are killed in turn."""

from __future__ import annotations

import signal
import time
from itertools import count, groupby
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

from sample_log import completed, task_started

from discernmem.eventlog import Draft, EventLog
from discernmem.eventlog.errors import LogBusy
from discernmem.eventlog.verify import verify_file

from .stage import Scene, Trial, require
from .users import CONTEXT, begin, end

WRITERS = 3


def for_two_seconds(scene: Scene) -> Trial:
    """The short race."""
    return _race(scene, 2.0)


def for_a_minute(scene: Scene) -> Trial:
    """The long race."""
    return _race(scene, 60.0)


def _race(scene: Scene, seconds: float) -> Trial:
    """Writers open, append and close as fast as they can; one after the other is killed.

    There must never be two at once, and every append that one of them was told of must be there.
    """
    EventLog.create(scene.log, run="race").close()
    numbers = count()
    running = [_writer(scene, next(numbers), seconds) for _ in range(WRITERS)]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(scene.rng.uniform(0.05, 0.4))
        chosen = scene.rng.randrange(WRITERS)
        running[chosen].kill()
        status = end(running[chosen])
        require(status in (0, -signal.SIGKILL), f"a writer failed with status {status}")
        running[chosen] = _writer(scene, next(numbers), until - time.monotonic())
    for writer in running:
        require(end(writer) == 0, "a writer failed")
    return Trial(
        told="process N on HOST is writing it; wait for it, or end it and resume", lost=_lost(scene)
    )


def _writer(scene: Scene, number: int, seconds: float) -> ForkServerProcess:
    told = scene.folder / f"told-{number}"
    process = CONTEXT.Process(target=_write, args=(scene.log, told, number, max(0.0, seconds)))
    begin(process)
    return process


def _write(path: Path, told: Path, number: int, seconds: float) -> None:
    until, rng = time.monotonic() + seconds, Random(number)
    with told.open("a", buffering=1) as out:
        for session in count():
            if time.monotonic() > until:
                return
            try:
                log = EventLog.open(path, write=True)
            except LogBusy:
                continue
            with log:
                for index in range(1, rng.randrange(2, 12)):
                    drafts = [task_started(index, f"{number} {session} " * 50), completed(index)]
                    actor = f"{number}.{session}"
                    for recorded in log.append([_by(actor, draft) for draft in drafts]):
                        out.write(f"{recorded.position} {recorded.event_id} {actor}\n")


def _by(actor: str, draft: Draft) -> Draft:
    return Draft(
        event=draft.event,
        task_index=draft.task_index,
        actor=actor,
        cause=None,
        blobs=draft.blobs,
    )


def _lost(scene: Scene) -> int:
    """How many events are missing of which a writer was told."""
    report = verify_file(scene.log)
    require(report.ok, f"not sound: {report.problems[:3]}")
    with EventLog.open(scene.log) as log:
        there = {event.position: (event.event_id, event.actor) for event in log.read()}
    sessions = [actor for actor, _ in groupby(actor for _, actor in there.values())]
    require(len(sessions) == len(set(sessions)), "two wrote at once")
    lost = 0
    for told in scene.folder.glob("told-*"):
        for line in told.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                position, event_id, actor = line.split()
                lost += there.get(int(position)) != (event_id, actor)
    return lost
