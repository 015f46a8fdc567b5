"""Commands that record: run and resume."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..eventlog.errors import BadInput
from .app import LOG, NEW_LOG, STATES, UNTIL, cli
from .configuring import Configured, Given
from .printing import json_text, print_summary, say, shown
from .progress import LOG_JSON, Watch, going

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
@LOG_JSON
def run(
    log: Path, dump_states: Path | None, until: int | None, dry_run: bool, given: Given
) -> None:
    """Record a new run in the file LOG."""
    config = given.config()
    if dry_run:
        _print_plan(config)
    else:
        again = ["resume", str(log), *same_extent(until, dump_states)]
        record(log, config, again, dump_states, until=until)


@cli.command()
@LOG
@STATES
@UNTIL
@click.option("--origin", type=click.Path(path_type=Path), help="Where the log of a fork is now.")
@click.option("--no-origin", is_flag=True, help="Go on with a fork without the log it is from.")
@LOG_JSON
def resume(
    log: Path, dump_states: Path | None, until: int | None, origin: Path | None, no_origin: bool
) -> None:
    """Go on with the run in LOG from wherever it stopped."""
    if origin is not None and no_origin:
        raise BadInput("--origin and --no-origin exclude each other; give one of them")
    command = ["resume", str(log), *same_extent(until, dump_states)]
    command += [] if origin is None else ["--origin", str(origin)]
    command += ["--no-origin"] if no_origin else []
    go_on(log, command, dump_states, until=until, origin=origin, alone=no_origin)


def record(
    log: Path,
    config: Config,
    again: Sequence[str],
    dump_states: Path | None = None,
    *,
    until: int | None = None,
    open_: Callable[[Config], World] | None = None,
) -> None:
    """Record a new run and print what it did.

    Args:
        log: where.
        config: of the run.
        again: the command that goes on if it is stopped.
        dump_states: a folder for the store after each task.
        until: stop after this task.
        open_: opens the world of the configuration, in place of the usual way.
    """
    from ..replayers.session import require_free, start
    from ..replayers.world import open_world

    require_free(log)
    going().remedy = partial(goes_on, log, again)
    states = States(dump_states)
    with Watch() as watch:
        world = (open_ or open_world)(config)
        begin(watch, states, log)(world, 0)
        start(log, world, until=until, each=states.task_done, listener=watch)
    watch.finished(log=str(log))
    print_summary(log)


def go_on(log: Path, again: Sequence[str], dump_states: Path | None = None, **options: Any) -> None:
    """Resume a run and print what it did; the command ``again`` goes on if it is stopped."""
    from ..replayers.session import resume

    going().remedy = partial(goes_on, log, again)
    states = States(dump_states)
    with Watch() as watch:
        done = resume(
            log,
            begin=begin(watch, states, log),
            each=states.task_done,
            listener=watch,
            **options,
        )
    if done.finished_before:
        say(f"{log}: the run is finished already")
    watch.finished(log=str(log))
    print_summary(log)


def same_extent(until: int | None, dump_states: Path | None = None) -> list[str]:
    """The options that say again how far a run goes, and where its states are written."""
    wanted = [] if until is None else ["--until", str(until)]
    return wanted if dump_states is None else [*wanted, "--dump-states", str(dump_states)]


def goes_on(log: Path, command: Sequence[str]) -> str:
    """Where the run in a log stands, and the command that goes on with it."""
    from ..eventlog.log import EventLog
    from ..projections.timeline import last_completed
    from ..replayers.headers import header_of
    from ..replayers.session import holds_run, is_finished

    if not holds_run(log):
        return "nothing was recorded, run it again"
    with EventLog.open(log) as opened:
        position, tasks = opened.head().position, header_of(opened).tasks
        if is_finished(opened):
            return f"the run in {log} is finished, at event {position}"
        return (
            f"{log} ends at event {position}, {last_completed(opened)} of {tasks} tasks are done; "
            f"`{shlex.join(('discernmem', *command))}` goes on"
        )


def begin(
    watch: Watch, states: States, log: Path, *, quiet: bool = False
) -> Callable[[World, int], None]:
    """What is to be called with the world and the number of tasks done before a run goes on.

    Says in a line what runs, unless standard output is to stay ``quiet``.
    """

    def called(world: World, done: int) -> None:
        facts = world.model.card.facts
        model = [str(facts[key]) for key in ("file", "model", "device") if key in facts]
        embedder, theta = world.config.embedder.name, world.config.method.theta
        states.begin(done)
        watch.facts = {
            "log": str(log),
            "host": world.host.name,
            "benchmark": world.benchmark.name,
            "model": ", ".join(model),
            "embedder": embedder,
            "theta": theta,
        }
        if quiet:
            return
        click.echo(
            f"{shown(world.host.name)} on {shown(world.benchmark.name)}, {len(world.tasks)} "
            f"tasks; {shown(', '.join(model))}; embedder {embedder}, theta {theta:g}"
        )

    return called


class States:
    """The state files of a run, if they are wanted."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def begin(self, done: int) -> None:
        """Make the folder, and the state before the first task if that is to come."""
        from ..projections.state import State, serialise

        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"--dump-states {self._folder}: {error.strerror}; name a folder"
            ) from None
        if done == 0:
            self._dump(self._folder, 0, serialise(State()))

    def task_done(self, index: int, task: Task, run: Run) -> None:  # noqa: ARG002
        """Write the store as it is now."""
        if self._folder is not None:
            self._dump(self._folder, index, run.serialiser.serialise(run.state))

    @staticmethod
    def _dump(folder: Path, index: int, store: bytes) -> None:
        (folder / f"state-{index:05d}.json").write_bytes(store + b"\n")


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
