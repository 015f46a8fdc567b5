"""The first thing a jailed process does: bind itself, before any foreign code is read."""

from __future__ import annotations

import os
import resource
from typing import TypedDict


class Bounds(TypedDict):
    """What `confine` sets, in the units of setrlimit.

    `uid` is the unprivileged identity to take on, or None where there is no privilege to drop;
    `threads` is None where the limit would count every process of the user.
    """

    uid: int | None
    cpu_seconds: int
    memory: int
    files: int
    threads: int | None


def confine(bounds: Bounds) -> None:
    """Give up privilege for good, then set limits that cannot be raised again.

    Raises:
        OSError: This process has less memory or smaller files than a program must be granted.
    """
    uid = bounds["uid"]
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    cpu = bounds["cpu_seconds"]
    _limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    _grant(resource.RLIMIT_AS, bounds["memory"], "memory (ulimit -v)")
    _grant(resource.RLIMIT_FSIZE, bounds["files"], "files (ulimit -f)")
    _limit(resource.RLIMIT_NOFILE, 64)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    if bounds["threads"] is not None:
        _limit(resource.RLIMIT_NPROC, bounds["threads"])


def _grant(kind: int, bound: int, name: str) -> None:
    """Set a limit that judges, so that it must not depend on whoever starts the jail."""
    present = resource.getrlimit(kind)[1]
    if present != resource.RLIM_INFINITY and present < bound:
        raise OSError(f"its own limit of {name} is {present} bytes, a jail needs {bound}")
    resource.setrlimit(kind, (bound, bound))


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Lower a limit; one that is lower already stays."""
    present = resource.getrlimit(kind)[1]
    most = soft if hard is None else hard
    if present != resource.RLIM_INFINITY:
        most = min(most, present)
    resource.setrlimit(kind, (min(soft, most), most))
