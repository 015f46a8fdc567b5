"""The command that serves a team's roles on a fixed port, for whoever plays the team."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..eventlog.errors import BadInput
from .app import cli
from .printing import print_summary
from .recording import Progress, go_on, parse_pairs, run

if TYPE_CHECKING:
    from ..replayers.config import Config
    from ..replayers.serving.host import GatewayHost
    from ..replayers.world import World


@cli.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="0: any free one.",
)
def gateway(
    log: Path,
    port: int,
    config_file: Path | None,
    pairs: Sequence[str],
    no_reuse: bool,
    unsafe: bool,
    dump_states: Path | None,
    until: int | None,
    **options: Any,
) -> None:
    """Record a run in LOG, or go on with it, while a team is served on a port.

    The host must be one by gateway: a TOML file with [gateway]. Without a command there, the run
    waits for a driver that fetches its work over HTTP.
    """
    from ..replayers.config import load_config, parse_config, with_options
    from ..replayers.session import holds_run, require_free, start
    from ..replayers.world import open_world

    given = {key.replace("__", "."): value for key, value in options.items() if value is not None}
    given |= {"reuse": False} if no_reuse else {}
    given |= {"benchmark.sandbox": "none"} if unsafe else {}
    given |= parse_pairs(pairs)
    table = load_config(config_file) if config_file else None

    with ExitStack() as stack:

        def serve(world: World) -> World:
            host = _gateway_of(world)
            _tell(host, stack.enter_context(host.serving(port)))
            return world

        def go_on_with(recorded: Config) -> World:
            asked = with_options(recorded.table() if table is None else table, given)
            if parse_config(asked, "options").table() != recorded.table():
                raise BadInput(
                    f"{log} holds a run with other options; leave them out to go on with it, "
                    "or name another file"
                )
            return serve(open_world(recorded))

        if holds_run(log):
            go_on(log, dump_states, until=until, open_=go_on_with)
            return
        require_free(log)
        config = parse_config(
            with_options(table or {}, given), str(config_file) if config_file else "options"
        )
        world = serve(open_world(config))
        with Progress(dump_states) as progress:
            progress.begin(world, 0)
            start(log, world, until=until, each=progress.task_done)
    print_summary(log)


# Whatever can be said of a run can be said of this one.
gateway.params[:0] = [param for param in run.params if param.name != "dry_run"]


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
    click.echo(f"roles {', '.join((*host.roles, *host.others))} at {url}/run/RUN/role/ROLE/v1")
    if host.command:
        click.echo(f"each pass starts: {' '.join(host.command)}")
    else:
        click.echo(f"a driver fetches its work:    GET {url}/next")
        click.echo(f'and hands in what it does:   POST {url}/run/RUN/answer  {{"answer": "…"}}')
