from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from discernmem.replayers.models import machine


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "lock_file", lambda: tmp_path / "lock")
    return tmp_path / "lock"


def test_another_holder_makes_a_generation_wait(own_lock: Path) -> None:
    other = os.open(own_lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    entered = threading.Event()

    def generate() -> None:
        with machine.one_generation():
            entered.set()

    thread = threading.Thread(target=generate)
    thread.start()
    assert not entered.wait(0.1)
    os.close(other)
    assert entered.wait(5)
    thread.join(5)


def test_threads_of_one_process_take_turns() -> None:
    inside: list[int] = []
    seen: list[int] = []

    def generate(number: int) -> None:
        for _ in range(50):
            with machine.one_generation():
                inside.append(number)
                seen.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=generate, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [1] * 150


def test_a_failure_gives_the_turn_back(own_lock: Path) -> None:
    with pytest.raises(KeyError), machine.one_generation():
        raise KeyError
    other = os.open(own_lock, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_the_processor_has_a_name_without_the_machines() -> None:
    assert machine.cpu_family()
    assert os.uname().nodename not in machine.cpu_family()
    assert machine.usable_cores() >= 1
