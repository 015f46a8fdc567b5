"""Commands that record: run and resume."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from ..decisions.settings import Settings
from ..eventlog.errors import BadInput
from .app import LOG, NEW_LOG, UNTIL, cli
from .printing import json_text, print_summary

if TYPE_CHECKING:
    from ..replayers.benchmarks.base import Task
    from ..replayers.config import Config
    from ..replayers.run import Run
    from ..replayers.world import World

_METHOD = frozenset(field.name for field in attrs.fields(Settings))
Command = TypeVar("Command", bound=Callable[..., Any])


def _method_options(command: Command) -> Command:
    """One option per parameter of the method (Table 3)."""
    for field in reversed(attrs.fields(Settings)):
        kind = type(field.default)
        command = click.option(
            f"--{field.name.replace('_', '-')}",
            f"method__{field.name}",
            type=kind,
            help=f"Method parameter, default {field.default}.",
        )(command)
    return command


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """The options of ``--set``, their values read as TOML and else as text.

    Parameters of the method need no ``method.`` before them.
    """
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"--set {pair}: write it as key=value, for example sampling.top_p=0.9")
        options[f"method.{key}" if key in _METHOD else key] = _value(value)
    return options


@cli.command()
@NEW_LOG
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file.")
@click.option("--benchmark", "benchmark__name", help="reading, pddl, kodcode, triviaqa or popqa.")
@click.option("--host", "host", help="autogen, camel, macnet, a TOML file or FILE.py:NAME.")
@click.option("--model", "model__name", help="bundled, a GGUF file, hf:repo/file or http…/v1#name.")
@click.option("--parallel", "model__parallel", type=int, help="Most requests to a server at once.")
@click.option("--embedder", "embedder__name", help="wordllama or a GGUF file.")
@click.option("--tasks", "tasks", type=int, help="Only the first tasks of the stream.")
@click.option("--temperature", "sampling__temperature", type=float, help="Of the team's roles.")
@click.option(
    "--actor-temperature",
    "sampling__actor_temperature",
    type=float,
    help="Of the roles a host calls actors, default that of all.",
)
@click.option("--no-reuse", "no_reuse", is_flag=True, help="Run equal executions anew.")
@click.option(
    "--unsafe-no-sandbox",
    "unsafe",
    is_flag=True,
    help="Run model-written code as yourself, without any isolation; never as root.",
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Any other value.")
@click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
@UNTIL
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it can cost.")
@_method_options
def run(
    log: Path,
    config_file: Path | None,
    pairs: Sequence[str],
    no_reuse: bool,
    unsafe: bool,
    dump_states: Path | None,
    until: int | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Record a new run in the file LOG."""
    from ..replayers.config import load_config, parse_config, with_options

    table = load_config(config_file) if config_file else {}
    given = {key.replace("__", "."): value for key, value in options.items() if value is not None}
    if no_reuse:
        given["reuse"] = False
    if unsafe:
        given["benchmark.sandbox"] = "none"
    table = with_options(table, {**given, **parse_pairs(pairs)})
    config = parse_config(table, str(config_file) if config_file else "options")
    if dry_run:
        _print_plan(config)
    else:
        record(log, config, dump_states, until)


@cli.command()
@LOG
@click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
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
