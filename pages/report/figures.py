"""All numbers of one run that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import attrs

from ...eventlog import events as ev
from ...eventlog.chain import Head
from ...eventlog.log import EventLog
from ...projections.analyses import Analyses, analyse_log
from ...projections.ledgers import Ledger, ledger
from ...projections.scores import RunningMean, ScoreRow, Scores, running, score_rows, scores_of
from ...projections.timeline import last_completed
from ...replayers.headers import Segment, segments


@attrs.frozen(kw_only=True)
class Figures:
    """A run in numbers.

    Attributes:
        name: of the file of its log, or what tells it from another one of that name.
        segments: its header, and that of each fork it goes on from.
        head: of the log.
        done: tasks that are completed.
        finished: whether the stream came to its end.
        rows: the scored tasks.
        scores: what follows from them.
        running: their means over the first tasks.
        ledger: what it cost.
        analyses: what became of its memories.
    """

    name: str
    segments: tuple[Segment, ...]
    head: Head
    done: int
    finished: bool
    rows: tuple[ScoreRow, ...]
    scores: Scores
    running: tuple[RunningMean, ...]
    ledger: Ledger
    analyses: Analyses

    @property
    def header(self) -> ev.RunStarted:
        """The header in force at the end."""
        return self.segments[-1].header

    @property
    def without(self) -> tuple[str, ...]:
        """The parts of the method that are left out at the end."""
        return tuple(self.header.config.get("method", {}).get("without", ()))

    @property
    def whole(self) -> bool:
        """Whether no part of the method is left out."""
        return not self.without

    def plain(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "log": self.name,
            "run": self.header.run,
            "head": {"position": self.head.position, "hash": self.head.hash},
            "config": without_folders(self.header.config),
            "decision_version": self.header.decision_version,
            "tasks": self.header.tasks,
            "done": self.done,
            "finished": self.finished,
            "scores": self.scores.plain(),
            "cost": self.ledger.plain(),
            "analyses": self.analyses.plain(),
        }


def figures_of(log: EventLog, name: str) -> Figures:
    """The numbers of the run of a log, finished or not; ``name`` is what to call it.

    Raises:
        BadInput: the log holds no run.
    """
    headers = segments(log)
    rows = score_rows(log)
    return Figures(
        name=name,
        segments=headers,
        head=log.head(),
        done=last_completed(log),
        finished=log.last("RunFinished") is not None,
        rows=rows,
        scores=scores_of(rows),
        running=running(rows),
        ledger=ledger(log),
        analyses=analyse_log(log),
    )


def without_folders(value: Any) -> Any:
    """Recorded facts as a stranger may see them: of an absolute path only the name."""
    if isinstance(value, Mapping):
        return {key: without_folders(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(each) for each in value]
    if isinstance(value, str) and value.startswith(("/", "~")):
        return f"…/{PurePosixPath(value).name}"
    return value


def settings(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Recorded facts by dotted names, without folders."""
    found: dict[str, Any] = {}
    for key, value in without_folders(table).items():
        if isinstance(value, Mapping) and value:
            found |= settings(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found
