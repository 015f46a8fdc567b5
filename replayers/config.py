"""The configuration of a run: one TOML file, every value with the paper's default (Table 3)."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import attrs

from ..decisions.settings import Settings
from ..eventlog.codec import canonical
from ..eventlog.errors import BadInput


def _is(kind: type, words: str) -> Any:
    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if type(value) is not kind:
            raise ValueError(f"{attribute.name} must be {words} (got {value!r})")

    return check


def _within(low: float, high: float = inf, *, above: bool = False) -> Any:
    """Whether a value is from ``low`` to ``high``; ``above``: but not ``low`` itself."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not low <= value <= high or (above and value == low):
            left = "(" if above else "["
            bounds = f">= {low:g}" if high == inf else f"in {left}{low:g}, {high:g}]"
            raise ValueError(f"{attribute.name} must be {bounds} (got {value:g})")

    return check


def _as_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


_TEXT = _is(str, "a string")
_COUNT = [_is(int, "a whole number"), _within(1)]


def _share(default: float, high: float, *, above: bool = False) -> Any:
    checks = [_is(float, "a number"), _within(0, high, above=above)]
    return attrs.field(default=default, converter=_as_float, validator=checks)


@attrs.frozen(kw_only=True)
class SamplingConfig:
    """How the model samples: the team's roles, and the LLM decisions, which are greedy by default.

    ``actor_temperature`` is that of the roles a host calls actors, None for the common one.

    Greedy decoding makes very small models repeat themselves; a seeded ``decision_temperature``
    is as reproducible.
    """

    temperature: float = _share(0.0, 2)
    actor_temperature: float | None = attrs.field(
        default=None,
        converter=_as_float,
        validator=attrs.validators.optional([_is(float, "a number"), _within(0, 2)]),
    )
    decision_temperature: float = _share(0.0, 2)
    top_p: float = _share(0.95, 1, above=True)
    max_tokens: int = attrs.field(default=512, validator=_COUNT)


@attrs.frozen(kw_only=True)
class ModelConfig:
    """Which model answers: ``bundled``, a GGUF path, ``hf:repo/file``, ``http…/v1#name``, a plugin.

    ``license`` goes into the run header, for a file that does not state its own; ``parallel`` is
    the most requests that a server is sent at the same time.
    """

    name: str = attrs.field(default="bundled", validator=_TEXT)
    context: int = attrs.field(default=8192, validator=_COUNT)
    license: str = attrs.field(default="", validator=_TEXT)
    parallel: int = attrs.field(default=1, validator=_COUNT)


@attrs.frozen(kw_only=True)
class EmbedderConfig:
    """Which embedder answers: ``wordllama`` or a GGUF path."""

    name: str = attrs.field(default="wordllama", validator=_TEXT)


@attrs.frozen(kw_only=True)
class BenchmarkConfig:
    """Which stream of tasks, and the benchmark's own options by name."""

    name: str = "reading"
    options: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Config:
    """Everything that is fixed for a run.

    ``tasks`` limits the stream to its first tasks; None takes all. ``reuse`` serves an equal
    execution from an earlier one.
    """

    host: str = attrs.field(default="autogen", validator=_TEXT)
    tasks: int | None = attrs.field(default=None, validator=attrs.validators.optional(_COUNT))
    reuse: bool = attrs.field(default=True, validator=_is(bool, "true or false"))
    benchmark: BenchmarkConfig = attrs.field(factory=BenchmarkConfig)
    model: ModelConfig = attrs.field(factory=ModelConfig)
    embedder: EmbedderConfig = attrs.field(factory=EmbedderConfig)
    sampling: SamplingConfig = attrs.field(factory=SamplingConfig)
    method: Settings = attrs.field(factory=Settings)

    def table(self) -> dict[str, Any]:
        """The configuration as the plain table it is read from and recorded as."""
        table = attrs.asdict(self, filter=lambda _, value: value is not None)
        table["benchmark"] = {"name": self.benchmark.name, **self.benchmark.options}
        table["method"]["without"] = list(self.method.without)
        return table


_SECTIONS: Mapping[str, type[Any]] = {
    "model": ModelConfig,
    "embedder": EmbedderConfig,
    "sampling": SamplingConfig,
    "method": Settings,
}


def parse_config(table: Mapping[str, Any], source: str) -> Config:
    """A configuration from its table.

    Raises:
        BadInput: an unknown key, a wrong type or a value out of range, named with ``source``.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "benchmark":
            values[key] = _benchmark(value, source)
        elif key in _SECTIONS:
            values[key] = _section(_SECTIONS[key], value, f"{source}: [{key}]")
        else:
            values[key] = value
    config: Config = _section(Config, values, source)
    try:
        canonical(config.table())
    except ValueError as error:
        raise BadInput(f"{source}: cannot be recorded, {error}") from None
    return config


def load_config(path: Path) -> dict[str, Any]:
    """The table of a TOML file.

    Raises:
        BadInput: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); give an existing file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: is not TOML: {error}") from None


def with_options(table: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """``table`` with dotted ``options`` (``method.epsilon``) put over it.

    Raises:
        BadInput: an option goes into something that is not a table.
    """
    merged = copy.deepcopy(dict(table))
    for dotted, value in options.items():
        *sections, key = dotted.split(".")
        target = merged
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                raise BadInput(f"option {dotted}: {section} is {target!r}, not a table")
        target[key] = value
    return merged


def _benchmark(value: Any, source: str) -> BenchmarkConfig:
    if not isinstance(value, Mapping):
        raise BadInput(f"{source}: [benchmark] must be a table")
    options = {key: item for key, item in value.items() if key != "name"}
    name = value.get("name", BenchmarkConfig().name)
    if not isinstance(name, str):
        raise BadInput(f"{source}: [benchmark] name must be a string (got {name!r})")
    return BenchmarkConfig(name=name, options=options)


def _section(cls: type[Any], values: Any, source: str) -> Any:
    if not isinstance(values, Mapping):
        raise BadInput(f"{source} must be a table")
    fields = {field.name: field for field in attrs.fields(cls)}
    for key in values:
        if key not in fields:
            raise BadInput(f"{source}: unknown key {key!r}; known: {', '.join(fields)}")
    try:
        return cls(**values)
    except ValueError as error:
        raise BadInput(f"{source}: {error}") from None
