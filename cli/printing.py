"""What the commands print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .widths import at_left, columns_of

if TYPE_CHECKING:
    from ..eventlog.log import EventLog
    from ..projections.comparison import Comparison
    from ..projections.state import State
    from ..projections.store import Memory
    from ..projections.summary import TaskRow
    from ..projections.tallies import Tally

_NOT_SPACE: Final = re.compile(r"\r\n|[^\S ]")


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
    from ..projections.telling import signed

    table = [("t", "task", "score", "supplied", "effects", "new", "transitions", "run", "saved")]
    table += [
        (
            str(row.index),
            row.task,
            "" if row.score is None else f"{row.score:.2f}",
            " ".join(row.supplied),
            " ".join(f"{name}:{signed(effect)} {label}" for name, effect, label in row.effects),
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
    cells = [[shown(cell) for cell in line] for line in lines]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(at_left, line, widths)).rstrip() for line in cells)


def totals(rows: Sequence[TaskRow]) -> str:
    """The mean score and what the run cost."""
    from ..projections.telling import counted

    scores = [row.score for row in rows if row.score is not None]
    mean = sum(scores) / len(scores) if scores else 0.0
    calls = sum(row.model_calls for row in rows)
    read = sum(row.prompt_tokens for row in rows)
    written = sum(row.completion_tokens for row in rows)
    return (
        f"mean score {mean:.3f} over {counted(len(scores), 'task')}; executions run "
        f"{sum(row.executions_run for row in rows)}, saved "
        f"{sum(row.executions_saved for row in rows)}; {counted(calls, 'model call')}, "
        f"{read} prompt and {written} written tokens; "
        f"{counted(sum(row.fallbacks for row in rows), 'decision')} fell back"
    )


def entry(log: EventLog, state: State, memory: Memory) -> str:
    """A memory as the store shows it; its effects are those of all its versions."""
    effects = state.evidence.of_all_versions(memory.id, memory.version)
    signs = [
        (sign, sum(effect.sign == sign for effect in effects))
        for sign in ("positive", "neutral", "negative")
    ]
    mean = sum(effect.effect for effect in effects) / len(effects) if effects else None
    lines = [
        f"\n{heading(memory)}",
        numbers((*signs, ("mean effect", mean))),
        f"rule: {shown(memory.body)}",
        *conditions(log, memory),
    ]
    return "\n  ".join(lines)


def heading(memory: Memory) -> str:
    """Who a memory is, in a line."""
    return shown(
        f"{memory.id} · {memory.owner} · {memory.state} · version {memory.version} · "
        f"from {memory.source_task}"
    )


def tallied(tally: Tally) -> str:
    """The numbers of a memory, in a line."""
    return numbers(
        (
            ("supplied", tally.supplied),
            ("positive", tally.positive),
            ("neutral", tally.neutral),
            ("negative", tally.negative),
            ("mean effect", tally.mean_effect),
            ("CONTENT", tally.content),
            ("SCOPE", tally.scope),
            ("revisions", tally.revisions),
            ("use conditions", tally.use_conditions),
            ("avoid conditions", tally.avoid_conditions),
            ("transitions", tally.transitions),
        )
    )


def numbers(named: Iterable[tuple[str, float | None]]) -> str:
    """Counts, and means of effects with their sign, each after its name."""
    return " · ".join(
        f"{name} {value}" if isinstance(value, int) else f"{name} {effect(value)}"
        for name, value in named
    )


def effect(value: float | None) -> str:
    """An effect or a difference with its sign."""
    from ..projections.telling import signed

    return "\N{EN DASH}" if value is None else signed(value)


def conditions(log: EventLog, memory: Memory) -> Iterator[str]:
    """Each condition of a memory with the event that added it."""
    for name, conditions in (("use", memory.use_when), ("avoid", memory.avoid_when)):
        for condition in conditions:
            added = log.by_id(condition.added_by)
            place = f" [{added.position}]" if added else ""
            yield f"{name} when: {shown(condition.text)}  (by {condition.source}){place}"


def shown(text: str) -> str:
    """A text from anywhere as it may be printed: one line that changes nothing around it.

    White space becomes spaces, and what is not seen is written as an escape.
    """
    from ..projections.visible import visible

    return visible(_NOT_SPACE.sub(" ", text))


def say(*lines: str) -> None:
    """Print lines with texts from anywhere in them; each stays one line."""
    click.echo("\n".join(map(shown, lines)))


def said(recorded: Any) -> str:
    """An event in words, and where it is."""
    from ..projections.telling import tell

    return f"{shown(tell(recorded.event))}  [{recorded.position}]"


def said_plainly(recorded: Any) -> str:
    """An event in a list of events."""
    from ..projections.telling import tell

    return f"{recorded.type:<24} {shown(tell(recorded.event))}"


def print_comparison(found: Comparison, logs: tuple[Path, Path]) -> None:
    """Where two runs part, task by task."""
    from ..projections.causes import in_words

    if found.settings:
        click.echo(f"settings: {shown(in_words(found.settings))}")
    common = min(found.tasks)
    click.echo(
        f"{len(found.partings)} of {common} tasks differ; {found.agreed} conclusions are the same; "
        f"mean score {found.mean_scores[0]:.3f} | {found.mean_scores[1]:.3f}"
    )
    for parting in found.partings:
        click.echo(f"\ntask {parting.index} {shown(' | '.join(dict.fromkeys(parting.tasks)))}")
        for name, (left, right) in parting.differences.items():
            sides = f"{'; '.join(left) or 'none'} | {'; '.join(right) or 'none'}"
            click.echo(f"  {name:<9} {shown(sides)}")
        for log, recorded in zip(logs, parting.first, strict=True):
            say(f"  first in {log.name}: {said(recorded) if recorded else 'nothing here'}")
        click.echo(f"  because {shown(parting.cause.says)}")
    for log, decided in zip(logs, found.decided, strict=True):
        if decided and found.decided[0] != found.decided[1]:
            say("", f"decided after task {common} in {log.name}: {'; '.join(decided)}")
    for log, tasks in zip(logs, found.tasks, strict=True):
        if tasks > common:
            say("", f"tasks {common + 1} to {tasks} are only in {log}")


def json_text(value: Any) -> str:
    """JSON for people and machines; what is not seen is escaped in it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else _escaped(line) for line in lines)


def _escaped(line: str) -> str:
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)


def print_origin(log: Path) -> None:
    """Whose recording a log is."""
    from ..eventlog.log import EventLog
    from ..replayers.headers import header_of

    with EventLog.open(log) as opened:
        header = header_of(opened)
    facts = header.model
    licence = header.config["model"]["license"] or facts["license"]
    say(
        f"{log}: {header.tasks} {header.config['benchmark']['name']} tasks, team "
        f"{header.host['name']}, recorded "
        f"with {facts['name']} ({facts['file']}, licence {licence}, "
        f"SHA-256 {facts['sha256'][:16]}…) on {facts['device']}",
        "",
    )


def suggest(log: Path) -> None:
    """What to look at next in a log."""
    from ..eventlog.log import EventLog
    from ..projections.summary import most_told

    with EventLog.open(log) as opened:
        memory = most_told(opened.read())
    say(
        "",
        "Try next:",
        f"  discernmem why {memory} {log}",
        f"  discernmem store {log} --at 4",
        f"  discernmem replay --offline {log}",
    )
