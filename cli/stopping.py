"""Signals that ask a command to stop: at once, or at the next clean boundary of a log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

import attrs

if TYPE_CHECKING:
    from ..replayers.progress import Notice

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal ends the command; no code that catches exceptions may go on instead."""


@attrs.define
class Stop:
    """When the signals that came take effect.

    While no run is recorded, at once. While one is, at the next notice its journal tells, where the
    log ends cleanly; at once where the code of others works, and at the second signal. The answer
    of a model that is waited for is recorded first. What is being closed already is closed.

    Attributes:
        asked: number of the first signal, 0 before there is one.
        stopped: whether a signal took effect, even where something made another error of it.
    """

    asked: int = 0
    stopped: bool = False
    _recording: bool = False
    _away: bool = False
    _closing: bool = False
    _awaited: int = 0

    def handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Take a signal; called between any two steps of the main thread."""
        again = bool(self.asked)
        self.asked = self.asked or number
        if self._closing or (self.stopped and not self._away):
            return
        if self._recording and not self._away and not again:
            return
        self._end()

    @property
    def exit_status(self) -> int:
        """What a shell says of a process that the first signal ended."""
        return 128 + self.asked

    def check(self) -> None:
        """Stop here if that was asked."""
        if self.asked:
            self._end()

    def hear(self, notice: Notice) -> None:
        """Follow a run; stop here if that was asked and no answer would be lost."""
        from ..replayers.progress import Asking, Away, Back, Observed, RunBegun, RunEnded

        match notice:
            case RunBegun():
                self._recording, self._closing = True, False
            case RunEnded():
                self._recording, self._away, self._closing = False, False, True
                return
            case Back():
                self._away = False
                return
            case Away():
                self._away, self._awaited = True, 0
            case Observed():
                self._awaited = max(self._awaited - 1, 0)
                if self._awaited:
                    return
        self.check()
        if isinstance(notice, Asking):
            self._awaited = notice.answers

    def closed(self) -> None:
        """The log that was recorded is closed."""
        self._closing = False

    def _end(self) -> NoReturn:
        self.stopped = True
        raise Stopped


@contextmanager
def signals_to(stop: Stop) -> Iterator[None]:
    """Give the signals inside to ``stop``; one that this process is told to ignore stays ignored.

    Only the main thread can take signals; in another one nothing is changed.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
