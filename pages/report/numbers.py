"""How a report writes means: with three decimals, since they are over many tasks."""

from __future__ import annotations

from typing import Final

from ...projections.scores import Interval

_NOTHING: Final = "\N{EN DASH}"


def mean(value: float | None) -> str:
    """A mean score."""
    return _NOTHING if value is None else f"{value:.3f}"


def gain(value: float | None) -> str:
    """A mean difference with its sign."""
    return _NOTHING if value is None else f"{round(value, 3) + 0.0:+.3f}"


def interval(found: Interval | None) -> str:
    """A mean score with its interval."""
    if found is None:
        return _NOTHING
    return f"{mean(found.mean)} [{mean(found.low)}, {mean(found.high)}]"


def signed_interval(found: Interval | None) -> str:
    """A mean difference with its interval."""
    if found is None:
        return _NOTHING
    return f"{gain(found.mean)} [{gain(found.low)}, {gain(found.high)}]"


def bounds(found: Interval) -> str:
    """An interval of mean scores."""
    return f"{mean(found.low)} to {mean(found.high)}"


def signed_bounds(found: Interval) -> str:
    """An interval of mean differences."""
    return f"{gain(found.low)} to {gain(found.high)}"
