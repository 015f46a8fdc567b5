"""Mishaps: what goes wrong in a process that records, prepared before it begins."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NoReturn

from lively import LivelyModel
from scripted import ScriptedModel

from discernmem.eventlog import EventLog, files
from discernmem.eventlog.errors import Infrastructure
from discernmem.eventlog.lock import WriterLock

Mishap = Callable[[], None]


def die() -> NoReturn:
    """End as by ``kill -9``."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("survived kill -9")


# -- killed ------------------------------------------------------------------------------------


def die_after(event: int) -> Mishap:
    """Killed as soon as this event is acknowledged."""
    return partial(_after_event, event, die)


def die_at_statement(event: int, prefix: str) -> Mishap:
    """Killed at the first such statement to SQLite after this event is acknowledged."""
    return partial(_at_statement, event, prefix)


def die_creating(function: str, number: int) -> Mishap:
    """Killed as this function of the log's files is called for the ``number``-th time."""
    return partial(_at_call, function, number)


def die_closing(function: str, number: int) -> Mishap:
    """As `die_creating`, counted from when the log is closed after writing."""
    return partial(_in_closing, partial(_at_call, function, number))


def _after_event(event: int, then: Callable[[], object]) -> None:
    append = EventLog.append

    def counting(log: EventLog, *args: Any, **options: Any) -> Any:
        recorded = append(log, *args, **options)
        if recorded[-1].position >= event:
            then()
        return recorded

    EventLog.append = counting  # type: ignore[method-assign]


def _at_statement(event: int, prefix: str) -> None:
    connect = files.connect_writing
    armed = [not event]

    def traced(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_trace_callback(
            lambda sql: die() if armed[0] and sql.startswith(prefix) else None
        )
        return connection

    files.connect_writing = traced
    _after_event(event, lambda: armed.__setitem__(0, True))


def _at_call(function: str, number: int) -> None:
    owner: Any = WriterLock if function == "release" else files
    original = getattr(owner, function)
    calls = [0]

    def counted(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            die()
        return original(*args, **options)

    setattr(owner, function, counted)


def _in_closing(mishap: Mishap) -> None:
    close = EventLog.close

    def closing(log: EventLog) -> None:
        if log._writer is not None:
            mishap()
        close(log)

    EventLog.close = closing  # type: ignore[method-assign]


# -- without room ------------------------------------------------------------------------------


def file_limit(size: int, *, deadly: bool = False) -> Mishap:
    """No file can grow beyond ``size`` bytes: writing more fails, or ends the process in it."""
    return partial(_file_limit, size, deadly)


def page_limit(pages: int) -> Mishap:
    """The log cannot grow beyond as many pages."""
    return partial(_page_limit, pages)


def no_room_for_the_head() -> None:
    """The disk is so full that the small file of the head of a finished log is too much."""

    def full(path: Path, text: str) -> None:
        path.with_name(path.name + ".new").write_text(text)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    files.replace_text = full


def _file_limit(size: int, deadly: bool) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _page_limit(pages: int) -> None:
    connect = files.connect_writing

    def limited(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(f"pragma max_page_count = {pages}")
        return connection

    files.connect_writing = limited


# -- without permission ------------------------------------------------------------------------


def unprivileged() -> None:
    """As somebody whom permissions bind, even when root runs the campaign."""
    if os.geteuid() == 0:
        files.schema()
        os.setegid(65534)
        os.seteuid(65534)


# -- a world that fails ------------------------------------------------------------------------


def answers(number: int) -> Mishap:
    """The model's server goes down after so many answers."""
    return partial(_answers, number)


def _answers(number: int) -> None:
    complete = ScriptedModel.complete
    left = [number]

    def failing(model: LivelyModel, call: Any) -> Any:
        if not left[0]:
            raise Infrastructure("http://server/v1: connection refused; start it, then resume")
        left[0] -= 1
        return complete(model, call)

    ScriptedModel.complete = failing  # type: ignore[method-assign, assignment]


def clock(*years: int) -> Mishap:
    """The wall clock shows these years in turn, again and again."""
    return partial(_clock, years)


def _clock(years: tuple[int, ...]) -> None:
    shown: Iterator[int] = cycle(years)
    begin = EventLog.__init__

    def begun(log: EventLog, path: Path, **options: Any) -> None:
        options["clock"] = lambda: datetime(next(shown), 6, 1, tzinfo=UTC)
        begin(log, path, **options)

    EventLog.__init__ = begun  # type: ignore[method-assign]


def in_folder(folder: Path) -> Mishap:
    """The command is given from another working directory."""
    return partial(os.chdir, folder)
