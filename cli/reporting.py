"""The command that shows a run to others: report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from ..eventlog.errors import BadInput
from .app import JSON, cli, default_log
from .printing import json_text, shown

_STORIES = 100


@cli.command()
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--stories",
    type=click.IntRange(min=0),
    help=f"Tell the stories of so many memories at most, by default of {_STORIES}.",
)
@JSON
def report(logs: Sequence[Path], output: Path, stories: int | None, as_json: bool) -> None:
    """Write a page that shows a run, or several LOGS side by side.

    It needs nothing else to be read: no network, no script. With --json the figures are printed
    instead.
    """
    from ..eventlog.log import EventLog
    from ..pages.report import check_target, compare, figures_of, write_one, write_several

    if str(output) == "-":
        raise BadInput("-o -: a report is written to a file; name one, such as report.html")
    chosen = _chosen(logs or (default_log(),))
    if stories is not None and len(chosen) > 1:
        raise BadInput("--stories: stories are told of one run; give one log")
    with ExitStack() as stack:
        opened = [stack.enter_context(EventLog.open(path)) for path in chosen]
        if not as_json:
            check_target(output)
        runs = [figures_of(log, name) for log, name in zip(opened, _names(chosen), strict=True)]
        if len(runs) > 1:
            found = compare(runs)
            if as_json:
                click.echo(json_text(found.plain()))
                return
            write_several(found, output)
        elif as_json:
            click.echo(json_text(runs[0].plain()))
            return
        else:
            write_one(opened[0], runs[0], output, stories=_STORIES if stories is None else stories)
    click.echo(f"wrote {shown(str(output))}")


def _chosen(logs: Sequence[Path]) -> list[Path]:
    """The logs, each once; the side files that ``folder/*.db`` names along are left out."""
    from ..eventlog.sidefile import side_path

    beside = {side_path(path) for path in logs if path.name}
    files: dict[str, Path] = {}
    for path in logs:
        if path not in beside:
            files.setdefault(os.path.realpath(path), path)
    return list(files.values())


def _names(logs: Sequence[Path]) -> list[str]:
    """What to call the logs: the names of their files, with their folders where those are alike.

    What that tells none apart is numbered.
    """
    plain = [path.name for path in logs]
    longer = _where_alike(plain, [f"{path.absolute().parent.name}/{path.name}" for path in logs])
    return _where_alike(longer, [f"{name} ({at})" for at, name in enumerate(longer, start=1)])


def _where_alike(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """The names, those that are there more than once replaced by the others."""
    counts = Counter(names)
    return [other if counts[name] > 1 else name for name, other in zip(names, others, strict=True)]
