"""Every key of a configuration with its default, from the classes that check it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import attrs

from discernmem.decisions.settings import ABLATIONS, Settings
from discernmem.replayers import config
from discernmem.replayers.benchmarks import SHIPPED

from .words import Meanings, described, prose, table

_HEAD = ("key", "default", "meaning")
_SECTIONS = ("benchmark", "model", "embedder", "sampling", "method")


def configuration(meanings: Meanings) -> str:
    """The page."""
    parts = [
        "# Configuration",
        "A configuration is a TOML file (`--config run.toml`), options over it, or both. Every key "
        "has a default. `--set section.key=value` sets any of them; keys of `[method]` need no "
        "section there. The whole table is recorded in the first event of the log.",
        "## Top level",
        _keys(config.Config, meanings, but=_SECTIONS),
    ]
    for name, cls in (
        ("model", config.ModelConfig),
        ("embedder", config.EmbedderConfig),
        ("sampling", config.SamplingConfig),
    ):
        parts += [f"## [{name}]", _keys(cls, meanings)]
    parts += [
        "## [method]",
        prose(Settings),
        _described(Settings),
        "## [benchmark]",
        f"`name` is {', '.join(f'`{name}`' for name in sorted(SHIPPED))} or a "
        f"[plugin's](../how-to/bring-your-own-benchmark.md), by default "
        f"`{config.BenchmarkConfig().name}`. The other keys are its own:",
    ]
    for name, place in sorted(SHIPPED.items()):
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"discernmem.replayers.benchmarks.{module}"), attribute)
        owner = next(each for each in found.__mro__ if "__init__" in vars(each))
        parts += [f"### {name}", _described(owner)]
    return "\n\n".join(parts)


def _keys(cls: type[Any], meanings: Meanings, but: Sequence[str] = ()) -> str:
    rows = [
        (
            f"`{field.name}`",
            _default(field.default),
            meanings.of("config", f"{cls.__name__}.{field.name}"),
        )
        for field in attrs.fields(cls)
        if field.name not in but
    ]
    return table(_HEAD, rows)


def _described(cls: type[Any]) -> str:
    """Keys that the docstring of a class describes."""
    if attrs.has(cls):
        defaults = {field.name: field.default for field in attrs.fields(cls)}
    else:
        signature = inspect.signature(cls).parameters.values()
        defaults = {each.name: each.default for each in signature}
    words = described(cls)
    if missing := set(defaults) - set(words):
        sys.exit(f"the docstring of {cls.__name__} does not describe {', '.join(sorted(missing))}")
    ablations = " and ".join(f"`{name}`" for name in ABLATIONS)
    rows = [
        (f"`{name}`", _default(value), words[name].rstrip(".").replace("`ABLATIONS`", ablations))
        for name, value in defaults.items()
    ]
    return table(_HEAD, rows)


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{list(value)}`"
    return f"`{value}`" if value != "" else "empty"
