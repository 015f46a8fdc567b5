"""Programs that try to get out of the jail, or to a verdict they do not deserve; and controls.

A program that fails to harm anyone and then answers rightly deserves to pass: where the attack is
on the machine, the answer is right only if the attack was refused.
"""

from attrs import frozen

TEST = """
from solution import double

def test_double():
    assert double(21) == 42

def test_double_again():
    assert double(-4) == -8
"""

# A callable has no form on the wire, so these run in the program's own jail.
INSIDE = """
from solution import apply

def test_apply():
    assert apply(lambda number: 2 * number, 21) == 42
"""

INSIDE_TWICE = (
    INSIDE
    + """
def test_apply_again():
    assert apply(lambda number: number + 1, 21) == 22
"""
)

# Known to need the inside before anything runs, so pytest is there to be imported.
INSIDE_AT_ONCE = "import types" + INSIDE_TWICE

STAR = """
from solution import *

def test_sizes():
    assert len(pairs([1, 2, 3])) == 3
    assert isinstance(pairs([1]), list)
"""

NEAR = """
from solution import double

def test_double():
    assert abs(double(21) - 42) < 1e-6
    assert 42 in double(21)
"""

BLOCK = """
from solution import Counting

def test_counting():
    with Counting() as counting:
        counting.add(2)
        assert counting.total() == 3
"""


@frozen
class Program:
    """A solution and what must come of it.

    Attributes:
        name: What it tries.
        source: The module.
        verdict: The right verdict.
        reason: What the reason must contain.
        test: The hidden tests.
        oracle: Where they must have run.
    """

    name: str
    source: str
    verdict: str
    reason: str = ""
    test: str = TEST
    oracle: str = "outside"


def attack(name: str, body: str, **more: str) -> Program:
    """A program whose answer is right only if `attack` raises OSError or returns nothing true."""
    source = f"""
import os, sys
{body}
def double(number):
    try:
        if attack():
            return "it got through"
    except OSError:
        pass
    return 2 * number
"""
    return Program(name, source, "pass", **more)


def cheat(name: str, source: str, reason: str = "", **more: str) -> Program:
    """A program that must not pass."""
    return Program(name, source, "fail", reason, **more)


RIGHT = Program("right", "def double(number):\n    return 2 * number\n", "pass")

CONTROLS = (
    RIGHT,
    cheat("wrong", "def double(number):\n    return 2 + number\n", "AssertionError in 2 of 2"),
    cheat(
        "right for one test only",
        "def double(number):\n    return abs(2 * number)\n",
        "AssertionError in 1 of 2",
    ),
    Program(
        "right, with warnings, globals, a helper first and a main part",
        """
import warnings
warnings.warn("old")
CALLS = []
def helper(number):
    print("helping", number)
    warnings.warn("older", DeprecationWarning)
    return number + number
def double(number):
    CALLS.append(number)
    return helper(number)
if __name__ == "__main__":
    raise SystemExit("not as a module")
""",
        "pass",
    ),
    Program("empty", "", "fail", "does not define what the tests import"),
    Program("not Python", "def double(number:\n", "fail", "SyntaxError in the solution"),
    Program("a null byte", "x = 1\0\n", "fail", "in the solution"),
    Program(
        "a module that is not there",
        "import numpy\ndef double(number):\n    return 2 * number\n",
        "error",
        "needs the module numpy",
    ),
    Program(
        "a module that is not there, imported late",
        "def double(number):\n    import numpy\n    return 2 * number\n",
        "error",
        "needs the module numpy",
    ),
    Program("no tests", RIGHT.source, "error", "zero tests collected", "import solution\n"),
    Program("tests that do not parse", RIGHT.source, "error", "SyntaxError in the tests", "def :"),
    Program(
        "tests that define what they test",
        "def double(number):\n    return 0\n",
        "error",
        "never use the solution",
        "from solution import double\ndef double(n):\n    return 2 * n\n"
        "def test_double():\n    assert double(2) == 4\n",
    ),
    Program(
        "right, judged inside", "def apply(f, x):\n    return f(x)\n", "pass", "", INSIDE, "inside"
    ),
    Program(
        "wrong, judged inside",
        "def apply(f, x):\n    return x\n",
        "fail",
        "AssertionError in 1 of 1",
        INSIDE,
        "inside",
    ),
)

