"""Names for what answers: a fingerprint over every fact that can change an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...eventlog.codec import digest_json
from .base import Card


def make_card(deciding: Mapping[str, Any], other: Mapping[str, Any]) -> Card:
    """A card whose fingerprint covers ``deciding`` and whose facts are both.

    Args:
        deciding: plain JSON facts that can change an answer.
        other: facts worth recording that cannot (context size, thread count, file name).
    """
    return Card(fingerprint=digest_json(dict(deciding)), facts={**other, **deciding})


def clean(text: str) -> str:
    """The text with every lone surrogate replaced, so that it is valid UTF-8 anywhere."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
