"""What a user may say of a run's configuration: a file, and options that go over it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from ..decisions.settings import ABLATIONS, Settings
from ..eventlog.errors import BadInput

if TYPE_CHECKING:
    from ..replayers.config import Config

_METHOD = frozenset(field.name for field in attrs.fields(Settings))


def _options() -> list[click.Parameter]:
    """One option per thing that can be configured, the method's own (Table 3) last."""
    options = [
        _option("--config", "config_file", click.Path(path_type=Path), "A TOML file."),
        _option("--benchmark", "benchmark__name", str, "reading, pddl, kodcode, triviaqa, popqa."),
        _option("--host", "host", str, "autogen, camel, macnet, a TOML file or FILE.py:NAME."),
        _option(
            "--model", "model__name", str, "bundled, a GGUF file, hf:repo/file or http…/v1#name."
        ),
        _option("--parallel", "model__parallel", int, "Most requests to a server at once."),
        _option("--embedder", "embedder__name", str, "wordllama or a GGUF file."),
        _option("--tasks", "tasks", int, "Only the first tasks of the stream."),
        _option("--temperature", "sampling__temperature", float, "Of the team's roles."),
        _option(
            "--actor-temperature",
            "sampling__actor_temperature",
            float,
            "Of the roles a host calls actors, default that of all.",
        ),
        click.Option(
            ["--without", "method__without"],
            multiple=True,
            type=click.Choice(ABLATIONS),
            help="Leave a part of the method out (the paper's ablations).",
        ),
        click.Option(["--no-reuse"], is_flag=True, help="Run equal executions anew."),
        click.Option(
            ["--unsafe-no-sandbox"],
            is_flag=True,
            help="Run model-written code as yourself, without any isolation; never as root.",
        ),
        click.Option(
            ["--set", "pairs"], multiple=True, metavar="KEY=VALUE", help="Any other value."
        ),
    ]
    for field in attrs.fields(Settings):
        if field.name != "without":
            name = f"--{field.name.replace('_', '-')}"
            words = f"Method parameter, default {field.default}."
            options.append(_option(name, f"method__{field.name}", type(field.default), words))
    return [*options]


def _option(flag: str, name: str, kind: Any, words: str) -> click.Option:
    return click.Option([flag, name], type=kind, help=words)


class Configured(click.Command):
    """A command that takes everything a run can be configured with, as ``given``, a `Given`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options = _options()
        self.params += self._options

    def invoke(self, context: click.Context) -> Any:
        """Hand what was configured over as one thing."""
        said = {option.name: context.params.pop(str(option.name)) for option in self._options}
        context.params["given"] = _given(**said)
        return super().invoke(context)


@attrs.frozen
class Given:
    """What was said of a configuration: the table of a file, and dotted options over it."""

    file: Path | None
    options: Mapping[str, Any]

    @property
    def source(self) -> str:
        """Where it was said, for messages."""
        return str(self.file) if self.file else "options"

    def table(self, under: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The table of it all.

        Args:
            under: the table to go over where no file is given.

        Raises:
            BadInput: the file cannot be read, or an option goes into what is no table.
        """
        from ..replayers.config import load_config, with_options

        return with_options(load_config(self.file) if self.file else under or {}, self.options)

    def config(self) -> Config:
        """The configuration it makes.

        Raises:
            BadInput: as `table`, or a key or value is not usable.
        """
        from ..replayers.config import parse_config

        return parse_config(self.table(), self.source)


def parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """The options of ``--set``, their values read as TOML and else as text.

    Parameters of the method need no ``method.`` before them.
    """
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"--set {pair}: write it as key=value, for example sampling.top_p=0.9")
        options[f"method.{key}" if key in _METHOD else key] = _value(value)
    return options


def _given(
    config_file: Path | None,
    pairs: Sequence[str],
    no_reuse: bool,
    unsafe_no_sandbox: bool,
    **options: Any,
) -> Given:
    given = {
        key.replace("__", "."): value for key, value in options.items() if value not in (None, ())
    }
    if no_reuse:
        given["reuse"] = False
    if unsafe_no_sandbox:
        given["benchmark.sandbox"] = "none"
    return Given(config_file, {**given, **parse_pairs(pairs)})


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
