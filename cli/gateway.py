"""The command that serves a team's roles on a fixed port, for whoever plays the team."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..eventlog.errors import BadInput
from .app import NEW_LOG, STATES, UNTIL, cli
from .configuring import Configured, Given
from .printing import say
from .progress import LOG_JSON
from .recording import go_on, record, same_extent

if TYPE_CHECKING:
    from ..replayers.config import Config
    from ..replayers.serving.host import GatewayHost
    from ..replayers.world import World


@cli.command(cls=Configured)
@NEW_LOG
@STATES
@UNTIL
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="0: any free one.",
)
@LOG_JSON
def gateway(
    log: Path, port: int, dump_states: Path | None, until: int | None, given: Given
) -> None:
    """Record a run in LOG, or go on with it, while a team is served on a port.

    The host must be one by gateway: a TOML file with [gateway]. Without a command there, the run
    waits for a driver that fetches its work over HTTP.
    """
    from ..replayers.config import parse_config
    from ..replayers.session import holds_run
    from ..replayers.world import open_world

    again = ["gateway", str(log), "--port", str(port), *same_extent(until, dump_states)]
    with ExitStack() as stack:

        def serve(world: World) -> World:
            host = _gateway_of(world)
            _tell(host, stack.enter_context(host.serving(port)))
            return world

        def go_on_with(recorded: Config) -> World:
            asked = parse_config(given.table(under=recorded.table()), given.source)
            if asked.table() != recorded.table():
                raise BadInput(
                    f"{log} holds a run with other options; leave them out to go on with it, "
                    "or name another file"
                )
            return serve(open_world(recorded))

        if holds_run(log):
            go_on(log, again, dump_states, until=until, open_=go_on_with)
            return
        record(
            log,
            given.config(),
            again,
            dump_states,
            until=until,
            open_=lambda config: serve(open_world(config)),
        )


def _gateway_of(world: World) -> GatewayHost:
    from ..replayers.serving.host import GatewayHost

    if not isinstance(world.host, GatewayHost):
        raise BadInput(
            f"host {world.host.name} is played by discernmem itself; use `discernmem run`, or give "
            "--host a TOML file with [gateway]"
        )
    return world.host


def _tell(host: GatewayHost, url: str) -> None:
    """Say where the roles are and how their team gets its work."""
    say(f"roles {', '.join((*host.roles, *host.others))} at {url}/run/RUN/role/ROLE/v1")
    if host.command:
        say(f"each pass starts: {' '.join(host.command)}")
    else:
        click.echo(f"a driver fetches its work:    GET {url}/next")
        click.echo(f'and hands in what it does:   POST {url}/run/RUN/answer  {{"answer": "…"}}')
