"""The computer a model runs on: its cores, its processor family, and one generation at a time."""

from __future__ import annotations

import fcntl
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_family() -> str:
    """Vendor, family and model of the processor, for example ``GenuineIntel 6-143``.

    Builds for the native processor round differently on another family, so this is part of a
    local model's fingerprint.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}".strip()
    facts: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    if "vendor_id" in facts:
        return f"{facts['vendor_id']} {facts.get('cpu family', '?')}-{facts.get('model', '?')}"
    arm = [facts[name] for name in ("CPU implementer", "CPU part") if name in facts]
    return " ".join([platform.machine(), *arm])


def lock_file() -> Path:
    """The file whose lock means "a model is computing on this machine for this user"."""
    return Path(tempfile.gettempdir()) / f"discernmem-model-{os.getuid()}.lock"


@contextmanager
def one_generation() -> Iterator[None]:
    """Wait until no other generation of this user runs on this machine, then hold the turn.

    Two llama.cpp computations on the same cores starve each other (a fiftieth of the speed was
    measured), so turns are taken. The lock is held for one call, not for a model's life: a
    process that keeps a model open while it thinks of something else blocks nobody. Each call
    opens the file anew, so threads of one process take turns as well, and the system releases
    the lock of a process that dies.
    """
    handle = os.open(lock_file(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
