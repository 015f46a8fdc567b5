"""The jail against a bare interpreter, and a grading by parts; medians of one process.

    python bench/sandbox_bench.py [rounds]

A start is a jail of its own with a module loaded and one call answered; the peer is the same
interpreter that runs nothing. Rounds of all arms are interleaved, so load falls on each alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from discernmem.sandbox import Worker, grade
from discernmem.sandbox.mounts import interpreter
from discernmem.sandbox.opening import open_way

SOURCE = "def double(number):\n    return 2 * number\n"
TEST = "from solution import double\n\ndef test_double():\n    assert double(21) == 42\n"
CALLS = 200


def bare() -> None:
    subprocess.run([interpreter(), "-S", "-c", "pass"], check=True)


def start() -> None:
    with Worker(SOURCE) as worker:
        assert worker.call("double", 21) == 42


def whole_grading() -> None:
    assert grade(SOURCE, TEST).verdict == "pass"


def milliseconds(arm: Callable[[], None]) -> float:
    begun = time.perf_counter()
    arm()
    return (time.perf_counter() - begun) * 1000


def main(rounds: int) -> None:
    print(f"isolation: {open_way('bubblewrap').isolation}, {rounds} rounds")
    arms = (bare, start, whole_grading)
    spent: dict[str, list[float]] = {arm.__name__: [] for arm in arms}
    with Worker(SOURCE) as worker:
        calls = []
        for _ in range(rounds):
            for arm in arms:
                spent[arm.__name__].append(milliseconds(arm))
            for _ in range(CALLS):
                calls.append(milliseconds(lambda: worker.call("double", 21)))
    median = {name: statistics.median(values) for name, values in spent.items()}
    print(f"bare interpreter         {median['bare']:8.1f} ms")
    print(f"jail: start to answer    {median['start']:8.1f} ms  (less than 200)")
    print(f"  of a bare interpreter  {median['start'] / median['bare']:8.1f} times")
    print(f"persistent worker: call  {statistics.median(calls):8.2f} ms  (less than 5)")
    print(f"grading, two jails       {median['whole_grading']:8.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
