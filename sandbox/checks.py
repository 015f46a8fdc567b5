"""Hostile programs to run against the jail of this machine, harmless where it does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from .grading import grade
from .limits import Limits
from .worker import ProgramFailed, Worker

_LIMITS = Limits(cpu_seconds=1, blocked_seconds=1.0, memory_mib=512, files_mib=4)

_ATTEMPT = """
def attempt(source):
    scope = {}
    exec(source, scope)
    return bool(scope["attack"]())
"""

# Each defines attack(), which returns whether it got through.
_ATTACKS = {
    "read /etc/passwd": """
def attack():
    return bool(open("/etc/passwd").read())
""",
    "write outside the work folder": """
import os
def attack():
    for folder in ("/", "/etc", "/usr/lib", "/var/tmp", "/dev/shm"):
        try:
            path = os.path.join(folder, "discernmem-check")
            open(path, "w").close()
            os.unlink(path)
            return True
        except OSError:
            pass
""",
    "see the environment": """
import os
def attack():
    return bool(set(os.environ) - {"PYTHONHASHSEED", "PWD", "LC_CTYPE"})
""",
    "see other processes": """
import os
def attack():
    return any(name.isdigit() and int(name) != os.getpid() for name in os.listdir("/proc"))
""",
    "signal other processes": """
import os
def attack():
    os.kill(-1, 0)
    return True
""",
    "connect to this machine": """
import socket
def attack():
    with socket.socket() as s:
        try:
            s.connect(("127.0.0.1", 9))
        except ConnectionRefusedError:
            pass
    return True
""",
    "start a process": """
import os
def attack():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True
""",
    "mount a file system": """
import ctypes, os
def attack():
    os.makedirs("here", exist_ok=True)
    place = os.path.abspath("here").encode()
    return ctypes.CDLL(None).mount(b"tmpfs", place, b"tmpfs", 0, None) == 0
""",
    "make a new user namespace": """
import ctypes
def attack():
    return ctypes.CDLL(None).unshare(0x10000000) == 0
""",
    "trace a process": """
import ctypes
def attack():
    return ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0
""",
    "take 4 GB of memory": """
def attack():
    return len(bytearray(4 << 30)) > 0
""",
    "write 256 MB of files": """
def attack():
    for number in range(256):
        with open(f"file-{number}", "wb") as file:
            file.write(bytes(1 << 20))
    return True
""",
    "compute for ever": """
def attack():
    while True:
        pass
""",
    "sleep for ever": """
import time
def attack():
    time.sleep(1e6)
    return True
""",
}

_TEST = """
from solution import double
def test_double():
    assert double(21) == 42
"""

# Solutions that must not pass the test above.
_CHEATS = {
    "leave in the middle of a test": """
import os
def double(number):
    os._exit(0)
""",
    "answer with an object equal to everything": """
class Everything:
    __eq__ = lambda self, other: True
    __hash__ = None
def double(number):
    return Everything()
""",
}


@frozen
class Check:
    """One attack and how it ended.

    Attributes:
        attack: What was tried.
        stopped: Whether it came to nothing.
        how: What stopped it, or that nothing did.
    """

    attack: str
    stopped: bool
    how: str


def check(isolation: str = "bubblewrap") -> Iterator[Check]:
    """Try every attack, in seconds.

    Raises:
        Infrastructure: No isolation can be had.
        BadInput: The isolation is unknown, or `none` was asked for by root.
    """
    attacks = dict(_ATTACKS)
    while attacks:
        # One jail does until an attack ends it.
        with Worker(_ATTEMPT, limits=_LIMITS, isolation=isolation) as worker:
            for name in list(attacks):
                through, how = _attempted(worker, attacks.pop(name))
                yield Check(name, not through, how)
                if worker.closed:
                    break
    for name, solution in _CHEATS.items():
        graded = grade(solution, _TEST, limits=_LIMITS, isolation=isolation)
        yield Check(name, graded.verdict != "pass", graded.reason)


def _attempted(worker: Worker, source: str) -> tuple[bool, str]:
    try:
        through = worker.call("attempt", source)
    except ProgramFailed as error:
        return False, error.kind
    return bool(through), "it got through" if through else "refused"
