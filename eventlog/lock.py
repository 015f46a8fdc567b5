"""One writer per log: an advisory lock that the kernel drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from .errors import BadInput, LogBusy
from .files import beside


class WriterLock:
    """Holds ``<log>.lock``, which names the process and host that write the log."""

    def __init__(self, log: Path) -> None:
        self.path = beside(log, ".lock")
        self._descriptor = self._acquire(log)

    def _acquire(self, log: Path) -> int:
        while True:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise BadInput(
                    f"{log}: cannot be opened for writing: {error.strerror}; "
                    "choose a folder that exists and can be written"
                ) from None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 300).decode("utf-8", "replace").split()
                os.close(descriptor)
                who = f"process {holder[0]} on {holder[1]}" if len(holder) == 2 else "another one"
                raise LogBusy(
                    f"{log}: {who} is writing it; wait for it, or end it and resume"
                ) from None
            # A closing holder removes the file: a lock on a removed file locks nobody out.
            if self._is_current(descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())
                return descriptor
            os.close(descriptor)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let the next writer in."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
