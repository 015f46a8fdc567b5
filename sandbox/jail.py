"""One jailed process: started, spoken to, measured, and ended with all it holds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any, Literal

from ..eventlog.closing import Closing
from . import mounts, seccomp
from .bubblewrap import Way
from .channel import Channel, exchange
from .inside.confine import Bounds
from .inside.frames import READY
from .limits import Limits
from .meter import Meter
from .processes import children, innermost, kill_child

Role = Literal["probe", "candidate", "tests"]

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.boot import main; "
    "del sys.path[0]; main(sys.argv[2])"
)


class Jail(Closing):
    """A process that does one role of `inside.boot`, in namespaces of its own.

    It dies with the thread that opened it, with this process, and with `close`.

    Attributes:
        channel: The frames to and from it.
    """

    def __init__(self, way: Way, role: Role, limits: Limits, life_seconds: int) -> None:
        """Start it; `life_seconds` bounds the processor time of its whole life."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._meter: Meter | None = None
        self._ready = False
        self._isolated = bool(way.program)
        ours, theirs = socket.socketpair()
        bounds: Bounds = {
            "uid": way.uid(),
            "cpu_seconds": life_seconds,
            "memory": limits.memory_mib << 20,
            "files": limits.files_mib << 20,
            "threads": limits.threads if way.program else None,
        }
        settings: dict[str, Any] = {"role": role, "channel": theirs.fileno(), "bounds": bounds}
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            self._process = self._start(way, role, limits, settings, theirs.fileno())
            undo.pop_all()
        self.channel = Channel(ours)

    def _start(
        self, way: Way, role: Role, limits: Limits, settings: dict[str, Any], channel: int
    ) -> subprocess.Popen[bytes]:
        tests = role == "tests"
        descriptors = [channel]
        with contextlib.ExitStack() as stack:
            if way.program:
                head = way.arguments(files_mib=limits.files_mib, tests=tests)
                if seccomp.supported():
                    filters = stack.enter_context(_readable(seccomp.compiled()))
                    descriptors.append(filters)
                    head += ["--seccomp", str(filters)]
                settings |= {"site": [mounts.SITE] if tests else []}
                folder, code = None, mounts.CODE
            else:
                self._folder = tempfile.TemporaryDirectory(prefix="jail-")
                head, folder, code = [], self._folder.name, str(mounts.INSIDE.parent)
                site = {str(path.parent) for path in mounts.pytest_packages()} if tests else set()
                settings |= {"site": sorted(site)}
            return subprocess.Popen(
                [*head, *_interpreter(), _BOOT, code, json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # -I would ignore the hash seed, without which a paired replay can differ.
                env={"PYTHONHASHSEED": "0"},
                cwd=folder,
                pass_fds=descriptors,
                start_new_session=True,
            )

    def ready(self, seconds: float) -> bool:
        """Wait until it has bound itself; False if it ends or so much time passes before that."""
        last = time.monotonic() + seconds
        while not self._ready and not self.channel.closed and (left := last - time.monotonic()) > 0:
            frame = self.channel.frame()
            if frame is not None:
                self._ready = frame[0] == READY
                break
            exchange([self.channel], left)
        return self._ready

    @property
    def meter(self) -> Meter:
        """What it uses; only once it is ready."""
        if self._meter is None:
            pid = self._process.pid
            self._meter = Meter(innermost(pid) if self._isolated else pid)
        return self._meter

    def complaint(self) -> str:
        """What bubblewrap, or the interpreter, said on its way in: one line; ends the jail."""
        self._kill()
        assert self._process.stderr is not None
        lines = self._process.stderr.read(4096).decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "the jail did not start"

    def end(self) -> int | None:
        """Its exit status as a shell gives it (128 and the signal's number), or None if it lives.

        For a jail that has closed its channel: it is given two seconds to leave.
        """
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return None
        return 128 - status if status < 0 else status

    def close(self) -> None:
        """End it, and wait until nothing of it is left."""
        self._kill()
        self.channel.drain(10)
        self.channel.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _kill(self) -> None:
        """End the first process inside: all others go with it, and bubblewrap leaves after them."""
        if self._process.poll() is None and self._isolated:
            for pid in children(self._process.pid):
                kill_child(pid, self._process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _interpreter() -> list[str]:
    return [mounts.interpreter(), "-s", "-S", "-P", "-B", "-c"]


@contextlib.contextmanager
def _readable(content: bytes) -> Any:
    """A descriptor from which these bytes can be read."""
    reader, writer = os.pipe()
    try:
        os.write(writer, content)
        os.close(writer)
        yield reader
    finally:
        os.close(reader)
