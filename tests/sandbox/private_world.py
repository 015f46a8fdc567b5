"""Grade every hostile program in a private world, so that a jail that fails harms nothing real.

As a module it starts itself again in a bubblewrap of its own (mounts, processes and network are
private, the disk is read-only) and reads what came of each program; as a program it does the work.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hostile import PROGRAMS, RIGHT, TEST, Program

from discernmem.sandbox import Grade, Limits, ProgramFailed, Worker, grade
from discernmem.sandbox.opening import candidates, open_way

USER = 54321
LIMITS = Limits(cpu_seconds=1, blocked_seconds=1.0, memory_mib=512, files_mib=8)
_HERE = Path(__file__).parent


def campaign(programs: Sequence[Program], *, user: bool) -> dict[str, dict[str, Any]]:
    """Verdict and reason by name of program, and what harm was seen, under the name `harm`.

    Args:
        programs: The ones to grade, of `hostile.PROGRAMS`.
        user: Whether to give up root first, where this process is root. A root that is kept only
            calls the programs, to save time: the jail depends on who runs it, the grading does not.
    """
    names = json.dumps([program.name for program in programs])
    command = [*_world(), sys.executable, str(_HERE / "private_world.py"), str(int(user)), names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


def _world() -> list[str]:
    """The outer bubblewrap; what the interpreter needs stays readable for everyone."""
    world = [candidates()[-1], "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    hidden = ["/tmp", str(Path.home())]
    for place in hidden:
        world += ["--perms", "1777", "--tmpfs", place]
    made = set()
    for needed in (sys.base_prefix, sys.prefix, str(_HERE.parents[1])):
        for parent in reversed(Path(needed).parents):
            inside = any(str(parent).startswith(place + "/") for place in hidden)
            if inside and parent not in made:
                made.add(parent)
                world += ["--perms", "0755", "--dir", str(parent)]
        world += ["--ro-bind", needed, needed]
    kinds = ("pid", "net", "ipc", "uts")
    return [
        *world,
        *(f"--unshare-{kind}" for kind in kinds),
        "--die-with-parent",
        "--chdir",
        "/tmp",
    ]


def _work(user: bool, names: str) -> None:
    if user and os.getuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        # A fresh start, so that nothing of root's process is left in this one.
        os.execv(sys.executable, [sys.executable, __file__, "0", names])
    judge = _called
    if os.getuid() != 0:
        judge = _graded
        resource.setrlimit(resource.RLIMIT_NPROC, (300, 300))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    Path("/tmp/canary").write_text("alive")
    reached = _listen()
    before = _seen()
    with ThreadPoolExecutor(2) as pool:
        chosen = [program for program in PROGRAMS if program.name in json.loads(names)]
        for program, result in zip(chosen, pool.map(judge, chosen), strict=True):
            print(json.dumps([program.name, result]), flush=True)
    if os.getuid() != 0:
        for name, source in (("right", RIGHT.source), ("wrong", "def double(n): return 0")):
            graded = grade(source, TEST, limits=LIMITS, isolation="none")
            print(json.dumps([f"{name}, without isolation", _told(graded)]))
    after = _seen()
    harm = [
        f"{key}: {before[key]} became {after[key]}" for key in before if before[key] != after[key]
    ]
    print(json.dumps(["harm", {"seen": harm + reached}]))


def _graded(program: Program) -> dict[str, Any]:
    return _told(grade(program.source, program.test, limits=LIMITS))


def _told(graded: Grade) -> dict[str, Any]:
    return {
        "verdict": graded.verdict,
        "reason": graded.reason,
        "oracle": graded.oracle,
        "isolation": graded.isolation,
    }


def _called(program: Program) -> dict[str, Any]:
    """The same of a program that is only called, for the first of its tests."""
    told = {"oracle": program.oracle, "isolation": open_way("bubblewrap").isolation}
    try:
        with Worker(program.source, limits=LIMITS) as worker:
            right = worker.call("double", 21) == 42
    except ProgramFailed as error:
        reason = "memory" if error.kind == "MemoryError" else error.kind
        return {**told, "verdict": "fail", "reason": reason}
    return {**told, "verdict": "pass" if right else "fail", "reason": ""}


def _seen() -> dict[str, object]:
    """What a program must not change."""
    processes = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return {
        "processes": len(processes),
        "files": sorted(os.listdir("/tmp")),
        "canary": Path("/tmp/canary").read_text(),
        "mounts": Path("/proc/self/mounts").read_text(),
        "threads": threading.active_count(),
    }


def _listen() -> list[str]:
    """Listen where programs may try to connect; the list gets a line for each that succeeds."""
    reached: list[str] = []
    for family, address in ((socket.AF_INET, ("127.0.0.1", 4711)), (socket.AF_UNIX, "\0canary")):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen()

        def wait(listener: socket.socket = listener) -> None:
            while True:
                listener.accept()
                reached.append("a program connected")

        threading.Thread(target=wait, daemon=True).start()
    return reached


if __name__ == "__main__":
    _work(sys.argv[1] == "1", sys.argv[2])
