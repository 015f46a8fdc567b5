"""The command that measures whether a team can be replayed: check-team."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from ..eventlog.errors import CheckFailed
from .app import JSON, cli
from .printing import json_text
from .recording import parse_pairs

if TYPE_CHECKING:
    from ..replayers.checking import Checked

_TASKS = 2


@cli.command("check-team")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file.")
@click.option("--host", "host", help="autogen, camel, macnet, a TOML file or FILE.py:NAME.")
@click.option("--benchmark", "benchmark__name", help="reading, pddl, kodcode, triviaqa or popqa.")
@click.option("--model", "model__name", help="bundled, a GGUF file, hf:repo/file or http…/v1#name.")
@click.option("--tasks", type=click.IntRange(min=1), help=f"First tasks, default {_TASKS}.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Any other value.")
@JSON
def check_team(
    config_file: Path | None, pairs: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Play a few tasks twice without memory: whether a team's replays can be compared.

    Nothing is recorded. Says what differed first, and whether a memory reaches its owner only.
    """
    from ..replayers.checking import check_team as measure
    from ..replayers.config import load_config, parse_config, with_options
    from ..replayers.world import open_world

    table = {"tasks": _TASKS, **(load_config(config_file) if config_file else {})}
    given = {key.replace("__", "."): value for key, value in options.items() if value is not None}
    config = parse_config(
        with_options(table, {**given, **parse_pairs(pairs)}),
        str(config_file) if config_file else "options",
    )
    world = open_world(config)
    checked = measure(world)
    if as_json:
        click.echo(json_text({"ok": checked.ok, **attrs.asdict(checked)}))
    else:
        for line in _told(checked):
            click.echo(line)
    if not checked.ok:
        why = (
            "cannot be replayed: what differed has another cause than a memory; take clocks, "
            "unseeded chance and kept state out of the team"
            if checked.difference is not None
            else "does not give memories to their owners alone; see above"
        )
        raise CheckFailed(f"host {world.host.name} {why}")


def _told(checked: Checked) -> Iterator[str]:
    tasks, difference = len(checked.tasks), checked.difference
    if difference is not None:
        yield f"{difference}"
        yield f"  first   {' '.join(difference.first.split())}"
        yield f"  second  {' '.join(difference.second.split())}"
        return
    yield f"{tasks} tasks, {checked.requests} requests each time: two runs without memory agree"
    for role in checked.memory:
        if role.problems:
            yield from (f"{role.role}: a memory {problem}" for problem in role.problems)
        elif role.requests:
            yield f"{role.role}: a memory is once in each request ({role.requests}), nowhere else"
        else:
            yield f"{role.role}: is asked on none of the tasks, so nothing is known of its memory"
