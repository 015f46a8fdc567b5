"""Evaluated prompt prefixes kept aside, so that roles taking turns do not push each other out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence


def common_length(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens two sequences share."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


class PrefixStore:
    """Sequence states by their tokens, least recently used dropped first.

    A state is llama.cpp's serialised cache of exactly those tokens; restored and continued in
    the same cut it gives the same logits as a fresh evaluation.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._states: OrderedDict[tuple[int, ...], bytes] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(map(len, self._states.values()))

    def put(self, tokens: Sequence[int], size: int, save: Callable[[], bytes]) -> None:
        """Keep a state, unless it alone is too large; it replaces those of its own prefixes.

        Args:
            tokens: what the state is of.
            size: bytes it will take.
            save: makes the state; called only if it is kept.
        """
        if size > self._max_bytes:
            return
        key = tuple(tokens)
        for other in [other for other in self._states if key[: len(other)] == other]:
            del self._states[other]
        self._states[key] = save()
        while self.size > self._max_bytes:
            self._states.popitem(last=False)

    def longest(self, prompt: Sequence[int]) -> tuple[Sequence[int], bytes]:
        """The kept tokens, with their state, that share most with a prompt; empty if none do."""
        best: tuple[int, ...] = ()
        shared = 0
        for tokens in self._states:
            if (length := common_length(tokens, prompt)) > shared:
                best, shared = tokens, length
        if not best:
            return (), b""
        self._states.move_to_end(best)
        return best, self._states[best]
