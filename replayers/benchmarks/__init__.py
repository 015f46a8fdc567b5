"""Benchmarks by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...eventlog.errors import BadInput
from .base import Benchmark


def open_benchmark(name: str, options: Mapping[str, Any]) -> Benchmark:
    """The benchmark called ``name`` with its own options.

    Raises:
        BadInput: no such benchmark or option, or its data is unusable.
    """
    try:
        if name == "reading":
            from .reading import ReadingBenchmark

            return ReadingBenchmark(**options)
        if name == "pddl":
            from .pddl import PddlBenchmark

            return PddlBenchmark(**options)
    except TypeError as error:
        raise BadInput(f"[benchmark] {name}: {error}") from None
    raise BadInput(f"benchmark {name!r} is unknown; known: pddl, reading")
