"""A few lines at the end of a terminal that are drawn again and again while something is done."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

import attrs

from ..eventlog.closing import Closing
from .printing import shown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_EVERY: Final = 0.25
"""Seconds between two drawings."""

_PATIENCE: Final = 2.0
"""Seconds that the last drawing may take."""

_ERASE: Final = "\r\x1b[J"
_KEEP_LINES: Final = "\x1b[?7l"
_WRAP_LINES: Final = "\x1b[?7h"
_WIDEST_BAR: Final = 60


@attrs.frozen(kw_only=True)
class Picture:
    """What is shown: ``words`` that say what is done now, how much of how much, and ``facts``.

    ``words`` are parts of one sentence; where they do not fit on one line each gets its own.
    ``of`` is 0 where nobody knows how much there is to do.
    """

    words: Sequence[str]
    done: int
    of: int
    count: str = ""
    facts: Sequence[str] = ()


_TRIAL: Final = Picture(words=("字",), done=1, of=2, count="字", facts=("字",))
"""Needs all that any picture does."""


class Block(Closing):
    """Draws pictures on a terminal until it is closed, and leaves nothing behind.

    Between two drawings the cursor stands where the lines begin. A terminal that is made narrower
    keeps it there however it breaks the lines again, so what is erased from there is all of them.
    """

    def __init__(self, picture: Callable[[], Picture | None], terminal: TextIO) -> None:
        """Begin to draw on ``terminal``, each time what ``picture`` gives then."""
        self._picture = picture
        self._terminal = terminal
        self._lock = threading.RLock()
        self._over = threading.Event()
        # A signal may end an import of this thread in its middle, and then no other imports again.
        self._lines(_TRIAL)
        self._streams = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = map(self._above, self._streams)
        self._drawer = threading.Thread(target=self._keep_drawing, daemon=True)
        self._drawer.start()

    def close(self) -> None:
        """Draw no more, and erase what is drawn."""
        self._over.set()
        self._drawer.join(_PATIENCE)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, _Above):
                stream.let_go()
        sys.stdout, sys.stderr = self._streams
        self._write(_ERASE)

    def print_above(self, stream: TextIO, text: str) -> None:
        """Write whole lines above the block."""
        with self._lock:
            self._write(_ERASE)
            stream.write(text)
            stream.flush()
            self.draw()

    def draw(self) -> None:
        """Draw the picture as it is now."""
        picture = self._picture()
        if picture is None or not self._in_front():
            return
        with self._lock:
            if self._over.is_set():
                return
            lines = self._lines(picture)
            up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
            body = "\r\n".join(lines)
            self._write(f"{_ERASE}{_KEEP_LINES}{body}{_WRAP_LINES}\r{up}")

    def _keep_drawing(self) -> None:
        while True:
            self.draw()
            if self._over.wait(_EVERY):
                return

    def _lines(self, picture: Picture) -> list[str]:
        columns, rows = _size(self._terminal)
        width = max(columns - 1, 1)
        page = _Page(self._terminal.encoding or "utf-8")
        console = _console(page, width)
        for line in _laid_out(picture, width):
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        text = page.getvalue().encode(page.encoding, "replace").decode(page.encoding)
        return text.splitlines()[: max(rows - 1, 1)]

    def _in_front(self) -> bool:
        """Whether this process may use the terminal now: in the background it belongs to others."""
        try:
            return os.tcgetpgrp(self._terminal.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return True

    def _write(self, text: str) -> None:
        # A terminal that is gone is no reason to stop what is done.
        with suppress(OSError, ValueError):
            self._terminal.write(text)
            self._terminal.flush()

    def _above(self, stream: TextIO) -> TextIO:
        if not is_terminal(stream):
            return stream
        above: Any = _Above(self, stream)
        return above  # type: ignore[no-any-return]


class _Page(io.StringIO):
    """What is written for a terminal, in letters that its encoding has."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._letters = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the terminal."""
        return self._letters


class _Above(io.TextIOBase):
    """A stream to the same terminal, whose lines go above the block when they are whole."""

    def __init__(self, block: Block, stream: TextIO) -> None:
        self._block = block
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Print the lines that are whole now."""
        whole, newline, self._begun = (self._begun + text).rpartition("\n")
        if newline:
            self._block.print_above(self._stream, whole + newline)
        return len(text)

    def let_go(self) -> None:
        """Print what is no whole line."""
        if self._begun:
            self._block.print_above(self._stream, f"{self._begun}\n")
            self._begun = ""

    def isatty(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """That of the stream."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self._stream.encoding


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is one; Python has none where it was closed before it began."""
    return stream is not None and stream.isatty()


def drawable(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal on which lines can be drawn again."""
    return is_terminal(stream) and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def _size(terminal: TextIO) -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(terminal.fileno())
    except (OSError, ValueError):
        columns, rows = 0, 0
    return columns or 80, rows or 24


def _console(page: TextIO, width: int) -> Console:
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=page,
        force_terminal=True,
        color_system=None if plain else "auto",
        no_color=plain,
        width=width,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _laid_out(picture: Picture, width: int) -> list[RenderableType]:
    """The lines of a picture: what is done, the bar, and as many facts on a line as fit."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def cells(text: str) -> int:
        return Text(text).cell_len

    parts = [shown(part) for part in picture.words if part]
    joined = ": ".join(parts)
    lines: list[RenderableType] = [
        Text(line) for line in ([joined] if cells(joined) <= width else parts)
    ]
    bar = Table.grid(padding=(0, 1))
    room = width - cells(picture.count) - 1
    if room >= 5:
        drawn = ProgressBar(
            total=picture.of or None,
            completed=min(picture.done, picture.of),
            width=min(room, _WIDEST_BAR),
            pulse=not picture.of,
        )
        bar.add_row(drawn, Text(picture.count))
        lines.append(bar)
    else:
        lines.append(Text(picture.count))
    line = ""
    for fact in picture.facts:
        longer = f"{line}, {fact}" if line else fact
        if line and cells(longer) > width:
            lines.append(Text(line, style="dim"))
            longer = fact
        line = longer
    if line:
        lines.append(Text(line, style="dim"))
    return lines
