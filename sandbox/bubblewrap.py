"""The way into a jail: a bubblewrap, its namespaces, and the identity of what runs in it."""

from __future__ import annotations

import itertools
import os

from attrs import frozen

from . import mounts, seccomp

# The range that service managers hand out for a moment: no account lies there.
UIDS = range(61184, 65520)
_turn = itertools.count(os.getpid() * 97)


@frozen
class Way:
    """How a jail is entered.

    Attributes:
        program: The bubblewrap executable; empty for no isolation at all.
        drops: Whether the jailed process starts as root and takes on an unused identity. The
            kernel bounds the threads of everyone but root, and counts them by identity.
    """

    program: str
    drops: bool

    @property
    def isolation(self) -> str:
        """The level in force, as recorded with every verdict."""
        if not self.program:
            return "none"
        return "bubblewrap+seccomp+rlimits" if seccomp.supported() else "bubblewrap+rlimits"

    def uid(self) -> int | None:
        """An identity for the next jail that no jail beside it has, or None to keep the own."""
        return UIDS[next(_turn) % len(UIDS)] if self.drops else None

    def arguments(self, *, files_mib: int, tests: bool) -> list[str]:
        """The bubblewrap command up to the program, without file descriptors."""
        privileges = ["--cap-drop", "ALL"]
        if self.drops:
            privileges += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            privileges += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        work = ["--perms", "1777", "--size", str(files_mib << 20), "--tmpfs", mounts.WORK]
        return [
            self.program,
            *("--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts"),
            *("--unshare-cgroup-try", "--hostname", "jail"),
            *("--die-with-parent", "--new-session"),
            *privileges,
            *mounts.shown(tests=tests),
            *work,
            *("--remount-ro", "/", "--chdir", mounts.WORK),
        ]
