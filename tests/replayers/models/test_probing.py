from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from discernmem.replayers.models import ModelCall
from discernmem.replayers.models.probing import SEED_PROBE, Tried, find_seed, find_slots

numbers = count()


@pytest.mark.parametrize(
    ("say", "verdict"),
    [
        (lambda call: f"digits of {call.seed}", "honoured"),
        (lambda call: f"digits of {call.seed // 4}", "honoured"),  # two seeds may draw the same
        (lambda _: f"drawn {next(numbers)}", "ignored"),
        (lambda _: "12345678901234567890", "unknown"),
        (lambda _: "", "unknown"),
        (lambda _: None, "unknown"),
        (lambda call: "digits" if call.seed == SEED_PROBE.seed else None, "unknown"),
    ],
)
def test_a_seed_is_honoured_if_it_fixes_what_is_drawn(
    say: Callable[[ModelCall], str | None], verdict: str
) -> None:
    asked: list[ModelCall] = []

    def ask(call: ModelCall, dialect: str | None) -> Tried | None:
        assert call.temperature > 0
        assert dialect is None
        asked.append(call)
        text = say(call)
        return None if text is None else Tried(text=text, build=None)

    assert find_seed(ask) == verdict
    assert sum(call.max_tokens for call in asked) <= 5 * 24


@pytest.mark.parametrize(
    ("pages", "slots"),
    [
        ({"http://h:1/props": {"total_slots": 4}}, 4),
        ({"http://h:1/props": {"total_slots": "4"}, "http://h:1/slots": [{}, {}]}, 2),
        ({"http://h:1/slots": [{}]}, 1),
        ({"http://h:1/props": [], "http://h:1/slots": {"error": "off"}}, None),
        ({}, None),
    ],
)
def test_slots_are_what_a_llama_cpp_server_says_beside_its_versioned_address(
    pages: dict[str, Any], slots: int | None
) -> None:
    assert find_slots(pages.get, "http://h:1/v1") == slots
    assert find_slots(pages.get, "http://h:1") == slots
