"""The command line: parse, call, print. Heavy modules are imported by the command that needs them.

Exit status: 0 done, 1 a check failed, 2 bad input, 3 infrastructure.
"""

from __future__ import annotations

import io
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from .decisions.settings import Settings
from .eventlog.errors import BadInput, CheckFailed, DiscernmemError

if TYPE_CHECKING:
    from .eventlog.log import EventLog
    from .projections.audit import Life, Node
    from .projections.state import State
    from .projections.store import Memory
    from .projections.summary import TaskRow
    from .replayers.benchmarks.base import Task
    from .replayers.config import Config
    from .replayers.run import Run
    from .replayers.session import World

NEW_LOG = click.argument("log", type=click.Path(path_type=Path))
LOG = click.argument(
    "log", type=click.Path(path_type=Path), default=Path("run.db"), envvar="DISCERNMEM_LOG"
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

Command = TypeVar("Command", bound=Callable[..., Any])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of the user costs one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(args=arguments, prog_name="discernmem", standalone_mode=False)
    except click.ClickException as error:
        sys.exit(_complain(error.format_message(), 2))
    except DiscernmemError as error:
        sys.exit(_complain(str(error), error.exit_status))
    except click.Abort:
        sys.exit(_complain("interrupted; `discernmem resume` goes on with a run", 130))
    except OSError as error:
        sys.exit(_complain(f"{error.filename or 'the system'}: {error.strerror}", 3))


def _complain(message: str, status: int) -> int:
    click.echo(f"discernmem: {' '.join(message.split())}", err=True)
    return status


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    no_args_is_help=False,
)
@click.version_option(package_name="discernmem")
@click.pass_context
def cli(context: click.Context) -> None:
    """Memory for multi-agent LLM teams that can prove everything it did."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


# -- recording ---------------------------------------------------------------------------------


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


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"--set {pair}: write it as key=value, for example sampling.top_p=0.9")
        options[key] = _value(value)
    return options


@cli.command()
@NEW_LOG
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file.")
@click.option("--benchmark", "benchmark__name", help="reading or pddl.")
@click.option("--host", "host", help="The team, default autogen.")
@click.option("--model", "model__name", help="bundled, a GGUF file, hf:repo/file or http…/v1#name.")
@click.option("--embedder", "embedder__name", help="wordllama or a GGUF file.")
@click.option("--tasks", "tasks", type=int, help="Only the first tasks of the stream.")
@click.option("--temperature", "sampling__temperature", type=float, help="Of the team's roles.")
@click.option("--no-reuse", "no_reuse", is_flag=True, help="Run equal executions anew.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Any other value.")
@click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it can cost.")
@_method_options
def run(
    log: Path,
    config_file: Path | None,
    pairs: Sequence[str],
    no_reuse: bool,
    dump_states: Path | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Record a new run in the file LOG."""
    from .replayers.config import load_config, parse_config, with_options

    table = load_config(config_file) if config_file else {}
    given = {key.replace("__", "."): value for key, value in options.items() if value is not None}
    if no_reuse:
        given["reuse"] = False
    table = with_options(table, {**given, **_settings(pairs)})
    config = parse_config(table, str(config_file) if config_file else "options")
    if dry_run:
        _print_plan(config)
    else:
        _run(log, config, dump_states)


@cli.command()
@LOG
@click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
def resume(log: Path, dump_states: Path | None) -> None:
    """Go on with the run in LOG from wherever it stopped."""
    _resume(log, dump_states)


def _run(log: Path, config: Config, dump_states: Path | None) -> None:
    from .replayers.session import open_world, require_free, start

    require_free(log)
    world = open_world(config)
    with _Progress(dump_states) as progress:
        progress.begin(world, 0)
        start(log, world, each=progress.task_done)
    _print_summary(log)


def _resume(log: Path, dump_states: Path | None) -> None:
    from .replayers.session import resume

    with _Progress(dump_states) as progress:
        resume(log, begin=progress.begin, each=progress.task_done)
    _print_summary(log)


