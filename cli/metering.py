"""How far a run is, how fast, and what is left: counted from the notices it gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import attrs

from ..replayers.progress import (
    Asking,
    ExecutionBegun,
    Notice,
    Observed,
    RunBegun,
    TaskBegun,
    TaskFinished,
    TaskReplayed,
)

_RECENT: Final = 50
"""Executions, tasks and replies that a pace is measured over: it follows what changes."""


@attrs.define
class Pace:
    """How long the latest of a kind of things took: amounts over seconds."""

    _latest: deque[tuple[float, float]] = attrs.field(factory=lambda: deque(maxlen=_RECENT))

    def add(self, amount: float, seconds: float) -> None:
        """Count something that took so long."""
        self._latest.append((amount, seconds))

    @property
    def per_second(self) -> float | None:
        """Amount per second; None while there is nothing to tell it from."""
        latest = tuple(self._latest)
        seconds = sum(taken for _, taken in latest)
        return sum(amount for amount, _ in latest) / seconds if seconds > 0 else None


@attrs.define
class Spent:
    """What was spent on something: executions, tokens, seconds waited for a model."""

    run: int = 0
    saved: int = 0
    read: int = 0
    written: int = 0
    asked_written: int = 0
    waited: float = 0.0
    began: float = 0.0


@attrs.define
class Meter:
    """Follows a run, or several in a row.

    Attributes:
        clock: seconds from any beginning.
        before: tasks of the runs before this one.
        after: tasks of the runs after this one.
        tasks: tasks of this run, when all that are wanted are done.
        done: tasks of this run that are completed.
        begun: whether this run's tasks have begun.
        index: the task that is open, 0 if none is.
        task: its id.
        execution: the execution under way, None between two.
        played: the execution under way, or the last one.
        asking: what the world is asked, in words.
        run: executions made for completed tasks.
        saved: executions that equal earlier ones answered, for completed tasks.
        open: what was spent on the open task.
        playing: what was spent on the execution under way.
    """

    clock: Callable[[], float]
    before: int = 0
    after: int = 0
    tasks: int = 0
    done: int = 0
    begun: bool = False
    index: int = 0
    task: str = ""
    execution: ExecutionBegun | None = None
    played: ExecutionBegun | None = None
    asking: str = ""
    run: int = 0
    saved: int = 0
    open: Spent = attrs.field(factory=Spent)
    playing: Spent = attrs.field(factory=Spent)
    _counted: int = 0
    _asked_at: float | None = None
    _last: float = 0.0
    _execution_pace: Pace = attrs.field(factory=Pace, init=False)
    _task_pace: Pace = attrs.field(factory=Pace, init=False)
    _token_pace: Pace = attrs.field(factory=Pace, init=False)

    def next_run(self, before: int, tasks: int, after: int) -> None:
        """Go on with another run of several in a row."""
        self.before, self.tasks, self.after = before, tasks, after
        self.done, self.begun = 0, False

    def hear(self, notice: Notice) -> None:
        """Count a notice."""
        now = self.clock()
        match notice:
            case RunBegun():
                self.begun = True
                self.tasks, self.done, self._last = notice.tasks, notice.done, now
                self.run += notice.run
                self.saved += notice.saved
                self._counted += notice.done
            case TaskBegun():
                self.index, self.task, self.open = notice.index, notice.task, Spent(began=now)
                self.execution, self.asking = None, ""
            case ExecutionBegun():
                self.execution = self.played = notice
                self.playing = Spent(began=now)
            case Asking():
                self.asking, self._asked_at = notice.what, now
            case Observed():
                self._observed(notice, now)
            case TaskFinished():
                self.run += notice.row.executions_run
                self.saved += notice.row.executions_saved
                self._counted += 1
                self._task_done(notice.row.index, now)
            case TaskReplayed():
                self._task_done(notice.index, now)

    def _observed(self, notice: Observed, now: float) -> None:
        waited, self._asked_at = now - (self._asked_at or now), None
        self.asking = ""
        if notice.kind == "ExecutionFinished":
            self.execution = None
            for spent in (self.open, self.playing):
                spent.saved += notice.saved
                spent.run += not notice.saved
            if not notice.saved:
                self._execution_pace.add(1, now - self._last)
                self._last = now
        elif notice.kind == "ModelReplied":
            by_world = notice.by == "world"
            for spent in (self.open, self.playing):
                spent.read += notice.prompt_tokens
                spent.written += notice.completion_tokens
                spent.asked_written += notice.completion_tokens * by_world
                spent.waited += waited * by_world
            if by_world:
                self._token_pace.add(notice.completion_tokens, waited)

    def _task_done(self, index: int, now: float) -> None:
        self._task_pace.add(1, now - self.open.began)
        self.done, self.index, self.execution, self.asking = index, 0, None, ""

    @property
    def of(self) -> int:
        """Tasks of all runs."""
        return self.before + self.tasks + self.after

    @property
    def behind(self) -> int:
        """Completed tasks of all runs."""
        return self.before + self.done

    @property
    def executions_saved(self) -> int:
        """Executions saved so far, in the open task too."""
        return self.saved + (self.open.saved if self.index else 0)

    @property
    def executions_left(self) -> int | None:
        """About how many executions are still to be made; None before a task is completed.

        Their mean number per completed task, for every task to come; the open one still has what
        it did not make of them yet.
        """
        if not self._counted:
            return None
        mean, tasks_left = self.run / self._counted, self.of - self.behind
        if not self.index:
            return round(mean * tasks_left)
        return round(mean * (tasks_left - 1) + max(mean - self.open.run, 0.0))

    @property
    def seconds_left(self) -> float | None:
        """About how long it takes still, at the pace of late; None while nobody can say."""
        left, pace = self.executions_left, self._execution_pace.per_second
        if left is not None and pace:
            return left / pace
        return self.seconds_by_task

    @property
    def seconds_by_task(self) -> float | None:
        """About how long it takes still if each task takes what those of late took."""
        pace = self._task_pace.per_second
        return (self.of - self.behind) / pace if pace else None

    @property
    def tokens_per_second(self) -> float | None:
        """What the model of late wrote in a second; None if it was not asked."""
        return self._token_pace.per_second
