"""A program in a kept jail answers call after call, and its failures are its own."""

import threading

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.sandbox import Limits, ProgramFailed, Worker

SOURCE = """
import time
calls = []
def remember(item):
    calls.append(item)
    return calls
def thing():
    return object()
def fail():
    raise LookupError("not there")
def loop():
    while True:
        pass
def sleep():
    time.sleep(1e6)
def leave():
    import os
    os._exit(3)
"""
LIMITS = Limits(cpu_seconds=1, blocked_seconds=1.0)


def test_state_lasts_from_call_to_call() -> None:
    with Worker(SOURCE) as worker:
        assert worker.isolation.startswith("bubblewrap+")
        assert worker.call("remember", {"a": (1, b"x")}) == [{"a": (1, b"x")}]
        assert worker.call("remember", None) == [{"a": (1, b"x")}, None]


def test_an_exception_leaves_the_worker_usable() -> None:
    with Worker(SOURCE) as worker:
        with pytest.raises(ProgramFailed, match="LookupError: not there") as caught:
            worker.call("fail")
        assert caught.value.kind == "LookupError"
        with pytest.raises(ProgramFailed, match="not plain data"):
            worker.call("thing")
        with pytest.raises(ProgramFailed, match="AttributeError"):
            worker.call("absent")
        with pytest.raises(BadInput, match="an argument of type function"):
            worker.call("remember", lambda: 0)
        assert worker.call("remember", 1) == [1]


@pytest.mark.parametrize(
    ("name", "reason"), [("loop", "CPU limit"), ("sleep", "stalled"), ("leave", "left")]
)
def test_a_call_without_end_ends_the_worker(name: str, reason: str) -> None:
    with Worker(SOURCE, limits=LIMITS) as worker:
        with pytest.raises(ProgramFailed, match=reason):
            worker.call(name)
        assert worker.closed
        with pytest.raises(ProgramFailed):
            worker.call("remember", 1)


def test_each_call_has_its_own_processor_time() -> None:
    source = "import time\ndef work():\n    end = time.process_time() + 0.4\n" + (
        "    while time.process_time() < end:\n        pass\n    return True\n"
    )
    with Worker(source, limits=LIMITS) as worker:
        assert all(worker.call("work") for _ in range(4))


def test_a_module_that_does_not_load_leaves_no_jail() -> None:
    threads = threading.active_count()
    with pytest.raises(ProgramFailed, match="SyntaxError"):
        Worker("def :")
    assert threading.active_count() == threads
