"""What a user does and sees: the command line in a process of its own, with mishaps."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from threading import Lock

import attrs
from lively import LivelyModel
from scripted import BagEmbedder

from discernmem.cli import main
from discernmem.eventlog import EventLog

Mishap = Callable[[], None]
"""Prepares, inside the process it befalls, something that goes wrong later."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "discernmem.cli.commands",
        "discernmem.cli.metering",
        "discernmem.cli.telling",
        "discernmem.eventlog.exported",
        "discernmem.eventlog.importing",
        "discernmem.projections.audit",
        "discernmem.projections.index",
        "discernmem.projections.summary",
        "discernmem.replayers.offline",
        "discernmem.replayers.session",
        "discernmem.replayers.verification",
    ]
)


@attrs.frozen(kw_only=True)
class Seen:
    """How a process ended.

    ``status`` is its exit status, or minus the signal that ended it; ``printed`` all it printed;
    ``acknowledged`` how many events it knew to be recorded when it ended, -1 for none at all.
    """

    status: int
    printed: str
    acknowledged: int

    @property
    def complaint(self) -> str:
        """The error the user was told; only one line counts as told."""
        told = [line for line in self.printed.splitlines() if line.startswith("discernmem: ")]
        return told[0].removeprefix("discernmem: ") if len(told) == 1 else ""


def call(arguments: Sequence[str | Path], seed: int, *mishaps: Mishap) -> Seen:
    """Run the command line in a process of its own, the model being the lively one of ``seed``."""
    reader, writer = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_live, args=(writer, list(map(str, arguments)), seed, mishaps))
    begin(process)
    writer.close()
    printed = b""
    while chunk := _read(reader):
        printed += chunk
    reader.close()
    status = end(process)
    said = printed.decode(errors="replace").split(_ACKNOWLEDGED)
    numbers = [int(part.partition("\n")[0]) for part in said[1:]]
    return Seen(
        status=status,
        printed="".join([said[0], *(part.partition("\n")[2] for part in said[1:])]),
        acknowledged=max(numbers, default=-1),
    )


_ALONE = Lock()
"""Starting a process asks for the end of all others, which only one thread can be told."""


def begin(process: ForkServerProcess) -> None:
    """Start a process, from any thread."""
    with _ALONE:
        process.start()


def end(process: ForkServerProcess) -> int:
    """The exit status of a process that is about to end."""
    with _ALONE:
        process.join()
        status = process.exitcode
        process.close()
    assert status is not None
    return status


_ACKNOWLEDGED = "\x00acknowledged "


def _read(reader: Connection) -> bytes:
    return os.read(reader.fileno(), 1 << 16)


def _live(writer: Connection, arguments: list[str], seed: int, mishaps: Sequence[Mishap]) -> None:
    for descriptor in (1, 2):
        os.dup2(writer.fileno(), descriptor)
    # The streams there were may hold what belongs to another file.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    _use_model(seed)
    _acknowledge(writer)
    for mishap in mishaps:
        mishap()
    main(arguments)


def _use_model(seed: int) -> None:
    """Put the lively model in the place of those a configuration can name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("discernmem.replayers") and hasattr(module, "open_model"):
            vars(module)["open_model"] = lambda *_, **__: LivelyModel(seed)
            vars(module)["open_embedder"] = lambda *_, **__: BagEmbedder()


def _acknowledge(writer: Connection) -> None:
    """Say how many events are recorded as soon as the process knows."""
    append = EventLog.append

    def acknowledging(log: EventLog, *args: object, **options: object) -> object:
        recorded = append(log, *args, **options)  # type: ignore[arg-type]
        os.write(writer.fileno(), f"{_ACKNOWLEDGED}{recorded[-1].position}\n".encode())
        return recorded

    EventLog.append = acknowledging  # type: ignore[method-assign, assignment]
