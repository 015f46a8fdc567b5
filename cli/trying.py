"""Commands to begin with: demo and doctor."""

from __future__ import annotations

from pathlib import Path

import click

from .app import cli
from .printing import print_origin, print_summary, say, suggest
from .progress import LOG_JSON
from .recording import go_on, record


@cli.command()
@click.option("--recorded", is_flag=True, help="Open the example log instead; needs no model.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where the logs go.",
)
@LOG_JSON
def demo(recorded: bool, folder: Path) -> None:
    """Run two short streams on the bundled model, or open the recorded example."""
    from ..replayers.config import parse_config
    from ..replayers.demo import STREAMS, finished, open_recorded
    from ..replayers.session import holds_run

    folder.mkdir(parents=True, exist_ok=True)
    if recorded:
        log = open_recorded(folder)
        print_origin(log)
        print_summary(log)
        suggest(log)
        return
    again = ["demo", "--folder", str(folder)]
    for name, table in STREAMS.items():
        log = folder / f"{name}.db"
        if finished(log):
            say(f"{log} is finished already; delete it to run again")
            print_summary(log)
        elif holds_run(log):
            go_on(log, again)
        else:
            record(log, parse_config(table, f"demo {name}"), again)
    suggest(folder / f"{next(iter(STREAMS))}.db")


@cli.command()
def doctor() -> None:
    """Say what this machine offers: Python, SQLite, llama.cpp, model, sandbox, disk."""
    from ..replayers.doctor import examine

    for name, finding in examine():
        say(f"{name:<22} {finding}")
