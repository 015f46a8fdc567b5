"""Runs in processes of their own, to be killed or to be started with another hash seed.

As a script: ``processes.py LOG FOLDER SEED [reverse]`` records a lively run from its start.
"""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from lively import lively_world

from discernmem.eventlog import EventLog
from discernmem.replayers.session import holds_run, resume, start

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["discernmem.replayers.session", "discernmem.projections.index"])


def go_on(log: Path, folder: Path, seed: int) -> None:
    """Record the run if it has not begun, else resume it: what a user does after a crash."""
    world = lively_world(folder, seed)
    if holds_run(log):
        resume(log, open_=lambda _: world)
    else:
        start(log, world)


def in_process(log: Path, folder: Path, seed: int) -> ForkServerProcess:
    """`go_on` in a process, just started."""
    process = _CONTEXT.Process(target=go_on, args=(log, folder, seed))
    process.start()
    return process


def story(path: Path) -> list[tuple[Any, ...]]:
    """Everything of every event but the wall clock and the hashes over it."""
    with EventLog.open(path) as log:
        return [
            (
                r.position,
                r.event_id,
                r.stream_id,
                r.stream_version,
                r.type,
                r.schema_version,
                r.task_index,
                r.actor,
                r.causation_id,
                r.correlation_id,
                r.payload,
            )
            for r in log.read()
        ]


if __name__ == "__main__":
    start(
        Path(sys.argv[1]),
        lively_world(Path(sys.argv[2]), int(sys.argv[3]), reverse="reverse" in sys.argv[4:]),
    )
