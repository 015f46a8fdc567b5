"""Benchmarks by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...eventlog.errors import BadInput
from .base import Benchmark


def open_benchmark(name: str, options: Mapping[str, Any]) -> Benchmark:
    """The benchmark called ``name`` with its own options.

    Raises:
        BadInput: no such benchmark or option, or its data is unusable.
    """
    make = _named(name)
    known = inspect.signature(make).parameters
    for option in options:
        if option not in known:
            raise BadInput(
                f"[benchmark] {name}: unknown option {option!r}; known: {', '.join(known)}"
            )
    return make(**options)


def _named(name: str) -> Callable[..., Benchmark]:
    if name == "reading":
        from .reading import ReadingBenchmark

        return ReadingBenchmark
    if name == "pddl":
        from .pddl import PddlBenchmark

        return PddlBenchmark
    raise BadInput(f"benchmark {name!r} is unknown; known: pddl, reading")
