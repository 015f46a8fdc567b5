"""Every command with its arguments and options, as click knows them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import click

from discernmem.cli.commands import cli
from discernmem.cli.configuring import Configured

from .words import table

_WORDS = {
    "integer": "a whole number",
    "integer range": "a whole number",
    "float": "a number",
    "text": "text",
    "path": "a path",
    "file": "a path",
    "directory": "a path",
}


def commands() -> str:
    """The page."""
    shared = Configured("any").params
    parts = [
        "# Commands",
        "`LOG` is a file; where it may be left out it is `$DISCERNMEM_LOG`, else `run.db`. How a "
        "command ended is its [exit status](exit-statuses.md).",
        " · ".join(f"[{name}](#discernmem-{name})" for name in cli.commands),
    ]
    for name, command in cli.commands.items():
        with click.Context(command, info_name=name) as context:
            usage = " ".join(command.collect_usage_pieces(context))
        parts += [
            f"## discernmem {name}",
            f"`discernmem {name} {usage}`",
            inspect.cleandoc(command.help or ""),
        ]
        own = command.params
        if isinstance(command, Configured):
            names = {each.name for each in shared}
            own = [each for each in own if each.name not in names]
        options = [each for each in own if isinstance(each, click.Option)]
        if options:
            parts.append(_options(options))
        if isinstance(command, Configured):
            parts.append("It takes the [options of a configuration](#options-of-a-configuration).")
    parts += [
        "## Options of a configuration",
        "They go over the file of `--config`; what they set is told under "
        "[configuration](configuration.md).",
        _options([each for each in shared if isinstance(each, click.Option)]),
    ]
    return "\n\n".join(parts)


def _options(options: Sequence[click.Option]) -> str:
    rows = []
    for option in options:
        words = [option.help or ""]
        if option.required:
            words.append("Required.")
        if option.multiple:
            words.append("May be given again.")
        if option.show_default:
            words.append(f"Default `{option.default}`.")
        rows.append((", ".join(f"`{o}`" for o in option.opts), _taken(option), " ".join(words)))
    return table(("option", "takes", "what it does"), rows)


def _taken(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    return f"`{option.metavar}`" if option.metavar else _WORDS[option.type.name]
