"""Commands that ask: store, why, blame, diff and log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..eventlog.errors import BadInput
from .app import JSON, LOG, cli
from .printing import entry, json_text, said, said_plainly

if TYPE_CHECKING:
    from ..eventlog.log import EventLog


@cli.command()
@LOG
@click.option("--at", type=int, help="After which task (0: before the first); default the last.")
@JSON
def store(log: Path, at: int | None, as_json: bool) -> None:
    """Show the memory store after any task of LOG."""
    from ..eventlog.log import EventLog
    from ..projections.telling import counted
    from ..projections.timeline import (
        Timeline,
        completed_position,
        last_completed,
        settled_position,
    )

    with EventLog.open(log) as opened:
        task = last_completed(opened) if at is None else at
        completed = completed_position(opened, task)
        settled = settled_position(opened) if at is None else completed
        with Timeline(opened) as timeline:
            if as_json:
                click.echo(timeline.serialised(settled))
                return
            state = timeline.state(settled)
        decided = opened.read(after=completed, until=settled, types=("MemoryOverridden",))
        overrides = sum(1 for _ in decided)
        after = f"task {task}" + (f" and {counted(overrides, 'override')}" if overrides else "")
        click.echo(f"store after {after}: {len(state.store)} memories")
        for memory in state.store.ordered():
            click.echo(entry(opened, state, memory))


@cli.command()
@click.argument("memory")
@LOG
@click.option("--version", type=int, help="Only the life of one version of the body.")
@click.option("--since", type=int, help="Only what happened from this task on.")
@click.option("--depth", type=click.IntRange(min=0), help="Only so many levels below each root.")
@JSON
def why(
    memory: str,
    log: Path,
    version: int | None,
    since: int | None,
    depth: int | None,
    as_json: bool,
) -> None:
    """Tell the whole life of MEMORY: where it came from, each use, each change and its cause."""
    from ..eventlog.log import EventLog
    from ..projections.audit import life
    from .layout import screen
    from .telling import print_life

    with EventLog.open(log) as opened:
        told = life(opened, memory, version=version, since=since, depth=depth)
        if as_json:
            click.echo(json_text(told.plain()))
        else:
            print_life(opened, told, screen())


@cli.command()
@click.argument("memory")
@LOG
@click.option("--at", type=int, help="As it was after this task; default: as it is.")
@JSON
def blame(memory: str, log: Path, at: int | None, as_json: bool) -> None:
    """Show which event put each phrase of the rule of MEMORY and each condition there."""
    from ..eventlog.log import EventLog
    from ..projections.blame import blame
    from .layout import screen
    from .telling_blame import print_blame

    with EventLog.open(log) as opened:
        found = blame(opened, memory, at=at)
    if as_json:
        click.echo(json_text(found.plain()))
    else:
        print_blame(found, screen())


@cli.command()
@LOG
@click.option("--from", "start", type=int, required=True, help="After which task.")
@click.option("--to", "end", type=int, required=True, help="Up to which task.")
@JSON
def diff(log: Path, start: int, end: int, as_json: bool) -> None:
    """Say what changed in the store of LOG between two tasks, and why."""
    from ..eventlog.log import EventLog
    from ..projections.changes import changes
    from ..projections.telling import counted
    from ..projections.timeline import completed_position

    with EventLog.open(log) as opened:
        span = completed_position(opened, start), completed_position(opened, end)
        if span[0] > span[1]:
            raise BadInput(f"--from {start} --to {end}: give the earlier task first")
        found = changes(opened, *span)
    if as_json:
        click.echo(json_text([change.plain() for change in found]))
        return
    click.echo(f"{counted(len(found), 'change')} from task {start} to task {end}")
    for change in found:
        index = change.recorded.task_index
        place = "between tasks" if index is None else f"task {index}"
        click.echo(f"\n{place}: {said(change.recorded)}")
        for reason in change.because:
            click.echo(f"    because {said(reason)}")


@cli.command("log")
@LOG
@click.option("--task", type=int, help="Only events of one task.")
@click.option("--type", "types", multiple=True, help="Only events of a type.")
@click.option("--tail", type=click.IntRange(min=1), help="Only the last so many of them.")
@JSON
def log_(
    log: Path, task: int | None, types: Sequence[str], tail: int | None, as_json: bool
) -> None:
    """List the events of LOG, one a line."""
    from ..eventlog.codec import plain
    from ..eventlog.events import EVENT_TYPES
    from ..eventlog.log import EventLog

    for name in types:
        if name not in EVENT_TYPES:
            raise BadInput(f"--type {name}: no such event; known: {', '.join(EVENT_TYPES)}")
    with EventLog.open(log) as opened:
        last = opened.last_task()
        if task is not None and not 1 <= task <= last:
            known = f"1 to {last}" if last else "none"
            raise BadInput(f"{log}: has no task {task} ({known})")
        after, until = 0, opened.head().position
        if task is not None:
            after, until = opened.position_at_task(task - 1), opened.position_at_task(task)
        if tail:
            after = _before_last(opened, tail, (after, until), task, types)
        for recorded in opened.read(after=after, until=until, types=tuple(types) or None):
            if task is not None and recorded.task_index != task:
                continue
            if as_json:
                header = {
                    "position": recorded.position,
                    "type": recorded.type,
                    "stream": recorded.stream_id,
                    "task_index": recorded.task_index,
                    "recorded_at": recorded.recorded_at,
                    "event_id": recorded.event_id,
                    "cause": recorded.causation_id,
                }
                click.echo(json.dumps({**header, "event": plain(recorded.event)}))
                continue
            index = "" if recorded.task_index is None else f"t{recorded.task_index}"
            click.echo(f"{recorded.position:>6} {index:>5}  {said_plainly(recorded)}")


def _before_last(
    log: EventLog, count: int, span: tuple[int, int], task: int | None, types: Sequence[str]
) -> int:
    """The position after which the last so many of the wanted events in a span are."""
    wanted, values = "position > ? and position <= ?", [*span]
    if task is not None:
        wanted, values = f"{wanted} and task_index = ?", [*values, task]
    marks = ", ".join("?" * len(types))
    wanted += f" and type in ({marks})" if types else ""
    rows = log.rows(
        f"select position from events where {wanted} order by position desc limit ?",
        (*values, *types, count),
    )
    return rows[-1][0] - 1 if rows else span[1]
