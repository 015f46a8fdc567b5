"""A program's own idling is told from what the machine keeps from it."""

import subprocess
import sys
import time

import pytest

from discernmem.sandbox.meter import Meter


def watched(source: str, *, until: str, owed: float = 1.0) -> Meter:
    """A meter that has watched a program use so much of something."""
    with subprocess.Popen([sys.executable, "-S", "-c", source]) as process:
        try:
            meter = Meter(process.pid)
            while getattr(meter, until) < 0.4:
                time.sleep(0.02)
                meter.sample(owed=owed)
        finally:
            process.kill()
    return meter


def test_a_program_that_sleeps_is_blocked_and_uses_no_processor() -> None:
    meter = watched("import time; time.sleep(600)", until="blocked")
    assert meter.cpu < 0.3


@pytest.mark.parametrize("workers", [1, 4], ids=["alone", "starved"])
def test_a_program_that_computes_is_not_blocked_however_little_it_gets(workers: int) -> None:
    busy = "while True: pass"
    others = [subprocess.Popen([sys.executable, "-S", "-c", busy]) for _ in range(workers - 1)]
    try:
        meter = watched(busy, until="cpu")
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert meter.blocked < 0.2


def test_idling_that_keeps_nobody_waiting_is_not_counted() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as process:
        try:
            meter = Meter(process.pid)
            for _ in range(5):
                time.sleep(0.02)
                meter.sample(owed=0)
        finally:
            process.kill()
    assert meter.blocked == 0.0


def test_only_the_turn_of_the_program_can_be_idling() -> None:
    """A call that was made just now has kept nobody waiting for the time before it."""
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as process:
        try:
            meter = Meter(process.pid)
            time.sleep(0.5)
            meter.sample(owed=0.01)
        finally:
            process.kill()
    assert meter.blocked <= 0.01
