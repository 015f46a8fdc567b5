"""Commands that record: run and resume."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..eventlog.errors import BadInput
from .app import LOG, NEW_LOG, STATES, UNTIL, cli
from .configuring import Configured, Given
from .printing import json_text, print_summary

if TYPE_CHECKING:
    from ..replayers.benchmarks.base import Task
    from ..replayers.config import Config
    from ..replayers.run import Run
    from ..replayers.world import World


@cli.command(cls=Configured)
@NEW_LOG
@STATES
@UNTIL
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it can cost.")
def run(
    log: Path, dump_states: Path | None, until: int | None, dry_run: bool, given: Given
) -> None:
    """Record a new run in the file LOG."""
    config = given.config()
    if dry_run:
        _print_plan(config)
    else:
        record(log, config, dump_states, until)


@cli.command()
@LOG
@STATES
@UNTIL
@click.option("--origin", type=click.Path(path_type=Path), help="Where the log of a fork is now.")
@click.option("--no-origin", is_flag=True, help="Go on with a fork without the log it is from.")
def resume(
    log: Path, dump_states: Path | None, until: int | None, origin: Path | None, no_origin: bool
) -> None:
    """Go on with the run in LOG from wherever it stopped."""
    if origin is not None and no_origin:
        raise BadInput("--origin and --no-origin exclude each other; give one of them")
    go_on(log, dump_states, until=until, origin=origin, alone=no_origin)


def record(
    log: Path, config: Config, dump_states: Path | None = None, until: int | None = None
) -> None:
    """Record a new run and print what it did."""
    from ..replayers.session import require_free, start
    from ..replayers.world import open_world

    require_free(log)
    world = open_world(config)
    with Progress(dump_states) as progress:
        progress.begin(world, 0)
        start(log, world, until=until, each=progress.task_done)
    print_summary(log)


def go_on(log: Path, dump_states: Path | None = None, **options: Any) -> None:
    """Resume a run and print what it did."""
    from ..replayers.session import resume

    with Progress(dump_states) as progress:
        resume(log, begin=progress.begin, each=progress.task_done, **options)
        if not progress.begun:
            click.echo(f"{log}: the run is finished already")
    print_summary(log)


class Progress:
    """A bar on standard error while tasks are done, and the state files if they are wanted."""

    def __init__(self, dump_states: Path | None) -> None:
        self._folder = dump_states
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    @property
    def begun(self) -> bool:
        """Whether there was anything to do."""
        return self._bar is not None

    def __exit__(self, *exc: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*exc)

    def begin(self, world: World, done: int) -> None:
        """Say what is about to run, and draw the bar with ``done`` tasks behind it."""
        from ..projections.state import State, serialise

        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(
                    f"--dump-states {self._folder}: {error.strerror}; name a folder"
                ) from None
        if done == 0:
            self._dump(0, serialise(State()))
        facts = world.model.card.facts
        model = ", ".join(str(facts[key]) for key in ("file", "model", "device") if key in facts)
        click.echo(
            f"{world.host.name} on {world.benchmark.name}, {len(world.tasks)} tasks; {model}; "
            f"embedder {world.config.embedder.name}, theta {world.config.method.theta:g}"
        )
        self._bar = click.progressbar(
            length=len(world.tasks),
            label="tasks",
            file=sys.stderr,
            show_pos=True,
            item_show_func=str,
        )
        self._bar.__enter__()
        self._bar.update(done)

    def task_done(self, index: int, task: Task, run: Run) -> None:
        """Advance the bar and write the store as it is now."""
        self._dump(index, run.serialiser.serialise(run.state))
        self._bar.update(1, f"{task.id} scored {run.state.history[task.id].score:.2f}")

    def _dump(self, index: int, store: bytes) -> None:
        if self._folder is not None:
            (self._folder / f"state-{index:05d}.json").write_bytes(store + b"\n")


def _print_plan(config: Config) -> None:
    from ..decisions.plan import worst_case
    from ..replayers.world import open_stream

    host, _, tasks = open_stream(config)
    roles = len(host.roles)
    each = worst_case(config.method, roles)
    click.echo(json_text(config.table()))
    click.echo(
        f"{len(tasks)} tasks, {roles} roles: at least {len(tasks)} team executions (one per "
        f"task), at most {len(tasks) * each} ({each} per task); nothing was run"
    )
