"""Reports as files: written as they are made, and there whole or not at all."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import attrs

from ...eventlog import files
from ...eventlog.errors import BadInput
from ...eventlog.log import EventLog
from ...projections.ledgers import PURPOSES
from ...projections.story import Story, story
from ...projections.trajectories import Step, sides
from ...projections.turning import Turn
from ..lifelines import Link, lifeline
from ..rendering import environment
from ..strips import strip
from . import memory_charts, numbers, score_charts
from .figures import Figures, settings
from .roster import Entry, roster, worth_telling
from .several import ABLATED, Comparison

MARK: Final = "<!doctype html>\n<!-- report of discernmem -->\n"
"""How every report begins, so that nothing else is overwritten."""

_DRAFT: Final = ".new"

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)


@attrs.frozen(kw_only=True)
class Telling:
    """A turning point with the two trajectories of its use, if it has one."""

    turn: Turn
    with_steps: tuple[Step, ...] | None
    without_steps: tuple[Step, ...] | None


@attrs.frozen(kw_only=True)
class Told:
    """A story to be told, and its turning points."""

    story: Story
    turns: tuple[Telling, ...]


def write_one(log: EventLog, run: Figures, target: Path, *, stories: int) -> None:
    """Write the report of one run.

    Args:
        log: its log.
        run: its numbers.
        target: where the report goes.
        stories: how many memories to tell the story of, at most.

    Raises:
        BadInput: there is something at the target that is no report, or it cannot be written.
        Infrastructure: the disk is full or fails.
    """
    entries = roster(log, tasks=run.header.tasks, begun=log.last_task())
    chosen = worth_telling(entries, stories)
    names = {entry.memory.id for entry in chosen}
    _write(
        target,
        "report_one.html",
        {
            "run": run,
            "facts": settings,
            "purposes": PURPOSES,
            "quote": shlex.quote,
            "scores": tuple(score_charts.of_scores(run)),
            "costs": tuple(score_charts.of_costs(run)),
            "figures": tuple(memory_charts.of_memories(run)),
            "entries": entries,
            "turned": sum(entry.turned for entry in entries),
            "chosen": names,
            "stories": _stories(log, chosen),
            "lifeline": lifeline,
            "link": _links(names),
        },
    )


def write_several(found: Comparison, target: Path) -> None:
    """Write the report of several runs; as `write_one`."""
    _write(
        target,
        "report_several.html",
        {
            "found": found,
            "facts": settings,
            "scores": tuple(score_charts.of_score_runs(found)),
            "sweep": score_charts.of_sweep(found),
            "ablated": found.varied == ABLATED,
            "figures": tuple(memory_charts.of_runs(found.runs)),
        },
    )


def check_target(target: Path) -> None:
    """Refuse to write a report where something else is that it would replace.

    Raises:
        BadInput: there is.
    """
    try:
        if target.is_dir():
            raise BadInput(f"{target} is a folder; name a file in it")
        if not target.parent.is_dir():
            raise BadInput(f"{target.parent} is not a folder; make it, or name another place")
        for each in (target, files.beside(target, _DRAFT)):
            _check_report(each)
    except OSError as error:
        raise BadInput(f"{target}: {error.strerror}; name another file") from None


def _check_report(path: Path) -> None:
    """Refuse a file that is there and neither a report nor empty."""
    if not path.exists():
        return
    if not path.is_file():
        raise BadInput(f"{path} is no file that can be replaced; name another one")
    mark = MARK.encode()
    with path.open("rb") as file:
        begins = file.read(len(mark))
    if begins and begins != mark:
        raise BadInput(f"{path} exists and is no report; name another file or remove it")


def _stories(log: EventLog, chosen: Sequence[Entry]) -> Iterator[Told]:
    for entry in chosen:
        found = story(log, entry.memory.id)
        yield Told(story=found, turns=tuple(_telling(log, turn) for turn in found.turns))


def _telling(log: EventLog, turn: Turn) -> Telling:
    with_steps, without_steps = sides(log, turn.use) if turn.use else (None, None)
    return Telling(turn=turn, with_steps=with_steps, without_steps=without_steps)


def _links(chosen: Collection[str]) -> Link:
    """Addresses inside the report: of the memories whose story it tells."""
    return lambda kind, name: f"#{name}" if kind == "memory" and name in chosen else ""


def _write(target: Path, template: str, context: Mapping[str, Any]) -> None:
    check_target(target)
    draft = files.beside(target, _DRAFT)
    page = environment().get_template(template)
    try:
        with files.reported(target), _opened(draft) as file:
            file.write(MARK)
            for part in page.generate(context, numbers=numbers, strip=strip):
                file.write(part)
        with files.reported(target):
            files.publish(draft, files.beside(target, ""))
    finally:
        draft.unlink(missing_ok=True)


def _opened(draft: Path) -> TextIO:
    try:
        return draft.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        raise BadInput(f"{draft}: {error.strerror}; name another place") from None
