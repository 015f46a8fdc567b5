from __future__ import annotations

import random

import pytest

from discernmem.replayers.models.llama.repetition import (
    LONGEST_PERIOD,
    MAX_BLANKS,
    MIN_REPEATED,
    RepetitionWatch,
)


def fed(tokens: list[int], piece: bytes = b"x") -> int | None:
    """Place of the token at which a repetition is noticed."""
    watch = RepetitionWatch()
    for place, token in enumerate(tokens):
        if watch.feed(token, piece):
            return place
    return None


@pytest.mark.parametrize("period", [1, 2, 7, 16, 40, LONGEST_PERIOD])
def test_a_circle_is_noticed_when_it_is_long_enough_and_not_before(period: int) -> None:
    lead = [1000, 1001, 1002]
    tokens = lead + list(range(period)) * 100
    assert fed(tokens) == len(lead) + max(MIN_REPEATED, 4 * period) - 1


def test_a_longer_period_and_varied_text_pass() -> None:
    assert fed(list(range(LONGEST_PERIOD + 1)) * 6) is None
    rng = random.Random(5)
    assert fed([rng.randrange(50) for _ in range(5000)]) is None


def test_a_broken_circle_starts_anew() -> None:
    assert fed(([1, 2] * 30 + [3]) * 3) is None


def test_running_white_space_is_noticed_whatever_its_tokens() -> None:
    watch = RepetitionWatch()
    assert not watch.feed(0, b"word" + b" " * (MAX_BLANKS // 2))
    assert not watch.feed(1, b"\n" * (MAX_BLANKS // 2 - 1))
    assert watch.feed(2, b"\t")


def test_white_space_between_words_is_not_a_run() -> None:
    watch = RepetitionWatch()
    rng = random.Random(6)
    assert not any(watch.feed(rng.randrange(10**6), piece) for piece in [b" " * 60, b"word"] * 200)
