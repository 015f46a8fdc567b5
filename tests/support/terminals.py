"""Commands on real terminals of any size, and what can be seen there."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte

ROWS = 24
PATIENCE = 60.0
"""Seconds after which something that was to happen is given up."""

# Tests that run in the background, or go on when their terminal is closed, are told to ignore these
# signals, and so are their children.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); from discernmem.cli import main; main()"
)

_FRAME = "\r\x1b[J"


def screen(columns: int, rows: int = ROWS) -> tuple[pyte.Screen, pyte.Stream]:
    """A screen and what writes on it."""
    shown = pyte.Screen(columns, rows)
    shown.set_mode(pyte.modes.LNM)
    return shown, pyte.Stream(shown)


def lines(shown: pyte.Screen) -> list[str]:
    """The lines on a screen that are not empty."""
    return [line.rstrip() for line in shown.display if line.strip()]


class Terminal:
    """A command in a process of its own on a terminal, which is its standard error at least."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        columns: int = 80,
        stdout: Path | None = None,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-c", COMMAND),
    ) -> None:
        self.columns = columns
        self.master, slave = os.openpty()
        self.resize(columns)
        out: Any = stdout.open("wb") if stdout else slave
        variables = {**os.environ, "TERM": "xterm-256color", **(environment or {})}
        variables = {name: value for name, value in variables.items() if value}
        try:
            self.process = subprocess.Popen(
                [*command, *arguments],
                stdin=slave,
                stdout=out,
                stderr=slave,
                env=variables,
                start_new_session=True,
                # The terminal is that of the new session, so that Ctrl-C reaches who is in front.
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        finally:
            os.close(slave)
            if stdout:
                out.close()
        self.raw = ""
        # What is read may end in the middle of a letter.
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def resize(self, columns: int, rows: int = ROWS) -> None:
        """Make the terminal so large."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def read_until(self, pattern: str) -> None:
        """Wait until that was written, colours left out."""
        last = time.monotonic() + PATIENCE
        while not re.search(pattern, _plain(self.raw)):
            assert self._read(), f"ended before {pattern!r}: {self.raw[-2000:]}"
            assert time.monotonic() < last, f"waited for {pattern!r}: {self.raw[-2000:]}"

    def ended(self) -> int:
        """Read to the end; its exit status."""
        last = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < last, self.raw[-2000:]
        return self.process.wait(timeout=PATIENCE)

    def _read(self) -> bool:
        """Take what was written; whether there may be more."""
        if not select.select([self.master], [], [], PATIENCE)[0]:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.raw += self._decode(data)
        return bool(data)

    def close(self) -> None:
        """End whatever is left of it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    # -- what was to be seen -------------------------------------------------------------------

    def screens(self) -> Iterator[list[str]]:
        """The lines on the screen after each drawing."""
        shown, stream = screen(self.columns, 200)
        for frame in self.raw.split(_FRAME):
            stream.feed(_FRAME + frame)
            yield lines(shown)

    def last_screen(self) -> list[str]:
        """The lines that stay."""
        return list(self.screens())[-1]


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@contextmanager
def terminal(*arguments: str, **options: Any) -> Iterator[Terminal]:
    """A command on a terminal, ended whatever happens."""
    opened = Terminal(arguments, **options)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def watched(
    then: Callable[[], None] = lambda: None, columns: int = 80, rows: int = ROWS
) -> Iterator[tuple[Any, Callable[[], str]]]:
    """A terminal in this process: a stream to it, and what was written there up to now."""
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    raw: list[bytes] = []

    def written() -> str:
        while select.select([master], [], [], 0)[0]:
            raw.append(os.read(master, 1 << 16))
        return b"".join(raw).decode("utf-8", "replace")

    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        try:
            yield stream, written
        finally:
            then()
            os.close(master)
