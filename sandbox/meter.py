"""What a jailed process has used, told apart from what the machine kept from it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .processes import stat

_TICK = 1 / os.sysconf("SC_CLK_TCK")


class Meter:
    """Processor time and idle time of the one process in a jail, read from outside it.

    A process that waits for a processor, or for a disk, is held up by the machine; one that
    sleeps or waits for a lock is idle by its own choice. Only the second is counted as blocked.

    Attributes:
        cpu: Seconds of processor time so far.
        blocked: Seconds spent blocked while it `owed` an answer.
    """

    def __init__(self, pid: int) -> None:
        self._process = Path(f"/proc/{pid}")
        self.cpu = 0.0
        self.blocked = 0.0
        self._at = time.monotonic()
        self._active = 0.0
        self.sample(owed=0)

    def sample(self, *, owed: float) -> None:
        """Look again; at most the last `owed` seconds before this look count as blocked."""
        try:
            fields = stat(self._process)
            cpu = (int(fields[11]) + int(fields[12])) * _TICK
            active, held = self._threads()
        except (OSError, ValueError, IndexError):
            return
        now = time.monotonic()
        # The sum over threads falls when one ends, and ticks are coarse: the larger step is right.
        step = max(cpu - self.cpu, active - self._active, 0.0)
        if not held:
            self.blocked += max(0.0, min(owed, now - self._at) - step)
        self._at, self._active, self.cpu = now, active, max(cpu, self.cpu)

    def _threads(self) -> tuple[float, bool]:
        """Seconds the threads ran or waited to run; whether one of them could run right now."""
        active, held = 0.0, False
        for thread in (self._process / "task").iterdir():
            held = held or stat(thread)[0] in ("R", "D")
            try:
                ran, waited, *_ = (thread / "schedstat").read_text().split()
            except FileNotFoundError:
                continue  # a kernel without it: the ticks of the whole process have to do
            active += (int(ran) + int(waited)) / 1e9
        return active, held
