"""The command that measures whether a team can be replayed: check-team."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import click

from ..eventlog.errors import CheckFailed
from .app import JSON, cli
from .configuring import Configured, Given
from .printing import json_text, say

if TYPE_CHECKING:
    from ..replayers.checking import Checked

_TASKS = 2


@cli.command("check-team", cls=Configured)
@JSON
def check_team(as_json: bool, given: Given) -> None:
    """Play a few tasks twice without memory: whether a team's replays can be compared.

    Nothing is recorded; two tasks are played if --tasks says nothing else. Says what differed
    first, and whether a memory reaches its owner only.
    """
    from ..replayers.checking import check_team as measure
    from ..replayers.config import parse_config
    from ..replayers.world import open_world

    config = parse_config({"tasks": _TASKS, **given.table()}, given.source)
    world = open_world(config)
    checked = measure(world)
    if as_json:
        click.echo(json_text({"ok": checked.ok, **attrs.asdict(checked)}))
    else:
        for line in _told(checked):
            say(line)
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
