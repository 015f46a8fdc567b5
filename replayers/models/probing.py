"""What a server can do, found by trying once: which schema dialect, whether seeds, how many slots.

Nothing is believed because a field was accepted: servers ignore what they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import attrs

from .base import Message, ModelCall
from .dialects import DIALECTS, PROBE_QUESTION, PROBE_SCHEMA, obeys

Seed = Literal["honoured", "ignored", "unknown"]

SCHEMA_PROBE = ModelCall(
    messages=(Message("user", PROBE_QUESTION),),
    temperature=0.0,
    top_p=1.0,
    max_tokens=64,
    seed=0,
    schema=PROBE_SCHEMA,
)
# Two draws of so much chance are the same only when nothing was drawn, or from one seed.
SEED_PROBE = ModelCall(
    messages=(Message("user", "Write twenty random digits."),),
    temperature=1.0,
    top_p=1.0,
    max_tokens=24,
    seed=1,
)
OTHER_SEEDS = (2, 3, 4)


@attrs.frozen(kw_only=True)
class Tried:
    """An answer to a probe: its text, and the build that the server says it is."""

    text: str
    build: str | None


Try = Callable[[ModelCall, str | None], Tried | None]
"""A call and the dialect of its schema to the answer, None if the server refuses it."""


def find_dialect(ask: Try) -> tuple[str | None, Tried | None]:
    """The first dialect whose schema an answer obeys, if any, and the last answer that came."""
    answer = None
    for dialect in DIALECTS:
        answer = ask(SCHEMA_PROBE, dialect) or answer
        if answer is not None and obeys(answer.text, PROBE_SCHEMA):
            return dialect, answer
    return None, answer


def find_seed(ask: Try) -> Seed:
    """Whether a seed fixes what is drawn: the same gives the same text, another one another.

    ``unknown`` where the server refuses to sample, or gives every seed the same text.
    """
    first, again = ask(SEED_PROBE, None), ask(SEED_PROBE, None)
    if first is None or again is None:
        return "unknown"
    if first.text != again.text:
        return "ignored"
    for seed in OTHER_SEEDS:
        other = ask(attrs.evolve(SEED_PROBE, seed=seed), None)
        if other is not None and other.text != first.text:
            return "honoured"
    return "unknown"


def find_slots(look: Callable[[str], Any], url: str) -> int | None:
    """How many requests a llama.cpp server computes at once; None where it does not say."""
    root = re.sub(r"/v\d+$", "", url)
    props = look(f"{root}/props")
    slots = props.get("total_slots") if isinstance(props, dict) else None
    if type(slots) is int:
        return slots
    listed = look(f"{root}/slots")
    return len(listed) if isinstance(listed, list) else None
