"""Seeds derived from the run's seed, so that each role and turn samples on its own."""

from __future__ import annotations

from ..eventlog.codec import digest_json


def derived_seed(seed: int, *parts: str | int) -> int:
    """A 31-bit seed that depends on the run's seed and on ``parts`` only."""
    return int(digest_json([seed, *parts])[:8], 16) & 0x7FFFFFFF
