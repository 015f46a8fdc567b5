"""What the commands print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..eventlog.log import EventLog
    from ..projections.audit import Life, Node
    from ..projections.comparison import Comparison
    from ..projections.state import State
    from ..projections.store import Memory
    from ..projections.summary import TaskRow


def print_summary(log: Path) -> None:
    """The table of a log, a row per task, and its totals."""
    from ..eventlog.log import EventLog
    from ..projections.summary import summarise

    with EventLog.open(log) as opened:
        rows = summarise(opened.read())
    click.echo(table(rows))
    click.echo(totals(rows))


def table(rows: Sequence[TaskRow]) -> str:
    """One row per task, in columns."""
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
    return columns(table)


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Cells under each other, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def totals(rows: Sequence[TaskRow]) -> str:
    """The mean score and what the run cost."""
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


def entry(log: EventLog, state: State, memory: Memory) -> str:
    """A memory as the store shows it."""
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
        *conditions(log, memory),
    ]
    return "\n  ".join(lines)


def conditions(log: EventLog, memory: Memory) -> Iterator[str]:
    """Each condition of a memory with the event that added it."""
    for name, conditions in (("use", memory.use_when), ("avoid", memory.avoid_when)):
        for condition in conditions:
            added = log.by_id(condition.added_by)
            place = f" [{added.position}]" if added else ""
            yield f"{name} when: {condition.text}  (by {condition.source}){place}"


def print_life(log: EventLog, told: Life) -> None:
    """A memory and the tree of its life."""
    memory = told.memory
    click.echo(
        f"{memory.id} · {memory.owner} · {memory.state} · version {memory.version} · "
        f"from {memory.source_task}"
    )
    click.echo(f"rule: {memory.body}")
    for line in conditions(log, memory):
        click.echo(line)
    task: int | None = 0
    for root, chain in zip(told.roots, told.leading, strict=True):
        if root.recorded.task_index != task:
            task = root.recorded.task_index
            started = next((r for r in chain if r.type == "TaskStarted"), None)
            name = f" {started.event.task}" if started else ""  # type: ignore[attr-defined]
            click.echo(f"\ntask {task}{name}" if task is not None else "\nbetween tasks")
        for recorded in chain[1:]:
            click.echo(f"  · {said(recorded)}")
        _print_node(root, "  ", True)


def _print_node(node: Node, indent: str, last: bool) -> None:
    branch, deeper = ("└─ ", "   ") if last else ("├─ ", "│  ")
    click.echo(f"{indent}{branch}{said(node.recorded)}")
    inner = indent + deeper
    rail = "│  " if node.children else "   "
    replies = [r for r in node.evidence if r.type == "ModelReplied"]
    for words, reply in zip(node.words, replies, strict=True):
        click.echo(f"{inner}{rail}the model said: {' '.join(words.split())}  [{reply.position}]")
    for recorded in node.evidence:
        if recorded not in replies and recorded.event_id != node.recorded.causation_id:
            click.echo(f"{inner}{rail}rests on: {said(recorded)}")
    for number, child in enumerate(node.children, start=1):
        _print_node(child, inner, number == len(node.children))


def said(recorded: Any) -> str:
    """An event in words, and where it is."""
    from ..projections.telling import tell

    return f"{tell(recorded.event)}  [{recorded.position}]"


def said_plainly(recorded: Any) -> str:
    """An event in a list of events."""
    from ..projections.telling import tell

    return f"{recorded.type:<24} {tell(recorded.event)}"


def print_comparison(found: Comparison, logs: tuple[Path, Path]) -> None:
    """Where two runs part, task by task."""
    from ..projections.causes import in_words

    if found.settings:
        click.echo(f"settings: {in_words(found.settings)}")
    common = min(found.tasks)
    click.echo(
        f"{len(found.partings)} of {common} tasks differ; {found.agreed} conclusions are the same; "
        f"mean score {found.mean_scores[0]:.3f} | {found.mean_scores[1]:.3f}"
    )
    for parting in found.partings:
        click.echo(f"\ntask {parting.index} {' | '.join(dict.fromkeys(parting.tasks))}")
        for name, (left, right) in parting.differences.items():
            click.echo(f"  {name:<9} {'; '.join(left) or 'none'} | {'; '.join(right) or 'none'}")
        for log, recorded in zip(logs, parting.first, strict=True):
            click.echo(f"  first in {log.name}: {said(recorded) if recorded else 'nothing here'}")
        click.echo(f"  because {parting.cause.says}")
    for log, decided in zip(logs, found.decided, strict=True):
        if decided and found.decided[0] != found.decided[1]:
            click.echo(f"\ndecided after task {common} in {log.name}: {'; '.join(decided)}")
    for log, tasks in zip(logs, found.tasks, strict=True):
        if tasks > common:
            click.echo(f"\ntasks {common + 1} to {tasks} are only in {log}")


def json_text(value: Any) -> str:
    """JSON for people and machines."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def print_origin(log: Path) -> None:
    """Whose recording a log is."""
    from ..eventlog.log import EventLog
    from ..replayers.headers import header_of

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


def suggest(log: Path) -> None:
    """What to look at next in a log."""
    from ..eventlog.log import EventLog
    from ..projections.summary import most_told

    with EventLog.open(log) as opened:
        memory = most_told(opened.read())
    click.echo(
        f"\nTry next:\n"
        f"  discernmem why {memory} {log}\n"
        f"  discernmem store {log} --at 4\n"
        f"  discernmem replay --offline {log}"
    )
