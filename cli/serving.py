"""The command that shows a log as a site: serve."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ..eventlog.errors import BadInput
from .app import LOG, cli
from .printing import shown
from .stopping import Stopped


@cli.command()
@LOG
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen; see --allow-remote."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="0: any free one.",
)
@click.option("--open", "open_", is_flag=True, help="Open the site in a browser.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Let --host be one that others can reach: there is no password.",
)
def serve(log: Path, host: str, port: int, open_: bool, allow_remote: bool) -> None:
    """Show LOG as a site to click through, until it is interrupted.

    It only reads, and may be used while a run writes LOG. Datasette's tables and SQL are there too.
    """
    from ..eventlog.log import EventLog
    from ..pages.site.guarding import is_loopback

    with EventLog.open(log):
        pass
    if not is_loopback(host) and not allow_remote:
        raise BadInput(
            f"--host {host}: others could reach it and read all of {log}; leave --host out, or "
            "add --allow-remote"
        )
    try:
        from ..pages.site.server import datasette_of, listen, run
    except ImportError as error:
        raise BadInput(
            f"serve needs Datasette ({error}): pip install 'discernmem[serve]'"
        ) from None

    listening = listen(host, port)
    server = datasette_of(log, host)
    name, taken = (f"[{host}]" if ":" in host else host), listening.getsockname()[1]
    url = f"http://{name}:{taken}/"
    # To interrupt it is the way to end it, so there is nothing to say then.
    with suppress(KeyboardInterrupt, Stopped):
        click.echo(f"{shown(str(log))} at {url} — Ctrl-C ends it")
        if not is_loopback(host):
            click.echo("others who reach this machine can read it: there is no password", err=True)
        if open_:
            click.launch(url)
        run(server, listening)
