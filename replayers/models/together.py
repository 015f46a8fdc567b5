"""Several pieces of work at once, their results in the order of the pieces."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(
    work: Callable[[Item, int], Result], items: Sequence[Item], at_most: int
) -> list[Result]:
    """What ``work`` makes of each item, at most ``at_most`` of them at the same time.

    ``work`` gets the item and the number of the slot, below ``at_most``, that is its own
    meanwhile. With one slot or one item all happens in the calling thread, one after the other.
    After a failure nothing more is begun; what is under way is waited for.

    Raises:
        Exception: what the first item in order that failed raised.
    """
    if at_most == 1 or len(items) < 2:
        return [work(item, 0) for item in items]
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}
    failures: dict[int, Exception] = {}

    def serve(slot: int) -> None:
        while not failures:
            try:
                number, item = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = work(item, slot)
            except Exception as error:  # raised again in the calling thread
                failures[number] = error

    # Daemons: whoever interrupts the program does not wait for a slow server.
    threads = [
        threading.Thread(target=serve, args=(slot,), daemon=True)
        for slot in range(min(at_most, len(items)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[min(failures)]
    return [results[number] for number in range(len(items))]
