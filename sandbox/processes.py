"""Other processes, as /proc shows them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def stat(process: Path) -> list[str]:
    """The fields of a stat file from the state on; the name before them may hold anything."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()


def innermost(pid: int) -> int:
    """The last of a chain of processes, each the only child of the one before."""
    while inner := children(pid):
        pid = inner[0]
    return pid


def children(pid: int) -> list[int]:
    """The children of a process, where it is still there."""
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        pass
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and stat(Path(f"/proc/{name}"))[1] == str(pid):
                found.append(int(name))
        except OSError:
            continue
    return found


def kill_child(pid: int, parent: int) -> None:
    """End a child of a process; never another process that got its number meanwhile."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if pid in children(parent):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
