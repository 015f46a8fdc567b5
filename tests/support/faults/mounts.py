"""File systems of our own, seen only by the processes that enter them; no privilege is needed."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path

import attrs
from lively import quick_folder

from .users import CONTEXT, Mishap, begin, end

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
"""Flags of the mount below, which whoever is not privileged may not take away."""


@attrs.frozen
class Mount:
    """A folder that those who enter see differently; a process of its own keeps it."""

    folder: Path
    enter: Mishap
    _keeper: Connection

    def grow(self, size: int) -> None:
        """Give a small disk more room."""
        self._tell("grow", size)

    def copy_to(self, folder: Path) -> None:
        """Copy what the folder holds to where everybody sees it."""
        self._tell("copy", folder)

    def _tell(self, *words: object) -> None:
        self._keeper.send(words)
        told = self._keeper.recv()
        if told is not None:
            raise told


@cache
def may_mount() -> bool:
    """Whether the system lets this user have mounts of their own."""
    with quick_folder() as folder:
        try:
            with small_disk(folder, 1 << 16):
                return True
        except OSError:
            return False


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Mount]:
    """An empty disk of ``size`` bytes at ``folder``.

    Raises:
        OSError: the system does not allow it.
    """
    with _kept(folder, size) as mount:
        yield mount


@contextmanager
def read_only(folder: Path) -> Iterator[Mount]:
    """``folder`` on a file system that is mounted to be read.

    Raises:
        OSError: the system does not allow it.
    """
    with _kept(folder, None) as mount:
        yield mount


@contextmanager
def _kept(folder: Path, size: int | None) -> Iterator[Mount]:
    ours, theirs = CONTEXT.Pipe()
    keeper = CONTEXT.Process(target=_keep, args=(theirs, folder, size))
    begin(keeper)
    theirs.close()
    try:
        told = ours.recv()
        if told is not None:
            raise told
        assert keeper.pid is not None
        yield Mount(folder, partial(_enter, keeper.pid), ours)
    finally:
        ours.close()
        end(keeper)


def _keep(orders: Connection, folder: Path, size: int | None) -> None:
    try:
        _have_mounts_of_our_own()
        if size is None:
            flags = os.statvfs(folder).f_flag & _KEPT_FLAGS
            _mount(folder, "", _BIND)
            _mount(folder, "", _BIND | _REMOUNT | _READ_ONLY | flags)
        else:
            _mount(folder, f"size={size},mode=755", 0)
    except OSError as error:
        orders.send(error)
        return
    orders.send(None)
    try:
        while True:
            match orders.recv():
                case ("grow", int() as more):
                    _mount(folder, f"size={more}", _REMOUNT)
                case ("copy", Path() as to):
                    shutil.copytree(folder, to)
            orders.send(None)
    except EOFError:
        return


def _have_mounts_of_our_own() -> None:
    user, group = os.geteuid(), os.getegid()
    _do("unshare", _NEW_USER | _NEW_MOUNTS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _do("mount", b"none", b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)


def _mount(folder: Path, options: str, flags: int) -> None:
    where = os.fsencode(folder)
    _do("mount", where, where, b"tmpfs", ctypes.c_ulong(flags), options.encode())


def _enter(keeper: int) -> None:
    for kind in ("user", "mnt"):
        with open(f"/proc/{keeper}/ns/{kind}", "rb") as namespace:
            _do("setns", namespace.fileno(), 0)


def _do(function: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
