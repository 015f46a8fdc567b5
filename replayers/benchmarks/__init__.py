"""Benchmarks by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from ...eventlog.errors import BadInput
from ..plugins import BENCHMARKS, made, plugin, plugin_names
from .base import Benchmark

SHIPPED: Final = {
    "kodcode": "kodcode:KodCodeBenchmark",
    "pddl": "pddl:PddlBenchmark",
    "popqa": "qa:PopQaBenchmark",
    "reading": "reading:ReadingBenchmark",
    "triviaqa": "qa:TriviaQaBenchmark",
}
"""The benchmarks of the package and where they are, imported only when they are opened."""


def open_benchmark(name: str, options: Mapping[str, Any]) -> Benchmark:
    """The benchmark called ``name``, of the package or of a plugin, with its own options.

    Raises:
        BadInput: no such benchmark or option, or its data is unusable.
        Infrastructure: something it needs is missing here.
    """
    make = _named(name)
    known = inspect.signature(make).parameters
    for option in options:
        if option not in known:
            raise BadInput(
                f"[benchmark] {name}: unknown option {option!r}; known: {', '.join(known)}"
            )
    if name in SHIPPED:
        return make(**options)
    return made(f"benchmark {name!r}", make, **options)


def _named(name: str) -> Callable[..., Benchmark]:
    if name in SHIPPED:
        module, _, attribute = SHIPPED[name].partition(":")
        make: Callable[..., Benchmark] = getattr(
            import_module(f".{module}", __package__), attribute
        )
        return make
    offered = plugin(BENCHMARKS, name)
    if offered is None:
        known = ", ".join(sorted({*SHIPPED, *plugin_names(BENCHMARKS)}))
        raise BadInput(f"benchmark {name!r} is unknown; known: {known}")
    if not callable(offered):
        raise BadInput(f"benchmark {name!r}: its plugin names no class or function; correct it")
    return offered