class _Progress:
    """A bar on standard error while tasks are done, and the state files if they are wanted."""

    def __init__(self, dump_states: Path | None) -> None:
        self._folder = dump_states
        self._bar: Any = None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*exc)

    def begin(self, world: World, done: int) -> None:
        """Say what is about to run, and draw the bar with ``done`` tasks behind it."""
        from .projections.state import State

        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(
                    f"--dump-states {self._folder}: {error.strerror}; name a folder"
                ) from None
        if done == 0:
            self._dump(0, State())
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
        self._dump(index, run.state)
        self._bar.update(1, f"{task.id} scored {run.state.history[task.id].score:.2f}")

    def _dump(self, index: int, state: State) -> None:
        from .projections.state import serialise

        if self._folder is not None:
            (self._folder / f"state-{index:05d}.json").write_bytes(serialise(state) + b"\n")


def _print_plan(config: Config) -> None:
    from .decisions.plan import worst_case
    from .replayers.session import open_stream

    host, _, tasks = open_stream(config)
    roles = len(host.roles)
    each = worst_case(config.method, roles)
    click.echo(_json(config.table()))
    click.echo(
        f"{len(tasks)} tasks, {roles} roles: at least {len(tasks)} team executions (one per "
        f"task), at most {len(tasks) * each} ({each} per task); nothing was run"
    )


def _print_summary(log: Path) -> None:
    from .eventlog.log import EventLog
    from .projections.summary import summarise

    with EventLog.open(log) as opened:
        rows = summarise(opened.read())
    click.echo(_table(rows))
    click.echo(_totals(rows))


