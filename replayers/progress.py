"""What whoever watches a run is told: what is done now, and what was done.

A listener learns what happened and gives nothing back, so nothing of it can enter an event. It is
told only while nothing is half recorded; what it raises stops the run at that clean boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import attrs

from ..eventlog.log import EventLog
from ..projections.ledgers import task_costs
from ..projections.summary import TaskRow, summarise

Answerer = Literal["world", "log", "other log"]
"""Who answered: the world was asked, this log held it, or another log did."""


@attrs.frozen(kw_only=True)
class RunBegun:
    """Tasks are about to be done: those after ``done``, up to task ``tasks``.

    For those done already ``run`` executions were made and ``saved`` ones were not.
    """

    tasks: int
    done: int
    run: int = 0
    saved: int = 0


@attrs.frozen(kw_only=True)
class TaskBegun:
    """Task ``index`` of the stream, whose id is ``task``."""

    index: int
    task: str


@attrs.frozen(kw_only=True)
class ExecutionBegun:
    """The team is to play ``task``, or it is known how it went: ``memories`` supplied, ``why``.

    Without ``why`` it is the execution whose score counts, its memories not chosen yet.
    """

    task: str
    memories: Sequence[str] = ()
    why: str = ""

    @property
    def words(self) -> str:
        """What it is, for example ``replay of m3 on r005 for candidate 2.1``."""
        if not self.why:
            return f"execution of {self.task}"
        return f"replay of {', '.join(self.memories) or 'no memory'} on {self.task} for {self.why}"


@attrs.frozen
class Asking:
    """The world is asked now: ``what`` in words, and how many ``answers`` are waited for."""

    what: str
    answers: int = 1


@attrs.frozen
class Observed:
    """An answer is recorded: the ``kind`` of its event, and who gave it.

    ``saved`` says of an execution that an equal earlier one answered. Tokens are those of a reply.
    """

    kind: str
    by: Answerer
    saved: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0


@attrs.frozen
class Away:
    """The code of others works from here on: a team, a benchmark, a sandbox."""


@attrs.frozen
class Back:
    """The code of others is done, or asks something."""


@attrs.frozen
class TaskFinished:
    """A task is completed; ``row`` is what the log now says of it."""

    row: TaskRow


@attrs.frozen(kw_only=True)
class TaskReplayed:
    """A recorded task was derived again; ``agreed`` conclusions in all did up to here."""

    index: int
    agreed: int


@attrs.frozen
class RunEnded:
    """No more tasks are done now, whatever the reason; the log is closed next."""


Notice = (
    RunBegun
    | TaskBegun
    | ExecutionBegun
    | Asking
    | Observed
    | Away
    | Back
    | TaskFinished
    | TaskReplayed
    | RunEnded
)


class Listener(Protocol):
    """Whoever watches a run."""

    def hear(self, notice: Notice) -> None:
        """Take a notice; called by the thread that records, which waits meanwhile."""
        ...


def run_begun(log: EventLog, done: int, tasks: int) -> RunBegun:
    """Where a log stands before the tasks after ``done``, which is completed, up to ``tasks``."""
    costs = [each for each in task_costs(log) if each.index <= done]
    return RunBegun(
        tasks=tasks,
        done=done,
        run=sum(each.run for each in costs),
        saved=sum(each.saved for each in costs),
    )


def task_finished(log: EventLog, index: int) -> TaskFinished:
    """What the newest task of a log, which is completed, did and cost."""
    (row,) = summarise(
        recorded
        for recorded in log.read(after=log.position_at_task(index - 1))
        if recorded.task_index == index
    )
    return TaskFinished(row)
