"""The paired effect of a memory on a task, its sign, and whether it counts (Eq. 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..eventlog import events as ev
from ..projections.evidence import Effect

DECIMALS: Final = 9
"""Digits kept of a difference of scores.

In binary, 0.51 - 0.50 is a little more than 0.01, which would make an effect of exactly the
tolerance positive. Rounding away what no score can mean keeps the comparisons strict.
"""


def rounded(value: float) -> float:
    """``value`` to `DECIMALS` decimals, without a negative zero."""
    return round(value, DECIMALS) + 0.0


def paired_effect(score_with: float, score_without: float) -> float:
    """Δ(q) = s(q; m) - s(q; ∅), to `DECIMALS` decimals (Eq. 4)."""
    return rounded(score_with - score_without)


def sign(effect: float, epsilon: float) -> ev.Sign:
    """The sign of an effect; the tolerance itself is still neutral, on both sides (§3.2)."""
    if effect > epsilon:
        return "positive"
    if effect < -epsilon:
        return "negative"
    return "neutral"


def enters_record(task: str, source_task: str, effects: Iterable[Effect]) -> bool:
    """Whether an effect on ``task`` joins the record E of a version.

    A memory's source task is no evidence for it, and each task counts once per version.
    """
    return task != source_task and all(effect.task != task for effect in effects)


def distinct(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects with one per task, the first recorded: the domain Q of the mean (Eq. 14)."""
    first: dict[str, Effect] = {}
    for effect in effects:
        first.setdefault(effect.task, effect)
    return tuple(first.values())