MACHINE = (
    attack(
        "a fork bomb",
        """
def attack():
    made = 0
    for _ in range(400):
        try:
            if os.fork() == 0:
                while True:
                    pass
            made += 1
        except OSError:
            break
    return made > 0
""",
    ),
    attack(
        "a thread bomb",
        """
import threading
def attack():
    made = []
    stop = threading.Event()
    try:
        for _ in range(2000):
            made.append(threading.Thread(target=stop.wait, daemon=True))
            made[-1].start()
    except RuntimeError:
        return len(made) > 70
    finally:
        stop.set()
    return True
""",
    ),
    cheat(
        "4 GB of memory",
        "def double(number):\n    hog = bytearray(4 << 30)\n    return 2 * number\n",
        "memory",
    ),
    cheat("4 GB of memory at import", "hog = bytearray(4 << 30)\n", "memory"),
    attack(
        "memory that no limit counts",
        """
import ctypes, mmap
def attack():
    libc = ctypes.CDLL(None)
    held = [libc.memfd_create(b"x", 0), libc.shmget(0, 1 << 30, 0o1777)]
    return any(handle >= 0 for handle in held)
""",
    ),
    cheat("an endless loop", "def double(number):\n    while True:\n        pass\n", "CPU limit"),
    cheat("an endless loop at import", "while True:\n    pass\n", "CPU limit"),
    cheat(
        "an endless loop that ignores signals",
        """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
def double(number):
    while True:
        pass
""",
        "CPU limit",
    ),
    cheat(
        "an endless loop with children",
        """
import os
def double(number):
    for _ in range(8):
        try:
            os.fork()
        except OSError:
            pass
    while True:
        pass
""",
        "CPU limit",
    ),
    cheat("sleep for ever", "import time\ndef double(n):\n    time.sleep(1e6)\n", "stalled"),
    cheat(
        "wait for itself",
        """
import threading
lock = threading.Lock()
def double(number):
    with lock:
        lock.acquire()
    return 2 * number
""",
        "stalled",
    ),
    cheat(
        "stop itself",
        "import os, signal\ndef double(n):\n    os.kill(os.getpid(), signal.SIGSTOP)\n",
        "stalled",
    ),
    attack(
        "a daemon",
        """
def attack():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)
    return True
""",
    ),
    attack(
        "read /etc/passwd",
        """
def attack():
    return open("/etc/passwd").read()
""",
    ),
    attack(
        "read the files of the user and of this project",
        """
def attack():
    for top in ("/home", "/work", "/srv", "/var", "/etc", "/mnt", "/proc", "/sys", "/run"):
        for folder, _, files in os.walk(top):
            if [name for name in files if name != "ld.so.cache" and "python" not in folder]:
                return True
""",
    ),
    attack(
        "read the hidden tests",
        """
def attack():
    here = {"solution.py"}
    for top in ("/tmp", "/jail", "/dev", os.getcwd()):
        for folder, _, files in os.walk(top):
            for name in files:
                try:
                    text = open(os.path.join(folder, name), errors="replace").read(100000)
                except OSError:
                    continue
                if name not in here and "test_" + "double" in text:
                    return True
""",
    ),
    attack(
        "write outside the work folder",
        """
def attack():
    found = False
    for top in ("/", "/lib", "/usr/lib", "/jail", "/jail/inside", "/dev", "/etc", "/dev/shm",
                "/root", sys.base_prefix, os.path.dirname(os.__file__)):
        try:
            with open(os.path.join(top, "sitecustomize.py"), "w") as file:
                file.write("print(1)")
            found = True
        except OSError:
            pass
    return found
""",
    ),
    attack(
        "change what is there",
        """
def attack():
    for path in (os.__file__, sys.executable, "/jail/inside/boot.py"):
        try:
            os.chmod(path, 0o777)
            return True
        except OSError:
            pass
        try:
            os.rename(path, path + "-moved")
            return True
        except OSError:
            pass
""",
    ),
    attack(
        "connect to this machine",
        """
import socket
def attack():
    reached = 0
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 4711)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 4711)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\\0canary"),
    ):
        try:
            with socket.socket(family, kind) as one:
                one.connect(address)
                one.send(b"hello")
                reached += 1
        except OSError:
            pass
    return reached
""",
    ),
    attack(
        "kill the parent and everyone else",
        """
import signal
def attack():
    for pid in (os.getppid(), 1, -1, *range(1, 3000)):
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
""",
    ),
    attack(
        "3 GB of output",
        """
def attack():
    for _ in range(3000):
        os.write(1, bytes(1 << 20))
    for _ in range(64):
        print("x" * (1 << 20))
        print("x" * (1 << 20), file=sys.stderr)
""",
    ),
    attack(
        "a huge file",
        """
def attack():
    with open("huge", "wb") as file:
        for _ in range(2000):
            file.write(bytes(1 << 20))
    return True
""",
    ),
    attack(
        "many files",
        """
def attack():
    for number in range(600):
        with open(f"file-{number}", "wb") as file:
            file.write(bytes(1 << 20))
    return True
""",
    ),
    attack(
        "mount a file system",
        """
import ctypes
def attack():
    libc = ctypes.CDLL(None)
    return libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or libc.umount2(b"/tmp", 2) == 0
""",
    ),
    attack(
        "a new user namespace",
        """
import ctypes
def attack():
    libc = ctypes.CDLL(None)
    return libc.unshare(0x10000000) == 0 or libc.unshare(0x00020000) == 0 or libc.setns(0, 0) == 0
""",
    ),
    attack(
        "trace a process",
        """
import ctypes
def attack():
    libc = ctypes.CDLL(None)
    return any(libc.ptrace(16, pid, 0, 0) == 0 for pid in (1, os.getppid()))
""",
    ),
    attack(
        "become someone else",
        """
def attack():
    for change in (os.setuid, os.setgid, os.seteuid):
        try:
            change(0)
            return True
        except OSError:
            pass
    return os.getuid() == 0 or os.getgroups() not in ([], [65534])
""",
    ),
    attack(
        "raise its own limits",
        """
import resource
def attack():
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return True
        except (OSError, ValueError):
            pass
""",
    ),
    attack(
        "see the environment and the processes",
        """
def attack():
    if set(os.environ) - {"PYTHONHASHSEED", "PWD", "LC_CTYPE"}:
        return True
    return any(name.isdigit() for name in os.listdir("/proc"))
""",
    ),
)

