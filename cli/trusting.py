"""Commands that check and carry a log elsewhere: replay, verify, export and import."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import click

from ..eventlog.errors import BadInput, CheckFailed
from .app import JSON, LOG, cli
from .printing import json_text, say
from .progress import LOG_JSON, Counted, Watch, going

_STEPS = {
    "file": "the file itself, by SQLite",
    "blobs": "contents against their digests",
    "events": "events against the chain and what they cite",
    "links": "contents against the events that cite them",
    "rules": "stores and the rules of the method",
}
"""What `verify` checks, in its order."""


@cli.command()
@LOG
@click.option("--offline", is_flag=True, required=True, help="Without any model.")
@JSON
@LOG_JSON
def replay(log: Path, offline: bool, as_json: bool) -> None:  # noqa: ARG001
    """Derive every conclusion of LOG again from its observations."""
    from ..replayers.offline import replay_offline

    with Watch(recording=False) as watch:
        watch.facts = {"log": str(log)}
        found = replay_offline(log, watch)
    watch.finished(agreed=found.agreed, tasks=found.tasks, run_finished=found.finished)
    if as_json:
        click.echo(json_text(attrs.asdict(found)))
        return
    click.echo(
        f"{found.agreed} derived events of {found.tasks} tasks derived again, all equal"
        + ("" if found.finished else "; the run is not finished")
    )


@cli.command()
@LOG
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="A head or an export seen earlier, which LOG must continue.",
)
@JSON
@LOG_JSON
def verify(log: Path, against: Path | None, as_json: bool) -> None:
    """Check everything LOG holds: chain, blobs, references, stores and the rules of the method."""
    from ..projections.telling import counted
    from ..replayers.verification import verify_run

    with Counted(_STEPS, "rows") as steps:
        report = verify_run(log, against, steps.told)
    if report.ok:
        steps.finished(events=report.checked)
    if as_json:
        click.echo(json_text(attrs.asdict(report)))
    else:
        for problem in report.problems:
            place = f"event {problem.position}" if problem.position else "the file"
            say(f"{place}: {problem.kind}: {problem.message}")
    if not report.ok:
        problems = counted(len(report.problems), "problem")
        first = next((p.position for p in report.problems if p.position), None)
        place = "" if first is None else f", the first at event {first}"
        raise CheckFailed(
            f"{log}: {problems} in {report.checked} events{place}; restore "
            "a copy, or save what is before them with `discernmem export --until`"
        )
    if not as_json and report.head is not None:
        click.echo(f"{report.checked} events verified, head {report.head.hash}")


@cli.command("export")
@LOG
@click.option("--out", type=click.Path(path_type=Path), help="A new file, else standard output.")
@click.option("--until", type=click.IntRange(min=0), help="Only the events up to this position.")
@click.option("--head", "head_only", is_flag=True, help="Only the head: three lines to keep.")
def export_log(log: Path, out: Path | None, until: int | None, head_only: bool) -> None:
    """Write LOG as JSON Lines, byte by byte the same for the same log.

    With --until what is before any damage can still be saved.
    """
    from ..eventlog.export import export, export_file
    from ..eventlog.log import EventLog

    if head_only and out is not None:
        raise BadInput("--out: the head goes to standard output")
    with EventLog.open(log, check=False) as opened:
        if head_only:
            click.echo(opened.head(until).to_text(), nl=False)
        elif out is None:
            export(opened, sys.stdout.buffer, until=until)
        else:
            head = export_file(opened, out, until=until)
            say(f"{head.position} events exported to {out}, head {head.hash}")


@cli.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@LOG
def import_log(file: Path, log: Path) -> None:
    """Make LOG from the export in FILE, or add what it has more."""
    from ..eventlog.exported import open_export
    from ..eventlog.importing import import_

    going().remedy = lambda: "what was added is whole, run it again to add the rest"
    with open_export(file) as source:
        done = import_(source, log)
    say(f"{done.added} events added to {log}, head {done.head.hash}")
