"""Commands that check: replay and verify."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from ..eventlog.errors import CheckFailed
from .app import JSON, LOG, cli
from .printing import json_text


@cli.command()
@LOG
@click.option("--offline", is_flag=True, required=True, help="Without any model.")
@JSON
def replay(log: Path, offline: bool, as_json: bool) -> None:  # noqa: ARG001
    """Derive every conclusion of LOG again from its observations."""
    from ..replayers.offline import replay_offline

    found = replay_offline(log)
    if as_json:
        click.echo(json_text(attrs.asdict(found)))
        return
    click.echo(
        f"{found.agreed} derived events of {found.tasks} tasks derived again, all equal"
        + ("" if found.finished else "; the run is not finished")
    )


@cli.command()
@LOG
@click.option("--head", type=click.Path(path_type=Path), help="A head of this log seen earlier.")
@JSON
def verify(log: Path, head: Path | None, as_json: bool) -> None:
    """Check the chain, the blobs and the references of LOG, and its stores against the fold."""
    from ..replayers.verification import verify_run

    report = verify_run(log, head)
    if as_json:
        click.echo(json_text(attrs.asdict(report)))
    else:
        for problem in report.problems:
            place = f"event {problem.position}" if problem.position else "the file"
            click.echo(f"{place}: {problem.kind}: {problem.message}")
    if not report.ok:
        first = next((p.position for p in report.problems if p.position), None)
        place = "" if first is None else f", the first at event {first}"
        raise CheckFailed(
            f"{log}: {len(report.problems)} problem(s) in {report.checked} events{place}"
        )
    if not as_json and report.head is not None:
        click.echo(f"{report.checked} events verified, head {report.head.hash}")