VERDICT = (
    cheat(
        "300 kB of exception", "def double(n):\n    raise ValueError('x' * 300000)\n", "ValueError"
    ),
    cheat("leave by sys.exit", "import sys\ndef double(n):\n    sys.exit(0)\n", "SystemExit"),
    cheat("leave by os._exit", "import os\ndef double(n):\n    os._exit(0)\n", "left"),
    cheat("leave at import", "import os\nprint('2 passed')\nos._exit(0)\n", "left"),
    cheat("leave politely at import", "import sys\nsys.exit(0)\n", "SystemExit in the solution"),
    cheat("interrupt the tests", "def double(n):\n    raise KeyboardInterrupt\n"),
    cheat("crash", "import ctypes\ndef double(n):\n    ctypes.string_at(0)\n", "signal 11"),
    cheat(
        "print the pass marker",
        """
def double(number):
    print("\\n2 passed in 0.01s")
    print('{"verdict": "pass", "passed": 2}')
    return None
""",
        "AssertionError in 2 of 2",
    ),
    cheat(
        "patch whatever a test needs",
        """
import builtins, unittest, sys, types
builtins.AssertionError = Warning
unittest.TestCase.assertEqual = lambda *a: None
sys.modules["pytest"] = types.ModuleType("pytest")
answer = '{"value": 1, "printed": ["", ""], "classes": [], "born": [], "forget": [], ' \\
    '"sync": [], "table": []}'
sys.modules["json"].dumps = lambda *a, **k: answer
def double(number):
    return 0
""",
    ),
    cheat(
        "an object equal to everything",
        """
class Everything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def double(number):
    return Everything()
""",
        "AssertionError in 2 of 2",
    ),
    cheat(
        "a number equal to everything",
        """
class Everything(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def double(number):
    return Everything(7)
""",
        "AssertionError in 2 of 2",
    ),
    cheat(
        "a number near to everything",
        """
class Near:
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __contains__(self, member): return True
def double(number):
    return Near()
""",
        "TypeError in 1 of 1",
        test=NEAR,
    ),
    cheat(
        "a class equal to everything",
        """
class Meta(type):
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
class double(metaclass=Meta):
    def __init__(self, number): pass
    __class__ = int
    def __eq__(self, other): return True
""",
    ),
    cheat(
        "write to every descriptor and leave",
        """
import os, struct
body = b'{"nonce": "", "loaded": null, "collected": 2, ' \\
    b'"tests": [["passed", ""], ["passed", ""]], "trouble": null, "used": true, "gone": false}'
def double(number):
    for kind in (b"R", b"A", b"!", b"L"):
        for descriptor in range(64):
            try:
                os.write(descriptor, struct.pack(">Ic", len(body), kind) + body)
            except OSError:
                pass
    for name in ("report.json", "report.xml", "test_solution.py", "conftest.py"):
        open(name, "wb").write(body)
    os._exit(0)
""",
    ),
    *(
        cheat(
            f"claim to be loaded, by {said}",
            f"""
import os, struct
body = {said.encode()!r}
for descriptor in range(3, 64):
    try:
        os.write(descriptor, struct.pack(">Ic", len(body), b"L") + body)
    except OSError:
        pass
while True:
    pass
""",
        )
        for said in ("{}", "5", "nonsense", '{"error": ["x"], "missing": {}}')
    ),
    cheat(
        "speak before being asked",
        """
import os, struct
body = b'{"value": 42, "printed": ["", ""], "classes": [], "born": [], "forget": [], ' \\
    b'"sync": [], "table": []}'
def double(number):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, 3 * (struct.pack(">Ic", len(body), b"A") + body))
        except OSError:
            pass
    return 0
""",
    ),
    cheat(
        "talk nonsense",
        """
import os
def double(number):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\\xff" * 100000)
        except OSError:
            pass
    while True:
        pass
""",
        "output limit",
    ),
    cheat(
        "close every descriptor and wait",
        "import os, time\ndef double(n):\n    os.closerange(0, 64)\n    time.sleep(1e6)\n",
        "closed its channel",
    ),
    attack(
        "find the tests in memory",
        """
import gc
def attack():
    marks = ("test_" + "double", "from solution " + "import")
    seen = [vars(sys.modules[name]) for name in list(sys.modules) if name.startswith("inside")]
    frame = sys._getframe().f_back
    while frame:
        seen.append(frame.f_locals)
        frame = frame.f_back
    mine = globals()
    texts = [str(value) for scope in seen if scope is not mine for value in list(scope.values())]
    texts += [text for text in gc.get_objects() if isinstance(text, str)]
    return any(mark in text for mark in marks for text in texts if text != source())
def source():
    return open("solution.py").read()
""",
    ),
    cheat(
        "steal the nonce and report",
        """
import gc, json, os, struct, sys
def double(number):
    words = []
    frame = sys._getframe()
    while frame:
        words += [value for value in frame.f_locals.values() if isinstance(value, (str, dict))]
        frame = frame.f_back
    words += [one for one in gc.get_objects() if isinstance(one, dict) and "nonce" in one]
    for word in words:
        nonce = word.get("nonce") if isinstance(word, dict) else word
        body = json.dumps({"nonce": str(nonce), "loaded": None, "collected": 1, "used": True,
                           "tests": [["passed", ""]], "trouble": None, "gone": False}).encode()
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack(">Ic", len(body), b"R") + body)
            except OSError:
                pass
    os._exit(0)
""",
    ),
    cheat(
        "skip the tests",
        "import unittest\ndef double(n):\n    raise unittest.SkipTest('no need')\n",
        "in 2 of 2",
    ),
    cheat(
        "skip the tests by a look-alike",
        """
class Skipped(BaseException):
    __module__ = "_pytest.outcomes"
    allow_module_level = True
    msg = "no need"
def double(number):
    raise Skipped("no need")
""",
        "in 2 of 2",
    ),
    cheat(
        "an answer that contains itself",
        "def double(n):\n    a = []\n    a.append(a)\n    return a\n",
        "in 2 of 2",
    ),
    cheat(
        "an answer of great depth",
        "def double(n):\n    a = ()\n    for _ in range(200000):\n        a = (a,)\n    return a\n",
    ),
    cheat("an answer of great length", "def double(n):\n    return 'x' * (100 << 20)\n"),
    cheat("an answer without end", "def double(n):\n    return iter(int, 1)\n", "AssertionError"),
    cheat(
        "a source that breaks parsers",
        "double = " + "(" * 5000 + ")" * 5000,
        "in the solution",
    ),
    cheat(
        "shadow what the tests use",
        """
def len(value): return 3
def isinstance(value, kind): return True
class pytest: pass
def pairs(values): return None
""",
        "TypeError in 1 of 1",
        test=STAR,
    ),
    cheat(
        "swallow a failed assertion",
        """
class Counting:
    def __enter__(self): return self
    def __exit__(self, *_): return True
    def add(self, number): pass
    def total(self): return 0
""",
        "AssertionError in 1 of 1",
        test=BLOCK,
    ),
    cheat(
        "leave, judged inside",
        "import os\ndef apply(f, x):\n    os._exit(0)\n",
        "left",
        test=INSIDE,
        oracle="inside",
    ),
    cheat(
        "leave politely, judged inside",
        "import sys\ndef apply(f, x):\n    sys.exit(0)\n",
        "SystemExit in 1 of 1",
        test=INSIDE,
        oracle="inside",
    ),
    cheat(
        "print the pass marker, judged inside",
        "def apply(f, x):\n    print('1 passed in 0.01s')\n",
        "AssertionError in 1 of 1",
        test=INSIDE,
        oracle="inside",
    ),
    cheat(
        "a forged report, judged inside",
        """
import os, struct
body = b'{"nonce": "0", "loaded": null, "collected": 1, "tests": [["passed", ""]], ' \\
    b'"trouble": null, "used": true, "gone": false}'
def apply(function, value):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, struct.pack(">Ic", len(body), b"R") + body)
        except OSError:
            pass
    os._exit(0)
""",
        "forged",
        test=INSIDE,
        oracle="inside",
    ),
    cheat(
        "skip the second test, judged inside",
        """
import unittest
CALLS = []
def apply(function, value):
    CALLS.append(value)
    if len(CALLS) > 1:
        raise unittest.SkipTest("no need")
    return function(value)
""",
        "in 1 of 2",
        test=INSIDE_TWICE,
        oracle="inside",
    ),
    cheat(
        "replace the tests, judged inside",
        """
with open("test_solution.py", "w") as file:
    file.write("from solution import apply\\ndef test_nothing():\\n    pass\\n")
def apply(function, value):
    return None
""",
        "AssertionError in 2 of 2",
        test=INSIDE_TWICE,
        oracle="inside",
    ),
    cheat(
        "bring a plugin, judged inside",
        """
with open("conftest.py", "w") as file:
    file.write("import pytest\\n@pytest.hookimpl(tryfirst=True)\\n")
    file.write("def pytest_pyfunc_call(pyfuncitem):\\n    return True\\n")
def apply(function, value):
    return None
""",
        "AssertionError in 2 of 2",
        test=INSIDE_TWICE,
        oracle="inside",
    ),
    cheat(
        "patch pytest, judged inside",
        """
import pytest
pytest.Function.runtest = lambda item: None
def apply(function, value):
    return None
""",
        "meddled with the tests",
        test=INSIDE_AT_ONCE,
        oracle="inside",
    ),
    cheat(
        "an endless loop, judged inside",
        "def apply(f, x):\n    while True:\n        pass\n",
        "CPU limit",
        test=INSIDE,
        oracle="inside",
    ),
    cheat(
        "4 GB of memory, judged inside",
        "def apply(f, x):\n    return bytearray(4 << 30)\n",
        "memory",
        test=INSIDE,
        oracle="inside",
    ),
)

# The last is the first again: nothing that ran in between may have changed what comes of it.
PROGRAMS = (
    *CONTROLS,
    *MACHINE,
    *VERDICT,
    Program("right, after all of them", RIGHT.source, "pass"),
)