def _table(rows: Sequence[TaskRow]) -> str:
    table = [("t", "task", "score", "supplied", "effects", "new", "transitions", "run", "saved")]
    table += [
        (
            str(row.index),
            row.task,
            "" if row.score is None else f"{row.score:.2f}",
            " ".join(row.supplied),
            " ".join(f"{name}:{effect:+.2f} {label}" for name, effect, label in row.effects),
            " ".join(f"+{name}" for name in (*row.admitted, *row.revised)),
            " ".join(f"{name}→{after} ({rule})" for name, after, rule in row.transitions),
            str(row.executions_run),
            str(row.executions_saved),
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def _totals(rows: Sequence[TaskRow]) -> str:
    scores = [row.score for row in rows if row.score is not None]
    mean = sum(scores) / len(scores) if scores else 0.0
    calls = sum(row.model_calls for row in rows)
    read = sum(row.prompt_tokens for row in rows)
    written = sum(row.completion_tokens for row in rows)
    return (
        f"mean score {mean:.3f} over {len(scores)} tasks; executions run "
        f"{sum(row.executions_run for row in rows)}, saved "
        f"{sum(row.executions_saved for row in rows)}; {calls} model calls, "
        f"{read} prompt and {written} written tokens; "
        f"{sum(row.fallbacks for row in rows)} decisions fell back"
    )


# -- the three questions -----------------------------------------------------------------------


@cli.command()
@LOG
@click.option("--at", type=int, help="After which task (0: before the first); default the last.")
@JSON
def store(log: Path, at: int | None, as_json: bool) -> None:
    """Show the memory store after any task of LOG."""
    from .eventlog.log import EventLog
    from .projections.state import serialise
    from .projections.timeline import last_completed, state_at_task

    with EventLog.open(log) as opened:
        task = last_completed(opened) if at is None else at
        state = state_at_task(opened, task)
        if as_json:
            click.echo(serialise(state))
        else:
            click.echo(f"store after task {task}: {len(state.store)} memories")
            for memory in state.store.ordered():
                click.echo(_entry(opened, state, memory))


def _entry(log: EventLog, state: State, memory: Memory) -> str:
    effects = state.evidence.of(memory.id, memory.version)
    counts = {
        sign: sum(effect.sign == sign for effect in effects)
        for sign in ("positive", "neutral", "negative")
    }
    said = ", ".join(f"{n} {sign}" for sign, n in counts.items() if n) or "no effects yet"
    lines = [
        f"\n{memory.id}  {memory.owner}  {memory.state}  v{memory.version}  "
        f"from {memory.source_task}  ({said})",
        f"rule: {memory.body}",
        *_conditions(log, memory),
    ]
    return "\n  ".join(lines)


def _conditions(log: EventLog, memory: Memory) -> Iterator[str]:
    """Each condition of a memory with the event that added it."""
    for name, conditions in (("use", memory.use_when), ("avoid", memory.avoid_when)):
        for condition in conditions:
            added = log.by_id(condition.added_by)
            place = f" [{added.position}]" if added else ""
            yield f"{name} when: {condition.text}  (by {condition.source}){place}"


@cli.command()
@click.argument("memory")
@LOG
@click.option("--version", type=int, help="Only the life of one version of the body.")
@JSON
def why(memory: str, log: Path, version: int | None, as_json: bool) -> None:
    """Tell the whole life of MEMORY: where it came from, each use, each change and its cause."""
    from .eventlog.log import EventLog
    from .projections.audit import life
    from .projections.timeline import state_at_position

    with EventLog.open(log) as opened:
        state = state_at_position(opened, opened.head().position)
        if memory not in state.store:
            known = f"m1 to m{len(state.store)}" if len(state.store) else "none"
            raise BadInput(f"{log}: has no memory {memory!r} ({known})")
        told = life(opened, state.store[memory], version=version)
        if as_json:
            click.echo(_json(told.plain()))
        else:
            _print_life(opened, told)


def _print_life(log: EventLog, told: Life) -> None:
    memory = told.memory
    click.echo(
        f"{memory.id} · {memory.owner} · {memory.state} · version {memory.version} · "
        f"from {memory.source_task}"
    )
    click.echo(f"rule: {memory.body}")
    for line in _conditions(log, memory):
        click.echo(line)
    task = None
    for root, chain in zip(told.roots, told.leading, strict=True):
        if root.recorded.task_index != task:
            task = root.recorded.task_index
            started = next((r for r in chain if r.type == "TaskStarted"), None)
            name = f" {started.event.task}" if started else ""  # type: ignore[attr-defined]
            click.echo(f"\ntask {task}{name}")
        for recorded in chain[1:]:
            click.echo(f"  · {_said(recorded)}")
        _print_node(root, "  ", True)


def _print_node(node: Node, indent: str, last: bool) -> None:
    branch, deeper = ("└─ ", "   ") if last else ("├─ ", "│  ")
    click.echo(f"{indent}{branch}{_said(node.recorded)}")
    inner = indent + deeper
    rail = "│  " if node.children else "   "
    replies = [r for r in node.evidence if r.type == "ModelReplied"]
    for words, reply in zip(node.words, replies, strict=True):
        said = " ".join(words.split())
        click.echo(f"{inner}{rail}the model said: {said}  [{reply.position}]")
    for recorded in node.evidence:
        if recorded not in replies:
            click.echo(f"{inner}{rail}rests on: {_said(recorded)}")
    for number, child in enumerate(node.children, start=1):
        _print_node(child, inner, number == len(node.children))


def _said(recorded: Any) -> str:
    from .projections.telling import tell

    return f"{tell(recorded.event)}  [{recorded.position}]"


@cli.command()
@LOG
@click.option("--from", "start", type=int, required=True, help="After which task.")
@click.option("--to", "end", type=int, required=True, help="Up to which task.")
@JSON
def diff(log: Path, start: int, end: int, as_json: bool) -> None:
    """Say what changed in the store of LOG between two tasks, and why."""
    from .eventlog.log import EventLog
    from .projections.changes import changes
    from .projections.timeline import completed_position

    with EventLog.open(log) as opened:
        span = completed_position(opened, start), completed_position(opened, end)
        if span[0] > span[1]:
            raise BadInput(f"--from {start} --to {end}: give the earlier task first")
        found = changes(opened, *span)
    if as_json:
        click.echo(_json([change.plain() for change in found]))
        return
    click.echo(f"{len(found)} change(s) from task {start} to task {end}")
    for change in found:
        click.echo(f"\ntask {change.recorded.task_index}: {_said(change.recorded)}")
        for reason in change.because:
            click.echo(f"    because {_said(reason)}")


@cli.command("log")
@LOG
@click.option("--task", type=int, help="Only events of one task.")
@click.option("--type", "types", multiple=True, help="Only events of a type.")
@click.option("--tail", type=click.IntRange(min=1), help="Only the last events.")
@JSON
def log_(
    log: Path, task: int | None, types: Sequence[str], tail: int | None, as_json: bool
) -> None:
    """List the events of LOG, one a line."""
    from .eventlog.codec import plain
    from .eventlog.events import EVENT_TYPES
    from .eventlog.log import EventLog

    for name in types:
        if name not in EVENT_TYPES:
            raise BadInput(f"--type {name}: no such event; known: {', '.join(EVENT_TYPES)}")
    with EventLog.open(log) as opened:
        last = opened.last_task()
        if task is not None and not 1 <= task <= last:
            known = f"1 to {last}" if last else "none"
            raise BadInput(f"{log}: has no task {task} ({known})")
        after = max(opened.head().position - tail, 0) if tail else 0
        for recorded in opened.read(after=after, types=tuple(types) or None):
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
            click.echo(f"{recorded.position:>6} {index:>5}  {_said_plainly(recorded)}")


def _said_plainly(recorded: Any) -> str:
    from .projections.telling import tell

    return f"{recorded.type:<24} {tell(recorded.event)}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


# -- trying it ---------------------------------------------------------------------------------


@cli.command()
@click.option("--recorded", is_flag=True, help="Open the example log instead; needs no model.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where the logs go.",
)
def demo(recorded: bool, folder: Path) -> None:
    """Run two short streams on the bundled model, or open the recorded example."""
    from .replayers.config import parse_config
    from .replayers.demo import STREAMS, finished, open_recorded
    from .replayers.session import holds_run

    folder.mkdir(parents=True, exist_ok=True)
    if recorded:
        log = open_recorded(folder)
        _print_origin(log)
        _print_summary(log)
        _suggest(log)
        return
    for name, table in STREAMS.items():
        log = folder / f"{name}.db"
        if finished(log):
            click.echo(f"{log} is finished already; delete it to run again")
            _print_summary(log)
        elif holds_run(log):
            _resume(log, None)
        else:
            _run(log, parse_config(table, f"demo {name}"), None)
    _suggest(folder / f"{next(iter(STREAMS))}.db")


def _print_origin(log: Path) -> None:
    from .eventlog.log import EventLog
    from .replayers.session import header_of

    with EventLog.open(log) as opened:
        header = header_of(opened)
    facts = header.model
    licence = header.config["model"]["license"] or facts["license"]
    click.echo(
        f"{log}: {header.tasks} {header.config['benchmark']['name']} tasks, team "
        f"{header.host['name']}, recorded "
        f"with {facts['name']} ({facts['file']}, licence {licence}, "
        f"SHA-256 {facts['sha256'][:16]}…) on {facts['device']}\n"
    )


def _suggest(log: Path) -> None:
    from .eventlog.log import EventLog
    from .projections.summary import most_told

    with EventLog.open(log) as opened:
        memory = most_told(opened.read())
    click.echo(
        f"\nTry next:\n"
        f"  discernmem why {memory} {log}\n"
        f"  discernmem store {log} --at 4\n"
        f"  discernmem replay --offline {log}"
    )


# -- trust -------------------------------------------------------------------------------------


@cli.command()
@LOG
@click.option("--offline", is_flag=True, required=True, help="Without any model.")
@JSON
def replay(log: Path, offline: bool, as_json: bool) -> None:  # noqa: ARG001
    """Derive every conclusion of LOG again from its observations."""
    from .replayers.session import replay_offline

    found = replay_offline(log)
    if as_json:
        click.echo(_json(attrs.asdict(found)))
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
    from .replayers.verification import verify_run

    report = verify_run(log, head)
    if as_json:
        click.echo(_json(attrs.asdict(report)))
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


@cli.command()
def doctor() -> None:
    """Say what this machine offers: Python, SQLite, llama.cpp, model, sandbox, disk."""
    from .replayers.doctor import examine

    for name, finding in examine():
        click.echo(f"{name:<22} {finding}")


if __name__ == "__main__":
    main()
